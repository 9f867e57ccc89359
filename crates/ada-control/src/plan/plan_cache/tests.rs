//! The cache as installers use it.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use ada_event::RuntimeAddr;
use ada_image::Image;
use ada_patch::{SkipReason, Verdict};
use ada_process::maps::LoadedFile;

use super::*;
use crate::options::LeftAlone;
use crate::plan::debug_files::DebugFiles;
use crate::plan::image_file::ImageFile;
use crate::plan::plan_cache::stored_plan::tests::assert_same;
use crate::plan::planned_image::PlannedImage;

fn key_of(path: &Path, debug_file: Option<&Path>) -> PlanKey {
    let file = ImageFile::open(path).unwrap();
    let debug_file = debug_file.map(|path| ImageFile::open(path).unwrap());
    PlanKey::new(&file, &Image::parse(file.bytes()).unwrap(), debug_file.as_ref())
}

fn plan_of(path: &Path) -> ImagePlan {
    ImagePlan::make(&Image::parse(&fs::read(path).unwrap()).unwrap(), None)
}

fn git() -> PathBuf {
    let folders = std::env::var_os("PATH").unwrap();
    std::env::split_paths(&folders).map(|folder| folder.join("git")).find(|path| path.is_file()).expect("git is there")
}

fn copy_of_ls(folder: &Path) -> PathBuf {
    let path = folder.join("ls");
    fs::copy("/bin/ls", &path).unwrap();
    path
}

#[test]
fn a_second_start_finds_the_plan_of_the_first() {
    let folder = tempfile::tempdir().unwrap();
    let path = git();
    let (key, plan) = (key_of(&path, None), plan_of(&path));
    let first = PlanCache::new(Some(folder.path().join("plans")));
    assert!(first.load(&key).is_none());
    first.keep(&key, &plan);
    assert_same(&plan, &first.load(&key).unwrap());
    first.write_kept();
    assert_same(&plan, &first.load(&key).unwrap());
    let second = PlanCache::new(Some(folder.path().join("plans")));
    assert_same(&plan, &second.load(&key).unwrap());
}

#[test]
fn a_file_that_was_touched_or_got_a_debug_file_is_planned_anew() {
    let folder = tempfile::tempdir().unwrap();
    let path = copy_of_ls(folder.path());
    let cache = PlanCache::new(Some(folder.path().join("plans")));
    let key = key_of(&path, None);
    cache.keep(&key, &plan_of(&path));
    cache.write_kept();
    assert!(cache.load(&key_of(&path, None)).is_some());
    assert!(cache.load(&key_of(&path, Some(Path::new("/bin/ls")))).is_none());
    File::open(&path).unwrap().set_modified(SystemTime::now() - Duration::from_secs(9)).unwrap();
    assert!(cache.load(&key_of(&path, None)).is_none());
}

/// Without a build-id, other bytes make another key even if the clock says nothing.
#[test]
fn a_file_without_an_id_is_known_by_its_content() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("program");
    let mut bytes = fs::read("/bin/ls").unwrap();
    let note = bytes.windows(8).position(|bytes| bytes == b"\x03\0\0\0GNU\0").expect("ls has a build-id");
    // Another type of note.
    bytes[note] = 0x77;
    fs::write(&path, &bytes).unwrap();
    let file = ImageFile::open(&path).unwrap();
    assert_eq!(Image::parse(file.bytes()).unwrap().build_id(), None);
    let key = |bytes: &[u8]| {
        fs::write(&path, bytes).unwrap();
        let file = ImageFile::open(&path).unwrap();
        let key = PlanKey::new(&file, &Image::parse(file.bytes()).unwrap(), None);
        key.bytes()[key.bytes().len() - 4..].to_vec()
    };
    let before = key(&bytes);
    assert_eq!(key(&bytes), before);
    bytes[0x4100] ^= 1;
    assert_ne!(key(&bytes), before);
}

#[test]
fn what_this_run_excludes_is_not_what_the_next_one_does() {
    let folder = tempfile::tempdir().unwrap();
    let path = Path::new("/lib/x86_64-linux-gnu/libc.so.6");
    let plan = |cache: &PlanCache, loader_function: Option<RuntimeAddr>, unwanted: &str| {
        let file = LoadedFile { path: path.into(), start: RuntimeAddr(0x10_0000), end: RuntimeAddr(0x40_0000) };
        let unwanted = unwanted.to_owned();
        let exclude = LeftAlone::excluded(move |_, name, _| name == Some(&unwanted));
        PlannedImage::plan(file, cache, &DebugFiles::default(), loader_function, &exclude, |_, _| false).unwrap()
    };
    let fresh = plan(&PlanCache::new(None), None, "");
    let index = |name| fresh.functions.find(name).unwrap();
    let qsort = Some(fresh.functions.functions()[index("qsort")].start.at_bias(0x10_0000));

    let cache = PlanCache::new(Some(folder.path().into()));
    let first = plan(&cache, qsort, "malloc");
    cache.write_kept();
    assert_eq!(first.verdicts[index("malloc")], Verdict::Skipped(SkipReason::Excluded));
    assert_eq!(first.verdicts[index("qsort")], Verdict::Skipped(SkipReason::LoaderNotification));
    assert_eq!(first.plans.len(), fresh.plans.len() - 2);
    assert_eq!(first.originals.len(), first.plans.len());

    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    let second = plan(&cache, None, "free");
    assert_eq!(second.verdicts[index("malloc")], fresh.verdicts[index("malloc")]);
    assert_eq!(second.verdicts[index("qsort")], fresh.verdicts[index("qsort")]);
    assert_eq!(second.verdicts[index("free")], Verdict::Skipped(SkipReason::Excluded));
    assert_eq!(second.plans.len(), fresh.plans.len() - 1);
    assert_eq!(plan(&cache, None, "").plans, fresh.plans);
}

#[test]
fn what_is_left_alone_has_no_exits_either() {
    let path = Path::new("/lib/x86_64-linux-gnu/libc.so.6");
    let plan = |excluded: fn(Option<&str>) -> bool| {
        let file = LoadedFile { path: path.into(), start: RuntimeAddr(0x10_0000), end: RuntimeAddr(0x40_0000) };
        let exclude = LeftAlone::excluded(move |_, name, _| excluded(name));
        PlannedImage::plan(file, &PlanCache::new(None), &DebugFiles::default(), None, &exclude, |_, _| false).unwrap()
    };
    let all = plan(|_| false);
    assert!(all.exits.iter().any(|(exit, _)| exit.is_shared), "functions share exits");
    assert!(all.exits.is_sorted_by(|one, other| one.0.at != other.0.at), "each is there once");
    let none = plan(|_| true);
    assert_eq!((none.plans.len(), none.exits.len()), (0, 0));
    let one = plan(|name| name != Some("qsort"));
    assert!(one.exits.iter().all(|(exit, _)| one.functions.name(exit.function as usize) == Some("qsort")));
}
