//! Which functions may be counted instead of recorded, or lose their hooks.

use ada_event::{FunctionId, ImageOffset};
use ada_image::FunctionTable;
use ada_patch::Verdict;

use crate::plan::captured_functions::CapturedFunctions;
use crate::plan::module::Module;
use crate::plan::probes;

/// Whether a function may be: it is hooked, and the analysis does not live on it.
pub(crate) fn is_switchable(module: &Module, index: usize) -> bool {
    is_switchable_in(&module.functions, &module.verdicts, &module.captured, index)
}

/// The functions that start at these places, and that may be before anybody has seen what they do.
pub(crate) fn switchable_at(module: &Module, starts: impl IntoIterator<Item = u64>) -> Vec<FunctionId> {
    let indexes = switchable_indexes(&module.functions, &module.verdicts, &module.captured, starts);
    indexes.map(|index| FunctionId::new(module.id, index as u32)).collect()
}

/// The same of an image, by number. Nobody wants their values.
pub(crate) fn switchable_indexes(
    functions: &FunctionTable,
    verdicts: &[Verdict],
    captured: &CapturedFunctions,
    starts: impl IntoIterator<Item = u64>,
) -> impl Iterator<Item = usize> {
    let indexes = starts.into_iter().filter_map(|start| functions.index_at(ImageOffset(start)));
    indexes.filter(|index| is_switchable_in(functions, verdicts, captured, *index) && captured.probed(*index).is_none())
}

fn is_switchable_in(
    functions: &FunctionTable,
    verdicts: &[Verdict],
    captured: &CapturedFunctions,
    index: usize,
) -> bool {
    !matches!(verdicts.get(index), None | Some(Verdict::Skipped(_)))
        && !probes::is_vital(functions, index)
        && !captured.ends_tasks(index)
}
