//! What a session cannot tell because a runtime lacks functions that other versions of it have.

use ada_patch::Verdict;

use super::{RUNTIMES, Runtime};
use crate::module::Module;

/// A sentence for each thing that cannot be told of the runtimes that a program has.
pub(crate) fn limits(modules: &[Module]) -> Vec<String> {
    RUNTIMES.iter().flat_map(|runtime| missing(runtime, |name| find(modules, name))).collect()
}

/// What is known of a function.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Found {
    Nowhere,
    NotHooked,
    Hooked,
}

fn find(modules: &[Module], name: &str) -> Found {
    let verdicts = modules.iter().filter_map(|module| Some(module.verdicts[module.functions.find(name)?]));
    verdicts.fold(Found::Nowhere, |found, verdict| match verdict {
        _ if found == Found::Hooked => found,
        Verdict::Skipped(_) => Found::NotHooked,
        _ => Found::Hooked,
    })
}

fn missing(runtime: &Runtime, find: impl Fn(&str) -> Found) -> Vec<String> {
    if runtime.marks.iter().all(|name| find(name) == Found::Nowhere) {
        return Vec::new();
    }
    let lacks = runtime.needs.iter().filter(|(names, _)| names.iter().all(|name| find(name) != Found::Hooked));
    let sentence = |(names, loss): &(&[&str], &str)| {
        let why =
            if names.iter().any(|name| find(name) == Found::NotHooked) { "cannot be hooked" } else { "is missing" };
        format!("{}: {} {why}: {loss}", runtime.name, names.join(" or "))
    };
    lacks.map(sentence).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::probes::swift;

    #[test]
    fn programs_without_the_runtime_have_no_limits() {
        assert!(missing(&swift::RUNTIME, |_| Found::Nowhere).is_empty());
        assert!(missing(&swift::RUNTIME, |_| Found::Hooked).is_empty());
    }

    #[test]
    fn what_is_missing_is_told_with_its_loss() {
        let told = missing(&swift::RUNTIME, |name| match name {
            "swift_task_cancel" => Found::Nowhere,
            "swift_task_enqueue" => Found::NotHooked,
            // One of two that do the same is enough.
            "swift_task_create" => Found::Nowhere,
            _ => Found::Hooked,
        });
        assert_eq!(
            told,
            [
                "Swift concurrency: swift_task_enqueue cannot be hooked: when a waiting task became ready to run is not known",
                "Swift concurrency: swift_task_cancel is missing: cancellations are not seen",
            ]
        );
    }
}
