//! Follows processes into the programs that they run.
//!
//! A thread that is about to exec waits in the agent until it is seized here. The kernel stops it when the new program is
//! loaded, and the program goes through the gate like the first one. No process is traced by ptrace for longer than its
//! exec takes.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::atomic::Ordering;
use std::time::Duration;

use ada_event::{ProcessId, ThreadId};
use ada_process::procfs::ProcessDir;
use ada_process::ptrace::{ExecOutcome, Seized};
use ada_process::{MemfdId, Pidfd, futex, this_process};
use ada_ring::control::ExecCall;
use ada_ring::{ExecStage, Pool};

use crate::deadline::Deadline;
use crate::follow::retirement::Retirement;
use crate::launch::gate::Gate;
use crate::launch::program_file;
use crate::launch::workshop::Workshop;
use crate::options::TraceOptions;
use crate::tracked::{ProcessFacts, Programs};

/// Serves threads that are about to exec until the recording ends.
pub(crate) fn follow_execs(programs: &Programs, workshop: &Workshop, options: &TraceOptions, pool: Pool) {
    let exec = &pool.control().exec;
    let mut retirement = Retirement::default();
    while !programs.phase.has_ended() {
        let stage = exec.stage.load(Ordering::Acquire);
        if stage != ExecStage::Asked as u32 {
            futex::wait(&exec.stage, stage, Duration::from_millis(50));
            continue;
        }
        let pid = ProcessId(exec.pid.load(Ordering::Relaxed));
        let tid = ThreadId(exec.tid.load(Ordering::Relaxed));
        programs.execs_under_way.fetch_add(1, Ordering::SeqCst);
        let followed = if programs.phase.is_hooking() {
            follow(programs, workshop, options, exec, pid, tid)
        } else {
            let_go(exec);
            Ok(())
        };
        programs.execs_under_way.fetch_sub(1, Ordering::SeqCst);
        if let Err(reason) = followed {
            programs.lock().limits.push(format!("process {pid} ran a program that is not traced: {reason}"));
        }
        // Whoever asked has seen the answer by now, or is gone.
        let (go, free) = (ExecStage::Go as u32, ExecStage::Free as u32);
        if exec.stage.compare_exchange(go, free, Ordering::AcqRel, Ordering::Relaxed).is_ok() {
            futex::wake(&exec.stage);
        }
        retirement.look(programs, &workshop.shared);
    }
}

fn follow(
    programs: &Programs,
    workshop: &Workshop,
    options: &TraceOptions,
    exec: &ExecCall,
    pid: ProcessId,
    tid: ThreadId,
) -> Result<(), String> {
    let go = || let_go(exec);
    // A process in a PID namespace of its own does not know the id that it has here.
    let is_here = |memfd: MemfdId| pid != this_process() && memfd.is_used_by(pid);
    if !workshop.shared.memfd().is_ok_and(is_here) {
        go();
        return Err("it is in a namespace of its own for process ids".to_owned());
    }
    if let Some(reason) = refused(pid, exec.path.load(Ordering::Relaxed)) {
        go();
        return Err(reason);
    }
    let seized = Seized::take(tid);
    go();
    let seized = seized.map_err(|error| format!("it cannot be taken charge of: {error}"))?;
    let has_failed = || {
        let asks_again =
            exec.stage.load(Ordering::Acquire) == ExecStage::Asked as u32 && exec.tid.load(Ordering::Relaxed) == tid.0;
        if asks_again && refused(pid, exec.path.load(Ordering::Relaxed)).is_none() {
            // It looks for the program in one folder after the other.
            go();
            return false;
        }
        asks_again || exec.failed.load(Ordering::Acquire) == tid.0
    };
    match seized.wait_for_exec(pid, has_failed).map_err(|error| error.to_string())? {
        ExecOutcome::Failed | ExecOutcome::Ended => Ok(()),
        ExecOutcome::Loaded(tracee) => {
            // From here on functions are numbered: one program at a time.
            let mut hooked = programs.lock();
            let gate = Gate::of_exec(tracee).map_err(|error| error.to_string())?;
            let deadline = |files: &[_]| Deadline::new(std::time::Instant::now(), files, options.start_up_timeout);
            let program = workshop.hook(&gate, options, deadline, &());
            let process = ProcessDir::of(pid);
            let facts =
                ProcessFacts { command_line: process.command_line(), parent: process.parent(), ..Default::default() };
            if let Ok(descriptor) = Pidfd::open(pid) {
                programs.followed.lock().expect("nobody panics with the lock").push((pid, descriptor));
            }
            if let (Some(connector), Ok(_)) = (&programs.proc_connector, &program) {
                connector.note_followed(pid);
            }
            let released = gate.release();
            let program = program.map_err(|error| error.to_string())?;
            programs.add(&mut hooked, pid, program, facts);
            released.map_err(|error| error.to_string())
        }
    }
}

/// Lets the thread that has asked run its program.
fn let_go(exec: &ExecCall) {
    exec.failed.store(0, Ordering::Relaxed);
    exec.stage.store(ExecStage::Go as u32, Ordering::Release);
    futex::wake(&exec.stage);
}

/// Why the program that a process is about to run cannot be followed: set-user-ID and capabilities have no effect on a
/// traced program.
fn refused(pid: ProcessId, path_at: u64) -> Option<String> {
    let mut path = [0; libc::PATH_MAX as usize];
    let process = ProcessDir::of(pid);
    let memory = process.memory().ok()?;
    // The path may lie at the end of what is mapped.
    let mut length = 0;
    while length < path.len() {
        let page = 4096 - (path_at as usize + length) % 4096;
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
