//! Plans all files that a program has loaded.

use ada_event::RuntimeAddr;
use ada_format::parallel::each_in_parallel;
use ada_image::FunctionTable;
use ada_process::maps::LoadedFile;

use crate::deadline::Deadline;
use crate::plan::debug_files::DebugFiles;
use crate::plan::plan_cache::PlanCache;
use crate::plan::planned_image::{Exclude, PlannedImage};
use crate::plan::probes;

/// Plans files, the largest first, on all processors; `loader_function` is where the loader announces new ones. Files
/// that are not begun by the deadline are not planned.
pub(crate) fn plan_files(
    mut files: Vec<LoadedFile>,
    cache: &PlanCache,
    debug_files: &DebugFiles,
    loader_function: Option<RuntimeAddr>,
    exclude: Exclude<'_>,
    deadline: &Deadline,
) -> Vec<PlannedImage> {
    files.sort_by_key(|file| std::cmp::Reverse(file.end - file.start));
    let is_probed = |functions: &FunctionTable, index| probes::number_of(functions, index).is_some();
    let planned = each_in_parallel(files, |file| {
        let plan = || PlannedImage::plan(file, cache, debug_files, loader_function, exclude, is_probed).ok();
        if deadline.has_passed() { None } else { deadline.work(plan) }
    });
    let mut planned: Vec<PlannedImage> = planned.into_iter().flatten().collect();
    planned.sort_by_key(|image| image.file.start);
    planned
}
