//! Sleeping on a word that processes share.

use std::sync::atomic::AtomicU32;
use std::time::Duration;

use rustix::thread::Timespec;
use rustix::thread::futex::{self, Flags};

/// Sleeps while the word holds `value`, at most for the time.
pub fn wait(word: &AtomicU32, value: u32, time: Duration) {
    let time = Timespec::try_from(time).ok();
    // Callers look at the word again, whatever has woken them.
    let _ = futex::wait(word, Flags::empty(), value, time.as_ref());
}

/// Wakes all that sleep on the word.
pub fn wake(word: &AtomicU32) {
    let _ = futex::wake(word, Flags::empty(), i32::MAX as u32);
}
