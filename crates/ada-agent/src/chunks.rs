//! Changing a thread's chunk, and writing the agent's own records.

use ada_ring::chunk::is_past_end;
use ada_ring::pool::CONTROL_BYTES;
use ada_ring::{CHUNK_SIZE, ChunkState, DropReason, Lane, OnFull, Pool, RECORDS_PER_CHUNK, RawRecord, ThreadState};
use core::sync::atomic::{AtomicU64, Ordering};

use crate::config::{Item, get};
use crate::memory::pool;
use crate::orders;
use crate::recorder::Patience;
use crate::registers;
use crate::syscall::{self, SignalsBlocked};

const WAIT_STEP: u32 = 200_000;
/// How long a wait lasts in which the drain has nothing to free …
const HOPE: u32 = 200_000_000 / WAIT_STEP;
/// … if it has looked so often whether the owners of the chunks still live.
const LOOKS: u64 = 4;

/// How many records a thread without a chunk loses before it asks for one again.
const LOST_AT_ONCE: usize = 16;

/// The chunk that a position lies in, or ran out of.
pub fn chunk_of(position: u64) -> Option<usize> {
    let distance = position.checked_sub(get(Item::Pool) + CONTROL_BYTES as u64)?;
    let chunk = distance as usize / CHUNK_SIZE;
    (chunk < pool().chunk_count()).then_some(chunk)
}

/// A place for a record whose reservation ran past its chunk's end.
///
/// # Safety
/// `state` is the calling thread's own.
pub unsafe fn place(state: *mut ThreadState) -> u64 {
    let mut blocked = SignalsBlocked::new();
    // SAFETY: the thread's own state, and no handler comes in between.
    let past = unsafe { (*state).index_position };
    if is_past_end(past) {
        orders::carry_out();
        // SAFETY: as above.
        let Some((chunk, waited)) = (unsafe { obtain(state, Lane::Index, &mut blocked) }) else {
            // SAFETY: as above.
            return unsafe { give_up(state, past) };
        };
        let pool = pool();
        // SAFETY: as above. A handler that ran during the wait may have changed the chunk meanwhile.
        let past = unsafe { (*state).index_position };
        if is_past_end(past) {
            // SAFETY: as above.
            unsafe {
                label(&pool, chunk, state, Lane::Index, waited);
                (*state).index_position = pool.records(chunk) as u64;
            }
            pool.change(chunk, ChunkState::Claimed, ChunkState::Active);
            if let Some(full) = chunk_of(past) {
                pool.change(full, ChunkState::Active, ChunkState::Full);
            }
        } else {
            pool.change(chunk, ChunkState::Claimed, ChunkState::Free);
        }
    }
    // SAFETY: as above.
    unsafe {
        let reserved = (*state).index_position;
        (*state).index_position += RawRecord::SIZE as u64;
        reserved
    }
}

/// Claims a chunk by the rules of the session, and says how long the thread had to wait for it, by the time-stamp counter.
///
/// # Safety
/// `state` is the calling thread's own.
pub(crate) unsafe fn obtain(state: *mut ThreadState, lane: Lane, blocked: &mut SignalsBlocked) -> Option<(usize, u64)> {
    let pool = pool();
    if let Some(chunk) = pool.claim() {
        return Some((chunk, 0));
    }
    let control = pool.control();
    control.exhausted.fetch_add(1, Ordering::Relaxed);
    // SAFETY: the thread's own state.
    let (process, thread, position) = unsafe { ((*state).pid, (*state).tid, (*state).index_position) };
    if control.on_full.load(Ordering::Relaxed) == OnFull::Drop as u32 {
        let reclaimed = pool.reclaim_oldest(process, thread, lane)?;
        let old = pool.header(reclaimed);
        if old.lane.load(Ordering::Relaxed) == Lane::Index as u32 {
            // What was lost before it is lost before the next one.
            // SAFETY: the thread's own state.
            unsafe { (*state).lost += old.lost_before.load(Ordering::Relaxed) };
        }
        return Some((reclaimed, 0));
    }
    if lane == Lane::Index && is_in_dump(position) {
        // It has waited in vain before.
        return None;
    }
    let mut patience = Patience::new(control);
    let mut looks = control.looks_for_ended.load(Ordering::Relaxed);
    let mut claims = control.claims.load(Ordering::Relaxed);
    let (mut hopeless, begun) = (0, registers::clock());
    while patience.is_left() {
        blocked.pause(|| syscall::sleep_nanoseconds(WAIT_STEP));
        if let Some(chunk) = pool.claim() {
            return Some((chunk, registers::clock().saturating_sub(begun)));
        }
        // All chunks belong to living threads, which may be waiting for this one.
        let looked = control.looks_for_ended.load(Ordering::Relaxed);
        let given = control.claims.load(Ordering::Relaxed);
        if given != claims || pool.is_drain_behind() {
            (hopeless, looks, claims) = (0, looked, given);
        }
        hopeless += 1;
        if hopeless >= HOPE && looked.wrapping_sub(looks) >= LOOKS {
            return None;
        }
    }
    None
}

/// Whether a position lies in the chunk that nobody reads, or ran out of it.
fn is_in_dump(position: u64) -> bool {
    position.wrapping_sub(pool().records(pool().dump()) as u64) < CHUNK_SIZE as u64
}

/// No chunk is to be had: the record, and a few that follow, go where nobody reads them. They are counted at once, because
/// the thread may end before it comes back for more.
///
/// # Safety
/// `state` is the calling thread's own.
unsafe fn give_up(state: *mut ThreadState, past: u64) -> u64 {
    let pool = pool();
    let control = pool.control();
    let is_gone = control.recorder_gone.load(Ordering::Relaxed) != 0;
    // Once nobody reads any more, a thread goes round in the chunk that it has.
    let own = chunk_of(past).filter(|_| is_gone);
    let (reason, lost) = match own {
        Some(_) => (DropReason::RecorderGone, RECORDS_PER_CHUNK),
        None if is_gone => (DropReason::RecorderGone, LOST_AT_ONCE),
        None => (DropReason::PoolExhausted, LOST_AT_ONCE),
    };
    control.count_drop(reason, lost as u64);
    let skipped = (RECORDS_PER_CHUNK - lost) * RawRecord::SIZE;
    let place = pool.records(own.unwrap_or(pool.dump())) as u64 + skipped as u64;
    // SAFETY: the thread's own state.
    unsafe {
        (*state).lost += lost as u64;
        // A full chunk goes to the drain, unless it is gone round in.
        if let Some(full) = chunk_of(past).filter(|_| own.is_none()) {
            pool.change(full, ChunkState::Active, ChunkState::Full);
        }
        (*state).index_position = place + RawRecord::SIZE as u64;
    }
    place
}

/// # Safety
/// `state` is the calling thread's own, and the chunk is claimed.
pub(crate) unsafe fn label(pool: &Pool, chunk: usize, state: *mut ThreadState, lane: Lane, waited: u64) {
    let header = pool.header(chunk);
    // SAFETY: the caller's promise.
    unsafe {
        header.pid.store((*state).pid, Ordering::Relaxed);
        header.tid.store((*state).tid, Ordering::Relaxed);
        let taken = match lane {
            Lane::Index => &mut (*state).chunks_taken,
            Lane::Detail => &mut (*state).detail_chunks_taken,
            Lane::Probe => &mut (*state).probe_chunks_taken,
        };
        header.ordinal.store(*taken, Ordering::Relaxed);
        *taken += 1;
        header.lane.store(lane as u32, Ordering::Relaxed);
        header.wanted.store(0, Ordering::Relaxed);
        header.image.store(get(Item::Image) as u32, Ordering::Relaxed);
        header.thread_pointer.store(registers::fs_base(), Ordering::Relaxed);
        header.shadow_base_low.store((*state).shadow_base as u32, Ordering::Relaxed);
        header.lost_before.store((*state).lost, Ordering::Relaxed);
        header.waited_ticks.store(waited, Ordering::Relaxed);
        header.drained.store(0, Ordering::Relaxed);
        header.forked_by.store((*state).forked_by, Ordering::Relaxed);
        header.exit_status.store(0, Ordering::Relaxed);
        if lane == Lane::Index {
            (*state).lost = 0;
        }
    }
}

/// Writes a record of the agent's own.
///
/// # Safety
/// `state` is the calling thread's own.
pub unsafe fn write(state: *mut ThreadState, function: u32, top_and_kind: u32) {
    // SAFETY: the caller's promise.
    unsafe { write_at(state, function, top_and_kind, registers::clock()) }
}

/// The same with a time that was read already.
///
/// # Safety
/// As [`write`].
pub(crate) unsafe fn write_at(state: *mut ThreadState, function: u32, top_and_kind: u32, time: u64) {
    // SAFETY: as promised. State 0 is shared by threads that have none, and has no chunk.
    if unsafe { (*state).number } == 0 {
        return;
    }
    // SAFETY: as in `place`.
    let position = unsafe { AtomicU64::from_ptr(&raw mut (*state).index_position) };
    let mut place = position.fetch_add(RawRecord::SIZE as u64, Ordering::Relaxed);
    if is_past_end(place) {
        // SAFETY: the thread's own state.
        place = unsafe { self::place(state) };
    }
    let words = place as *mut u64;
    // SAFETY: a reserved record, or the sink. The time stamp last: it publishes the record.
    unsafe {
        words.add(1).write_volatile(u64::from(top_and_kind) << 32 | u64::from(function));
        AtomicU64::from_ptr(words).store(time, Ordering::Release);
    }
}
