//! A process of a session, as the analysis reads it.

use std::collections::HashMap;
use std::ops::Range;

use ada_event::{EventSeq, FunctionId, ModuleId, ProcessId, ThreadId, TraceNanos};
use ada_format::atf::{EventVisitor, Process, ThreadEntry, ThreadTrace, read_shared_memory};

use super::details::{SessionDetails, to_detail};
use crate::detail::{DetailSource, EventDetail};
use crate::source::{ProcessSource, ThreadInfo};
use crate::thread_index::ThreadIndex;

/// A process of a session.
pub struct ProcessTrace<'a>(pub &'a Process);

impl ProcessSource for ProcessTrace<'_> {
    fn threads(&self) -> Vec<ThreadInfo> {
        let manifest = self.0.manifest.as_ref();
        let listed: HashMap<ThreadId, &ThreadEntry> =
            manifest.iter().flat_map(|manifest| &manifest.threads).map(|entry| (entry.id, entry)).collect();
        let first = self.0.threads.iter().find(|thread| Some(thread.id()) == self.0.pid.map(ProcessId::first_thread));
        // A fork's child keeps the id of the thread that forked; a trace from elsewhere may have any.
        // What a ring has kept may have no event of the first one.
        let is_cut = manifest.and_then(|it| it.ring.as_ref()).is_some_and(|ring| ring.let_go_events > 0);
        let earliest = || self.0.threads.iter().filter(|_| !is_cut).min_by_key(|thread| first_time(thread));
        let first = first.or_else(earliest);
        let to_info = |thread: &ThreadTrace| {
            let entry = listed.get(&thread.id());
            ThreadInfo {
                id: thread.id(),
                events: thread.event_count(),
                handle: entry.and_then(|entry| entry.handle).map(|handle| handle.0),
                tid: entry.and_then(|entry| entry.tid),
                name: entry.and_then(|entry| entry.name.as_deref()).map(name_words),
                exit_value: entry.and_then(|entry| entry.exit_value).map(|value| value.0),
                is_attached: manifest.is_some_and(|manifest| manifest.attached),
                is_first: first.is_some_and(|first| first.id() == thread.id()),
            }
        };
        self.0.threads.iter().map(to_info).collect()
    }

    fn shared_memory(&self) -> Vec<(Range<u64>, bool)> {
        read_shared_memory(&self.0.path).into_iter().map(|seen| (seen.range, !seen.file.is_empty())).collect()
    }

    fn visit(&self, thread: ThreadIndex, has_processor: bool, visitor: &mut impl EventVisitor) {
        self.0.threads[thread.as_usize()].visit(has_processor, visitor);
    }

    fn details(&self, thread: ThreadIndex) -> Option<Box<dyn DetailSource + '_>> {
        SessionDetails::of(&self.0.threads[thread.as_usize()]).map(|details| Box::new(details) as Box<dyn DetailSource>)
    }

    fn losses(&self, thread: ThreadIndex) -> Vec<TraceNanos> {
        let id = self.0.threads[thread.as_usize()].id();
        let gaps = self.0.manifest.iter().flat_map(|manifest| &manifest.gaps);
        let losses = gaps.filter(|gap| gap.thread == id && gap.lost > 0);
        let mut times: Vec<TraceNanos> = losses.map(|gap| gap.time_ns).collect();
        times.sort_unstable();
        times
    }

    fn open_calls(&self, thread: ThreadIndex) -> Vec<FunctionId> {
        let id = self.0.threads[thread.as_usize()].id();
        let calls = self.0.manifest.iter().flat_map(|manifest| &manifest.open_calls).find(|calls| calls.tid == id);
        calls.iter().flat_map(|calls| &calls.functions).filter_map(|function| parse_function(function)).collect()
    }

    fn event_detail(&self, thread: ThreadIndex, seq: EventSeq) -> Option<EventDetail> {
        let thread = &self.0.threads[thread.as_usize()];
        let event = thread.index().event(seq)?;
        to_detail(&thread.detail()?.record(event.detail)?.get())
    }
}

/// A function as the manifest has it: `module:symbol`.
fn parse_function(text: &str) -> Option<FunctionId> {
    let (module, symbol) = text.split_once(':')?;
    Some(FunctionId::new(ModuleId(module.parse().ok()?), symbol.parse().ok()?))
}

fn first_time(thread: &ThreadTrace) -> TraceNanos {
    thread.index().event(EventSeq(0)).map_or(TraceNanos::MAX, |event| event.timestamp)
}

/// A name in the words that a span has it in.
fn name_words(name: &str) -> [u64; 2] {
    let mut bytes = [0; 16];
    bytes.iter_mut().zip(name.bytes()).for_each(|(to, from)| *to = from);
    let (low, high) = bytes.split_at(8);
    [low, high].map(|half| u64::from_le_bytes(half.try_into().expect("eight bytes")))
}
