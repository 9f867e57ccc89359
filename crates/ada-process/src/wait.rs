//! Waiting for children and tracees.

use std::io;
use std::mem::MaybeUninit;
use std::time::Duration;

use ada_event::{ProcessId, ThreadId};

use crate::cpu_time::CpuTime;
use crate::procfs::ProcessDir;
use crate::this_process::this_process;

/// How a process came to a halt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Halt {
    /// It is stopped. The lowest eight bits are the signal, those above an event of ptrace's.
    Stopped(i32),
    /// It has ended by itself, with this exit code.
    Exited(i32),
    /// This signal has ended it.
    Killed(i32),
}

impl Halt {
    /// How it is stopped, unless it has ended.
    pub(crate) fn stop(self) -> Option<i32> {
        match self {
            Self::Stopped(stop) => Some(stop),
            Self::Exited(_) | Self::Killed(_) => None,
        }
    }
}

/// Waits until a child stops or ends.
pub fn wait(pid: ProcessId) -> io::Result<Halt> {
    wait_with_time(pid).map(|(halt, _)| halt)
}

/// Waits until a child stops or ends, and says what it has used.
pub fn wait_with_time(pid: ProcessId) -> io::Result<(Halt, CpuTime)> {
    let mut status = 0;
    let mut usage = MaybeUninit::<libc::rusage>::zeroed();
    loop {
        // SAFETY: `status` and `usage` live through the call.
        if unsafe { libc::wait4(pid.to_raw(), &raw mut status, libc::__WALL, usage.as_mut_ptr()) } >= 0 {
            break;
        }
        let error = io::Error::last_os_error();
        if error.kind() != io::ErrorKind::Interrupted {
            return Err(error);
        }
    }
    let halt = halt_of(status);
    // SAFETY: all zeros are a good value, and the kernel may have written another.
    let usage = unsafe { usage.assume_init() };
    Ok((halt, CpuTime { user: duration(usage.ru_utime), system: duration(usage.ru_stime) }))
}

/// Waits until a tracee stops or ends.
pub(crate) fn wait_for_change(tracee: ThreadId) -> io::Result<Halt> {
    loop {
        if let Some(halt) = change(tracee, 0)? {
            return Ok(halt);
        }
    }
}

/// Waits for the end of a tracee that has been killed. The kernel notifies its parent only after its tracer.
pub(crate) fn wait_for_end(tracee: ThreadId) {
    while let Ok(Halt::Stopped(_)) = wait_for_change(tracee) {}
}

/// Whether a request to a tracee failed because it does not stand still any more: only SIGKILL does that to one that did.
pub(crate) fn is_gone(error: &io::Error) -> bool {
    error.raw_os_error() == Some(libc::ESRCH)
}

/// A change of a tracee, if there is one. The end of a child of this process is only looked at, not taken: whoever started
/// it waits for it, too. For that of one of its other threads only the tracer does.
pub(crate) fn change(tracee: ThreadId, how: i32) -> io::Result<Option<Halt>> {
    let mut info = MaybeUninit::<libc::siginfo_t>::zeroed();
    let flags = libc::WEXITED | libc::WSTOPPED | libc::__WALL | libc::WNOWAIT | how;
    // SAFETY: `info` lives through the call.
    while unsafe { libc::waitid(libc::P_PID, tracee.0, info.as_mut_ptr(), flags) } < 0 {
        let error = io::Error::last_os_error();
        if error.kind() != io::ErrorKind::Interrupted {
            return Err(error);
        }
    }
    // SAFETY: all zeros are a good value, and the kernel may have written that of a child.
    let (code, changed, status) = unsafe {
        let info = info.assume_init();
        (info.si_code, info.si_pid(), info.si_status())
    };
    if changed == 0 {
        return Ok(None);
    }
    let end = match code {
        libc::CLD_EXITED => Some(Halt::Exited(status)),
        libc::CLD_KILLED | libc::CLD_DUMPED => Some(Halt::Killed(status)),
        _ => None,
    };
    let pid = ProcessId(tracee.0);
    let is_process = || ProcessDir::of(pid).status().is_ok_and(|status| status.field("Tgid") == pid.to_string());
    let is_own_child = || is_process() && ProcessDir::of(pid).parent() == Some(this_process());
    if end.is_some() && is_own_child() {
        return Ok(end);
    }
    wait(pid).map(Some)
}

fn halt_of(status: i32) -> Halt {
    if libc::WIFEXITED(status) {
        Halt::Exited(libc::WEXITSTATUS(status))
    } else if libc::WIFSIGNALED(status) {
        Halt::Killed(libc::WTERMSIG(status))
    } else {
        Halt::Stopped(status >> 8)
    }
}

fn duration(time: libc::timeval) -> Duration {
    Duration::from_secs(time.tv_sec as u64) + Duration::from_micros(time.tv_usec as u64)
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    #[test]
    #[expect(clippy::zombie_processes, reason = "the function under test waits")]
    fn a_child_that_worked_has_used_more_time_than_one_that_did_not() {
        let time_of = |rounds: &str| {
            let script = "i=0; while [ $i -lt $1 ]; do i=$((i + 1)); done; exit 3";
            let child = Command::new("sh").args(["-c", script, "sh", rounds]).spawn().unwrap();
            let (halt, time) = wait_with_time(ProcessId(child.id())).unwrap();
            assert_eq!(halt, Halt::Exited(3));
            time.user + time.system
        };
        assert!(time_of("500000") > time_of("1") + Duration::from_millis(20));
    }
}
