//! The functions without names by which Swift's tasks end, found by the code that puts their addresses into new tasks.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use ada_event::ImageOffset;
use ada_image::{FunctionTable, Image};
use ada_patch::ErrorUse;

use crate::plan::image_file::ImageFile;
use crate::plan::probes;

/// The runtime's functions that make tasks: one calls the other.
const CREATORS: [&str; 2] = ["swift_task_create_common", "swift_task_create"];

/// Those of a file, by index, with their probe.
pub(super) fn task_completions(path: &Path, functions: &FunctionTable) -> BTreeMap<usize, u32> {
    let Some(probe) = probes::of_task_completion() else { return BTreeMap::new() };
    completions(path, functions).into_iter().map(|index| (index, probe)).collect()
}

/// Those that are called with what their task has thrown. Others, whose tasks cannot throw, are not among them: what is in
/// their registers means nothing.
fn completions(path: &Path, functions: &FunctionTable) -> BTreeSet<usize> {
    let creators: Vec<usize> = CREATORS.iter().filter_map(|name| functions.find(name)).collect();
    if creators.is_empty() {
        return BTreeSet::new();
    }
    let Ok(file) = ImageFile::open(path) else { return BTreeSet::new() };
    let Ok(image) = Image::parse(file.bytes()) else { return BTreeSet::new() };
    let code_of = |index: usize| {
        let function = functions.functions().get(index)?;
        let code = image.code_range_at(function.start)?.bytes_from(function.start)?;
        Some((&code[..code.len().min(usize::try_from(function.size).ok()?)], function.start))
    };
    let index_at = |start: ImageOffset| functions.functions().binary_search_by_key(&start, |it| it.start).ok();
    let keeps_error = |index: usize| {
        let error_use = |index: usize| code_of(index).and_then(|(code, start)| ada_patch::error_use(code, start));
        match error_use(index) {
            Some(ErrorUse::PassedTo(next)) => index_at(next).and_then(error_use) == Some(ErrorUse::Kept),
            found => found == Some(ErrorUse::Kept),
        }
    };
    let made = creators.into_iter().filter_map(code_of);
    let taken = made.flat_map(|(code, start)| ada_patch::addresses_taken(code, start));
    taken.filter_map(index_at).filter(|&index| keeps_error(index)).collect()
}
