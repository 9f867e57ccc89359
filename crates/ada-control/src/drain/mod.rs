//! Empties the chunks: raw records become events in the files of their threads.
//!
//! A round lists the chunks that hold something ([`to_read`]), reads each, and writes its events
//! ([`event_writer`]); what was read goes back to the pool ([`chunk_returns`]).

mod batch_as_events;
mod batch_details;
mod batch_facts;
mod captured_values;
mod chunk_returns;
mod crash_lane;
mod detail_lane;
mod details_in_place;
mod emptying;
pub(crate) mod event_tally;
mod event_writer;
mod figures;
mod gap_log;
mod latencies;
mod own_stack;
mod pending_chunk;
mod printed_calls;
mod seen_processes;
pub(crate) mod session;
mod signal_order;
mod silent_threads;
mod stack_changes;
mod thread_progress;
mod to_read;
mod used_descriptors;
pub(crate) mod windows;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use ada_event::{ProcessId, ThreadId};
use ada_format::atf::{Crash, Drops, Gap, LaneFigures, PoolFigures, Window};
use ada_process::procfs::ProcessDir;
use ada_process::{Clock, thread_exists};
use ada_ring::{DetailMode, DetailShape, RawRecord};

use self::chunk_returns::ChunkReturns;
use self::crash_lane::CrashLane;
use self::event_tally::SharedTally;
use self::event_writer::EventWriter;
pub(crate) use self::printed_calls::PrintedCalls;
use self::seen_processes::SeenProcesses;
use self::session::SessionFiles;
use self::to_read::ToRead;
pub(crate) use self::used_descriptors::{Used, UsedDescriptors, UsedThing};
use self::windows::Watch;
use crate::error::ControlError;
use crate::install::function_numbers::SharedNumbers;
use crate::install::rings::Rings;
use crate::plan::module::Module;
use crate::program_id::ProgramId;

/// How often to look whether quiet threads still live, unless chunks are short.
const LOOK_FOR_ENDED_THREADS: Duration = Duration::from_millis(30);

/// How much of a round is for threads that have ended.
const FOR_ENDED_THREADS: Duration = Duration::from_millis(10);

/// The consumer of all rings.
pub(crate) struct Drain {
    rings: Arc<Rings>,
    batch: Vec<RawRecord>,
    writer: EventWriter,
    processes: SeenProcesses,
    returns: ChunkReturns,
    crashes: CrashLane,
    /// When threads were last looked for that have ended.
    looked: Instant,
    /// How often no chunk had been free at the start of the last round.
    exhausted: u64,
    /// Whether something remains for the next round.
    has_more: bool,
    /// Why nothing is written any more, once a write has failed; records are then read and counted only, so that the
    /// target does not wait for a disk that is full.
    failure: Option<ControlError>,
    /// The functions that printed calls, and those that use descriptors, were last looked for among.
    looked_through: u32,
}

impl Drain {
    pub(crate) fn new(rings: Arc<Rings>, clock: Clock, numbers: SharedNumbers, shape: DetailShape) -> Self {
        let pool = rings.first();
        let detail = match pool.orders().detail_mode.load(Ordering::Relaxed) {
            0 => DetailMode::Off,
            1 => DetailMode::Windows,
            _ => DetailMode::All,
        };
        Self {
            rings,
            batch: Vec::new(),
            writer: EventWriter::new(clock, numbers, detail, shape, pool.chunk_count()),
            processes: SeenProcesses::default(),
            returns: ChunkReturns::default(),
            crashes: CrashLane::default(),
            looked: Instant::now(),
            exhausted: 0,
            has_more: false,
            failure: None,
            looked_through: 0,
        }
    }

    /// Reads all that is there. `final_round` once the target has ended. Gives the number of events.
    pub(crate) fn round(&mut self, files: &mut SessionFiles, final_round: bool) -> u64 {
        let rings = self.rings.clone();
        let orders = self.rings.first();
        let orders = orders.orders();
        orders.heartbeats.fetch_add(1, Ordering::Relaxed);
        self.returns.end_quarantine(&rings);
        let crashed: Vec<(ProcessId, i32)> =
            self.crashes.collect(&rings).iter().map(|crash| (crash.pid, crash.signal)).collect();
        let before = self.writer.figures.events;
        let free = rings.fewest_free();
        self.writer.figures.saw_free(free);
        self.writer.is_behind = free < rings.first().chunk_count() / 2;
        let exhausted = rings.exhausted();
        let chunks_are_short = std::mem::replace(&mut self.exhausted, exhausted) != exhausted;
        let look = final_round || chunks_are_short || self.looked.elapsed() > LOOK_FOR_ENDED_THREADS;
        if look {
            self.looked = Instant::now();
        }
        // The detail of threads that a crash has ended is still to be written.
        let is_crashed = |pid: ProcessId| crashed.iter().any(|(crashed, _)| *crashed == pid);
        let is_over = |pid, tid| look && !is_crashed(pid) && (final_round || !thread_exists(pid, tid));
        let ToRead { chunks: pending, mut ended } = ToRead::list(&rings, is_over);
        if !final_round {
            self.keep_awaited(&mut ended);
        }
        pending.iter().for_each(|chunk| self.processes.saw(chunk));
        let (mut spent, mut blocked) = (Duration::ZERO, None);
        self.has_more = false;
        for (number, chunk) in pending.iter().enumerate() {
            let thread = (chunk.pid, chunk.tid);
            let is_last = pending.get(number + 1).is_none_or(|next| (next.pid, next.tid) != thread);
            let ended = ended.get(&thread).map(Vec::as_slice);
            // Live threads come first. Ended ones can wait, and there may be thousands.
            let has_to_wait = ended.is_some() && !final_round && spent > FOR_ENDED_THREADS;
            self.has_more |= has_to_wait;
            if blocked == Some(thread) || has_to_wait {
                continue;
            }
            let begun = ended.map(|_| Instant::now());
            if !self.empty(chunk, is_last, ended, final_round, files) {
                blocked = Some(thread);
            }
            spent += begun.map_or(Duration::ZERO, |begun| begun.elapsed());
        }
        if let Some(printed) = &mut self.writer.printed {
            printed.print_waiting(final_round);
        }
        self.crashes.name_threads(|pid, tid| files.thread_id(pid, tid));
        for (pid, signal) in crashed {
            self.fatal_signal(pid, signal, files);
        }
        if look {
            orders.looks_for_ended.fetch_add(1, Ordering::Relaxed);
        }
        self.writer.figures.events - before
    }

    pub(crate) fn has_more(&self) -> bool {
        self.has_more
    }

    /// Hands everything to the operating system.
    pub(crate) fn flush(&mut self, files: &mut SessionFiles) {
        if self.failure.is_none() {
            self.failure = files.flush().err();
            self.writer.figures.latencies.written(self.writer.clock.now());
        }
    }

    /// Nothing is written any more, for this reason.
    pub(crate) fn fail(&mut self, error: ControlError) {
        self.failure.get_or_insert(error);
    }

    /// Writes detail in windows only.
    pub(crate) fn watch_for(&mut self, watch: Watch) {
        self.writer.watch = Some(watch);
    }

    /// Prints calls as they happen.
    pub(crate) fn print(&mut self, printed: PrintedCalls) {
        self.writer.printed = Some(printed);
    }

    /// Tells of the descriptors that calls use.
    pub(crate) fn tell_descriptors(&mut self, used: UsedDescriptors) {
        self.writer.descriptors = Some(used);
    }

    /// Takes up what has changed in the triggers and in the program.
    pub(crate) fn refresh_watch(&mut self, modules: &[Module]) {
        if let Some(printed) = &mut self.writer.printed {
            printed.refresh(modules);
        }
        if let Some(descriptors) = &mut self.writer.descriptors {
            descriptors.refresh(modules);
        }
        self.looked_through = self.functions_end();
        let version = self.watched_version();
        if let Some(watch) = &mut self.writer.watch {
            watch.refresh(modules, version);
        }
    }

    /// Whether anything has. Asked each round, so it avoids the lock that is held while a program is hooked.
    pub(crate) fn has_stale_watch(&self) -> bool {
        self.writer.watch.as_ref().is_some_and(|watch| watch.is_stale(self.watched_version()))
            || (self.writer.printed.is_some() || self.writer.descriptors.is_some())
                && self.looked_through != self.functions_end()
    }

    fn functions_end(&self) -> u32 {
        self.writer.numbers.read().expect("nobody panics with the lock").end()
    }

    /// Another number whenever there is something new to watch for: functions, or another address of functions, which matters
    /// to handlers.
    fn watched_version(&self) -> u32 {
        let numbers = self.writer.numbers.read().expect("nobody panics with the lock");
        let is_by_address = self.writer.watch.as_ref().is_some_and(Watch::is_by_address);
        if is_by_address { numbers.added() } else { numbers.end() }
    }

    /// Begins a new segment of a ring.
    pub(crate) fn turn_segment(&mut self, files: &mut SessionFiles) {
        if let Err(error) = self.writer.turn_segment(files) {
            self.failure = Some(error);
        }
    }

    /// Writes the newest detail of all threads of a process that a signal is killing, or has killed.
    pub(crate) fn fatal_signal(&mut self, pid: ProcessId, signal: i32, files: &mut SessionFiles) {
        let Some(name) = self.writer.watch.as_ref().and_then(|watch| watch.fatal(signal)) else { return };
        if self.failure.is_none()
            && let Err(error) = self.writer.open_windows(&self.rings, pid, &name, files)
        {
            self.failure = Some(error);
        }
    }

    /// All threads have come to their end.
    pub(crate) fn finish_windows(&mut self, files: &SessionFiles) {
        self.writer.finish_windows(files);
    }

    /// Threads of a process that has ended are not over while how it did is about to be known: their detail may be wanted
    /// yet. Asked after whether they have ended.
    fn keep_awaited<T>(&self, ended: &mut HashMap<(ProcessId, ThreadId), T>) {
        let Some(root) = self.writer.watch.as_ref().map(|watch| watch.root) else { return };
        if ended.keys().any(|(pid, _)| *pid == root) && ProcessDir::of(root).stat().is_some_and(|stat| stat.is_zombie())
        {
            ended.retain(|(pid, _), _| *pid != root);
        }
    }
}

/// What the drain reports of its work.
impl Drain {
    /// Records given up, by reason.
    pub(crate) fn drops(&self) -> Vec<(&'static str, u64)> {
        self.writer.figures.drops(&self.rings)
    }

    /// The same for manifests: by lane, and how many are missing nobody knows where.
    pub(crate) fn drops_by_lane(&self, drops: &[(&'static str, u64)]) -> Vec<Drops> {
        let describe = |&(reason, count): &(&'static str, u64)| {
            let lane = if reason == "detail_lost" { "detail" } else { "index" };
            let unplaced = Some(self.writer.gaps.unplaced(reason, count)).filter(|_| lane == "index");
            Drops { lane: lane.into(), reason: reason.into(), count, unplaced, ..Drops::default() }
        };
        drops.iter().map(describe).collect()
    }

    /// Where a process's threads lost events or waited.
    pub(crate) fn gaps(&self, pid: ProcessId) -> Vec<Gap> {
        self.writer.gaps.of_process(pid)
    }

    /// A process's windows, and how many more there were than are listed.
    pub(crate) fn windows(&self, pid: ProcessId) -> (Vec<Window>, u64) {
        self.writer.windows.of_process(pid)
    }

    /// What went through the lanes, and how full the rings were.
    pub(crate) fn figures(&self) -> (BTreeMap<String, LaneFigures>, PoolFigures) {
        (self.writer.figures.lanes(), self.writer.figures.pool(&self.rings))
    }

    /// The clock of its events.
    pub(crate) fn clock(&self) -> Clock {
        self.writer.clock
    }

    pub(crate) fn rings(&self) -> &Arc<Rings> {
        &self.rings
    }

    /// The programs that each process was seen to run.
    pub(crate) fn programs(&self) -> &HashMap<ProcessId, BTreeSet<ProgramId>> {
        self.processes.programs()
    }

    /// The processes that are new since the last call.
    pub(crate) fn newcomers(&mut self) -> Vec<ProcessId> {
        self.processes.take_newcomers()
    }

    /// Who forked each process that is a fork.
    pub(crate) fn forks(&self) -> &HashMap<ProcessId, ProcessId> {
        self.processes.forks()
    }

    /// The status that a process called `_exit` with, if it did.
    pub(crate) fn exit_call(&self, pid: ProcessId) -> Option<i32> {
        self.processes.exit_call(pid)
    }

    /// How many events each function makes; shared, so that others can read it while the drain runs.
    pub(crate) fn tally(&self) -> SharedTally {
        self.writer.tally.clone()
    }

    /// Events written so far.
    pub(crate) fn events(&self) -> u64 {
        self.writer.figures.events
    }

    /// Why the session is incomplete, if it is.
    pub(crate) fn failure(&self) -> Option<&ControlError> {
        self.failure.as_ref()
    }

    /// The fatal signals that hit a process's threads.
    pub(crate) fn crashes(&self, pid: ProcessId) -> Vec<Crash> {
        let numbers = self.writer.numbers.read().expect("nobody panics with the lock");
        self.crashes.of_process(pid, &self.writer.clock, &numbers)
    }

    /// Crashes of which no record came to be.
    pub(crate) fn unrecorded_crashes(&self) -> u64 {
        self.rings.sum(|pool| {
            let crashes = &pool.control().crashes;
            crashes.unrecorded.load(Ordering::Relaxed).saturating_add(crashes.unfinished() as u64)
        })
    }

    /// How long threads have waited for room.
    pub(crate) fn waited_ns(&self) -> u64 {
        self.writer.figures.waited_ns
    }
}
