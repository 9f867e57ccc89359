//! A tall shadow stack takes the place of an ordinary one, for recursion that this has no room for.
//!
//! The frames are copied, and the stack goes on in the copy. A signal handler may do this while the stub that it has interrupted
//! has an address of the old one in a register, and will make that the top again. So the old one stays as it is, and the tall ones
//! lie below all others: such a top is above the limit, where a stub asks for room, and whoever looks at the newest frame puts it
//! right. More than one frame cannot have been pushed by then.

use ada_ring::shadow_stack::{SHADOW_BYTES, is_tall, sentinel_at};
use ada_ring::{ShadowFrame, ThreadState};

use crate::memory::first_shadow_base;

/// Whether the shadow stack of a thread's state may be too small for its stack, and can be replaced.
///
/// # Safety
/// The caller owns the state.
pub(crate) unsafe fn is_possible(state: *mut ThreadState) -> bool {
    // SAFETY: the caller's promise.
    unsafe {
        // Other stacks are known to the recorder by the addresses of their frames alone.
        let is_known = (*state).stack_number == (*state).number || (*state).goroutine_stack_high != 0;
        // Nothing is recorded beyond the user's limit.
        is_known && (*state).number != 0 && (*state).shadow_limit < (*state).record_limit
    }
}

/// Puts the top right where a stub has gone on with one of the shadow stack before.
///
/// # Safety
/// `state` is the calling thread's own.
pub(crate) unsafe fn put_right(state: *mut ThreadState) {
    // SAFETY: the caller's promise; both shadow stacks are mapped.
    unsafe {
        let (base, top) = ((*state).shadow_base, (*state).shadow_top);
        if !is_tall(base as u32) || is_tall(top as u32) {
            return;
        }
        let before = first_shadow_base((*state).stack_number as usize) as u64;
        let moved = base + top.saturating_sub(before);
        if moved > base {
            (moved as *mut ShadowFrame).write(*(top as *const ShadowFrame));
        }
        follow(state, before, base);
        (*state).shadow_top = moved;
    }
}

/// Copies the frames of the stack that a thread is on, and has it go on with the copy.
///
/// # Safety
/// `state` is the calling thread's own, with signals blocked; the memory at `start` is mapped, and claimed for the stack. Its limits
/// are the caller's to set.
pub(crate) unsafe fn move_to(state: *mut ThreadState, start: u64) {
    // SAFETY: the caller's promise.
    unsafe {
        let (before, top) = ((*state).shadow_base, (*state).shadow_top);
        let base = start + u64::from(sentinel_at(start as u32));
        let frames = (top - before) as usize / ShadowFrame::SIZE;
        (base as *mut ShadowFrame).copy_from_nonoverlapping(before as *const ShadowFrame, 1 + frames);
        follow(state, before, base);
        (*state).shadow_base = base;
        (*state).shadow_top = base + (top - before);
    }
}

/// Has the probed calls of a shadow stack that has moved belong to the frames where these are now.
unsafe fn follow(state: *mut ThreadState, before: u64, base: u64) {
    // SAFETY: the thread's own state.
    for call in unsafe { &mut (*state).open_probes } {
        if (before..before + SHADOW_BYTES as u64).contains(&call.frame) {
            call.frame = call.frame - before + base;
        }
    }
}
