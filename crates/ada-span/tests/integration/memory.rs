//! A process whose trace is in memory.

use ada_event::{DetailSeq, Event, EventKind, EventSeq, FunctionId, ThreadId, TraceNanos};
use ada_format::atf::EventVisitor;
use ada_span::table::Tables;
use ada_span::{
    DetailSource, EventDetail, FunctionTraits, ProcessSource, ReplayOptions, ThreadIndex, ThreadInfo, analyze,
};

/// Threads with their events, and detail by position.
#[derive(Default)]
pub(crate) struct InMemory {
    pub(crate) threads: Vec<MemoryThread>,
}

#[derive(Default)]
pub(crate) struct MemoryThread {
    pub(crate) info: ThreadInfo,
    pub(crate) events: Vec<Event>,
    /// Times of the first events after losses.
    pub(crate) losses: Vec<TraceNanos>,
    /// Of calls with their functions.
    pub(crate) details: Vec<(EventDetail, Option<FunctionId>)>,
}

impl MemoryThread {
    pub(crate) fn new(id: u32, events: Vec<Event>) -> Self {
        let info = ThreadInfo { id: ThreadId(id), events: events.len() as u64, ..ThreadInfo::default() };
        Self { info, events, losses: Vec::new(), details: Vec::new() }
    }

    /// Gives an event registers and words.
    pub(crate) fn detail(&mut self, seq: usize, registers: [u64; 6], words: &[u64]) {
        let is_call = self.events[seq].kind == EventKind::CALL;
        let called = is_call.then_some(self.events[seq].function);
        self.events[seq].detail = DetailSeq(self.details.len() as u32);
        self.details.push((EventDetail { registers, words: words.to_vec() }, called));
    }
}

impl ProcessSource for InMemory {
    fn threads(&self) -> Vec<ThreadInfo> {
        self.threads.iter().map(|thread| thread.info).collect()
    }

    fn visit(&self, thread: ThreadIndex, _: bool, visitor: &mut impl EventVisitor) {
        for (chunk, first) in self.threads[thread.as_usize()].events.chunks(1000).zip((0..).step_by(1000)) {
            visitor.begin(EventSeq(first), chunk.len() as u64);
            chunk.iter().for_each(|event| visitor.event(*event));
        }
    }

    fn details(&self, thread: ThreadIndex) -> Option<Box<dyn DetailSource + '_>> {
        let thread = &self.threads[thread.as_usize()];
        (!thread.details.is_empty()).then(|| Box::new(Details(thread)) as Box<dyn DetailSource>)
    }

    fn losses(&self, thread: ThreadIndex) -> Vec<TraceNanos> {
        self.threads[thread.as_usize()].losses.clone()
    }

    fn event_detail(&self, thread: ThreadIndex, seq: EventSeq) -> Option<EventDetail> {
        let thread = &self.threads[thread.as_usize()];
        Details(thread).detail(thread.events.get(seq.0 as usize)?.detail)
    }
}

struct Details<'a>(&'a MemoryThread);

impl DetailSource for Details<'_> {
    fn detail(&mut self, seq: DetailSeq) -> Option<EventDetail> {
        self.0.details.get(seq.get()? as usize).map(|(detail, _)| detail.clone())
    }

    fn count(&self) -> u64 {
        self.0.details.len() as u64
    }

    fn all_arguments(&self, each: &mut dyn FnMut(FunctionId, &[u64])) {
        for (detail, called) in &self.0.details {
            if let Some(function) = *called {
                each(function, &detail.registers);
                each(function, &detail.words);
            }
        }
    }
}

/// Analyses a process; the tables go away with the folder.
pub(crate) fn tables_of(
    source: &InMemory,
    traits: &FunctionTraits,
    options: ReplayOptions,
) -> (tempfile::TempDir, Tables) {
    let folder = tempfile::tempdir().unwrap();
    let tables = analyze(source, traits, &options, 7, folder.path(), &|_| ()).unwrap();
    (folder, tables)
}
