//! A thread that is traced while it runs.

use std::io;
use std::time::Duration;

use ada_event::{ProcessId, ThreadId};

use super::traced_thread::TracedThread;
use super::tracee::Tracee;
use crate::procfs::ProcessDir;
use crate::wait::{Halt, change, is_gone, wait_for_end};

/// A thread of another process that is traced while its process execs.
pub struct Seized {
    thread: TracedThread,
}

/// The outcome of an exec.
pub enum ExecOutcome {
    /// The new program is loaded, and has not run.
    Loaded(Tracee),
    /// The old program goes on.
    Failed,
    /// The process has ended.
    Ended,
}

/// How often to poll a thread that is about to exec.
const LOOK: Duration = Duration::from_micros(30);
/// The same while its process is stopped.
const LOOK_AT_STOPPED: Duration = Duration::from_millis(2);

const EXEC_STOP: i32 = libc::SIGTRAP | (libc::PTRACE_EVENT_EXEC << 8);

impl Seized {
    /// Takes charge of a thread of a process without stopping it. Which one it is may be the process's word: a thread of
    /// another process is left alone.
    pub fn take(pid: ProcessId, tid: ThreadId) -> io::Result<Self> {
        if !ProcessDir::of(pid).thread(tid).exists() {
            return Err(io::Error::from_raw_os_error(libc::ESRCH));
        }
        Ok(Self { thread: TracedThread::seize(tid, libc::PTRACE_O_TRACEEXEC)? })
    }

    /// Waits until the thread's process `pid` has loaded the new program, has failed to, or `give_up` says to leave it; the
    /// thread is then not traced any more. Signals that come meanwhile are passed on. A process that is stopped may stay
    /// so for as long as its user likes, and for its parent's eyes.
    pub fn wait_for_exec(self, pid: ProcessId, give_up: impl Fn() -> bool) -> io::Result<ExecOutcome> {
        let mut is_interrupted = false;
        let mut is_stopped = false;
        sleep_precisely();
        loop {
            let Some((stopped, halt)) = poll_own_tracee([self.thread.tid(), pid.first_thread()])? else {
                if !is_interrupted && give_up() {
                    unless_gone(self.thread.interrupt())?;
                    is_interrupted = true;
                }
                std::thread::sleep(if is_stopped { LOOK_AT_STOPPED } else { LOOK });
                continue;
            };
            match halt {
                Halt::Stopped(EXEC_STOP) => {
                    // If ada dies now, nobody can resume the half-prepared process.
                    let taken =
                        stopped.set_options(libc::PTRACE_O_EXITKILL).and_then(|()| Tracee::stopped(stopped, pid));
                    return match taken {
                        Ok(tracee) => Ok(ExecOutcome::Loaded(tracee)),
                        Err(error) => {
                            if stopped.detach(0).is_err() {
                                wait_for_end(stopped.tid());
                            }
                            Err(error)
                        }
                    };
                }
                Halt::Stopped(stop) if stop >> 8 == libc::PTRACE_EVENT_STOP => {
                    if is_interrupted {
                        match stopped.detach(0) {
                            Err(error) if is_gone(&error) => continue,
                            result => return result.map(|()| ExecOutcome::Failed),
                        }
                    }
                    // The kernel reports when the whole process is stopped, and also when it goes on.
                    is_stopped = stop & 0xff != libc::SIGTRAP;
                    unless_gone(if is_stopped { stopped.listen() } else { stopped.resume(0) })?;
                }
                Halt::Stopped(signal) => unless_gone(stopped.resume(signal & 0xff))?,
                Halt::Exited(_) | Halt::Killed(_) => return Ok(ExecOutcome::Ended),
            }
        }
    }
}

/// Has the calling thread sleep as long as it says: the kernel adds 50 microseconds otherwise.
fn sleep_precisely() {
    const NANOSECONDS: libc::c_ulong = 1000;
    // SAFETY: the kernel takes a number, for the calling thread.
    unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, NANOSECONDS) };
}

/// Passes over the failure of a request to a process that has been killed: its end is the next change.
fn unless_gone(result: io::Result<()>) -> io::Result<()> {
    match result {
        Err(error) if is_gone(&error) => Ok(()),
        result => result,
    }
}

/// A change of a thread that this very thread traces, if there is one; it has either id, before and after its exec.
fn poll_own_tracee(ids: [ThreadId; 2]) -> io::Result<Option<(TracedThread, Halt)>> {
    let mut gone = 0;
    for id in ids {
        match change(id, libc::__WNOTHREAD | libc::WNOHANG) {
            Ok(Some(halt)) => return Ok(Some((TracedThread::known(id), halt))),
            Ok(None) => (),
            Err(error) if error.raw_os_error() == Some(libc::ECHILD) => gone += 1,
            Err(error) => return Err(error),
        }
    }
    if gone == ids.len() { Err(io::Error::from_raw_os_error(libc::ECHILD)) } else { Ok(None) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::this_process::this_process;
    use std::process::Command;

    #[test]
    fn a_thread_of_another_process_is_left_alone() {
        let mut other = Command::new("sleep").arg("60").spawn().unwrap();
        let tid = ThreadId(other.id());
        let taken = Seized::take(this_process(), tid);
        let status = std::fs::read_to_string(format!("/proc/{tid}/status")).unwrap();
        other.kill().unwrap();
        other.wait().unwrap();
        assert!(taken.is_err());
        assert!(status.lines().any(|line| line == "TracerPid:\t0"), "{status}");
    }
}
