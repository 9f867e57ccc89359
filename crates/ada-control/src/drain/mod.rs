//! Empties the chunks: raw records become events in the files of their threads.

mod batch_as_events;
mod batch_facts;
mod crash_lane;
mod detail_lane;
mod emptying;
pub(crate) mod event_tally;
mod figures;
mod gaps;
mod latencies;
mod pending_chunk;
pub(crate) mod session;
mod signal_order;
mod thread_progress;
mod windowed;
pub(crate) mod windows;
mod writing;

use std::collections::{BTreeSet, HashMap, VecDeque};
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use ada_format::atf::LaneFigures;
use ada_process::Clock;
use ada_process::procfs::has_ended;
use ada_ring::{ChunkState, DetailMode, DetailShape, Pool, RawRecord};

use self::pending_chunk::ToRead;
use self::thread_progress::ThreadProgress;
use crate::drain::crash_lane::CrashLane;
use crate::drain::event_tally::SharedTally;
use crate::drain::gaps::GapLog;
use crate::drain::latencies::Latencies;
use crate::drain::session::SessionFiles;
use crate::drain::windows::{Watch, WindowLog};
use crate::error::ControlError;
use crate::install::function_numbers::{FunctionNumbers, SharedNumbers};
use crate::program_id::ProgramId;

/// How often to look whether quiet threads still live, unless chunks are short.
const LOOK_FOR_ENDED_THREADS: Duration = Duration::from_millis(30);

/// How much of a round is for threads that have ended.
const FOR_ENDED_THREADS: Duration = Duration::from_millis(10);

/// The consumer of all rings.
pub(crate) struct Drain {
    pool: Pool,
    clock: Clock,
    numbers: SharedNumbers,
    known: FunctionNumbers,
    looked: Instant,
    /// Since when each chunk has been stuck at a hole.
    stuck: HashMap<usize, Instant>,
    /// Chunks with holes that were passed over, and when they may be used again.
    quarantine: VecDeque<(Instant, usize)>,
    threads: HashMap<(u32, u32), ThreadProgress>,
    programs: HashMap<u32, BTreeSet<ProgramId>>,
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
    events: u64,
    torn: u64,
    details_lost: u64,
    waited_ns: u64,
    latencies: Latencies,
    index: LaneFigures,
    details: LaneFigures,
    probes: LaneFigures,
    has_more: bool,
    /// How often no chunk had been free at the start of the last round.
    exhausted: u64,
    /// The fewest chunks that were free at the start of a round.
    low_water: usize,
    /// Why nothing is written any more, once a write has failed; records are then read and counted only, so that the
    /// target does not wait for a disk that is full.
    failure: Option<ControlError>,
    unwritten: u64,
}

impl Drain {
    pub(crate) fn new(pool: Pool, clock: Clock, numbers: SharedNumbers, shape: DetailShape) -> Self {
        let detail = match pool.control().detail_mode.load(Ordering::Relaxed) {
            0 => DetailMode::Off,
            1 => DetailMode::Windows,
            _ => DetailMode::All,
        };
        Self {
            pool,
            clock,
            numbers,
            known: FunctionNumbers::default(),
            looked: Instant::now(),
            stuck: HashMap::new(),
            quarantine: VecDeque::new(),
            threads: HashMap::new(),
            programs: HashMap::new(),
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
            events: 0,
            torn: 0,
            details_lost: 0,
            waited_ns: 0,
            latencies: Latencies::default(),
            index: LaneFigures::default(),
            details: LaneFigures::default(),
            probes: LaneFigures::default(),
            has_more: false,
            exhausted: 0,
            low_water: pool.chunk_count(),
            failure: None,
            unwritten: 0,
        }
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
        let exhausted = self.pool.control().exhausted.load(Ordering::Relaxed);
        let chunks_are_short = std::mem::replace(&mut self.exhausted, exhausted) != exhausted;
        let look = final_round || chunks_are_short || self.looked.elapsed() > LOOK_FOR_ENDED_THREADS;
        if look {
            self.looked = Instant::now();
        }
        // The detail of threads that a crash has ended is still to be written.
        let is_crashed = |pid: u32| crashed.iter().any(|(crashed, _)| *crashed == pid);
        let is_over = |pid, tid| look && !is_crashed(pid) && (final_round || has_ended(pid, tid));
        let ToRead { chunks: pending, mut ended } = ToRead::list(&self.pool, is_over);
        if !final_round {
            self.keep_awaited(&mut ended);
        }
        for pending in &pending {
            let programs = self.programs.entry(pending.pid).or_default();
            if programs.is_empty() {
                self.newcomers.push(pending.pid);
            }
            programs.insert(pending.program);
            if pending.forked_by != 0 {
                self.forks.insert(pending.pid, pending.forked_by);
            }
        }
        let (mut spent, mut blocked) = (Duration::ZERO, None);
        self.has_more = false;
        for (number, chunk) in pending.iter().enumerate() {
            let thread = (chunk.pid, chunk.tid);
            let is_last = pending.get(number + 1).is_none_or(|next| (next.pid, next.tid) != thread);
            let left = ended.get(&thread).map(Vec::as_slice);
            // Those that live go before those that are in no hurry any more, of which there may be thousands.
            let has_to_wait = left.is_some() && !final_round && spent > FOR_ENDED_THREADS;
            self.has_more |= has_to_wait;
            if blocked == Some(thread) || has_to_wait {
                continue;
            }
            let begun = left.map(|_| Instant::now());
            if !self.empty(chunk, is_last, left, final_round, files) {
                blocked = Some(thread);
            }
            spent += begun.map_or(Duration::ZERO, |begun| begun.elapsed());
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

    /// Whether the last round has left something for the next one.
    pub(crate) fn has_more(&self) -> bool {
        self.has_more
    }

    /// Hands everything to the operating system.
    pub(crate) fn flush(&mut self, files: &mut SessionFiles) {
        if self.failure.is_none() {
            self.failure = files.flush().err();
            self.latencies.written(self.clock.now());
        }
    }

    /// Nothing is written any more, for this reason.
    pub(crate) fn fail(&mut self, error: ControlError) {
        self.failure.get_or_insert(error);
    }
}
