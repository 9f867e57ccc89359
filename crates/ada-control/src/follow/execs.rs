//! Follows processes into the programs that they run.
//!
//! A thread that is about to exec waits in the agent until it is seized here. The kernel stops it when the new program is
//! loaded, and the program goes through the gate like the first one. No process is traced by ptrace for longer than its
//! exec takes, unless it is stopped meanwhile.
//!
//! Each exec is followed by a thread of its own, because only the thread that began to trace may go on, and a process that
//! somebody has stopped must not keep others waiting.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering};
use std::thread::Scope;
use std::time::{Duration, Instant};

use ada_event::{ProcessId, RuntimeAddr, ThreadId};
use ada_process::procfs::ProcessDir;
use ada_process::ptrace::{ExecOutcome, Seized, Tracee};
use ada_process::{MemfdId, Pidfd, futex, this_process};
use ada_ring::control::{ExecCall, ExecCalls, MAX_EXECS};
use ada_ring::orders::MAX_RINGS;
use ada_ring::{ExecStage, Pool};

use crate::deadline::Deadline;
use crate::follow::abandoned_calls::AbandonedCalls;
use crate::follow::retirement::Retirement;
use crate::install::rings::Rings;
use crate::launch::gate::Gate;
use crate::launch::program_file;
use crate::launch::workshop::Workshop;
use crate::options::TraceOptions;
use crate::program_id::ProgramId;
use crate::tracked::{ProcessFacts, Programs};

/// How long a thread without work sleeps before it looks whether the recording has ended.
const REST: Duration = Duration::from_millis(50);

/// Serves threads that are about to exec.
pub(crate) struct ExecFollower<'a> {
    programs: &'a Programs,
    workshop: &'a Workshop,
    options: &'a TraceOptions,
    rings: &'a Rings,
    /// By its rings and its place among the calls: whether a thread watches it. A process that looks for a program in one folder after the other asks
    /// again each time, and whoever watches it hears that: nobody else may trace it meanwhile.
    watched: Vec<AtomicBool>,
    /// How many threads wait for work.
    idle: AtomicUsize,
    upkeep: Mutex<Upkeep>,
}

/// What is done now and then, by a thread that has time.
#[derive(Default)]
struct Upkeep {
    retirement: Retirement,
    /// By their rings.
    abandoned: Vec<AbandonedCalls>,
}

impl<'a> ExecFollower<'a> {
    pub(crate) fn new(
        programs: &'a Programs,
        workshop: &'a Workshop,
        options: &'a TraceOptions,
        rings: &'a Rings,
    ) -> Self {
        let watched = (0..MAX_RINGS * MAX_EXECS).map(|_| AtomicBool::new(false)).collect();
        Self { programs, workshop, options, rings, watched, idle: AtomicUsize::new(1), upkeep: Mutex::default() }
    }

    /// Serves until the recording ends, with as many threads as there are execs at once.
    pub(crate) fn run<'scope>(&'scope self, scope: &'scope Scope<'scope, '_>) {
        while !self.programs.phase.has_ended() {
            let pools: Vec<Pool> = self.rings.pools().collect();
            let asked = pools.iter().map(|pool| &pool.control().execs.asked);
            let asked: Vec<(&AtomicU32, u32)> = asked.map(|word| (word, word.load(Ordering::Acquire))).collect();
            let is_for_anybody = |(_, call, watched): &(&ExecCalls, &ExecCall, &AtomicBool)| {
                !watched.load(Ordering::Acquire) && call.advance(ExecStage::Asked, ExecStage::Heard)
            };
            let all = pools.iter().map(|pool| &pool.control().execs);
            let mut all = all.flat_map(|execs| execs.calls.iter().map(move |call| (execs, call))).zip(&self.watched);
            let found = all.find_map(|((execs, call), watched)| Some((execs, call, watched)).filter(is_for_anybody));
            let Some((execs, call, watched)) = found else {
                futex::wait_for_any(&asked, REST);
                if let Ok(mut upkeep) = self.upkeep.try_lock() {
                    upkeep.abandoned.resize_with(pools.len(), AbandonedCalls::default);
                    for (pool, abandoned) in pools.iter().zip(&mut upkeep.abandoned) {
                        abandoned.look(&pool.control().execs, Instant::now());
                    }
                }
                continue;
            };
            if self.idle.fetch_sub(1, Ordering::SeqCst) == 1 {
                // Nobody would hear the next one.
                self.idle.fetch_add(1, Ordering::SeqCst);
                scope.spawn(|| self.run(scope));
            }
            self.serve(execs, call, watched);
            self.idle.fetch_add(1, Ordering::SeqCst);
            if let Ok(mut upkeep) = self.upkeep.try_lock() {
                upkeep.retirement.look(self.programs, &self.workshop.shared, &self.workshop.ready);
            }
        }
    }

    fn serve(&self, execs: &ExecCalls, call: &ExecCall, watched: &AtomicBool) {
        let (programs, pid) = (self.programs, ProcessId(call.pid.load(Ordering::Relaxed)));
        programs.execs_under_way.fetch_add(1, Ordering::SeqCst);
        let followed = if programs.phase.is_hooking() {
            self.follow(execs, call, watched, pid)
        } else {
            dismiss(execs, call);
            Ok(())
        };
        programs.execs_under_way.fetch_sub(1, Ordering::SeqCst);
        if let Err(reason) = followed {
            programs.lock().limits.push(format!("process {pid} ran a program that is not traced: {reason}"));
        }
    }

    fn follow(&self, execs: &ExecCalls, call: &ExecCall, watched: &AtomicBool, pid: ProcessId) -> Result<(), String> {
        let tid = ThreadId(call.tid.load(Ordering::Relaxed));
        let asked_in = ProgramId(call.program.load(Ordering::Relaxed));
        // A process in a PID namespace of its own does not know the id that it has here.
        let is_here = |memfd: MemfdId| pid != this_process() && memfd.is_used_by(pid);
        if !self.workshop.shared.memfd().is_ok_and(is_here) {
            let own_id_of = |other: ProcessId| ProcessDir::of(other).status().ok()?.innermost_id();
            let is_elsewhere = self.programs.users().into_iter().any(|other| own_id_of(other) == Some(pid));
            dismiss(execs, call);
            let reason = "it is in a namespace of its own for process ids";
            // Otherwise it was killed while it waited.
            return if is_elsewhere { Err(reason.to_owned()) } else { Ok(()) };
        }
        let refused = || refused(pid, RuntimeAddr(call.path.load(Ordering::Relaxed)));
        if let Some(reason) = refused() {
            dismiss(execs, call);
            return Err(reason);
        }
        // Until the new program is hooked.
        let _charge = self.programs.in_charge.share(pid);
        let seized = match Seized::take(pid, tid) {
            Ok(seized) => seized,
            Err(error) => {
                dismiss(execs, call);
                return Err(format!("it cannot be taken charge of: {error}"));
            }
        };
        watched.store(true, Ordering::Release);
        let_go(call, ExecStage::Heard);
        let give_up = || {
            if call.is_at(ExecStage::Asked) && refused().is_none() {
                // It looks for the program in one folder after the other.
                let_go(call, ExecStage::Asked);
            }
            call.is_at(ExecStage::Failed) || call.is_at(ExecStage::Asked) || !self.programs.phase.is_hooking()
        };
        let outcome = seized.wait_for_exec(pid, give_up);
        watched.store(false, Ordering::Release);
        if let Ok(ExecOutcome::Failed) = outcome {
            // It may have asked again, and finds somebody else to hear it.
            let is_over =
                call.advance(ExecStage::Failed, ExecStage::Heard) || call.advance(ExecStage::Go, ExecStage::Heard);
            if is_over {
                dismiss(execs, call);
            }
            return Ok(());
        }
        // The thread that asked is gone.
        dismiss(execs, call);
        match outcome.map_err(|error| error.to_string())? {
            ExecOutcome::Failed | ExecOutcome::Ended => Ok(()),
            ExecOutcome::Loaded(tracee) => self.hook(tracee, pid, asked_in),
        }
    }

    fn hook(&self, tracee: Tracee, pid: ProcessId, asked_in: ProgramId) -> Result<(), String> {
        let Self { programs, workshop, options, .. } = *self;
        let begun = Instant::now();
        let gate = Gate::of_exec(tracee).map_err(|error| error.to_string())?;
        let deadline = |files: &[_]| Deadline::new(Instant::now(), files, options.start_up_timeout);
        let taken = programs.lock().modules_taken_by(pid, asked_in);
        let prepared = workshop.prepare(&gate, options, &taken, deadline, &());
        // From here on functions are numbered.
        let mut hooked = programs.lock();
        let program = prepared.and_then(|prepared| workshop.install(&gate, options, prepared));
        let process = ProcessDir::of(pid);
        let facts =
            ProcessFacts { command_line: process.command_line(), parent: process.parent(), ..Default::default() };
        hooked.processes.entry(pid).or_default().forked_in.insert(asked_in);
        if let Ok(descriptor) = Pidfd::open(pid) {
            programs.followed.lock().expect("nobody panics with the lock").push((pid, descriptor));
        }
        if let (Some(connector), Ok(_)) = (&programs.proc_connector, &program) {
            connector.note_followed(pid);
        }
        let released = gate.release();
        let program = program.map_err(|error| error.to_string())?;
        programs.exec_times.add(begun.elapsed());
        programs.add(&mut hooked, pid, program, facts);
        released.map_err(|error| error.to_string())
    }
}

/// Lets the thread that has asked go its way, without watching it any more.
fn dismiss(execs: &ExecCalls, call: &ExecCall) {
    execs.give_back(call);
    futex::wake(&call.stage);
    futex::wake(&execs.freed);
}

/// Lets the thread that has asked run its program.
fn let_go(call: &ExecCall, from: ExecStage) {
    call.advance(from, ExecStage::Go);
    futex::wake(&call.stage);
}

/// Why the program that a process is about to run cannot be followed: set-user-ID and capabilities have no effect on a
/// traced program.
fn refused(pid: ProcessId, path_at: RuntimeAddr) -> Option<String> {
    let mut path = [0; libc::PATH_MAX as usize];
    let process = ProcessDir::of(pid);
    let memory = process.memory().ok()?;
    // The path may lie at the end of what is mapped.
    let mut length = 0;
    while length < path.len() {
        let page = 4096 - (path_at.0 as usize + length) % 4096;
        let end = (length + page).min(path.len());
        let Ok(()) = memory.read(path_at + length as u64, &mut path[length..end]) else { break };
        length = end;
        if path[..length].contains(&0) {
            break;
        }
    }
    let path = Path::new(OsStr::from_bytes(path[..length].split(|&byte| byte == 0).next()?));
    let path = process.resolve(path);
    program_file::refused_rights(&path, &std::fs::metadata(&path).ok()?)
}
