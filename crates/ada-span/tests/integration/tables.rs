//! The tables hold what the replay found, whatever ended when.

use ada_event::{Event, EventKind, EventSeq, FunctionId, ThreadId, TraceNanos};
use ada_span::table::{Column, Columns, FunctionIndex, Tables};
use ada_span::{Callers, EVENT_KINDS, OpenCall, OpenChains, ReplayOptions, SpanEnds, SpanError, Status, ThreadIndex};
use proptest::prelude::*;

use crate::collected::{Collected, replay};
use crate::memory::{InMemory, MemoryThread, tables_of};
use crate::program::{Machine, PLAIN, Step, traits};

const OPTIONS: ReplayOptions = ReplayOptions { end_time: TraceNanos(9_000_000), ..ReplayOptions::COMPLETE };

/// Every column of every row, and the directory's bounds, against the replay.
fn check_thread(tables: &Tables, thread: ThreadIndex, collected: &Collected) {
    let mut columns = Columns::new();
    let mut spans = collected.spans.iter();
    for block in tables.blocks_of(thread) {
        tables.read(block, |_| true, &mut columns).unwrap();
        let entry = tables.block(block);
        assert_eq!(entry.rows as usize, columns.rows());
        let (mut max_end, mut max_duration) = (TraceNanos(0), 0);
        for row in 0..columns.rows() {
            let span = spans.next().expect("the tables have no more spans than the replay");
            let (opened, closed) = (&span.opened, span.closed());
            let at = |column: Column| columns.at(column, row);
            assert_eq!((columns.seq(row), columns.row_of(opened.seq)), (opened.seq, Some(row)));
            assert_eq!((columns.start(row), columns.end(row)), (opened.start, span.end()));
            assert_eq!(tables.meta().functions[columns.function(row).as_usize()].function, span.function);
            assert_eq!(at(Column::Depth), u64::from(opened.depth));
            assert_eq!(columns.parent_seq(row), opened.parent);
            assert_eq!(at(Column::Duration), closed.duration);
            assert_eq!(at(Column::SelfTime), closed.self_ns);
            assert_eq!(columns.close_seq(row), closed.close_seq);
            assert_eq!(columns.outcome(row), closed.outcome);
            assert_eq!(at(Column::Context), closed.context.map_or(0, |seq| seq.0 + 1));
            assert_eq!(tables.block_of(thread, opened.seq), Some(block));
            (max_end, max_duration) = (max_end.max(span.end()), max_duration.max(closed.duration));
        }
        assert_eq!((entry.max_end, entry.max_duration), (max_end, max_duration));
        let depths = columns.get(Column::Depth).iter().map(|&depth| depth as u32);
        assert_eq!((Some(entry.min_depth), Some(entry.max_depth)), (depths.clone().min(), depths.max()));
        assert_eq!(entry.min_start, columns.start(0));
        assert_eq!(entry.last_seq, columns.seq(columns.rows() - 1));
    }
    assert!(spans.next().is_none(), "the tables have all spans of the replay");
}

/// What is looked up of a call is what going through all of them finds.
fn check_callers(tables: &Tables, thread: ThreadIndex) {
    let wanted: Vec<bool> = (0..tables.meta().functions.len()).map(|index| index % 3 == 0).collect();
    let mut callers = Callers::new(tables, thread, &wanted);
    let (mut chains, mut columns) = (OpenChains::<Open>::default(), Columns::new());
    for block in tables.blocks_of(thread) {
        tables.read(block, |_| true, &mut columns).unwrap();
        for row in 0..columns.rows() {
            let ends = SpanEnds::read(&columns, row);
            chains.go_to(ends.parent, ends.start, |top| top.ends.goes_on_in(ends.seq), |_| ());
            let above = chains.current().last().and_then(|it| it.nearest);
            assert_eq!(callers.of(ends.seq).unwrap(), Some((ends.function, above)), "{ends:?}");
            let nearest = if wanted[ends.function.as_usize()] { Some(ends.function) } else { above };
            chains.current().push(Open { ends, nearest });
        }
    }
    assert_eq!(callers.of(EventSeq(u64::MAX)).unwrap(), None);
}

struct Open {
    ends: SpanEnds,
    nearest: Option<FunctionIndex>,
}

impl OpenCall for Open {
    fn seq(&self) -> EventSeq {
        self.ends.seq
    }

    fn end(&self) -> TraceNanos {
        self.ends.end
    }
}

/// Functions' events by kind.
fn check_counts(tables: &Tables, threads: &[Vec<Event>]) {
    let count = |function: FunctionId, kind: EventKind| {
        let of_it = |event: &&Event| (event.function, event.kind) == (function, kind);
        threads.iter().flatten().filter(of_it).count() as u64
    };
    for stats in &tables.meta().functions {
        assert_eq!(stats.events.0, EVENT_KINDS.map(|kind| count(stats.function, kind)));
    }
    let counted: u64 = tables.meta().functions.iter().flat_map(|stats| stats.events.0).sum();
    assert_eq!(counted, threads.iter().map(|events| events.len() as u64).sum::<u64>());
}

fn check(threads: Vec<Vec<Event>>) {
    let collected: Vec<Collected> = threads.iter().map(|events| replay(events, &traits(), OPTIONS)).collect();
    let in_memory = (1..).zip(threads.clone()).map(|(id, events)| MemoryThread::new(id, events)).collect();
    let (_folder, tables) = tables_of(&InMemory { threads: in_memory }, &traits(), OPTIONS);
    check_counts(&tables, &threads);
    for (thread, collected) in ThreadIndex::all(collected.len()).zip(&collected) {
        check_thread(&tables, thread, collected);
        check_callers(&tables, thread);
        assert_eq!(tables.meta().threads[thread.as_usize()].spans, collected.spans.len() as u64);
    }
    let calls: u64 = tables.meta().functions.iter().map(|stats| stats.spans).sum();
    assert_eq!(calls, collected.iter().map(|it| it.spans.len() as u64).sum::<u64>());
    let self_ns: u64 = tables.meta().functions.iter().map(|stats| stats.self_ns).sum();
    let expected: u64 = collected.iter().flat_map(|it| &it.spans).map(|span| span.closed().self_ns).sum();
    assert_eq!(self_ns, expected);
    let anomalies: usize = collected.iter().map(|it| it.anomalies.len()).sum();
    assert_eq!(tables.anomalies().unwrap().len(), anomalies);
}

#[test]
fn recursion_through_many_blocks_gets_its_ends_late() {
    let mut steps = Vec::new();
    for round in 0..3 {
        steps.extend((0..10_000).map(|n| Step::Call((n + round) % PLAIN)));
        steps.extend([Step::Return; 10_000]);
    }
    check(vec![Machine::run(&steps).events]);
}

#[test]
fn what_never_ends_is_in_the_tables_too() {
    let mut steps = vec![Step::Call(0), Step::Call(1)];
    for n in 0..20_000 {
        steps.extend([Step::Call(n % PLAIN), Step::Return]);
    }
    check(vec![Machine::run(&steps).events, Vec::new(), Machine::run(&[Step::Call(2)]).events]);
}

#[test]
fn sums_count_recursion_once() {
    let steps = [Step::Call(0), Step::Call(0), Step::Call(1), Step::Return, Step::Return, Step::Return];
    let machine = Machine::run(&steps);
    let threads = vec![MemoryThread::new(1, machine.events)];
    let (_folder, tables) = tables_of(&InMemory { threads }, &traits(), OPTIONS);
    let [outer, inner] = &tables.meta().functions[..] else { panic!("two functions") };
    assert_eq!((outer.spans, outer.total_ns, outer.self_ns), (2, 50, 40));
    assert_eq!((outer.min_ns, outer.max_ns, outer.longest), (30, 50, (ThreadIndex(0), EventSeq(0))));
    assert_eq!((inner.spans, inner.total_ns, inner.self_ns), (1, 10, 10));
    assert_eq!(outer.by_status[Status::Completed as usize], 2);
}

#[test]
fn tables_do_not_depend_on_who_made_them() {
    let threads = || {
        (1..9)
            .map(|id| {
                let steps: Vec<Step> =
                    (0..5000 * id).flat_map(|n| [Step::Call((n + id) % PLAIN), Step::Return]).collect();
                let mut thread = MemoryThread::new(id, Machine::run(&steps).events);
                thread.events.iter_mut().for_each(|event| event.thread = ThreadId(id));
                thread
            })
            .collect()
    };
    let [first, second] = [0, 1].map(|_| tables_of(&InMemory { threads: threads() }, &traits(), OPTIONS));
    let (first, second) = (first.1.meta(), second.1.meta());
    assert_eq!((&first.functions, &first.threads), (&second.functions, &second.threads));
}

#[test]
fn any_damaged_byte_is_noticed_or_harmless_and_never_a_panic() {
    let steps: Vec<Step> = (0..9000).flat_map(|n| [Step::Call(n % PLAIN), Step::Return]).collect();
    let source = InMemory { threads: vec![MemoryThread::new(1, Machine::run(&steps).events)] };
    let (folder, tables) = tables_of(&source, &traits(), OPTIONS);
    let blocks = tables.meta().blocks.len();
    drop(tables);
    for name in ["meta.bin", "spans_0.bin"] {
        let path = folder.path().join(name);
        let good = std::fs::read(&path).unwrap();
        for at in (0..good.len()).step_by(good.len() / 97 + 1) {
            let mut bad = good.clone();
            bad[at] ^= 0x41;
            std::fs::write(&path, &bad).unwrap();
            let read = Tables::open(folder.path())
                .and_then(|tables| (0..blocks).try_for_each(|block| tables.read(block, |_| true, &mut Columns::new())));
            assert!(matches!(read, Err(SpanError::Damaged { .. })), "{name} byte {at}: {read:?}");
        }
        std::fs::write(&path, &good[..good.len() - 1]).unwrap();
        assert!(matches!(Tables::open(folder.path()), Err(SpanError::Damaged { .. })), "{name} cut");
        std::fs::write(&path, &good).unwrap();
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 16, ..ProptestConfig::default() })]

    #[test]
    fn tables_equal_the_replay_for_any_program(
        seeds in prop::collection::vec((any::<u64>(), 2000_usize..20_000), 1..4),
    ) {
        let thread = |&(seed, length): &(u64, usize)| {
            let mut random = seed | 1;
            let steps: Vec<Step> = (0..length).map(|_| {
                random ^= random << 13;
                random ^= random >> 7;
                random ^= random << 17;
                match random >> 40 & 31 {
                    0..=14 => Step::Call(random as u32 % PLAIN),
                    15..=26 => Step::Return,
                    27 => Step::EntryOnly,
                    28 => Step::RecordedTailCall(random as u32 % PLAIN),
                    29 => Step::TailCall(random as u32 % PLAIN),
                    30 => Step::Throw(random as usize % 3),
                    _ => Step::Jump(random as usize % 3),
                }
            }).collect();
            Machine::run(&steps).events
        };
        check(seeds.iter().map(thread).collect());
    }
}
