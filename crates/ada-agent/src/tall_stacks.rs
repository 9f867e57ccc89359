//! Tall shadow stacks, for recursion that an ordinary one has no room for.
//!
//! The frames are copied, and the stack goes on in the copy. A signal handler may do this while the stub that it has interrupted
//! has an address of the old one in a register, and will make that the top again. So the old one stays as it is, and the tall ones
//! lie below all others: such a top is above the limit, where a stub asks for room, and whoever looks at the newest frame puts it
//! right. More than one frame cannot have been pushed by then.

use ada_ring::shadow_stack::{MOST_TALLS, SHADOW_BYTES, TALL_BYTES, is_tall, sentinel_at, tall_at};
use ada_ring::{ShadowFrame, ThreadState};
use core::sync::atomic::Ordering;

use crate::arch::number::{MADVISE, MMAP};
use crate::growth::map_private;
use crate::memory::{first_shadow_base, process_block, region_address};
use crate::shadow_stack::set_limits;
use crate::{chunks, goroutines, stack_records, syscall};

const DONT_NEED: u64 = 4;

/// The memory of the tall shadow stack that has taken the place of one, if there is any.
pub(crate) fn start_of(number: usize) -> Option<u64> {
    let block = process_block();
    let used = (block.talls_used.load(Ordering::Relaxed) as usize).min(MOST_TALLS);
    let at = block.tall_of[..used].iter().position(|of| of.load(Ordering::Relaxed) == number as u32);
    at.filter(|_| number != 0).map(address)
}

fn address(tall: usize) -> u64 {
    tall_at(region_address(0), tall)
}

/// Whether the shadow stack of a thread's state may be too small for its stack, and can be replaced.
///
/// # Safety
/// The caller owns the state.
pub(crate) unsafe fn can_take_over(state: *mut ThreadState) -> bool {
    // SAFETY: the caller's promise.
    unsafe {
        // Other stacks are known to the recorder by the addresses of their frames alone.
        let is_known = (*state).stack_number == (*state).number || (*state).goroutine_stack_high != 0;
        // Nothing is recorded beyond the user's limit.
        is_known && (*state).number != 0 && (*state).shadow_limit < (*state).record_limit
    }
}

/// Sees to it that there is room for another frame, if there can be.
///
/// # Safety
/// `state` is the calling thread's own, with signals blocked.
pub(crate) unsafe fn make_room(state: *mut ThreadState) {
    // SAFETY: the caller's promise.
    unsafe {
        put_right(state);
        let is_full = (*state).shadow_top >= (*state).shadow_limit;
        if !is_full || is_tall((*state).shadow_base as u32) || !can_take_over(state) {
            return;
        }
        let Some(tall) = claim((*state).stack_number) else { return };
        move_to(state, address(tall));
        if (*state).stack_number == (*state).number {
            chunks::note_tall(state);
        }
        if goroutines::exist() {
            stack_records::name(state);
        }
    }
}

/// Puts the top right where a stub has gone on with one of the shadow stack before.
///
/// # Safety
/// As [`make_room`].
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

/// Claims a tall shadow stack for a stack.
fn claim(number: u32) -> Option<usize> {
    let block = process_block();
    let of = |tall: &usize| &block.tall_of[*tall];
    let tall = (0..MOST_TALLS)
        .find(|tall| of(tall).compare_exchange(0, number, Ordering::AcqRel, Ordering::Relaxed).is_ok())?;
    block.talls_used.fetch_max(tall as u32 + 1, Ordering::AcqRel);
    if block.talls_mapped.load(Ordering::Acquire) & 1 << tall == 0 {
        if !syscall::may(MMAP) || !map_private(address(tall), TALL_BYTES as u64) {
            of(&tall).store(0, Ordering::Release);
            return None;
        }
        block.talls_mapped.fetch_or(1 << tall, Ordering::Release);
    }
    Some(tall)
}

/// Gives back the tall shadow stack of a stack that is no more.
pub(crate) fn give_back(number: usize) {
    if let Some(start) = start_of(number) {
        if syscall::may(MADVISE) {
            // SAFETY: nobody's memory any more. It stays mapped.
            unsafe { syscall::call(MADVISE, [start, TALL_BYTES as u64, DONT_NEED, 0, 0, 0]) };
        }
        for of in &process_block().tall_of {
            let _ = of.compare_exchange(number as u32, 0, Ordering::AcqRel, Ordering::Relaxed);
        }
    }
}

/// Copies the frames of the stack that a thread is on, and has it go on with the copy.
///
/// # Safety
/// As [`make_room`]; the memory is mapped, and claimed for the stack.
unsafe fn move_to(state: *mut ThreadState, start: u64) {
    // SAFETY: the caller's promise.
    unsafe {
        let (before, top) = ((*state).shadow_base, (*state).shadow_top);
        let base = start + u64::from(sentinel_at(start as u32));
        let frames = (top - before) as usize / ShadowFrame::SIZE;
        (base as *mut ShadowFrame).copy_from_nonoverlapping(before as *const ShadowFrame, 1 + frames);
        follow(state, before, base);
        (*state).shadow_base = base;
        (*state).shadow_top = base + (top - before);
        set_limits(state);
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
