//! Writes frame spans as the replay finds them: one worker's file of blocks, and its sums.

use std::collections::HashMap;
use std::fs::File;
use std::io::{self, BufWriter, Write};

use ada_event::{EventKind, FunctionId, ThreadId, TraceNanos};

use super::block::{BlockEntry, ROWS};
use super::block_writer::{BlockWriter, Filled};
use super::late::{LATE_FIELDS, LateWriter};
use super::meta::{AnomalyCount, ThreadEntry};
use super::row::{MOST_FUNCTIONS, Row, late_fields};
use crate::anomaly::{Anomaly, AnomalyKind};
use crate::concurrency::Loss;
use crate::function_stats::{EventCounts, FunctionStats};
use crate::function_traits::FunctionTraits;
use crate::histogram::Histogram;
use crate::observer::{Observed, Observer};
use crate::outcome::Outcome;
use crate::replay::{Closed, FunctionNumber, KnownFunction, Opened, SpanHandle, SpanSink, ThreadFacts};
use crate::thread_index::ThreadIndex;

/// Functions that get a histogram; a damaged file can claim any number of them.
const MOST_HISTOGRAMS: usize = 200_000;
/// Set in a handle whose span has got a slot for its late end.
const IS_LATE: u64 = 1 << 63;
/// The late slot's block stands in these bits of a handle, the slot in those below.
const BLOCK_SHIFT: u32 = 36;

/// What a worker leaves when it is done.
pub(crate) struct ShardSummary {
    pub(crate) threads: Vec<ThreadEntry>,
    /// By thread in the order of `threads`.
    pub(crate) blocks: Vec<BlockEntry>,
    pub(crate) functions: Vec<FunctionStats>,
    pub(crate) anomalies: Vec<AnomalyCount>,
    pub(crate) spans_len: u64,
    pub(crate) late_len: u64,
    pub(crate) anomalies_len: u64,
    pub(crate) observed: Observed,
}

/// What is known of a block's late spans as they end.
#[derive(Clone, Copy, Default)]
struct LateEnds {
    max_duration: u64,
    max_end: TraceNanos,
}

/// What is counted of a function with each event.
#[derive(Clone, Copy, Default)]
struct Counts {
    /// How many of its spans are open on the current thread.
    open: u64,
    events: EventCounts,
}

/// A worker's files and sums.
pub(crate) struct ShardSink<'a> {
    spans: BlockWriter,
    late: LateWriter,
    anomalies: BufWriter<File>,
    anomalies_len: u64,
    numbers: FunctionNumbers<'a>,
    stats: Vec<FunctionStats>,
    /// What changes with each event, by function.
    counts: Vec<Counts>,
    block: Filled,
    /// By block that is written: what its late spans, which have ended since, add to its entry.
    late_ends: Vec<LateEnds>,
    thread: ThreadIndex,
    outcomes: Box<[u64; Outcome::BYTES]>,
    spans_of_thread: u64,
    blocks_before: usize,
    anomaly_counts: [AnomalyCount; AnomalyKind::ALL.len()],
    threads: Vec<ThreadEntry>,
    all_anomalies: Vec<AnomalyCount>,
    pub(crate) observer: Observer<'a>,
    error: Option<io::Error>,
}

impl<'a> ShardSink<'a> {
    pub(crate) fn new(
        spans: BlockWriter,
        late: File,
        anomalies: File,
        traits: &'a FunctionTraits,
        observer: Observer<'a>,
    ) -> Self {
        Self {
            spans,
            late: LateWriter::new(late),
            anomalies: BufWriter::new(anomalies),
            anomalies_len: 0,
            numbers: FunctionNumbers::new(traits),
            stats: Vec::new(),
            counts: Vec::new(),
            block: Filled::default(),
            late_ends: Vec::new(),
            thread: ThreadIndex(0),
            outcomes: Box::new([0; Outcome::BYTES]),
            spans_of_thread: 0,
            blocks_before: 0,
            anomaly_counts: Default::default(),
            threads: Vec::new(),
            all_anomalies: Vec::new(),
            observer,
            error: None,
        }
    }

    /// Begins a thread.
    pub(crate) fn begin_thread(&mut self, thread: ThreadIndex) {
        self.thread = thread;
        self.spans_of_thread = 0;
        self.outcomes.fill(0);
        self.blocks_before = self.late_ends.len();
        self.anomaly_counts = Default::default();
    }

    /// Ends a thread, whose spans all have ended.
    pub(crate) fn end_thread(&mut self, id: ThreadId, facts: ThreadFacts) -> io::Result<()> {
        self.write_block();
        let outcomes = self.outcomes.iter().enumerate().filter(|(_, count)| **count > 0);
        self.threads.push(ThreadEntry {
            id,
            facts,
            spans: self.spans_of_thread,
            blocks: (self.blocks_before as u32, (self.late_ends.len() - self.blocks_before) as u32),
            outcomes: outcomes.map(|(byte, &count)| (byte as u8, count)).collect(),
        });
        self.all_anomalies.extend(self.anomaly_counts.iter().filter(|it| it.count > 0));
        self.error.take().map_or(Ok(()), Err)
    }

    pub(crate) fn finish(mut self) -> io::Result<ShardSummary> {
        self.anomalies.flush()?;
        let slots = self.late.finish()?;
        let written = self.spans.finish()?;
        let mut blocks = written.blocks;
        for (block, late) in blocks.iter_mut().zip(&self.late_ends) {
            block.max_duration = block.max_duration.max(late.max_duration);
            block.max_end = block.max_end.max(late.max_end);
        }
        let mut functions = self.stats;
        for ((stats, id), counts) in functions.iter_mut().zip(self.numbers.ids).zip(self.counts) {
            (stats.function, stats.events) = (id, counts.events);
        }
        Ok(ShardSummary {
            threads: self.threads,
            blocks,
            functions,
            anomalies: self.all_anomalies,
            spans_len: written.length,
            late_len: slots * 8 * LATE_FIELDS as u64,
            anomalies_len: self.anomalies_len,
            observed: self.observer.finish(),
        })
    }

    fn write_block(&mut self) {
        if !self.block.rows.is_empty() {
            self.block.thread = self.thread;
            self.spans.write(&mut self.block);
            self.late_ends.push(LateEnds::default());
        }
    }
}

/// What few spans need takes them by value: then only those are put together in memory.
impl ShardSink<'_> {
    #[inline(never)]
    fn observe_open(&mut self, opened: Opened) {
        let ids = &self.numbers.ids;
        let caller = opened.caller.map(|caller| ids[caller.as_usize()]);
        self.observer.open(self.thread, &opened, ids[opened.function.as_usize()], caller);
    }

    #[inline(never)]
    fn observe_close(&mut self, closed: Closed) {
        self.observer.close(self.thread, &closed);
    }

    /// Ends a span of a block that is written.
    #[inline(never)]
    fn close_late(&mut self, handle: SpanHandle, closed: Closed) {
        let slot = handle.0 & ((1 << BLOCK_SHIFT) - 1);
        let block = (handle.0 & !IS_LATE) >> BLOCK_SHIFT;
        let late = &mut self.late_ends[block as usize];
        late.max_duration = late.max_duration.max(closed.duration);
        late.max_end = late.max_end.max(closed.end());
        if self.error.is_none() {
            self.error = self.late.set(slot, late_fields(&closed)).err();
        }
    }
}

impl SpanSink for ShardSink<'_> {
    fn change_stack(&mut self, stack: u64) {
        self.observer.change_stack(stack);
    }

    #[inline]
    fn function(&mut self, function: FunctionId) -> KnownFunction {
        let known = self.numbers.get(function);
        if known.number.as_usize() >= self.stats.len() {
            let durations = (self.stats.len() < MOST_HISTOGRAMS).then(Histogram::default);
            self.stats.push(FunctionStats { durations, ..FunctionStats::default() });
            self.counts.push(Counts::default());
            self.observer.learn(function);
        }
        known
    }

    #[inline(always)]
    fn event(&mut self, function: FunctionNumber, kind: EventKind) {
        self.counts[function.as_usize()].events.add(kind);
    }

    #[inline(always)]
    fn open(&mut self, opened: &Opened) -> SpanHandle {
        let row = self.block.rows.len();
        self.block.rows.push(Row::open(opened));
        self.spans_of_thread += 1;
        if opened.is_frame {
            self.counts[opened.function.as_usize()].open += 1;
        }
        if self.observer.wants(opened) {
            self.observe_open(*opened);
        }
        SpanHandle(row as u64)
    }

    #[inline(always)]
    fn close(&mut self, handle: SpanHandle, closed: &Closed) {
        if handle.0 & IS_LATE == 0 {
            self.block.rows[handle.0 as usize].close(closed);
        } else {
            self.close_late(handle, *closed);
        }
        let is_outermost = closed.is_frame && {
            let open = &mut self.counts[closed.function.as_usize()].open;
            *open -= 1;
            *open == 0
        };
        self.outcomes[usize::from(closed.outcome.to_byte())] += 1;
        let stats = &mut self.stats[closed.function.as_usize()];
        stats.add(self.thread, closed.seq, closed.duration, closed.self_ns, closed.outcome, is_outermost);
        if self.observer.has_open() {
            self.observe_close(*closed);
        }
    }

    fn lost(&mut self, from: TraceNanos, to: TraceNanos) {
        self.observer.losses.push(Loss { thread: self.thread, from, to });
    }

    fn anomaly(&mut self, anomaly: Anomaly) {
        let count = &mut self.anomaly_counts[anomaly.kind as usize];
        if count.count == 0 {
            *count = AnomalyCount {
                thread: self.thread,
                kind: anomaly.kind as u32,
                count: 0,
                first_seq: anomaly.seq,
                first_time: anomaly.time,
            };
        }
        count.count += 1;
        let words = [u64::from(self.thread) | (anomaly.kind as u64) << 32, anomaly.seq.0, anomaly.time.0];
        if self.error.is_none() {
            self.error = words.iter().try_for_each(|word| self.anomalies.write_all(&word.to_le_bytes())).err();
        }
        self.anomalies_len += 24;
    }

    #[inline]
    fn wants_to_move(&self) -> bool {
        self.block.rows.len() >= ROWS
    }

    fn move_open(&mut self, handles: &mut dyn Iterator<Item = &mut SpanHandle>) {
        let open: Vec<&mut SpanHandle> = handles.collect();
        let base = self.late.reserve(open.len() as u64);
        let block = self.late_ends.len() as u64;
        // Slots are in the order of the rows; handles come newest first.
        for (slot, handle) in (base..).zip(open.into_iter().rev()) {
            self.block.late_rows.push(handle.0);
            *handle = SpanHandle(IS_LATE | block << BLOCK_SHIFT | slot);
        }
        self.block.late_base = base;
        self.write_block();
    }
}

/// Numbers functions from 0, in the order in which they are first seen.
struct FunctionNumbers<'a> {
    traits: &'a FunctionTraits,
    /// By module and symbol; `u32::MAX` where not seen yet.
    tables: Vec<Vec<u32>>,
    others: HashMap<FunctionId, u32>,
    known: Vec<KnownFunction>,
    ids: Vec<FunctionId>,
}

/// Modules that have a table; larger numbers are looked up.
const TABLED_MODULES: u32 = 4096;

impl<'a> FunctionNumbers<'a> {
    fn new(traits: &'a FunctionTraits) -> Self {
        let mut tables = Vec::new();
        for (module, functions) in traits.modules().filter(|(module, _)| module.0 < TABLED_MODULES) {
            let index = module.0 as usize;
            if tables.len() <= index {
                tables.resize(index + 1, Vec::new());
            }
            tables[index] = vec![u32::MAX; functions];
        }
        Self { traits, tables, others: HashMap::new(), known: Vec::new(), ids: Vec::new() }
    }

    #[inline]
    fn get(&mut self, function: FunctionId) -> KnownFunction {
        let table = self.tables.get(function.module().0 as usize);
        let number = table.and_then(|table| table.get(function.symbol_index() as usize)).copied();
        match number {
            Some(number) if number != u32::MAX => self.known[number as usize],
            _ => self.get_slowly(function),
        }
    }

    #[cold]
    fn get_slowly(&mut self, function: FunctionId) -> KnownFunction {
        if let Some(&number) = self.others.get(&function) {
            return self.known[number as usize];
        }
        if self.ids.len() >= MOST_FUNCTIONS {
            return self.known[MOST_FUNCTIONS - 1];
        }
        // The last number is for all functions that are too many.
        let id = if self.ids.len() == MOST_FUNCTIONS - 1 { FunctionId(u64::MAX) } else { function };
        let number = self.ids.len() as u32;
        let traits = self.traits.get(id);
        let known =
            KnownFunction { number: FunctionNumber(number), is_entry_only: traits.is_entry_only, role: traits.role };
        self.ids.push(id);
        self.known.push(known);
        let table = self.tables.get_mut(function.module().0 as usize);
        match table.and_then(|table| table.get_mut(function.symbol_index() as usize)) {
            Some(slot) => *slot = number,
            None if id == function => drop(self.others.insert(function, number)),
            None => (),
        }
        known
    }
}
