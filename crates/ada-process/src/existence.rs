//! Whether processes and threads exist, asked by signal 0, which is sent to nobody.

use std::io;

use rustix::io::Errno;
use rustix::process::{Pid, test_kill_process};

/// Whether a process exists, if only as an exit status.
pub fn process_exists(pid: u32) -> bool {
    let pid = i32::try_from(pid).ok().and_then(Pid::from_raw);
    pid.is_some_and(|pid| test_kill_process(pid) != Err(Errno::SRCH))
}

/// Whether a thread of a process exists.
pub fn thread_exists(pid: u32, tid: u32) -> bool {
    // SAFETY: no pointers are passed.
    let result = unsafe { libc::syscall(libc::SYS_tgkill, pid, tid, 0) };
    result == 0 || io::Error::last_os_error().raw_os_error() != Some(libc::ESRCH)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_process_exists_and_one_without_an_id_does_not() {
        let own = std::process::id();
        assert!(process_exists(own) && thread_exists(own, own));
        // The kernel gives no process this number.
        assert!(!process_exists(1 << 22) && !thread_exists(own, 1 << 22));
    }
}
