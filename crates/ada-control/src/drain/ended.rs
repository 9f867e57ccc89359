//! Whether threads and processes have ended.

/// Whether a thread has ended.
pub(super) fn has_ended(pid: u32, tid: u32) -> bool {
    // SAFETY: signal 0 only asks whether the thread is there.
    let result = unsafe { libc::syscall(libc::SYS_tgkill, pid, tid, 0) };
    result < 0 && std::io::Error::last_os_error().raw_os_error() == Some(libc::ESRCH)
}

/// Whether a process has ended with all its threads, and nobody has waited for it yet.
pub(super) fn is_zombie(pid: u32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    // The name in parentheses may hold anything.
    let mut fields = stat.rsplit(')').next().unwrap_or_default().split_ascii_whitespace();
    const THREADS_AFTER_STATE: usize = 16;
    fields.next() == Some("Z") && fields.nth(THREADS_AFTER_STATE).is_none_or(|threads| matches!(threads, "0" | "1"))
}
