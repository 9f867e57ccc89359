//! What a session lacks because a runtime lacks functions that other versions of it have.

use std::collections::HashSet;
use std::sync::Arc;

use ada_image::Image;
use ada_patch::Verdict;

use crate::plan::image_file::ImageFile;
use crate::plan::module::Module;
use crate::plan::probes::{RUNTIMES, Runtime};

const NAMELESS_SWIFT: &str = "Swift concurrency: the runtime is inside the program, without names: tasks and blocks, if \
                              it has any, are not recorded; trace a program that is not stripped";

/// A sentence for each thing that cannot be known of the runtimes that a program has.
pub(crate) fn limits(modules: &[Module]) -> Vec<String> {
    // What many programs have loaded is looked at once.
    let mut seen = HashSet::new();
    let is_first = |module: &&Module| seen.insert((Arc::as_ptr(&module.functions), Arc::as_ptr(&module.verdicts)));
    let modules: Vec<&Module> = modules.iter().filter(is_first).collect();
    let modules = modules.as_slice();
    let is_linked_in = |runtime: &Runtime| {
        let has = |module: &&Module| runtime.marks.iter().any(|name| module.functions.find(name).is_some());
        modules.iter().copied().find(has).is_some_and(|module| !is_library(&module.file.path))
    };
    let mut limits: Vec<String> =
        RUNTIMES.iter().flat_map(|it| missing(it, is_linked_in(it), |name| find(modules, name))).collect();
    limits.extend(has_nameless_swift(modules).then(|| NAMELESS_SWIFT.to_owned()));
    limits
}

/// Whether there is a program in Swift with the runtime inside and without the names that probes are found by.
fn has_nameless_swift(modules: &[&Module]) -> bool {
    let has = |name: &str| modules.iter().any(|module| module.functions.find(name).is_some());
    // Every program in Swift counts references.
    !has("swift_retain") && modules.iter().any(|module| !is_library(&module.file.path) && uses_swift(module))
}

fn uses_swift(module: &Module) -> bool {
    let Ok(file) = ImageFile::open(&module.file.path) else { return false };
    Image::parse(file.bytes()).is_ok_and(|image| image.uses_swift())
}

/// Whether a file is a shared library, by its name.
fn is_library(path: &std::path::Path) -> bool {
    path.file_name().is_some_and(|name| name.to_string_lossy().contains(".so"))
}

/// What is known of a function.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Found {
    Nowhere,
    NotHooked,
    Hooked,
}

fn find(modules: &[&Module], name: &str) -> Found {
    let verdicts = modules.iter().filter_map(|module| Some(module.verdicts[module.functions.find(name)?]));
    verdicts.fold(Found::Nowhere, |found, verdict| match verdict {
        _ if found == Found::Hooked => found,
        Verdict::Skipped(_) => Found::NotHooked,
        _ => Found::Hooked,
    })
}

/// Of a runtime that is linked into the program, the linker takes only what the program uses: then what is missing
/// without being vital is not reported.
fn missing(runtime: &Runtime, is_linked_in: bool, find: impl Fn(&str) -> Found) -> Vec<String> {
    if runtime.marks.iter().all(|name| find(name) == Found::Nowhere) {
        return Vec::new();
    }
    let is_unused = |names: &[&str]| {
        is_linked_in && names.iter().all(|name| find(name) == Found::Nowhere && !runtime.vital.contains(name))
    };
    let lacks = runtime
        .needs
        .iter()
        .filter(|(names, _)| names.iter().all(|name| find(name) != Found::Hooked) && !is_unused(names));
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
    use crate::plan::probes::swift;

    #[test]
    fn programs_without_the_runtime_have_no_limits() {
        assert!(missing(&swift::RUNTIME, false, |_| Found::Nowhere).is_empty());
        assert!(missing(&swift::RUNTIME, false, |_| Found::Hooked).is_empty());
    }

    #[test]
    fn what_is_missing_is_reported_with_its_loss() {
        let find = |name: &str| match name {
            "swift_task_cancel" => Found::Nowhere,
            "swift_task_enqueue" => Found::NotHooked,
            // One of two that do the same is enough.
            "swift_task_create" => Found::Nowhere,
            _ => Found::Hooked,
        };
        // A program that never cancels does not take the function that does.
        assert_eq!(missing(&swift::RUNTIME, true, find).len(), 1);
        let found = missing(&swift::RUNTIME, false, find);
        assert_eq!(
            found,
            [
                "Swift concurrency: swift_task_enqueue cannot be hooked: when a waiting task became ready to run is not known",
                "Swift concurrency: swift_task_cancel is missing: cancellations are not seen",
            ]
        );
    }
}
