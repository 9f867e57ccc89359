//! Sleeping on a word that the target shares.

use std::sync::atomic::AtomicU32;
use std::time::Duration;

/// Sleeps while the word holds `value`, at most for the time.
pub fn wait(word: &AtomicU32, value: u32, time: Duration) {
    let time = libc::timespec { tv_sec: time.as_secs() as i64, tv_nsec: time.subsec_nanos().into() };
    // SAFETY: word and time live through the call.
    unsafe { libc::syscall(libc::SYS_futex, word.as_ptr(), libc::FUTEX_WAIT, value, &raw const time) };
}

/// Wakes whoever sleeps on the word.
pub fn wake(word: &AtomicU32) {
    // SAFETY: the call touches nothing.
    unsafe { libc::syscall(libc::SYS_futex, word.as_ptr(), libc::FUTEX_WAKE, i32::MAX) };
}
