//! A thread that is traced while it runs.

use std::io;
use std::time::Duration;

use super::request::request;
use super::tracee::Tracee;
use crate::wait::{Halt, change};

/// A thread of another process that is being traced while it runs another program.
pub struct Seized {
    tid: i32,
}

/// What came of an exec.
pub enum ExecOutcome {
    /// The new program is loaded, and has not run.
    Loaded(Tracee),
    /// The old program goes on.
    Failed,
    /// The process has ended.
    Ended,
}

const EXEC_STOP: i32 = libc::SIGTRAP | (libc::PTRACE_EVENT_EXEC << 8);

impl Seized {
    /// Takes charge of a thread without stopping it.
    pub fn take(tid: u32) -> io::Result<Self> {
        let tid = tid as i32;
        request(libc::PTRACE_SEIZE, tid, 0, libc::PTRACE_O_TRACEEXEC as u64)?;
        Ok(Self { tid })
    }

    /// Waits until the thread's process `pid` has loaded the new program, or has not; the thread is then not traced any
    /// more. Signals that come meanwhile are passed on.
    pub fn wait_for_exec(self, pid: u32, has_failed: impl Fn() -> bool) -> io::Result<ExecOutcome> {
        let mut is_interrupted = false;
        loop {
            let Some((stopped, halt)) = poll_own_tracee([self.tid, pid as i32])? else {
                if has_failed() && !is_interrupted {
                    request(libc::PTRACE_INTERRUPT, self.tid, 0, 0)?;
                    is_interrupted = true;
                }
                std::thread::sleep(Duration::from_micros(50));
                continue;
            };
            match halt {
                Halt::Stopped(EXEC_STOP) => {
                    // Should ada die now, nobody could let the half-prepared target go on.
                    request(libc::PTRACE_SETOPTIONS, stopped, 0, libc::PTRACE_O_EXITKILL as u64)?;
                    return Ok(ExecOutcome::Loaded(Tracee::stopped(stopped, pid)?));
                }
                Halt::Stopped(stop) if stop >> 8 == libc::PTRACE_EVENT_STOP => {
                    if is_interrupted {
                        request(libc::PTRACE_DETACH, stopped, 0, 0)?;
                        return Ok(ExecOutcome::Failed);
                    }
                    // It is told that the process stops, and also that it goes on.
                    let goes_on = stop & 0xff == libc::SIGTRAP;
                    request(if goes_on { libc::PTRACE_CONT } else { libc::PTRACE_LISTEN }, stopped, 0, 0)?;
                }
                Halt::Stopped(signal) => request(libc::PTRACE_CONT, stopped, 0, (signal & 0xff) as u64)?,
                Halt::Exited(_) | Halt::Killed(_) => return Ok(ExecOutcome::Ended),
            }
        }
    }
}

/// A change of a thread that this very thread traces, if there is one; it has either id, before and after its exec.
fn poll_own_tracee(ids: [i32; 2]) -> io::Result<Option<(i32, Halt)>> {
    let mut gone = 0;
    for id in ids {
        match change(id, libc::__WNOTHREAD | libc::WNOHANG) {
            Ok(Some(halt)) => return Ok(Some((id, halt))),
            Ok(None) => (),
            Err(error) if error.raw_os_error() == Some(libc::ECHILD) => gone += 1,
            Err(error) => return Err(error),
        }
    }
    if gone == ids.len() { Err(io::Error::from_raw_os_error(libc::ECHILD)) } else { Ok(None) }
}
