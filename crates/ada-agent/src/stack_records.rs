//! Goes to the stack that has an address, and names it among the records where their own addresses are not enough.

use ada_ring::record::RecordKind;
use ada_ring::{RawRecord, ThreadState};
use core::ops::Range;

use crate::{chunks, goroutines, stacks};

/// As [`stacks::settle`]. Of goroutines there are more than the low half of an address tells apart.
///
/// # Safety
/// As there.
pub(crate) unsafe fn settle(state: *mut ThreadState, address: u64, bounds: Option<Range<u64>>, left_at: u64) {
    // SAFETY: the caller's promise.
    unsafe {
        let before = (*state).stack_number;
        stacks::settle(state, address, bounds, left_at);
        if (*state).stack_number != before && goroutines::exist() {
            name(state);
        }
    }
}

/// Names the stack that a thread is on.
///
/// # Safety
/// As [`stacks::settle`].
pub(crate) unsafe fn name(state: *mut ThreadState) {
    // SAFETY: the caller's promise.
    unsafe {
        let is_own = (*state).stack_number == (*state).number;
        let number = if is_own { 0 } else { (*state).stack_number };
        let top_and_kind = (*state).shadow_top as u32 | RecordKind::Stack as u32;
        chunks::write(state, RawRecord::naming_stack(number), top_and_kind);
    }
}
