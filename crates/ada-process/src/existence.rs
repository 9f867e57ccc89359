//! Whether processes and threads exist, asked by signal 0, which is sent to nobody.

use std::io;

use ada_event::{ProcessId, ThreadId};
use rustix::io::Errno;
use rustix::process::{Pid, test_kill_process};

/// Whether a process exists, if only as an exit status.
pub fn process_exists(pid: ProcessId) -> bool {
    let pid = i32::try_from(pid.0).ok().and_then(Pid::from_raw);
    pid.is_some_and(|pid| test_kill_process(pid) != Err(Errno::SRCH))
}

/// Whether a thread of a process exists.
pub fn thread_exists(pid: ProcessId, tid: ThreadId) -> bool {
    // SAFETY: no pointers are passed.
    let result = unsafe { libc::syscall(libc::SYS_tgkill, pid.0, tid.0, 0) };
    result == 0 || io::Error::last_os_error().raw_os_error() != Some(libc::ESRCH)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::this_process::this_process;

    #[test]
    fn this_process_exists_and_one_without_an_id_does_not() {
        let own = this_process();
        assert!(process_exists(own) && thread_exists(own, own.first_thread()));
        // The kernel gives no process this number.
        assert!(!process_exists(ProcessId(1 << 22)) && !thread_exists(own, ThreadId(1 << 22)));
    }
}
