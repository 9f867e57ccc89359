//! Goroutines that cannot be told apart.

use ada_span::task::TaskRuntime;

use super::{Trace, TraceProcess};

/// Go's scheduler calls it whenever a goroutine runs.
const RUNS: &str = "runtime.execute";

impl Trace {
    /// Says so where goroutines ran in a process, and none is known by its number.
    pub fn unknown_goroutines(&self, process: &TraceProcess) -> Option<String> {
        let meta = process.tables.meta();
        let is_known = meta.tasks.iter().any(|task| task.runtime() == TaskRuntime::Go);
        let ran = || meta.functions.iter().any(|it| process.names.raw(it.function) == Some(RUNS));
        let modules = || self.manifest(process).into_iter().flat_map(|manifest| &manifest.modules);
        (!is_known && ran()).then(|| {
            let version = modules().find_map(|module| module.go_version.as_deref());
            format!(
                "Go: no spans of goroutines: their numbers were not recorded, or are not where known versions of Go have \
                 them (this is {})",
                version.unwrap_or("an unknown one")
            )
        })
    }
}
