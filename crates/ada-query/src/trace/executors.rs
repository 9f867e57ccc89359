//! Where tasks run, by name; and what they have thrown.

use ada_span::Status;
use ada_span::task::{ExecutorEntry, ExecutorKind, TaskHop, TaskKind, TaskResult, TaskSpan};

use super::{Trace, TraceProcess};

impl TraceProcess {
    /// A text of the tables.
    pub fn text(&self, number: u64) -> Option<&str> {
        self.tables.meta().texts.get(usize::try_from(number).ok()?).map(String::as_str)
    }

    /// From when on a task ran on which executors.
    pub fn hops_of(&self, task: &TaskSpan) -> &[TaskHop] {
        let (first, count) = (task.first_hop as usize, task.hops as usize);
        &self.tables.meta().task_hops[first..first + count]
    }

    /// An executor by its index.
    pub fn executor(&self, index: u64) -> Option<&ExecutorEntry> {
        self.tables.meta().executors.get(usize::try_from(index).ok()?)
    }

    /// What an executor is called: `MainActor`, `pool`, its type with its place among those of that type, or its address.
    pub fn executor_name(&self, executor: &ExecutorEntry) -> String {
        let type_name = match executor.kind() {
            ExecutorKind::Pool => return "pool".to_owned(),
            ExecutorKind::Main => return "MainActor".to_owned(),
            ExecutorKind::Actor => self.text(executor.type_name).map(str::to_owned),
            ExecutorKind::Custom => executor.witness.and_then(|it| conforming_type(&self.names.name(it))),
        };
        match (type_name, executor.number) {
            (None, _) => format!("{:#x}", executor.address),
            (Some(name), 0) => name,
            (Some(name), number) => format!("{name}#{number}"),
        }
    }

    /// The error that a task has thrown, with its case: `Failure.second`.
    pub fn thrown(&self, task: &TaskSpan) -> Option<String> {
        let name = self.text(task.error_type)?;
        Some(self.text(task.error_case).map_or_else(|| name.to_owned(), |case| format!("{name}.{case}")))
    }
}

impl Trace {
    /// The tasks of a process that ended by throwing, and whose results nobody has ever asked for: their indexes. Only those of
    /// which both are certain.
    pub fn ignored_errors(&self, process: &TraceProcess) -> Vec<usize> {
        let is_told =
            |limit: &serde_json::Value| limit.as_str().is_some_and(|it| it.starts_with("Swift concurrency: "));
        let is_blind = self.manifest(process).is_none_or(|manifest| manifest.limits.iter().any(is_told));
        let is_ignored = |task: &TaskSpan| {
            // What groups and `async let` make hands its errors on; what was cancelled was not wanted any more.
            matches!(task.kind(), TaskKind::Unstructured | TaskKind::Detached)
                && task.result() == TaskResult::Threw
                && task.result_requests == 0
                && task.outcome().status == Status::Completed
                && !task.outcome().is_uncertain
        };
        let tasks = process.tables.meta().tasks.iter().enumerate();
        tasks.filter(|(_, task)| !is_blind && is_ignored(task)).map(|(index, _)| index).collect()
    }
}

/// The type in the name of a function by which it conforms to a protocol: `protocol witness for … in conformance app.Type :
/// Swift.SerialExecutor in app`.
fn conforming_type(witness: &str) -> Option<String> {
    let (_, conformance) = witness.split_once(" in conformance ")?;
    let (name, _) = conformance.split_once(" : ")?;
    // Without its module, and without what it is generic over.
    let name = name.split_once('.').map_or(name, |(_, name)| name);
    let name = name.split_once('<').map_or(name, |(name, _)| name);
    (!name.is_empty()).then(|| name.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_conforming_type_is_named_in_its_witness() {
        let of = |name: &str| conforming_type(name);
        let witness =
            "protocol witness for Swift.SerialExecutor.enqueue(__owned Swift.UnownedJob) -> () in conformance ";
        assert_eq!(of(&format!("{witness}app.Queue : Swift.SerialExecutor in app")).as_deref(), Some("Queue"));
        assert_eq!(
            of(&format!("{witness}app.Outer.Queue<A> : Swift.SerialExecutor in app")).as_deref(),
            Some("Outer.Queue")
        );
        assert_eq!((of("main"), of(" in conformance  : ")), (None, None));
    }
}
