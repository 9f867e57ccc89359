//! The detail lane: changing its chunks, and stack windows that reach into another page.

use ada_ring::chunk::is_past_end;
use ada_ring::probe::RawProbe;
use ada_ring::{ChunkState, DetailMode, Lane, RawDetail, ThreadState};
use core::sync::atomic::Ordering;

use crate::chunks::{chunk_of, exchange, label};
use crate::config::{Item, get};
use crate::memory::pool;
use crate::stretch::is_one_stack;
use crate::syscall::{self, SignalsBlocked};
use crate::windows;

const PAGE: u64 = 4096;

/// A place for a detail record whose reservation ran past its chunk's end.
///
/// # Safety
/// `state` is the calling thread's own.
pub unsafe fn place(state: *mut ThreadState) -> u64 {
    if pool().control().detail_mode.load(Ordering::Relaxed) == DetailMode::All as u32 {
        // SAFETY: the caller's promise.
        return unsafe { place_in_lane(state, Lane::Detail) };
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

/// A place in a lane of which everything is written: a full chunk goes to the drain, and another takes its place.
///
/// # Safety
/// As [`place`].
pub(crate) unsafe fn place_in_lane(state: *mut ThreadState, lane: Lane) -> u64 {
    let mut blocked = SignalsBlocked::new();
    let pool = pool();
    // SAFETY: the thread's own state, and no handler comes in between.
    unsafe {
        let (position, stride) = match lane {
            Lane::Probe => (&raw mut (*state).probe_position, RawProbe::SIZE as u64),
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
/// As [`place`].
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
                None if pool.control().marks.is_on.load(Ordering::Relaxed) != 0 => windows::wait_for_chunk(blocked),
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

/// What is known of a thread's stack at its first event: that stack stays as long as the thread, as others may not.
pub(crate) fn first_stack(slot: u64) -> (u64, u64) {
    let page = slot & !(PAGE - 1);
    let pages = [64, 16, 4, 1].into_iter().find(|&pages| syscall::is_readable(page, pages)).unwrap_or(0);
    (page, page + pages as u64 * PAGE)
}

/// Copies as much of a stack window as can be read, from the return slot at `slot` on. Nothing is read from the record: where
/// there is no room, threads of all processes write theirs to the same place.
///
/// # Safety
/// `state` is the calling thread's own; `record` is reserved.
pub unsafe fn copy_stack(state: *mut ThreadState, record: *mut RawDetail, slot: u64) {
    // SAFETY: the caller's promise; what is copied was found to be mapped.
    unsafe {
        let page = slot & !(PAGE - 1);
        if slot < (*state).stack_low && is_one_stack(slot, (*state).stack_low) {
            (*state).stack_low = page;
        }
        let window = get(Item::StackWindow);
        let mut end = page + PAGE;
        if slot >= (*state).stack_low && slot < (*state).stack_high {
            end = (*state).stack_high;
        }
        while end < slot + window && syscall::is_readable(end, 1) {
            end += PAGE;
        }
        let count = window.min(end - slot);
        core::ptr::copy_nonoverlapping(slot as *const u8, record.add(1).cast::<u8>(), count as usize);
        (*record).stack_bytes = count;
    }
}
