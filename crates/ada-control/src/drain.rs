//! Empties the chunks: raw records become events in the files of their threads.

use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};
use std::sync::atomic::Ordering;
use std::sync::{Arc, MutexGuard, RwLock};
use std::time::{Duration, Instant};

use ada_event::{DetailSeq, Event, EventKind, EventSeq, FunctionId, ThreadId, TraceNanos};
use ada_format::atf::{Crash, Gap, HexAddr, LaneFigures, LatencyFigures, PoolFigures, ThreadWriter, Window};
use ada_ring::chunk::IS_EXITING;
use ada_ring::probe::RawProbe;
use ada_ring::record::RecordKind;
use ada_ring::{
    ChunkReader, ChunkState, DetailMode, DetailShape, Lane, Pool, RECORDS_END, RECORDS_PER_CHUNK, RawRecord,
};

use crate::ControlError;
use crate::clock::Clock;
use crate::crash_lane::CrashLane;
use crate::detail_lane::{self, REMEMBERED, Remembered, ThreadDetails};
use crate::gaps::{GapLog, Wait};
use crate::latency::Latencies;
use crate::order::put_in_order;
use crate::overhead::SharedTally;
use crate::programs::Hooked;
use crate::session::{SessionFiles, failed};
use crate::windows::{BatchEvents, Fired, ThreadWindow, Watch, WindowLog, event_times, learn_handlers, triggers_among};

/// Which function each number of a process stands for. Grows when libraries are loaded.
pub(crate) type FunctionNumbers = Arc<RwLock<Vec<FunctionId>>>;

/// How long an unwritten record may hold its thread's later ones back: its writer was interrupted by a signal whose
/// handler has not returned, or has jumped away and never will.
const HOLE_PATIENCE: Duration = Duration::from_millis(5);
/// How long a chunk with such a record is kept from others, should the writer come back after all.
const QUARANTINE: Duration = Duration::from_millis(100);
/// How often to look whether quiet threads still live, unless chunks are short.
const LOOK_FOR_ENDED_THREADS: Duration = Duration::from_millis(30);

/// The consumer of all rings.
pub(crate) struct Drain {
    pool: Pool,
    clock: Clock,
    numbers: FunctionNumbers,
    known: Vec<FunctionId>,
    looked: Instant,
    /// Since when each chunk has been stuck at a hole.
    stuck: HashMap<usize, Instant>,
    /// Chunks with holes that were passed over, and when they may be used again.
    quarantine: VecDeque<(Instant, usize)>,
    threads: HashMap<(u32, u32), ThreadProgress>,
    images: HashMap<u32, BTreeSet<u32>>,
    /// Those of them that nobody has asked for.
    newcomers: Vec<u32>,
    /// Who forked each process, as it knows itself.
    forks: HashMap<u32, u32>,
    /// What processes were about to exit with when they were last heard of.
    exit_calls: HashMap<u32, i32>,
    crashes: CrashLane,
    /// What opens windows; `None` where detail is not kept for them.
    watch: Option<Watch>,
    windows: WindowLog,
    gaps: GapLog,
    detail: DetailMode,
    shape: DetailShape,
    batch: Vec<RawRecord>,
    /// How many events each function makes.
    tally: SharedTally,
    bytes: Vec<u8>,
    events: u64,
    torn: u64,
    details_lost: u64,
    waited_ns: u64,
    latencies: Latencies,
    index: LaneFigures,
    details: LaneFigures,
    probes: LaneFigures,
    /// The fewest chunks that were free at the start of a round.
    low_water: usize,
    /// Why nothing is written any more, once a write has failed; records are then read and counted only, so that the
    /// target does not wait for a disk that is full.
    failure: Option<ControlError>,
    unwritten: u64,
}

/// How far a thread's events have got.
#[derive(Default)]
struct ThreadProgress {
    last: TraceNanos,
    chunk: Option<ChunkProgress>,
    /// Whether events of it could not be written.
    is_cut: bool,
    details: ThreadDetails,
    window: ThreadWindow,
}

/// How far the chunk of a thread that was read last has got.
#[derive(Clone, Copy)]
struct ChunkProgress {
    image: u32,
    ordinal: u64,
    records: u64,
}

/// What is missing before a batch of records, or made it late.
#[derive(Default)]
struct BatchGaps {
    /// Records in chunks that the thread took back unread.
    taken_back: u64,
    /// Records that found no chunk.
    without_chunk: u64,
    waits: Vec<Wait>,
    /// Behind each record that was reserved and never written.
    torn: Vec<u64>,
}

/// A chunk with something to read.
struct Held {
    pid: u32,
    tid: u32,
    image: u32,
    ordinal: u64,
    thread_pointer: u64,
    forked_by: u32,
    chunk: usize,
}

impl Held {
    /// Whether the chunk is what it was when the round began. Its thread may have taken it back, and be writing to it
    /// what comes after all that it has filled meanwhile.
    fn is_still_there(&self, pool: &Pool) -> bool {
        let header = pool.header(self.chunk);
        header.lane.load(Ordering::Relaxed) == Lane::Index as u32
            && header.ordinal.load(Ordering::Relaxed) == self.ordinal
            && (header.pid.load(Ordering::Relaxed), header.tid.load(Ordering::Relaxed)) == (self.pid, self.tid)
    }
}

impl Drain {
    pub(crate) fn new(pool: Pool, clock: Clock, numbers: FunctionNumbers, shape: DetailShape) -> Self {
        let detail = match pool.control().detail_mode.load(Ordering::Relaxed) {
            0 => DetailMode::Off,
            1 => DetailMode::Windows,
            _ => DetailMode::All,
        };
        Self {
            pool,
            clock,
            numbers,
            known: Vec::new(),
            looked: Instant::now(),
            stuck: HashMap::new(),
            quarantine: VecDeque::new(),
            threads: HashMap::new(),
            images: HashMap::new(),
            newcomers: Vec::new(),
            forks: HashMap::new(),
            exit_calls: HashMap::new(),
            crashes: CrashLane::default(),
            watch: None,
            windows: WindowLog::default(),
            gaps: GapLog::default(),
            detail,
            shape,
            batch: Vec::new(),
            tally: SharedTally::default(),
            bytes: Vec::new(),
            events: 0,
            torn: 0,
            details_lost: 0,
            waited_ns: 0,
            latencies: Latencies::default(),
            index: LaneFigures::default(),
            details: LaneFigures::default(),
            probes: LaneFigures::default(),
            low_water: pool.chunk_count(),
            failure: None,
            unwritten: 0,
        }
    }

    /// Writes detail in windows only.
    pub(crate) fn watch_for(&mut self, watch: Watch) {
        self.watch = Some(watch);
    }

    /// Takes up what has changed in the triggers and in the program.
    pub(crate) fn refresh_watch<'p>(&mut self, lock: impl FnOnce() -> MutexGuard<'p, Hooked>) {
        let functions = self.numbers.read().expect("nobody panics with the lock").len();
        if let Some(watch) = self.watch.as_mut().filter(|watch| watch.is_stale(functions)) {
            watch.refresh(&lock().modules, functions);
        }
    }

    /// Where a process's threads lost events or waited.
    pub(crate) fn gaps(&self, pid: u32) -> Vec<Gap> {
        self.gaps.of_process(pid)
    }

    /// Of so many events that were dropped for a reason, how many may be missing anywhere.
    pub(crate) fn unplaced(&self, reason: &str, count: u64) -> u64 {
        self.gaps.unplaced(reason, count)
    }

    /// A process's windows, and how many more there were than are told of.
    pub(crate) fn windows(&self, pid: u32) -> (Vec<Window>, u64) {
        self.windows.of_process(pid)
    }

    /// What went through the lanes, and how full the rings were.
    pub(crate) fn figures(&self) -> (BTreeMap<String, LaneFigures>, PoolFigures) {
        let bytes = Event::SIZE as u64 * self.events;
        let mut index = LaneFigures { written: self.events, bytes, ..self.index.clone() };
        let latency = |share| self.latencies.quantile(share);
        index.latency_ns = Some(LatencyFigures { p50: latency(0.5), p95: latency(0.95), p99: latency(0.99) });
        let lanes = [("index", index), ("detail", self.details.clone()), ("probe", self.probes.clone())];
        let pool = PoolFigures {
            pieces: self.pool.chunk_count() as u64,
            low_water: self.low_water as u64,
            exhausted: self.pool.control().exhausted.load(Ordering::Relaxed),
            waited_ns: self.waited_ns,
            ..PoolFigures::default()
        };
        let used = lanes.into_iter().filter(|(_, lane)| lane.written > 0);
        (used.map(|(name, lane)| (name.to_owned(), lane)).collect(), pool)
    }

    pub(crate) fn pool(&self) -> Pool {
        self.pool
    }

    /// The programs that each process was seen to run.
    pub(crate) fn images(&self) -> &HashMap<u32, BTreeSet<u32>> {
        &self.images
    }

    /// The processes that were first heard of since the last question.
    pub(crate) fn newcomers(&mut self) -> Vec<u32> {
        std::mem::take(&mut self.newcomers)
    }

    /// Who forked each process that is a fork.
    pub(crate) fn forks(&self) -> &HashMap<u32, u32> {
        &self.forks
    }

    /// The status that a process called `_exit` with, if it did.
    pub(crate) fn exit_call(&self, pid: u32) -> Option<i32> {
        self.exit_calls.get(&pid).copied()
    }

    /// Nothing is written any more, for this reason.
    pub(crate) fn fail(&mut self, error: ControlError) {
        self.failure.get_or_insert(error);
    }

    /// How many events each function makes: for whoever wants to know while the drain goes on.
    pub(crate) fn tally(&self) -> SharedTally {
        self.tally.clone()
    }

    /// Events written so far.
    pub(crate) fn events(&self) -> u64 {
        self.events
    }

    /// Records that were reserved and never written, because their thread died in between.
    pub(crate) fn torn(&self) -> u64 {
        self.torn
    }

    /// Events whose registers were captured and could not be kept.
    pub(crate) fn details_lost(&self) -> u64 {
        self.details_lost
    }

    /// Events that were recorded and could not be written, and why.
    pub(crate) fn unwritten(&self) -> u64 {
        self.unwritten
    }

    /// Why the session is incomplete, if it is.
    pub(crate) fn failure(&self) -> Option<&ControlError> {
        self.failure.as_ref()
    }

    /// The fatal signals that hit a process's threads.
    pub(crate) fn crashes(&self, pid: u32) -> Vec<Crash> {
        let numbers = self.numbers.read().expect("nobody panics with the lock");
        self.crashes.of_process(pid, &self.clock, &numbers)
    }

    /// Crashes of which no record came to be.
    pub(crate) fn untold_crashes(&self) -> u64 {
        let crashes = &self.pool.control().crashes;
        crashes.untold.load(Ordering::Relaxed) + crashes.unfinished() as u64
    }

    /// How long threads have waited for room.
    pub(crate) fn waited_ns(&self) -> u64 {
        self.waited_ns
    }

    /// Reads all that is there. `final_round` once the target has ended. Gives the number of events.
    pub(crate) fn round(&mut self, files: &mut SessionFiles, final_round: bool) -> u64 {
        self.pool.control().heartbeats.fetch_add(1, Ordering::Relaxed);
        self.end_quarantine();
        let crashed: Vec<(u32, i32)> =
            self.crashes.collect(&self.pool).iter().map(|crash| (crash.pid, crash.signal)).collect();
        let before = self.events;
        let free = (0..self.pool.chunk_count()).filter(|&chunk| self.pool.state(chunk) == ChunkState::Free as u32);
        self.low_water = self.low_water.min(free.count());
        let held = self.held_chunks();
        let chunks_are_short = held.len() * 2 > self.pool.chunk_count();
        let look = final_round || chunks_are_short || self.looked.elapsed() > LOOK_FOR_ENDED_THREADS;
        if look {
            self.looked = Instant::now();
        }
        for held in &held {
            let images = self.images.entry(held.pid).or_default();
            if images.is_empty() {
                self.newcomers.push(held.pid);
            }
            images.insert(held.image);
            if held.forked_by != 0 {
                self.forks.insert(held.pid, held.forked_by);
            }
        }
        let mut blocked = None;
        for (number, chunk) in held.iter().enumerate() {
            let thread = (chunk.pid, chunk.tid);
            let is_last = held.get(number + 1).is_none_or(|next| (next.pid, next.tid) != thread);
            if blocked == Some(thread) {
                continue;
            }
            // The detail of threads that a crash has ended is still to be written.
            let look = look && !crashed.iter().any(|(pid, _)| *pid == chunk.pid);
            if !self.empty(chunk, is_last, look, final_round, files) {
                blocked = Some(thread);
            }
        }
        self.crashes.place(|pid, tid| files.thread_id(pid, tid));
        for (pid, signal) in crashed {
            self.fatal_signal(pid, signal, files);
        }
        if look {
            self.pool.control().looks_for_ended.fetch_add(1, Ordering::Relaxed);
        }
        self.events - before
    }

    /// The chunks that threads hold or have filled, those of one thread in their order.
    fn held_chunks(&self) -> Vec<Held> {
        let mut held: Vec<Held> = (0..self.pool.chunk_count())
            .filter(|&chunk| {
                let state = self.pool.state(chunk);
                let is_index = self.pool.header(chunk).lane.load(Ordering::Relaxed) == Lane::Index as u32;
                is_index && (state == ChunkState::Active as u32 || state == ChunkState::Full as u32)
            })
            .map(|chunk| {
                let header = self.pool.header(chunk);
                Held {
                    pid: header.pid.load(Ordering::Relaxed),
                    tid: header.tid.load(Ordering::Relaxed),
                    image: header.image.load(Ordering::Relaxed),
                    ordinal: header.ordinal.load(Ordering::Relaxed),
                    thread_pointer: header.thread_pointer.load(Ordering::Relaxed),
                    forked_by: header.forked_by.load(Ordering::Relaxed),
                    chunk,
                }
            })
            .collect();
        held.sort_unstable_by_key(|held| (held.pid, held.tid, held.image, held.ordinal));
        held
    }

    /// Takes what a chunk has, and the chunk itself once there is no more to come. False where later chunks of the
    /// thread have to wait.
    fn empty(&mut self, held: &Held, is_last: bool, look: bool, final_round: bool, files: &mut SessionFiles) -> bool {
        // Asked before reading: a thread that has ended by then has written all that it ever will.
        let is_full = self.pool.state(held.chunk) == ChunkState::Full as u32;
        // A process that runs another program by now has left this one's chunks behind.
        let is_left = self.images[&held.pid].last().is_some_and(|&newest| newest > held.image);
        let is_over = |drain: &Self| has_ended(held.pid, held.tid) && !drain.awaits_its_end(held.pid);
        let ended = is_left || look && (final_round || is_over(self));
        let pool = self.pool;
        let Some(mut reader) = ChunkReader::begin(&pool, held.chunk).filter(|_| held.is_still_there(&pool)) else {
            return true;
        };
        self.batch.clear();
        let (mut has_holes, mut gaps) = (false, BatchGaps::default());
        // Read while nobody can take the chunk back.
        let header = pool.header(held.chunk);
        let (lost, ticks) = (header.lost_before.load(Ordering::Relaxed), header.waited_ticks.load(Ordering::Relaxed));
        loop {
            while let Some(record) = reader.next_record() {
                self.batch.push(record);
            }
            let may_skip = ended || is_full && self.has_lost_patience(held.chunk);
            let (read, batch) = (self.batch.len(), &mut self.batch);
            if reader.is_at_end() || !may_skip || !reader.skip_hole(|record| batch.push(record)) {
                break;
            }
            has_holes = true;
            let told = self.batch.len() - read;
            // What was cut off happened before what follows.
            let next = reader.next_record();
            for record in &mut self.batch[read..] {
                record.tsc = next.map_or(0, |next| next.tsc);
            }
            self.batch.extend(next);
            if told == 0 {
                gaps.torn.extend(next.map(|next| next.tsc));
                self.torn += 1;
            }
        }
        let (at_end, used) = (reader.is_at_end(), reader.position());
        let is_done = at_end && is_full || ended;
        if is_done {
            // Before its thread takes it back, and writes to it what nobody has read.
            reader.keep(if is_full { ChunkState::Full } else { ChunkState::Active });
        } else {
            drop(reader);
        }
        if at_end && is_full {
            self.read_interrupting(held);
        }
        let first = self.batch.iter().map(|record| record.tsc).find(|tsc| *tsc > 0);
        let shadow_base_low = header.shadow_base_low.load(Ordering::Relaxed);
        // After the events: what belongs to them was written before them.
        let progress = self.threads.entry((held.pid, held.tid)).or_default();
        if progress.is_new_chunk(held, used, &self.batch, &mut gaps) {
            gaps.without_chunk = lost;
            gaps.waits.extend(first.filter(|_| ticks > 0).map(|until| Wait { ticks, until }));
        }
        let limit = self.batch.iter().map(|record| record.tsc).max().unwrap_or(0);
        let (details, stride) = (&mut progress.details, self.shape.stride());
        if self.detail == DetailMode::All {
            gaps.waits.extend(details.collect(&pool, Lane::Detail, stride, held.pid, held.tid, limit));
        } else if self.watch.is_some() {
            gaps.waits.extend(details.collect_handed_over(&pool, stride, held.pid, held.tid, limit));
        }
        if self.batch.iter().any(|record| record.is_probed()) {
            gaps.waits.extend(details.collect(&pool, Lane::Probe, RawProbe::SIZE, held.pid, held.tid, limit));
        }
        if self.failure.is_none()
            && let Err(error) = self.write(held, shadow_base_low, files)
        {
            self.failure = Some(error);
        }
        if self.failure.is_none() && files.is_segment_full() {
            self.turn_segment(files);
        }
        if self.failure.is_some() {
            self.unwritten += self.batch.len() as u64;
        }
        self.tell_gaps(held, gaps, first, files);
        if is_full && !at_end && !ended {
            return false;
        }
        if is_done {
            let status = header.exit_status.load(Ordering::Relaxed);
            if status & IS_EXITING != 0 {
                self.exit_calls.insert(held.pid, (status & !IS_EXITING) as i32);
            }
            self.stuck.remove(&held.chunk);
            self.free(held.chunk, used, has_holes && !ended);
            if ended && is_last && !is_left && !final_round && !self.has_later_chunks(held) {
                if let Some(mut progress) = self.threads.remove(&(held.pid, held.tid)) {
                    let id = files.thread_id(held.pid, held.tid).unwrap_or(ThreadId(held.tid));
                    progress.window.finished(id, true).for_each(|window| self.windows.push(held.pid, window));
                }
                detail_lane::free_all(&pool, held.pid, held.tid);
                if let Err(error) = files.thread_ended(held.pid, held.tid) {
                    self.failure.get_or_insert(error);
                }
            }
        }
        true
    }

    /// Writes down where a thread's events are missing or late. `first` is the first of the batch.
    fn tell_gaps(&mut self, held: &Held, gaps: BatchGaps, first: Option<u64>, files: &SessionFiles) {
        let thread = files.thread_id(held.pid, held.tid).unwrap_or(ThreadId(held.tid));
        let Some(begin) = first.map(|tsc| self.clock.at(tsc).0) else { return };
        if gaps.taken_back > 0 {
            self.gaps.lost(held.pid, thread, begin, gaps.taken_back);
        }
        if gaps.without_chunk > 0 {
            self.gaps.lost_without_chunk(held.pid, thread, begin, gaps.without_chunk);
        }
        for tsc in gaps.torn {
            self.gaps.lost(held.pid, thread, self.clock.at(tsc).0, 1);
        }
        for wait in gaps.waits {
            self.waited_ns += self.gaps.waited(held.pid, thread, &self.clock, wait);
        }
        // All that comes is missing too, and one word of it is enough.
        let progress = self.threads.entry((held.pid, held.tid)).or_default();
        if self.failure.is_some() && !std::mem::replace(&mut progress.is_cut, true) {
            self.gaps.lost(held.pid, thread, begin, self.batch.len() as u64);
        }
    }

    /// Whether a thread has left chunks that were not there when the round began. A new thread with the same id counts
    /// its chunks from 0.
    fn has_later_chunks(&self, last: &Held) -> bool {
        let is_later = |held: &Held| (held.pid, held.tid) == (last.pid, last.tid) && held.ordinal > last.ordinal;
        self.held_chunks().iter().any(is_later)
    }

    /// A handler that interrupted the stub of a chunk's last record has its own records in the next chunk, with earlier
    /// times: they are put in order together.
    fn read_interrupting(&mut self, held: &Held) {
        let Some(last) = self.batch.last().map(|record| record.tsc) else { return };
        let is_next = |next: &Held| {
            (next.pid, next.tid, next.image, next.ordinal) == (held.pid, held.tid, held.image, held.ordinal + 1)
        };
        let pool = self.pool;
        let Some(next) = self.held_chunks().into_iter().find(is_next) else { return };
        let Some(mut reader) = ChunkReader::begin(&pool, next.chunk) else { return };
        while let Some(record) = reader.next_record_before(last) {
            self.batch.push(record);
        }
    }

    fn has_lost_patience(&mut self, chunk: usize) -> bool {
        self.stuck.entry(chunk).or_insert_with(Instant::now).elapsed() > HOLE_PATIENCE
    }

    /// Gives a kept chunk to whoever needs one.
    fn free(&mut self, chunk: usize, used: usize, has_holes: bool) {
        self.index.dumps += 1;
        if has_holes {
            self.quarantine.push_back((Instant::now() + QUARANTINE, chunk));
        } else {
            self.pool.zero_records(chunk, used);
            self.pool.change(chunk, ChunkState::Draining, ChunkState::Free);
        }
    }

    fn end_quarantine(&mut self) {
        while let Some(&(until, chunk)) = self.quarantine.front()
            && until <= Instant::now()
        {
            self.quarantine.pop_front();
            self.pool.zero_records(chunk, RECORDS_END);
            self.pool.change(chunk, ChunkState::Draining, ChunkState::Free);
        }
    }

    fn write(&mut self, held: &Held, shadow_base_low: u32, files: &mut SessionFiles) -> Result<(), ControlError> {
        if self.batch.is_empty() {
            return Ok(());
        }
        let times = put_in_order(&mut self.batch);
        if self.batch.iter().any(|record| record.function as usize >= self.known.len()) {
            self.known.clone_from(&self.numbers.read().expect("nobody panics with the lock"));
        }
        self.tally.lock().expect("nobody panics with the lock").add(held.pid, &self.batch);
        let thread = files.thread(held.pid, held.tid)?;
        thread.entry_mut().tid = Some(held.tid);
        thread.entry_mut().handle = Some(HexAddr(held.thread_pointer));
        let sampled = self.batch.len().div_ceil(Latencies::SAMPLES);
        let progress = self.threads.entry((held.pid, held.tid)).or_default();
        let base = thread.next_seq().0;
        if let Some(watch) = &mut self.watch {
            learn_handlers(&self.batch, &mut progress.details, watch);
        }
        let mut has_windows = false;
        if let Some(watch) = self.watch.as_ref().filter(|watch| watch.is_on() || progress.window.is_open(base)) {
            let times = event_times(&self.batch, &times, &self.clock, progress.last);
            let events = BatchEvents { remembered: progress.details.remembered(), base, times: &times };
            let open_calls = &mut progress.window.open_calls;
            let fired = triggers_among(&self.batch, &events, shadow_base_low, watch, open_calls);
            progress.window.advance(fired, &events, watch.pre_roll(), watch.post_roll());
            has_windows = progress.window.has_work();
        }
        if has_windows {
            let limit = self.batch.iter().map(|record| record.tsc).max().unwrap_or(0);
            let stride = self.shape.stride();
            for wait in progress.details.collect_kept(&self.pool, stride, held.pid, held.tid, limit) {
                self.waited_ns += self.gaps.waited(held.pid, thread.thread(), &self.clock, wait);
            }
            progress.write_remembered(thread, base, &self.known, &self.shape, &mut self.details)?;
        }
        self.bytes.clear();
        for (number, record) in self.batch.iter().enumerate() {
            let tsc = times.get(number).copied().unwrap_or(record.tsc);
            let time = self.clock.at(tsc).max(progress.last);
            progress.last = time;
            if number % sampled == 0 {
                self.latencies.encoded(time, sampled as u64);
            }
            let event = to_event(record, time, thread.thread(), shadow_base_low, &self.known);
            let position = base + number as u64;
            let mut window = progress.window.of(position).filter(|_| has_windows);
            let is_wanted = self.detail == DetailMode::All || window.is_some();
            if record.is_probed() || record.has_detail() && is_wanted {
                if let Some(captured) = progress.details.take(record.tsc) {
                    thread.append_raw(&self.bytes).map_err(failed)?;
                    self.bytes.clear();
                    let (payload, lane) = if record.is_probed() {
                        (captured.probe_payload(event.function), &mut self.probes)
                    } else {
                        (captured.payload(event.function, &self.shape), &mut self.details)
                    };
                    lane.written += 1;
                    lane.bytes += thread.append_with_detail(&event, &payload).map_err(failed)?;
                    window.iter_mut().for_each(|window| window.wrote(time));
                    continue;
                }
                match &mut window {
                    Some(window) => window.lost(),
                    None => self.details_lost += 1,
                }
            }
            if self.watch.is_some() && record.has_detail() && number + REMEMBERED >= self.batch.len() {
                let remembered =
                    Remembered { tsc: record.tsc, seq: EventSeq(position), time, function: record.function };
                progress.details.remember(remembered);
            }
            self.bytes.extend_from_slice(&event.to_le_bytes());
        }
        thread.append_raw(&self.bytes).map_err(failed)?;
        if self.watch.is_some() {
            progress.details.forget_unremembered();
        } else if let Some(last) = self.batch.iter().map(|record| record.tsc).max() {
            progress.details.forget_until(last);
        }
        if has_windows {
            let id = thread.thread();
            progress.window.finished(id, false).for_each(|window| self.windows.push(held.pid, window));
            if !progress.window.is_open(thread.next_seq().0) {
                ThreadDetails::unwant(&self.pool, held.pid, held.tid);
            }
        }
        self.events += self.batch.len() as u64;
        Ok(())
    }

    /// Hands everything to the operating system.
    pub(crate) fn flush(&mut self, files: &mut SessionFiles) {
        if self.failure.is_none() {
            self.failure = files.flush().err();
            self.latencies.written(self.clock.now());
        }
    }

    /// Begins a new segment of a ring.
    pub(crate) fn turn_segment(&mut self, files: &mut SessionFiles) {
        for (&(pid, tid), progress) in &mut self.threads {
            progress.details.forget_remembered();
            let (Some(id), Some(end)) = (files.thread_id(pid, tid), files.next_seq(pid, tid)) else { continue };
            progress.window.begin_file(end, id).for_each(|window| self.windows.push(pid, window));
        }
        match files.turn_segment() {
            Ok(Some(gone_before)) => {
                self.windows.forget_before(gone_before);
                self.gaps.forget_before(gone_before);
            }
            Ok(None) => {}
            Err(error) => self.failure = Some(error),
        }
    }

    /// Writes the newest detail of all threads of a process that a signal is killing, or has killed.
    pub(crate) fn fatal_signal(&mut self, pid: u32, signal: i32, files: &mut SessionFiles) {
        let Some(name) = self.watch.as_ref().and_then(|watch| watch.fatal(signal)) else { return };
        if self.failure.is_none()
            && let Err(error) = self.open_windows(pid, &name, files)
        {
            self.failure = Some(error);
        }
    }

    fn open_windows(&mut self, pid: u32, name: &str, files: &mut SessionFiles) -> Result<(), ControlError> {
        let Some(watch) = &self.watch else { return Ok(()) };
        for (&(_, tid), progress) in self.threads.iter_mut().filter(|((process, _), _)| *process == pid) {
            let thread = files.thread(pid, tid)?;
            let end = thread.next_seq().0;
            let Some(last) = end.checked_sub(1) else { continue };
            let events = BatchEvents { remembered: progress.details.remembered(), base: end, times: &[] };
            let fired = Fired { name: name.to_owned(), event: last, time: progress.last };
            progress.window.advance(vec![fired], &events, watch.pre_roll(), watch.post_roll());
            for wait in progress.details.collect_kept(&self.pool, self.shape.stride(), pid, tid, u64::MAX) {
                self.waited_ns += self.gaps.waited(pid, thread.thread(), &self.clock, wait);
            }
            progress.write_remembered(thread, end, &self.known, &self.shape, &mut self.details)?;
        }
        Ok(())
    }

    /// All threads have come to their end.
    pub(crate) fn finish_windows(&mut self, files: &SessionFiles) {
        for (&(pid, tid), progress) in &mut self.threads {
            let id = files.thread_id(pid, tid).unwrap_or(ThreadId(tid));
            progress.window.finished(id, true).for_each(|window| self.windows.push(pid, window));
        }
    }

    /// Whether a process has ended, and how is about to be known: then its threads' detail may be wanted yet.
    fn awaits_its_end(&self, pid: u32) -> bool {
        self.watch.as_ref().is_some_and(|watch| watch.root == pid) && is_zombie(pid)
    }
}

impl ThreadProgress {
    /// Takes note of a chunk that was read up to a position. True the first time that it had records; then its header
    /// tells what the thread went through before it had the chunk.
    fn is_new_chunk(&mut self, held: &Held, read: usize, batch: &[RawRecord], gaps: &mut BatchGaps) -> bool {
        if batch.is_empty() {
            return false;
        }
        let now = ChunkProgress {
            image: held.image,
            ordinal: held.ordinal,
            records: (read.min(RECORDS_END) / RawRecord::SIZE) as u64,
        };
        let last = self.chunk.replace(now).filter(|last| last.image == held.image && last.ordinal <= held.ordinal);
        if last.is_some_and(|last| last.ordinal == held.ordinal) {
            return false;
        }
        let per_chunk = RECORDS_PER_CHUNK as u64;
        gaps.taken_back = match last {
            Some(last) => per_chunk - last.records + (held.ordinal - last.ordinal - 1) * per_chunk,
            None if self.last == TraceNanos::default() => held.ordinal * per_chunk,
            None => 0,
        };
        true
    }

    /// Writes the detail of events that were written without, and lie in windows, up to the position `base`.
    fn write_remembered(
        &mut self,
        thread: &mut ThreadWriter,
        base: u64,
        known: &[FunctionId],
        shape: &DetailShape,
        lane: &mut LaneFigures,
    ) -> Result<(), ControlError> {
        for range in self.window.before(base) {
            for event in self.details.remembered_in(&range) {
                let Some(window) = self.window.of(event.seq.0) else { continue };
                let Some(captured) = self.details.take(event.tsc) else {
                    window.lost();
                    continue;
                };
                let function = known.get(event.function as usize).copied().unwrap_or_default();
                let payload = captured.payload(function, shape);
                lane.bytes += thread.add_detail(event.seq, event.time, &payload).map_err(failed)?;
                lane.written += 1;
                window.wrote(event.time);
            }
        }
        Ok(())
    }
}

fn to_event(
    record: &RawRecord,
    timestamp: TraceNanos,
    thread: ThreadId,
    shadow_base_low: u32,
    known: &[FunctionId],
) -> Event {
    Event {
        timestamp,
        function: known.get(record.function as usize).copied().unwrap_or_default(),
        thread,
        kind: match record.kind() {
            RecordKind::EntryOnly if record.is_uncaught() => EventKind::ENTRY,
            RecordKind::Call | RecordKind::EntryOnly => EventKind::CALL,
            RecordKind::Return => EventKind::RETURN,
            RecordKind::Unwound => EventKind::EXCEPTION,
        },
        depth: record.depth(shadow_base_low),
        detail: DetailSeq::NONE,
    }
}

fn has_ended(pid: u32, tid: u32) -> bool {
    // SAFETY: signal 0 only asks whether the thread is there.
    let result = unsafe { libc::syscall(libc::SYS_tgkill, pid, tid, 0) };
    result < 0 && std::io::Error::last_os_error().raw_os_error() == Some(libc::ESRCH)
}

/// Whether a process has ended with all its threads, and nobody has waited for it yet.
fn is_zombie(pid: u32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    // The name in parentheses may hold anything.
    let mut fields = stat.rsplit(')').next().unwrap_or_default().split_ascii_whitespace();
    const THREADS_AFTER_STATE: usize = 16;
    fields.next() == Some("Z") && fields.nth(THREADS_AFTER_STATE).is_none_or(|threads| matches!(threads, "0" | "1"))
}
