//! The kernel's call for futexes.

/// Its number.
pub(super) const FUTEX: u64 = 202;

/// Whether a command waits.
pub(super) fn is_wait(command: u64) -> bool {
    const WAIT: u64 = 0;
    const WAIT_BITSET: u64 = 9;
    matches!(command & 0x7f, WAIT | WAIT_BITSET)
}

/// Whether a command wakes.
pub(super) fn is_wake(command: u64) -> bool {
    const WAKE: u64 = 1;
    const WAKE_BITSET: u64 = 10;
    matches!(command & 0x7f, WAKE | WAKE_BITSET)
}
