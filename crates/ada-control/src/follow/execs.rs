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
use ada_process::{Pidfd, futex, this_process};
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

/// A thread that has asked.
#[derive(Clone, Copy)]
struct Asking<'p> {
    /// The number of the rings in which it has.
    rings: usize,
    execs: &'p ExecCalls,
    call: &'p ExecCall,
    watched: &'p AtomicBool,
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
            let Some(asking) = self.find_asking(&pools) else {
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
            self.serve(&asking);
            self.idle.fetch_add(1, Ordering::SeqCst);
            if let Ok(mut upkeep) = self.upkeep.try_lock() {
                upkeep.retirement.look(self.programs, &self.workshop.shared, &self.workshop.ready);
            }
        }
    }

    /// Hears a thread that has asked, and that nobody watches.
    fn find_asking<'p>(&'p self, pools: &'p [Pool]) -> Option<Asking<'p>> {
        let all = pools.iter().enumerate().flat_map(|(rings, pool)| {
            let execs = &pool.control().execs;
            execs.calls.iter().map(move |call| (rings, execs, call))
        });
        let mut all =
            all.zip(&self.watched).map(|((rings, execs, call), watched)| Asking { rings, execs, call, watched });
        all.find(|it| !it.watched.load(Ordering::Acquire) && it.call.advance(ExecStage::Asked, ExecStage::Heard))
    }

    fn serve(&self, asking: &Asking<'_>) {
        let (programs, pid) = (self.programs, ProcessId(asking.call.pid.load(Ordering::Relaxed)));
        programs.execs_under_way.fetch_add(1, Ordering::SeqCst);
        let followed = if programs.phase.is_hooking() {
            self.follow(asking, pid)
        } else {
            asking.dismiss();
            Ok(())
        };
        programs.execs_under_way.fetch_sub(1, Ordering::SeqCst);
        if let Err(reason) = followed {
            programs.lock().limits.push(format!("process {pid} ran a program that is not traced: {reason}"));
        }
    }

    fn follow(&self, asking: &Asking<'_>, pid: ProcessId) -> Result<(), String> {
        let Asking { rings, call, watched, .. } = *asking;
        let tid = ThreadId(call.tid.load(Ordering::Relaxed));
        let asked_in = ProgramId(call.program.load(Ordering::Relaxed));
        // A process in a PID namespace of its own does not know the id that it has here; and one of another user has other rings.
        if pid == this_process() || !self.rings.is_used_by(rings, pid) {
            let own_id_of = |other: ProcessId| ProcessDir::of(other).status().ok()?.innermost_id();
            let is_elsewhere = self.programs.users().into_iter().any(|other| own_id_of(other) == Some(pid));
            asking.dismiss();
            let reason = "it is in a namespace of its own for process ids";
            // Otherwise it was killed while it waited.
            return if is_elsewhere { Err(reason.to_owned()) } else { Ok(()) };
        }
        let refused = || refused(pid, RuntimeAddr(call.path.load(Ordering::Relaxed)));
        if let Some(reason) = refused() {
            asking.dismiss();
            return Err(reason);
        }
        // Until the new program is hooked.
        let _charge = self.programs.in_charge.share(pid);
        let seized = match Seized::take(pid, tid) {
            Ok(seized) => seized,
            Err(error) => {
                asking.dismiss();
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
                asking.dismiss();
            }
            return Ok(());
        }
        // The thread that asked is gone.
        asking.dismiss();
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
        let mut facts =
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
        facts.waited_for_hooks = begun.elapsed();
        programs.exec_times.add(facts.waited_for_hooks);
        programs.add(&mut hooked, pid, program, facts);
        released.map_err(|error| error.to_string())
    }
}

impl Asking<'_> {
    /// Lets the thread go its way, without watching it any more.
    fn dismiss(&self) {
        self.execs.give_back(self.call);
        futex::wake(&self.call.stage);
        futex::wake(&self.execs.freed);
    }
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
