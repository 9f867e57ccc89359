//! A process whose trace is in memory, and its tables.

use ada_event::{DetailSeq, Event, EventKind, EventSeq, FunctionId, ModuleId, ThreadId, TraceNanos};
use ada_format::atf::EventVisitor;
use ada_span::table::{Column, Columns, Tables};
use ada_span::{
    DetailSource, EventDetail, FunctionTraits, ProcessSource, ReplayOptions, ThreadIndex, ThreadInfo, analyze,
};
use ada_timeline::Item;

/// Threads with their events.
struct InMemory(Vec<Vec<Event>>);

impl ProcessSource for InMemory {
    fn threads(&self) -> Vec<ThreadInfo> {
        let info = |(id, events): (u32, &Vec<Event>)| ThreadInfo {
            id: ThreadId(id),
            events: events.len() as u64,
            ..ThreadInfo::default()
        };
        (1..).zip(&self.0).map(info).collect()
    }

    fn visit(&self, thread: ThreadIndex, _: bool, visitor: &mut impl EventVisitor) {
        for (chunk, first) in self.0[thread.as_usize()].chunks(1000).zip((0..).step_by(1000)) {
            visitor.begin(EventSeq(first), chunk.len() as u64);
            chunk.iter().for_each(|event| visitor.event(*event));
        }
    }

    fn details(&self, _: ThreadIndex) -> Option<Box<dyn DetailSource + '_>> {
        None
    }

    fn event_detail(&self, _: ThreadIndex, _: EventSeq) -> Option<EventDetail> {
        None
    }
}

/// Numbers that look random and are the same each time.
pub(crate) struct Chance(pub(crate) u64);

impl Chance {
    pub(crate) fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    pub(crate) fn below(&mut self, end: u64) -> u64 {
        self.next() % end.max(1)
    }
}

/// A thread of calls that nest at most 12 deep, with pauses, bursts and exceptions.
pub(crate) fn thread(seed: u64, events: usize) -> Vec<Event> {
    let mut chance = Chance(seed);
    let mut stack: Vec<u32> = Vec::new();
    let mut time = 1_000_000;
    let mut all = Vec::with_capacity(events);
    for remaining in (0..events).rev() {
        time += match chance.below(1000) {
            0 => chance.below(200_000),
            1..=50 => chance.below(2000),
            _ => 5 + chance.below(60),
        };
        let calls = stack.len() < 12.min(remaining) && (stack.is_empty() || chance.below(100) < 50);
        let (kind, function) = if calls {
            stack.push(chance.below(40) as u32);
            (EventKind::CALL, stack[stack.len() - 1])
        } else {
            let Some(function) = stack.pop() else { break };
            (if chance.below(300) == 0 { EventKind::EXCEPTION } else { EventKind::RETURN }, function)
        };
        let depth = if calls { stack.len() - 1 } else { stack.len() };
        all.push(Event {
            timestamp: TraceNanos(time),
            function: FunctionId::new(ModuleId(1), function),
            thread: ThreadId(1),
            kind,
            depth: depth as u32,
            detail: DetailSeq::NONE,
        });
    }
    all
}

/// Tables of threads, in a folder that goes away with the first of the two.
pub(crate) fn tables(threads: Vec<Vec<Event>>) -> (tempfile::TempDir, Tables) {
    let folder = tempfile::tempdir().unwrap();
    let options = ReplayOptions::COMPLETE;
    let tables = analyze(&InMemory(threads), &FunctionTraits::default(), &options, 7, folder.path(), &|_| ()).unwrap();
    (folder, tables)
}

/// All calls of a thread with their depths.
pub(crate) fn calls(tables: &Tables, thread: ThreadIndex) -> Vec<(u32, Item)> {
    let mut columns = Columns::new();
    let mut all = Vec::new();
    for block in tables.blocks_of(thread) {
        tables.read(block, |_| true, &mut columns).unwrap();
        for row in 0..columns.rows() {
            let at = |column: Column| columns.at(column, row);
            let item = Item {
                start: columns.start(row),
                duration: at(Column::Duration),
                seq: columns.seq(row).0,
                function: columns.function(row),
                count: 1,
                outcome: at(Column::Outcome) as u8,
            };
            all.push((at(Column::Depth) as u32, item));
        }
    }
    all
}
