//! Where tasks run: actors and other executors, by their types.
//!
//! The runtime names an executor by two words: its identity, which is an address, and its implementation. The pool has no
//! identity. An actor that runs its tasks itself has no implementation: its type is read when it is made. Of an executor of the
//! program's own the implementation is its conformance to `SerialExecutor`; the function that the runtime calls by it, to
//! hand over a task, bears the type's name.

use std::collections::HashMap;

use ada_event::{FunctionId, RuntimeAddr, TraceNanos};

use super::type_name::TypeName;
use crate::NONE;
use crate::concurrency::{LogicalCall, Losses, Text};
use crate::task::{ExecutorEntry, ExecutorKind};
use crate::text_table::TextTable;
use crate::thread_index::ThreadIndex;

/// In an implementation: bits that are no part of its address.
const FLAGS: u64 = 7;

/// An executor as the runtime names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Key {
    identity: u64,
    implementation: u64,
}

/// A call that hands a task over to an executor.
#[derive(Clone, Copy)]
struct Handover {
    executor: u32,
    until: Option<TraceNanos>,
}

#[derive(Default)]
pub(crate) struct Executors {
    entries: Vec<ExecutorEntry>,
    types: Vec<Option<TypeName>>,
    by_key: HashMap<Key, u32>,
    handovers: HashMap<ThreadIndex, Handover>,
    /// The executors of the main thread.
    main: Vec<u64>,
}

impl Executors {
    fn add(&mut self, key: Key, entry: ExecutorEntry, name: Option<TypeName>) -> u32 {
        let index = self.entries.len() as u32;
        self.entries.push(ExecutorEntry { address: RuntimeAddr(key.identity), number: 0, ..entry });
        self.types.push(name);
        self.by_key.insert(key, index);
        index
    }

    /// The executor that two words stand for at a time; none where they are not known.
    pub(crate) fn at(
        &mut self,
        [identity, implementation]: [u64; 2],
        time: TraceNanos,
        losses: &Losses,
    ) -> Option<u32> {
        if identity == NONE || implementation == NONE {
            return None;
        }
        let kind = match (identity, implementation & !FLAGS) {
            (0, _) => ExecutorKind::Pool,
            (_, 0) => ExecutorKind::Actor,
            _ => ExecutorKind::Custom,
        };
        let implementation = if kind == ExecutorKind::Pool { 0 } else { implementation & !FLAGS };
        let key = Key { identity, implementation };
        // Where events are missing since an actor was made, another one may be there by now.
        let is_same =
            |index: u32| self.entries[index as usize].create_time.is_none_or(|made| !losses.between(made, time));
        let known = self.by_key.get(&key).copied().filter(|index| is_same(*index));
        let entry = || ExecutorEntry { kind: kind as u64, ..ExecutorEntry::default() };
        Some(known.unwrap_or_else(|| self.add(key, entry(), None)))
    }

    /// An actor is made. One that had its address before is gone.
    pub(crate) fn made(&mut self, call: &LogicalCall, labels: &[Text]) {
        let identity = call.arguments[0];
        if identity != NONE {
            let name = call.label.and_then(|label| labels.get(label as usize)).and_then(TypeName::of);
            let kind = ExecutorKind::Actor as u64;
            let entry = ExecutorEntry { kind, create_time: Some(call.time), ..ExecutorEntry::default() };
            self.add(Key { identity, implementation: 0 }, entry, name);
        }
    }

    /// Somebody has asked for the main thread's executor.
    pub(crate) fn is_main(&mut self, identity: u64) {
        if identity != NONE && !self.main.contains(&identity) {
            self.main.push(identity);
        }
    }

    /// A task is handed over to an executor, in this call.
    pub(crate) fn hand_over(&mut self, call: &LogicalCall, executor: Option<u32>) {
        match executor {
            Some(executor) => drop(self.handovers.insert(call.thread, Handover { executor, until: call.end })),
            None => drop(self.handovers.remove(&call.thread)),
        }
    }

    /// The program's own function is called, that takes a task over.
    pub(crate) fn taken_over(&mut self, call: &LogicalCall) {
        let Some(handover) = self.handovers.remove(&call.thread) else { return };
        let entry = &mut self.entries[handover.executor as usize];
        if handover.until.is_none_or(|end| call.time < end) && entry.kind() == ExecutorKind::Custom {
            entry.witness = Some(call.function);
        }
    }

    /// Numbers those that are of one type, and gives the table.
    pub(crate) fn finish(mut self, texts: &mut TextTable) -> Vec<ExecutorEntry> {
        let mut by_type: HashMap<(Option<TypeName>, Option<FunctionId>), Vec<usize>> = HashMap::new();
        for (index, (entry, name)) in self.entries.iter_mut().zip(self.types).enumerate() {
            if self.main.contains(&entry.address.0) && entry.create_time.is_none() {
                *entry = ExecutorEntry { kind: ExecutorKind::Main as u64, witness: None, ..*entry };
                continue;
            }
            entry.type_name = texts.number_if(name.as_ref().map(|it| it.name.as_str()));
            entry.module = texts.number_if(name.as_ref().and_then(|it| it.module.as_deref()));
            if name.is_some() || entry.witness.is_some() {
                by_type.entry((name, entry.witness)).or_default().push(index);
            }
        }
        for alike in by_type.values().filter(|alike| alike.len() > 1) {
            (1..).zip(alike).for_each(|(number, &index)| self.entries[index].number = number);
        }
        self.entries
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::role::{Role, SwiftCall};

    fn call(thread: u32, time: u64, first: u64) -> LogicalCall {
        let mut call = LogicalCall::at(Role::Swift(SwiftCall::ActorMade), thread, time);
        call.arguments[0] = first;
        call
    }

    fn names(entries: &[ExecutorEntry], texts: &TextTable) -> Vec<(String, u64)> {
        let text = |entry: &ExecutorEntry| texts.texts.get(entry.type_name as usize).cloned().unwrap_or_default();
        entries.iter().map(|entry| (text(entry), entry.number)).collect()
    }

    #[test]
    fn actors_of_one_type_are_numbered_as_they_are_made() {
        let labels = [b"\0Bank\0app\0".to_vec(), b"\0Vault\0app\0".to_vec()];
        let labels = labels.map(|bytes| Text { bytes, is_cut: false });
        let mut executors = Executors::default();
        for (time, address, label) in [(1, 0x10, 0), (2, 0x20, 1), (3, 0x30, 0), (4, 0x20, 0)] {
            executors.made(&LogicalCall { label: Some(label), ..call(0, time, address) }, &labels);
        }
        // The one that is at the address now.
        let mut at = |identity| executors.at([identity, 0], TraceNanos(9), &Losses::default());
        assert_eq!((at(0x20), at(0x10), at(NONE)), (Some(3), Some(0), None));
        assert_eq!((at(0x40), at(0x40), at(0)), (Some(4), Some(4), Some(5)));
        let mut texts = TextTable::default();
        let entries = executors.finish(&mut texts);
        let bank = |number| ("Bank".to_owned(), number);
        let expected = [bank(1), ("Vault".to_owned(), 0), bank(2), bank(3), (String::new(), 0), (String::new(), 0)];
        assert_eq!(names(&entries, &texts), expected);
        assert_eq!(entries[5].kind(), ExecutorKind::Pool);
    }

    #[test]
    fn an_actor_is_not_known_any_more_where_its_end_may_be_missing() {
        let mut executors = Executors::default();
        let labels = [Text { bytes: b"\0Bank\0app\0".to_vec(), is_cut: false }];
        executors.made(&LogicalCall { label: Some(0), ..call(0, 5, 0x10) }, &labels);
        let losses = Losses::new(vec![(TraceNanos(10), TraceNanos(20))]);
        let mut at = |time| executors.at([0x10, 0], TraceNanos(time), &losses);
        assert_eq!((at(9), at(30), at(40)), (Some(0), Some(1), Some(1)));
        assert_eq!(executors.finish(&mut TextTable::default())[1].type_name, NONE);
    }

    #[test]
    fn an_executor_of_the_program_is_named_by_the_function_that_takes_tasks_over() {
        let mut executors = Executors::default();
        let mut at = |words| executors.at(words, TraceNanos(1), &Losses::default());
        let (own, main) = (at([0x10, 0x1001]), at([0x20, 0x2000]));
        executors.is_main(0x20);
        let taken = |time| LogicalCall { function: FunctionId(7), ..call(0, time, NONE) };
        executors.hand_over(&LogicalCall { end: Some(TraceNanos(9)), ..call(0, 5, NONE) }, own);
        // On another thread, and after the call: nothing is known by these.
        executors.taken_over(&LogicalCall { thread: ThreadIndex(1), ..taken(6) });
        executors.taken_over(&taken(10));
        assert_eq!(executors.entries[0].witness, None);
        executors.hand_over(&call(0, 11, NONE), own);
        executors.taken_over(&taken(12));
        executors.hand_over(&call(0, 13, NONE), main);
        executors.taken_over(&taken(14));
        let entries = executors.finish(&mut TextTable::default());
        assert_eq!((entries[0].kind(), entries[0].witness), (ExecutorKind::Custom, Some(FunctionId(7))));
        assert_eq!((entries[1].kind(), entries[1].witness), (ExecutorKind::Main, None));
    }
}
