//! Processes on x86-64.

mod registers;

pub(crate) use registers::RegisterSlot;
pub use registers::Registers;

/// `syscall`.
pub(crate) const SYSTEM_CALL: [u8; 2] = [0x0f, 0x05];

/// The processor's time-stamp counter.
#[inline]
pub fn time_stamp() -> u64 {
    // SAFETY: every x86-64 processor has the counter.
    unsafe { core::arch::x86_64::_rdtsc() }
}
