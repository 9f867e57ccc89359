//! Stopping where the impossible happened.

use core::arch::asm;

/// Ends the process with SIGILL. Stopping, loudly, beats running wild.
pub(crate) fn trap() -> ! {
    // SAFETY: the instruction faults, and nothing runs behind it.
    unsafe { asm!("ud2", options(noreturn)) }
}
