//! Finds a process's files: through its manifest, and by listing its folder.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ada_event::{ProcessId, ThreadId};

use super::finding::FileFindings;
use super::thread::{Caches, file_in};
use super::{Finding, Problem, Process, SessionError, ThreadTrace};
use crate::atf::bundle::{BUNDLE_FILE, BundleReader};
use crate::atf::map::Mapping;
use crate::atf::{AtfError, Damage, Manifest, Store};
use crate::private::{is_locked, open_regular};

/// A manifest has some hundred bytes for each thread, of which there may be millions; one that is larger than this is
/// something else.
const LARGEST_MANIFEST: u64 = 512 << 20;

/// The subfolders that are named `prefix` and a number, by number.
pub(super) fn numbered_folders(path: &Path, prefix: &str) -> io::Result<BTreeMap<u32, PathBuf>> {
    let mut folders = BTreeMap::new();
    for entry in fs::read_dir(path)? {
        let path = entry?.path();
        if let Some(number) = number_of(&path, prefix).filter(|_| path.is_dir()) {
            folders.insert(number, path);
        }
    }
    Ok(folders)
}

/// The number in a folder's name, in the one way of writing it: `thread_7`, not `thread_07`.
pub(super) fn number_of(path: &Path, prefix: &str) -> Option<u32> {
    let digits = path.file_name()?.to_str()?.strip_prefix(prefix)?;
    digits.parse().ok().filter(|number: &u32| number.to_string() == digits)
}

/// Opens what there is of a process. The folder decides which threads there are; where the manifest differs, that is
/// a finding.
pub(super) fn open_process(
    path: PathBuf,
    pid: Option<ProcessId>,
    caches: &Caches,
    findings: &mut Vec<Finding>,
) -> Result<Process, SessionError> {
    // Before anything is read: what is finished meanwhile is no less whole.
    let (is_live, first_finding) = (is_locked(&path), findings.len());
    let folders =
        numbered_folders(&path, "thread_").map_err(|source| SessionError::Io { path: path.clone(), source })?;
    let folders: BTreeMap<ThreadId, PathBuf> =
        folders.into_iter().map(|(number, folder)| (ThreadId(number), folder)).collect();
    let manifest = open_manifest(&path.join("manifest.json"), findings);
    let mut threads = Vec::new();
    for (&id, folder) in &folders {
        threads.extend(ThreadTrace::open(folder, id, caches, findings));
    }
    let bundle: Option<Arc<Path>> = Some(path.join(BUNDLE_FILE)).filter(|path| path.exists()).map(Into::into);
    let mut bundled = BTreeMap::new();
    if let Some(bundle) = &bundle {
        // One that is being written, or whose writer was killed, may end anywhere.
        let is_finished = manifest.as_ref().is_none_or(|manifest| manifest.finished != Some(false));
        open_bundle(bundle, is_finished, caches, &mut threads, &mut bundled, findings);
        // A folder's thread comes first, should a bundle have another of its id.
        threads.sort_by_key(ThreadTrace::id);
        threads.dedup_by_key(|thread| thread.id());
    }
    if let Some(manifest) = &manifest {
        compare(&path, manifest, &folders, &bundled, findings);
    }
    let pid = pid.or(manifest.as_ref().and_then(|manifest| manifest.pid));
    if is_live {
        let mut at = 0;
        findings.retain(|it| {
            at += 1;
            at <= first_finding || !matches!(&it.problem, Problem::Damage(damage) if damage.is_of_writing())
        });
    }
    Ok(Process { path, pid, manifest, threads, is_live, bundle, lists: Arc::clone(&caches.lists) })
}

/// Opens the threads of a bundle, and notes of each whether it has detail.
fn open_bundle(
    path: &Arc<Path>,
    is_finished: bool,
    caches: &Caches,
    threads: &mut Vec<ThreadTrace>,
    bundled: &mut BTreeMap<ThreadId, bool>,
    findings: &mut Vec<Finding>,
) {
    let mut found = FileFindings::new(path, findings);
    let map = match Mapping::open(path) {
        Ok(map) => map,
        Err(error) => return found.push(Problem::Unreadable(error)),
    };
    let listed = match BundleReader::new(map.bytes()) {
        Ok(listed) => listed,
        Err(AtfError::BundleCut { .. }) if !is_finished => return,
        Err(error) => return found.push(Problem::Corrupt(error)),
    };
    for thread in listed {
        match thread {
            Ok(thread) => {
                bundled.insert(thread.thread, thread.detail.is_some());
                threads.extend(ThreadTrace::bundled(path, &map, &thread, caches, &mut found));
            }
            Err(AtfError::BundleCut { .. }) if !is_finished => {}
            Err(error) => found.push(Problem::Corrupt(error)),
        }
    }
}

fn open_manifest(path: &Path, findings: &mut Vec<Finding>) -> Option<Manifest> {
    let problem = match read_manifest(path) {
        Ok(bytes) => match Manifest::parse(&bytes) {
            Ok(manifest) => return Some(manifest),
            Err(error) => Problem::Corrupt(error),
        },
        Err(error) if error.kind() == io::ErrorKind::NotFound => Problem::Damage(Damage::ManifestMissing),
        Err(error) => Problem::Unreadable(error),
    };
    findings.push(Finding { path: path.to_owned(), problem });
    None
}

fn read_manifest(path: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    open_regular(path)?.take(LARGEST_MANIFEST + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > LARGEST_MANIFEST {
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, "larger than 512 MiB"));
    }
    Ok(bytes)
}

fn compare(
    path: &Path,
    manifest: &Manifest,
    folders: &BTreeMap<ThreadId, PathBuf>,
    bundled: &BTreeMap<ThreadId, bool>,
    findings: &mut Vec<Finding>,
) {
    let mut found = |path: PathBuf, damage| findings.push(Finding { path, problem: Problem::Damage(damage) });
    if manifest.finished == Some(false) {
        return found(path.join("manifest.json"), Damage::Unfinished);
    }
    let listed: BTreeMap<ThreadId, bool> =
        manifest.threads.iter().map(|thread| (thread.id, thread.has_detail)).collect();
    for (&id, &has_detail) in &listed {
        if let Some(&has) = bundled.get(&id) {
            if has != has_detail {
                found(path.join(BUNDLE_FILE), Damage::DetailPresence { listed: has_detail });
            }
            continue;
        }
        let folder = path.join(format!("thread_{id}"));
        if !file_in(&folder, Store::index_file).0.exists() {
            found(folder, Damage::ThreadMissing { thread: id });
        } else if file_in(&folder, Store::detail_file).0.exists() != has_detail {
            found(folder, Damage::DetailPresence { listed: has_detail });
        }
    }
    for (&thread, folder) in folders.iter().filter(|(id, _)| !listed.contains_key(id)) {
        found(folder.clone(), Damage::ThreadUnlisted { thread });
    }
    for &thread in bundled.keys().filter(|id| !listed.contains_key(id)) {
        found(path.join(BUNDLE_FILE), Damage::ThreadUnlisted { thread });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_name_has_one_spelling() {
        assert_eq!(number_of(Path::new("a/thread_7"), "thread_"), Some(7));
        for name in ["thread_", "thread_07", "thread_+7", "thread_4294967296", "pid_7"] {
            assert_eq!(number_of(Path::new(name), "thread_"), None, "{name}");
        }
    }
}
