//! Goroutines that cannot be told apart, or are not followed any more.

use ada_span::Role;
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

    /// Says so where the steps of goroutines are not recorded from some time on.
    pub fn unfollowed_goroutines(&self, process: &TraceProcess) -> Option<String> {
        let manifest = self.manifest(process)?;
        let is_step = |name: &str| Role::of(name).is_step_of_goroutine();
        let switched = manifest.switches.iter().filter(|it| process.names.raw(it.function_id).is_some_and(is_step));
        let first = switched.min_by_key(|it| it.from_ns)?;
        Some(format!(
            "Go: goroutines were followed for {:.1} s; from then on their scheduler was not recorded ({}), and nothing is known of \
             what ran, waited or ended later",
            first.from_ns.since(manifest.time_start_ns) as f64 / 1e9,
            first.why
        ))
    }
}
