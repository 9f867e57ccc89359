//! The processor's time-stamp counter, by which records are stamped.

/// What it shows now.
pub(crate) fn read() -> u64 {
    // SAFETY: every x86-64 processor has the counter.
    unsafe { core::arch::x86_64::_rdtsc() }
}
