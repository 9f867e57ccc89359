//! The detail lane: changing its chunks, and stack windows that reach into another page.

use ada_ring::chunk::is_past_end;
use ada_ring::detail::{CALL, WITHOUT_VECTORS};
use ada_ring::probe::{RawProbe, VECTORS};
use ada_ring::{ChunkState, DetailMode, Lane, RawDetail, ThreadState};
use core::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use crate::chunks::{chunk_of, exchange, label};
use crate::config::{Item, get};
use crate::memory::pool;
use crate::stretch::is_one_stack;
use crate::syscall::{self, SignalsBlocked};
use crate::{arch, own_stacks, windows};

const PAGE: u64 = 4096;
/// Pages of a stack that are looked at together.
const PAGES_TOGETHER: usize = 64;
const _: () = assert!(ada_ring::detail::MAX_WINDOW <= PAGES_TOGETHER * PAGE as usize);

/// Gives a new thread the chunk for its newest detail, where that is kept.
///
/// # Safety
/// `state` is the calling thread's own.
pub(crate) unsafe fn begin(state: *mut ThreadState, blocked: &mut SignalsBlocked) {
    let is_kept = pool().orders().detail_mode.load(Ordering::Relaxed) == DetailMode::Windows as u32;
    // SAFETY: the caller's promise.
    unsafe {
        if is_kept && is_past_end((*state).detail_position) {
            turn_chunks(state, blocked);
        }
    }
}

/// Reserves a detail record where the thread's own reservation ran past its chunk's end.
///
/// # Safety
/// `state` is the calling thread's own.
pub unsafe fn reserve(state: *mut ThreadState) -> u64 {
    if pool().orders().detail_mode.load(Ordering::Relaxed) == DetailMode::All as u32 {
        // SAFETY: the caller's promise.
        return unsafe { reserve_in_lane(state, Lane::Detail) };
    }
    let mut blocked = SignalsBlocked::new();
    // SAFETY: the thread's own state, and no handler comes in between.
    unsafe {
        if is_past_end((*state).detail_position) {
            turn_chunks(state, &mut blocked);
        }
        let reserved = (*state).detail_position;
        (*state).detail_position += get(Item::DetailStride);
        reserved
    }
}

/// Reserves a record in a lane of which everything is written: a full chunk goes to the drain, and another takes over.
///
/// # Safety
/// As [`reserve`].
pub(crate) unsafe fn reserve_in_lane(state: *mut ThreadState, lane: Lane) -> u64 {
    let mut blocked = SignalsBlocked::new();
    let pool = pool();
    // SAFETY: the thread's own state, and no handler comes in between.
    unsafe {
        let (position, stride) = match lane {
            Lane::Probe => (&raw mut (*state).probe_position, get(Item::ProbeStride)),
            Lane::Detail | Lane::Index => (&raw mut (*state).detail_position, get(Item::DetailStride)),
        };
        if is_past_end(*position) {
            let obtained = exchange(state, lane, *position, &mut blocked);
            // A handler that ran during the wait may have got a chunk meanwhile.
            if !is_past_end(*position) {
                if let Some((chunk, _)) = obtained {
                    pool.change(chunk, ChunkState::Claimed, ChunkState::Free);
                }
            } else {
                *position = match obtained {
                    Some((chunk, waited)) => {
                        label(&pool, chunk, state, lane, waited);
                        pool.change(chunk, ChunkState::Claimed, ChunkState::Active);
                        if lane == Lane::Probe {
                            own_stacks::learn_stack(state);
                        }
                        pool.records(chunk) as u64
                    }
                    None => pool.dump() as u64,
                };
            }
        }
        let reserved = *position;
        *position += stride;
        reserved
    }
}

/// Only the newest detail is kept: the thread goes back and forth between two chunks of its own.
///
/// # Safety
/// As [`reserve`].
unsafe fn turn_chunks(state: *mut ThreadState, blocked: &mut SignalsBlocked) {
    let pool = pool();
    // SAFETY: the thread's own state.
    unsafe {
        if let Some(full) = chunk_of((*state).detail_position) {
            windows::chunk_is_full(state, full);
        }
        let turn = (*state).detail_chunks_taken as usize % 2;
        if (*state).detail_chunks[turn] == 0 {
            let claimed = match pool.claim_if_plenty() {
                None if pool.orders().marks.is_on.load(Ordering::Relaxed) != 0 => windows::wait_for_chunk(blocked),
                claimed => claimed.map(|chunk| (chunk, 0)),
            };
            // A handler that ran during a wait may have changed the chunk meanwhile.
            if !is_past_end((*state).detail_position) {
                if let Some((chunk, _)) = claimed {
                    pool.change(chunk, ChunkState::Claimed, ChunkState::Free);
                }
                return;
            }
            let Some((chunk, waited)) = claimed else {
                (*state).detail_position = pool.dump() as u64;
                return;
            };
            label(&pool, chunk, state, Lane::Detail, waited);
            pool.change(chunk, ChunkState::Claimed, ChunkState::Active);
            (*state).detail_chunks[turn] = chunk as u32 + 1;
        } else {
            // Chunks are read in the order in which they were last begun.
            let again = pool.header((*state).detail_chunks[turn] as usize - 1);
            again.ordinal.store((*state).detail_chunks_taken, Ordering::Relaxed);
            (*state).detail_chunks_taken += 1;
        }
        let chunk = (*state).detail_chunks[turn] as usize - 1;
        (*state).detail_position = pool.records(chunk) as u64;
    }
}

/// Takes note of where a thread's stack is, at its first event: that stack stays as long as the thread, as others may not. How
/// far it reaches is asked when somebody wants to read it, which few do, and costs as much as hundreds of events.
///
/// # Safety
/// `state` is the calling thread's own.
pub(crate) unsafe fn note_stack(state: *mut ThreadState, slot: u64) {
    let page = slot & !(PAGE - 1);
    // SAFETY: the caller's promise.
    unsafe {
        ((*state).stack_low, (*state).stack_high) = (page, page);
        (*state).stack_ends = 0;
    }
}

/// Learns how far the stack reaches, if nobody has asked yet.
///
/// # Safety
/// `state` is the calling thread's own.
unsafe fn learn_stack(state: *mut ThreadState) {
    // SAFETY: the caller's promise.
    unsafe {
        if (*state).stack_high == (*state).stack_low && (*state).stack_ends == 0 {
            reach_up(state);
        }
    }
}

/// Learns of more of the stack, above what is known. Nothing comes to be there later, so that its end is found once.
///
/// # Safety
/// `state` is the calling thread's own.
unsafe fn reach_up(state: *mut ThreadState) {
    // SAFETY: the caller's promise.
    unsafe {
        // A handler that comes in between does the same: nothing is added up.
        let from = (*state).stack_high;
        let pages = syscall::readable_pages(from, PAGES_TOGETHER);
        (*state).stack_high = from + pages as u64 * PAGE;
        (*state).stack_ends = (pages < PAGES_TOGETHER).into();
    }
}

/// Copies as much of a stack window as can be read, from the return slot at `slot` on. Nothing is read from the record: where
/// there is no room, threads of all processes write theirs to the same memory.
///
/// # Safety
/// `state` is the calling thread's own; `record` is reserved.
pub unsafe fn copy_stack(state: *mut ThreadState, record: *mut RawDetail, slot: u64) {
    // SAFETY: the caller's promise.
    unsafe { (*record).stack_bytes = copy_window(state, record.add(1).cast(), get(Item::StackWindow), slot) };
}

/// The same behind the record of a probed call.
///
/// # Safety
/// As [`copy_stack`].
pub(crate) unsafe fn copy_stack_of_probe(state: *mut ThreadState, record: *mut RawProbe, slot: u64) {
    // SAFETY: the caller's promise.
    unsafe { (*record).detail.stack_bytes = copy_window(state, record.add(1).cast(), get(Item::ProbeWindow), slot) };
}

/// Captures what stubs would of a call or return whose record the agent publishes: `detail`, a call's stack window, and vector
/// registers. Gives the time for the event; nothing where such events have no detail.
///
/// # Safety
/// `state` is the calling thread's own; a call's stack pointer is its return slot.
pub(crate) unsafe fn capture(state: *mut ThreadState, mark: u32, detail: RawDetail) -> Option<u64> {
    // SAFETY: the caller's promise. State 0 is shared by threads that have none.
    let has_state = unsafe { (*state).number } != 0;
    if !has_state || pool().orders().detail_mode.load(Ordering::Relaxed) == DetailMode::Off as u32 {
        return None;
    }
    let vectors_at = get(Item::DetailVectorsAt);
    // SAFETY: the caller's promise; a reserved record belongs to its thread until it is marked.
    unsafe {
        let vectors = if vectors_at == 0 { None } else { Some(arch::whole_vectors(state)?) };
        let position = AtomicU64::from_ptr(&raw mut (*state).detail_position);
        let mut reserved = position.fetch_add(get(Item::DetailStride), Ordering::Relaxed);
        if is_past_end(reserved) {
            reserved = reserve(state);
        }
        let time = arch::clock();
        let record = reserved as *mut RawDetail;
        record.write(RawDetail { mark: 0, tsc: time, ..detail });
        if mark == CALL {
            copy_stack(state, record, detail.stack_pointer);
        }
        if let Some(vectors) = vectors {
            put_vectors(vectors, reserved + vectors_at);
        }
        AtomicU32::from_ptr(&raw mut (*record).mark).store(mark, Ordering::Release);
        Some(time)
    }
}

/// Adds to the record of a probed call or return what other records have, where all of that is written: the stack from `slot` on, and
/// vector registers.
///
/// # Safety
/// As [`capture`]; `record` is reserved.
pub(crate) unsafe fn add_to_probe(state: *mut ThreadState, mark: u32, record: *mut RawProbe, slot: u64) {
    let vectors_at = get(Item::ProbeVectorsAt);
    // SAFETY: the caller's promise.
    unsafe {
        if mark == CALL {
            copy_stack_of_probe(state, record, slot);
        }
        if vectors_at != 0 {
            match arch::whole_vectors(state) {
                Some(vectors) => put_vectors(vectors, record as u64 + vectors_at),
                None => (*record).detail.stack_bytes |= WITHOUT_VECTORS,
            }
        }
    }
}

/// # Safety
/// There is room for them at that address.
unsafe fn put_vectors(vectors: [[u64; 2]; VECTORS], at: u64) {
    // SAFETY: the caller's promise.
    unsafe { (at as *mut [[u64; 2]; VECTORS]).write(vectors) };
}

/// # Safety
/// As [`copy_stack`]; at `to` there is room for `window` bytes.
unsafe fn copy_window(state: *mut ThreadState, to: *mut u8, window: u64, slot: u64) -> u64 {
    if window == 0 {
        return 0;
    }
    // SAFETY: the caller's promise; what is copied was found to be mapped.
    unsafe {
        learn_stack(state);
        let page = slot & !(PAGE - 1);
        if slot < (*state).stack_low && is_one_stack(slot, (*state).stack_low) {
            (*state).stack_low = page;
        }
        let mut end = page + PAGE;
        if slot >= (*state).stack_low && slot < (*state).stack_high {
            if (*state).stack_high < slot + window && (*state).stack_ends == 0 {
                reach_up(state);
            }
            end = (*state).stack_high;
        } else {
            while end < slot + window && syscall::is_readable(end, 1) {
                end += PAGE;
            }
        }
        let count = window.min(end - slot);
        core::ptr::copy_nonoverlapping(slot as *const u8, to, count as usize);
        count
    }
}

#[cfg(test)]
mod tests {
    extern crate std;
    use super::*;
    use std::boxed::Box;

    /// So many pages that can be read, and one behind them that cannot.
    fn stack_of(pages: usize) -> u64 {
        let bytes = (pages + 1) * PAGE as usize;
        // SAFETY: new memory, and the last page of it.
        unsafe {
            let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
            let start = libc::mmap(core::ptr::null_mut(), bytes, libc::PROT_READ | libc::PROT_WRITE, flags, -1, 0);
            assert_ne!(start, libc::MAP_FAILED);
            assert_eq!(libc::mprotect(start.byte_add(pages * PAGE as usize), PAGE as usize, libc::PROT_NONE), 0);
            start as u64
        }
    }

    #[test]
    fn a_stack_is_known_to_its_end() {
        for pages in [1, 3, 64, 100] {
            let start = stack_of(pages);
            // SAFETY: all fields are integers, for which zeroes are valid.
            let mut state: Box<ThreadState> = unsafe { Box::new_zeroed().assume_init() };
            // SAFETY: the test's own.
            unsafe {
                note_stack(&raw mut *state, start + 100);
                assert_eq!((state.stack_low, state.stack_high), (start, start));
                learn_stack(&raw mut *state);
            }
            let known = pages.min(PAGES_TOGETHER) as u64;
            assert_eq!((state.stack_low, state.stack_high), (start, start + known * PAGE));
            assert_eq!(state.stack_ends == 1, pages < PAGES_TOGETHER);
            // SAFETY: as above.
            unsafe { reach_up(&raw mut *state) };
            assert_eq!((state.stack_high, state.stack_ends), (start + pages as u64 * PAGE, 1));
        }
    }
}
