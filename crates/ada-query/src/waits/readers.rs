//! Who read a lock when a wait for it began.

use std::collections::HashMap;

use ada_span::wait::{HoldSpan, WaitKind, WaitSpan};

use super::hides_releases;
use crate::trace::TraceProcess;

/// The times in which locks of a process were certainly read, by the lock, in the order of their starts.
pub struct Readers<'a>(HashMap<u64, Vec<&'a HoldSpan>>);

/// Times that are looked through for those that a moment lies in.
const MANY: usize = 1024;

impl<'a> Readers<'a> {
    /// Those of a process.
    pub fn of_process(process: &'a TraceProcess) -> Self {
        let mut by_lock: HashMap<u64, Vec<&HoldSpan>> = HashMap::new();
        if !hides_releases(process) {
            for hold in process.tables.meta().holds.iter().filter(|hold| hold.is_shared == 1) {
                by_lock.entry(hold.object).or_default().push(hold);
            }
        }
        Self(by_lock)
    }

    /// The ids of the threads that read what was waited for; nothing where none is known.
    pub fn of(&self, process: &TraceProcess, wait: &WaitSpan) -> Option<String> {
        let is_of_thread = wait.kind() == WaitKind::ReadWriteLock && wait.suspension.is_none();
        let holds = self.0.get(&wait.object).filter(|_| is_of_thread)?;
        let begun = &holds[..holds.partition_point(|hold| hold.start <= wait.start)];
        // Who wants to write what it reads itself waits for itself.
        let is_other = |hold: &HoldSpan| hold.thread != wait.thread || wait.holder == Some(hold.thread);
        let had_it = begun.iter().rev().take(MANY).filter(|hold| hold.end >= wait.start && is_other(hold));
        let mut ids: Vec<u32> = had_it.map(|hold| process.thread_id(hold.thread).0).collect();
        ids.sort_unstable();
        ids.dedup();
        let ids: Vec<String> = ids.iter().map(u32::to_string).collect();
        (!ids.is_empty()).then(|| ids.join(", "))
    }
}
