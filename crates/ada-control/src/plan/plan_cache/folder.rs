//! The folder of stored plans and types, and of what earlier runs have taught: bounded, and never in the way.

use std::fs::{self, File, Metadata};
use std::io;
use std::path::PathBuf;
use std::time::{Duration, SystemTime};

use memmap2::Mmap;

use crate::cache_folder::{CacheFolder, UNFINISHED, default_path};

/// What all plans together may take: some fifty programs with their libraries.
const MOST_BYTES: u64 = 512 << 20;
/// How old the time of a plan's last use may be, so that not every start writes one.
const USE_GRAIN: Duration = Duration::from_secs(3600);
/// What a writer that died leaves behind goes after this time.
const ABANDONED: Duration = Duration::from_secs(3600);

/// How names of plans end, and of files with types and with hot functions.
pub(super) const PLAN: &str = "plan";
pub(super) const TYPES: &str = "types";
pub(crate) const HOT: &str = "hot";

/// Where plans are kept by default: in `$ADA_CACHE_DIR`, `$XDG_CACHE_HOME/ada` or `~/.cache/ada`, whichever is set first.
pub fn plan_folder() -> Option<PathBuf> {
    default_path("plans")
}

/// A folder of plans. It need not be there.
pub(crate) struct Folder {
    kept: CacheFolder,
}

impl Folder {
    pub(crate) fn new(path: PathBuf) -> Self {
        Self { kept: CacheFolder { path } }
    }

    /// What is stored under a name, if nobody but the user can have written it.
    pub(crate) fn read(&self, name: &str) -> Option<Mmap> {
        let (file, metadata) = self.kept.open(name).ok()?;
        note_use(&file, &metadata);
        // SAFETY: plans are replaced and never changed, and only this user could do otherwise.
        unsafe { Mmap::map(&file).ok() }
    }

    /// Stores bytes under a name. Others see either these or what was there before.
    pub(crate) fn write(&self, name: &str, bytes: &[u8]) -> io::Result<()> {
        if bytes.len() as u64 > MOST_BYTES / 4 {
            return Ok(());
        }
        self.kept.write(name, bytes)
    }

    /// Removes what was not used for longest, until the rest is not too much.
    pub(crate) fn make_room(&self) {
        self.make_room_for(MOST_BYTES, SystemTime::now());
    }

    fn make_room_for(&self, most: u64, now: SystemTime) {
        let Ok(entries) = fs::read_dir(&self.kept.path) else { return };
        let mut plans = Vec::new();
        for entry in entries.flatten() {
            let path = entry.path();
            let Ok(metadata) = entry.metadata() else { continue };
            let Ok(used) = metadata.modified() else { continue };
            let is_abandoned = now.duration_since(used).is_ok_and(|age| age > ABANDONED);
            match path.extension().and_then(|extension| extension.to_str()) {
                Some(PLAN | TYPES | HOT) => plans.push((used, metadata.len(), path)),
                Some(UNFINISHED) if is_abandoned => drop(fs::remove_file(path)),
                _ => {}
            }
        }
        plans.sort_unstable();
        let mut total: u64 = plans.iter().map(|(_, bytes, _)| bytes).sum();
        for (_, bytes, path) in plans {
            if total <= most {
                break;
            }
            let _ = fs::remove_file(path);
            total -= bytes;
        }
    }
}

/// The time of the last use is the file's modification time: access times are often not kept.
fn note_use(file: &File, metadata: &Metadata) {
    let now = SystemTime::now();
    let is_recent = metadata.modified().is_ok_and(|used| now.duration_since(used).is_ok_and(|age| age < USE_GRAIN));
    if !is_recent {
        let _ = file.set_modified(now);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_least_recently_used_go_first() {
        let parent = tempfile::tempdir().unwrap();
        let folder = Folder::new(parent.path().join("a/plans"));
        let path = folder.kept.path.clone();
        let now = SystemTime::now();
        for (name, age) in [("a.plan", 300), ("b.plan", 5000), ("c.plan", 200), ("1-1.unfinished", 10)] {
            folder.write(name, &[0; 100]).unwrap();
            let file = File::open(path.join(name)).unwrap();
            file.set_modified(now - Duration::from_secs(age)).unwrap();
        }
        fs::write(path.join("2-2.unfinished"), "dead").unwrap();
        let dead = File::open(path.join("2-2.unfinished")).unwrap();
        dead.set_modified(now - Duration::from_secs(4000)).unwrap();
        // Being used makes it the youngest.
        folder.read("b.plan").unwrap();
        folder.make_room_for(250, now);
        let mut remaining: Vec<_> = fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        remaining.sort();
        assert_eq!(remaining, ["1-1.unfinished", "b.plan", "c.plan"]);
    }

    #[test]
    fn a_folder_that_is_not_there_has_no_plans() {
        let parent = tempfile::tempdir().unwrap();
        let folder = Folder::new(parent.path().join("plans"));
        assert!(folder.read("x.plan").is_none());
        folder.make_room();
    }
}
