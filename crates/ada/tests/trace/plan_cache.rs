//! Plans that are kept between starts.

use std::fs;
use std::path::{Path, PathBuf};

use ada_format::atf::FunctionRow;
use tempfile::TempDir;

use super::program::Program;
use super::tracing::Tracing;

/// A cache of its own for a test.
struct Cache {
    folder: TempDir,
}

impl Cache {
    fn new() -> Self {
        Self { folder: tempfile::tempdir().unwrap() }
    }

    fn recursion(&self) -> Tracing {
        let folder = self.folder.path().to_str().unwrap();
        Tracing::new(&Program::new("recursion.c")).environment("ADA_CACHE_DIR", folder)
    }

    /// Traces the program, and gives what the session says of each image's functions.
    fn trace(&self) -> Vec<(String, Vec<FunctionRow>)> {
        let traced = self.recursion().check();
        traced.recorded.assert_balanced("fib", 1973);
        let modules = traced.recorded.process().modules.iter();
        modules.map(|module| (module.path.clone(), module.functions.clone())).collect()
    }

    fn plans(&self) -> Vec<PathBuf> {
        let mut plans: Vec<PathBuf> =
            fs::read_dir(self.folder.path().join("plans")).unwrap().map(|entry| entry.unwrap().path()).collect();
        plans.sort();
        plans
    }
}

fn bytes_of(plans: &[PathBuf]) -> Vec<Vec<u8>> {
    plans.iter().map(|plan| fs::read(plan).unwrap()).collect()
}

fn inode(path: &Path) -> u64 {
    std::os::unix::fs::MetadataExt::ino(&fs::metadata(path).unwrap())
}

#[test]
fn a_second_start_is_like_the_first_and_plans_nothing() {
    let cache = Cache::new();
    let first = cache.trace();
    let plans = cache.plans();
    assert_eq!(plans.len(), first.len(), "a plan for each image");
    let before: Vec<u64> = plans.iter().map(|plan| inode(plan)).collect();
    assert_eq!(cache.trace(), first);
    // What is planned again is written again, to a new file.
    assert_eq!(cache.plans().iter().map(|plan| inode(plan)).collect::<Vec<_>>(), before);
}

#[test]
fn damaged_plans_are_made_again() {
    let cache = Cache::new();
    let first = cache.trace();
    let plans = cache.plans();
    let good = bytes_of(&plans);
    for damage in [
        |bytes: &mut Vec<u8>| bytes.truncate(bytes.len() / 2),
        |bytes: &mut Vec<u8>| bytes.clear(),
        |bytes: &mut Vec<u8>| {
            let middle = bytes.len() / 2;
            bytes[middle] ^= 1;
        },
    ] {
        for (plan, good) in plans.iter().zip(&good) {
            let mut bytes = good.clone();
            damage(&mut bytes);
            fs::write(plan, bytes).unwrap();
        }
        assert_eq!(cache.trace(), first);
        assert_eq!(bytes_of(&plans), good);
    }
}

#[test]
fn no_plan_is_kept_if_none_is_wanted() {
    let cache = Cache::new();
    cache.recursion().option(&["--no-plan-cache"]).check();
    assert!(!cache.folder.path().join("plans").exists());
}

#[test]
fn a_cache_that_cannot_be_written_does_no_harm() {
    let cache = Cache::new();
    fs::write(cache.folder.path().join("plans"), "a file where a folder should be").unwrap();
    cache.trace();
    cache.trace();
}

#[test]
fn what_one_start_excludes_the_next_one_records() {
    let cache = Cache::new();
    let excluded = cache.recursion().option(&["--exclude", "fib"]).check();
    let counts = excluded.recorded.counts("fib");
    assert_eq!(counts.calls, 0);
    assert_eq!(cache.plans().len(), excluded.recorded.process().modules.len());
    cache.trace();
}
