//! The folder of stored plans: the user's own, bounded, and never in the way.

use ada_process::this_process;
use std::fs::{self, DirBuilder, File, Metadata, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use memmap2::Mmap;

/// What all plans together may take: some fifty programs with their libraries.
const MOST_BYTES: u64 = 512 << 20;
/// How old the time of a plan's last use may be, so that not every start writes one.
const USE_GRAIN: Duration = Duration::from_secs(3600);
/// What a writer that died leaves behind goes after this time.
const ABANDONED: Duration = Duration::from_secs(3600);

const PLAN: &str = "plan";
const UNFINISHED: &str = "unfinished";

/// Where plans are kept by default: in `$ADA_CACHE_DIR`, `$XDG_CACHE_HOME/ada` or `~/.cache/ada`, whichever is set first.
pub fn plan_folder() -> Option<PathBuf> {
    choose(|variable| std::env::var_os(variable).filter(|value| !value.is_empty()).map(PathBuf::from), is_ours)
}

fn choose(variable: impl Fn(&str) -> Option<PathBuf>, is_ours: impl Fn(&Path) -> bool) -> Option<PathBuf> {
    if let Some(folder) = variable("ADA_CACHE_DIR") {
        return Some(folder.join("plans"));
    }
    // Under `sudo` the home may be another user's, who would not be able to use what is made there.
    let of_xdg = variable("XDG_CACHE_HOME").filter(|folder| folder.is_absolute());
    let cache = match of_xdg {
        Some(folder) => is_ours(&folder).then_some(folder),
        None => variable("HOME").filter(|home| is_ours(home)).map(|home| home.join(".cache")),
    };
    cache.map(|cache| cache.join("ada/plans"))
}

fn is_ours(folder: &Path) -> bool {
    fs::metadata(folder).is_ok_and(|metadata| metadata.uid() == user())
}

/// A folder of plans. It need not be there.
pub(super) struct Folder {
    path: PathBuf,
}

impl Folder {
    pub(super) fn new(path: PathBuf) -> Self {
        Self { path }
    }

    /// What is stored under a name, if nobody but the user can have written it.
    pub(super) fn read(&self, name: &str) -> Option<Mmap> {
        if !self.is_private() {
            return None;
        }
        let flags = libc::O_NOFOLLOW | libc::O_NONBLOCK;
        let file = OpenOptions::new().read(true).custom_flags(flags).open(self.path.join(name)).ok()?;
        let metadata = file.metadata().ok()?;
        if !metadata.is_file() || !is_private(&metadata) {
            return None;
        }
        note_use(&file, &metadata);
        // SAFETY: plans are replaced and never changed, and only this user could do otherwise.
        unsafe { Mmap::map(&file).ok() }
    }

    /// Stores bytes under a name. Others see either these or what was there before.
    pub(super) fn write(&self, name: &str, bytes: &[u8]) -> io::Result<()> {
        if bytes.len() as u64 > MOST_BYTES / 4 {
            return Ok(());
        }
        DirBuilder::new().recursive(true).mode(0o700).create(&self.path)?;
        if !self.is_private() {
            return Err(io::ErrorKind::PermissionDenied.into());
        }
        let moment = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_nanos();
        let unfinished = self.path.join(format!("{}-{moment:x}.{UNFINISHED}", this_process()));
        let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&unfinished)?;
        let written = file.write_all(bytes).and_then(|()| fs::rename(&unfinished, self.path.join(name)));
        if written.is_err() {
            let _ = fs::remove_file(&unfinished);
        }
        written
    }

    /// Removes what was not used for longest, until the rest is not too much.
    pub(super) fn make_room(&self) {
        self.make_room_for(MOST_BYTES, SystemTime::now());
    }

    fn make_room_for(&self, most: u64, now: SystemTime) {
        let Ok(entries) = fs::read_dir(&self.path) else { return };
        let mut plans = Vec::new();
        for entry in entries.flatten() {
            let path = entry.path();
            let Ok(metadata) = entry.metadata() else { continue };
            let Ok(used) = metadata.modified() else { continue };
            let is_abandoned = now.duration_since(used).is_ok_and(|age| age > ABANDONED);
            match path.extension().and_then(|extension| extension.to_str()) {
                Some(PLAN) => plans.push((used, metadata.len(), path)),
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

    fn is_private(&self) -> bool {
        fs::metadata(&self.path).is_ok_and(|metadata| metadata.is_dir() && is_private(&metadata))
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

/// Whether a file or folder belongs to the user, and no other can write to it.
fn is_private(metadata: &Metadata) -> bool {
    metadata.uid() == user() && metadata.mode() & 0o022 == 0
}

fn user() -> u32 {
    rustix::process::geteuid().as_raw()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::{PermissionsExt, chown, symlink};

    fn folder() -> (tempfile::TempDir, Folder) {
        let parent = tempfile::tempdir().unwrap();
        let folder = Folder::new(parent.path().join("a/plans"));
        (parent, folder)
    }

    #[test]
    fn the_environment_says_where() {
        let choose_by = |variables: &[(&str, &str)], ours: bool| {
            let find = |name: &str| variables.iter().find(|(known, _)| *known == name).map(|(_, value)| value.into());
            choose(find, |_| ours).map(|path| path.to_str().unwrap().to_owned())
        };
        let all = [("ADA_CACHE_DIR", "/a"), ("XDG_CACHE_HOME", "/x"), ("HOME", "/h")];
        assert_eq!(choose_by(&all, false).as_deref(), Some("/a/plans"));
        assert_eq!(choose_by(&all[1..], true).as_deref(), Some("/x/ada/plans"));
        assert_eq!(choose_by(&all[2..], true).as_deref(), Some("/h/.cache/ada/plans"));
        assert_eq!(choose_by(&[("XDG_CACHE_HOME", "x"), all[2]], true).as_deref(), Some("/h/.cache/ada/plans"));
        assert_eq!(choose_by(&all[1..], false), None);
        assert_eq!(choose_by(&[], true), None);
    }

    #[test]
    fn what_is_written_is_read_and_is_the_users_alone() {
        let (_parent, folder) = folder();
        assert!(folder.read("x.plan").is_none());
        folder.write("x.plan", b"old").unwrap();
        folder.write("x.plan", b"new").unwrap();
        assert_eq!(&folder.read("x.plan").unwrap()[..], b"new");
        let mode = |path: &Path| fs::metadata(path).unwrap().mode() & 0o777;
        assert_eq!((mode(&folder.path), mode(&folder.path.join("x.plan"))), (0o700, 0o600));
        assert_eq!(fs::read_dir(&folder.path).unwrap().count(), 1, "nothing unfinished stays");
    }

    #[test]
    fn what_others_can_write_is_not_believed() {
        let (_parent, folder) = folder();
        folder.write("x.plan", b"plan").unwrap();
        let file = folder.path.join("x.plan");
        fs::set_permissions(&file, PermissionsExt::from_mode(0o620)).unwrap();
        assert!(folder.read("x.plan").is_none());
        fs::set_permissions(&file, PermissionsExt::from_mode(0o600)).unwrap();
        fs::set_permissions(&folder.path, PermissionsExt::from_mode(0o770)).unwrap();
        assert!(folder.read("x.plan").is_none() && folder.write("y.plan", b"plan").is_err());
        fs::set_permissions(&folder.path, PermissionsExt::from_mode(0o700)).unwrap();
        symlink("x.plan", folder.path.join("z.plan")).unwrap();
        assert!(folder.read("x.plan").is_some() && folder.read("z.plan").is_none());
    }

    #[test]
    fn what_belongs_to_somebody_else_is_not_believed() {
        let (_parent, folder) = folder();
        folder.write("x.plan", b"plan").unwrap();
        // Only root can give files away; everybody else finds root's.
        let foreign = if user() == 0 {
            chown(folder.path.join("x.plan"), Some(65534), None).unwrap();
            assert!(folder.read("x.plan").is_none());
            folder.path.clone()
        } else {
            PathBuf::from("/")
        };
        if user() == 0 {
            chown(&foreign, Some(65534), None).unwrap();
        }
        let foreign = Folder::new(foreign);
        assert!(!foreign.is_private() && foreign.write("y.plan", b"plan").is_err());
    }

    #[test]
    fn a_folder_that_cannot_be_made_is_an_error_and_no_more() {
        let parent = tempfile::tempdir().unwrap();
        fs::write(parent.path().join("a"), "a file").unwrap();
        let folder = Folder::new(parent.path().join("a/plans"));
        assert!(folder.write("x.plan", b"plan").is_err());
        assert!(folder.read("x.plan").is_none());
        folder.make_room();
    }

    #[test]
    fn the_least_recently_used_go_first() {
        let (_parent, folder) = folder();
        let now = SystemTime::now();
        for (name, age) in [("a.plan", 300), ("b.plan", 5000), ("c.plan", 200), ("1-1.unfinished", 10)] {
            folder.write(name, &[0; 100]).unwrap();
            let file = File::open(folder.path.join(name)).unwrap();
            file.set_modified(now - Duration::from_secs(age)).unwrap();
        }
        fs::write(folder.path.join("2-2.unfinished"), "dead").unwrap();
        let dead = File::open(folder.path.join("2-2.unfinished")).unwrap();
        dead.set_modified(now - Duration::from_secs(4000)).unwrap();
        // Being used makes it the youngest.
        folder.read("b.plan").unwrap();
        folder.make_room_for(250, now);
        let mut left: Vec<_> = fs::read_dir(&folder.path).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        left.sort();
        assert_eq!(left, ["1-1.unfinished", "b.plan", "c.plan"]);
    }
}
