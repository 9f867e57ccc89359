//! Sleeping on words that processes share.

use std::sync::atomic::AtomicU32;
use std::time::Duration;

use rustix::thread::Timespec;
use rustix::thread::futex::{self, Flags};

/// How many words a thread can sleep on at once.
const MOST_WORDS: usize = 128;
/// How long a sleep on several words lasts where the kernel cannot.
const STEP: Duration = Duration::from_millis(2);

/// Sleeps while the word holds `value`, at most for the time.
pub fn wait(word: &AtomicU32, value: u32, time: Duration) {
    let time = Timespec::try_from(time).ok();
    // Callers look at the word again, whatever has woken them.
    let _ = futex::wait(word, Flags::empty(), value, time.as_ref());
}

/// Sleeps while each word holds its value, at most for the time.
pub fn wait_for_any(words: &[(&AtomicU32, u32)], time: Duration) {
    match words {
        [] => std::thread::sleep(time),
        [(word, value)] => wait(word, *value, time),
        _ => {
            // Kernels before 5.16 sleep on one word only.
            if !wait_on_all(&words[..words.len().min(MOST_WORDS)], time) {
                std::thread::sleep(time.min(STEP));
            }
        }
    }
}

/// `struct futex_waitv` of the kernel.
#[repr(C)]
struct Waiter {
    value: u64,
    address: u64,
    flags: u32,
    reserved: u32,
}

/// False where the kernel has no such call.
fn wait_on_all(words: &[(&AtomicU32, u32)], time: Duration) -> bool {
    const SIZE_U32: u32 = 2;
    let waiter = |(word, value): &(&AtomicU32, u32)| Waiter {
        value: u64::from(*value),
        address: word.as_ptr() as u64,
        flags: SIZE_U32,
        reserved: 0,
    };
    let waiters: Vec<Waiter> = words.iter().map(waiter).collect();
    let now = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    let until = Timespec::try_from(time).ok().and_then(|time| now.checked_add(time));
    let until = until.as_ref().map_or(std::ptr::null(), std::ptr::from_ref);
    // SAFETY: the waiters and the time live through the call, and so do the words that they name.
    let result = unsafe {
        libc::syscall(libc::SYS_futex_waitv, waiters.as_ptr(), waiters.len(), 0, until, libc::CLOCK_MONOTONIC)
    };
    result >= 0 || std::io::Error::last_os_error().raw_os_error() != Some(libc::ENOSYS)
}

/// Wakes all that sleep on the word.
pub fn wake(word: &AtomicU32) {
    let _ = futex::wake(word, Flags::empty(), i32::MAX as u32);
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::Ordering;
    use std::time::Instant;

    use super::*;

    #[test]
    fn any_of_several_words_ends_a_sleep() {
        let long = Duration::from_secs(60);
        let words = [const { AtomicU32::new(0) }; 3];
        let (begun, values) = (Instant::now(), [0, 0, 7]);
        let pairs = || words.iter().zip(values).collect::<Vec<_>>();
        // The last does not hold its value.
        wait_for_any(&pairs(), long);
        words[2].store(7, Ordering::SeqCst);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                std::thread::sleep(Duration::from_millis(20));
                words[1].store(1, Ordering::SeqCst);
                wake(&words[1]);
            });
            while words[1].load(Ordering::SeqCst) == 0 {
                wait_for_any(&pairs(), long);
            }
        });
        assert!(begun.elapsed() < long);
        wait_for_any(&pairs()[..2], Duration::from_millis(1));
    }
}
