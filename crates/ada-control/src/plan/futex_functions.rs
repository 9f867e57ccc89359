//! Nameless functions of a C library that wait for others or wake them, found by their code.

use std::collections::BTreeMap;
use std::path::Path;

use ada_image::{FunctionTable, Image};
use ada_patch::FutexCall;

use crate::plan::captured_functions::FutexFunction;
use crate::plan::image_file::ImageFile;
use crate::plan::probes;

/// A program or library that has this has locks, and with them the functions that wait for locks.
const HAS_LOCKS: &str = "pthread_mutex_lock";

/// Those of a file, by index, with their probes.
pub(super) fn futex_functions(path: &Path, functions: &FunctionTable) -> BTreeMap<usize, FutexFunction> {
    let probed = |(index, call)| {
        let (probe, name) = probes::of_futex_call(call);
        Some((index, FutexFunction { probe: probe?, name }))
    };
    futex_calls(path, functions).into_iter().filter_map(probed).collect()
}

fn futex_calls(path: &Path, functions: &FunctionTable) -> BTreeMap<usize, FutexCall> {
    if functions.find(HAS_LOCKS).is_none() {
        return BTreeMap::new();
    }
    let Ok(file) = ImageFile::open(path) else { return BTreeMap::new() };
    let Ok(image) = Image::parse(file.bytes()) else { return BTreeMap::new() };
    let call_of = |index: usize| {
        let start = functions.functions()[index].start;
        ada_patch::futex_call(image.code_range_at(start)?.bytes_from(start)?)
    };
    let nameless = (0..functions.len()).filter(|index| functions.name(*index).is_none());
    nameless.filter_map(|index| Some((index, call_of(index)?))).collect()
}

#[cfg(test)]
mod tests {
    use ada_image::UnwindTable;

    use super::*;

    /// The C library without its debug file, as most machines have it.
    #[test]
    fn a_stripped_library_has_some_of_both() {
        let path = Path::new("/lib/x86_64-linux-gnu/libc.so.6");
        let file = ImageFile::open(path).unwrap();
        let image = Image::parse(file.bytes()).unwrap();
        let functions = FunctionTable::discover(&image, &UnwindTable::parse(&image), &[]);
        let found = futex_calls(path, &functions);
        for call in [FutexCall::Wait, FutexCall::Wake] {
            assert!(found.values().any(|it| *it == call), "{found:?}");
        }
        assert!(found.len() < 12, "{found:?}");
        // A library without locks has none.
        let path = Path::new("/lib64/ld-linux-x86-64.so.2");
        let file = ImageFile::open(path).unwrap();
        let image = Image::parse(file.bytes()).unwrap();
        let functions = FunctionTable::discover(&image, &UnwindTable::parse(&image), &[]);
        assert!(futex_calls(path, &functions).is_empty());
    }
}
