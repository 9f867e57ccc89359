//! Changing a thread's chunk, and writing the agent's own records.

use ada_ring::chunk::is_past_end;
use ada_ring::pool::CHUNKS_AT;
use ada_ring::state::NO_CHUNK;
use ada_ring::{
    CHUNK_SIZE, ChunkState, DropReason, HandedOver, Lane, OnFull, Pool, RECORDS_PER_CHUNK, RawRecord, ThreadState,
};
use core::sync::atomic::{AtomicU64, Ordering};

use crate::arch::{clock, thread_pointer};
use crate::code_edits;
use crate::config::{Item, get};
use crate::growth;
use crate::memory::{first_shadow_base, pool, tall_start};
use crate::recorder::{self, Patience};
use crate::syscall::SignalsBlocked;

const WAIT_STEP: u32 = 200_000;
/// How long a wait lasts in which the drain has nothing to free …
const HOPE: u32 = 200_000_000 / WAIT_STEP;
/// … if it has looked so often whether the owners of the chunks still live.
const LOOKS: u64 = 4;

/// The chunk that a position lies in, or ran out of.
pub fn chunk_of(position: u64) -> Option<usize> {
    let distance = position.checked_sub(get(Item::Pool) + CHUNKS_AT as u64)?;
    let chunk = distance as usize / CHUNK_SIZE;
    (chunk < pool().most_chunks()).then_some(chunk)
}

/// Reserves a record where the thread's own reservation ran past its chunk's end.
///
/// # Safety
/// `state` is the calling thread's own.
pub unsafe fn reserve(state: *mut ThreadState) -> u64 {
    let mut blocked = SignalsBlocked::new();
    // SAFETY: the thread's own state, and no handler comes in between.
    if !unsafe { refill(state, &mut blocked) } {
        // SAFETY: as above.
        return unsafe { give_up(state) };
    }
    // SAFETY: as above.
    unsafe {
        let reserved = (*state).index_position;
        (*state).index_position += RawRecord::SIZE as u64;
        reserved
    }
}

/// Sees to it that a thread has room for an event. False where there is no chunk to be had.
///
/// # Safety
/// `state` is the calling thread's own.
pub(crate) unsafe fn refill(state: *mut ThreadState, blocked: &mut SignalsBlocked) -> bool {
    // SAFETY: the caller's promise.
    let past = unsafe { (*state).index_position };
    if !is_past_end(past) {
        return true;
    }
    code_edits::make();
    // SAFETY: the caller's promise.
    let Some((chunk, waited)) = (unsafe { exchange(state, Lane::Index, past, blocked) }) else { return false };
    let pool = pool();
    // SAFETY: the caller's promise. A handler that ran during the wait may have got a chunk meanwhile.
    unsafe {
        if is_past_end((*state).index_position) {
            label(&pool, chunk, state, Lane::Index, waited);
            (*state).index_position = pool.records(chunk) as u64;
            pool.change(chunk, ChunkState::Claimed, ChunkState::Active);
        } else {
            pool.change(chunk, ChunkState::Claimed, ChunkState::Free);
        }
    }
    true
}

/// Hands over the chunk that a position ran out of, and claims another. The full one goes first: a thread that waits
/// keeps nothing that others wait for.
///
/// # Safety
/// `state` is the calling thread's own, and `past` its position in the lane.
pub(crate) unsafe fn exchange(
    state: *mut ThreadState,
    lane: Lane,
    past: u64,
    blocked: &mut SignalsBlocked,
) -> Option<(usize, u64)> {
    let pool = pool();
    let full = chunk_of(past);
    // SAFETY: the caller's promise.
    let handed_over = unsafe {
        let (position, taken) = match lane {
            Lane::Index => (&raw mut (*state).index_position, (*state).chunks_taken),
            Lane::Detail => (&raw mut (*state).detail_position, (*state).detail_chunks_taken),
            Lane::Probe => (&raw mut (*state).probe_position, (*state).probe_chunks_taken),
        };
        let (owner, ordinal) = ((*state).thread_key(), taken.wrapping_sub(1));
        if full.is_some() {
            // It may be another thread's by the time that a handler comes here during a wait.
            *position = NO_CHUNK;
        }
        full.map(|chunk| HandedOver { chunk, owner, lane, ordinal })
    };
    if let Some(full) = full {
        pool.change(full, ChunkState::Active, ChunkState::Full);
    }
    if lane != Lane::Index && full.is_some() {
        // SAFETY: the caller's promise.
        unsafe { note_handed_over(state) };
    }
    // SAFETY: the caller's promise.
    unsafe { obtain(state, lane, is_in_dump(past), handed_over.as_ref(), blocked) }
}

/// Records among the events that a chunk of another lane was handed over.
///
/// # Safety
/// `state` is the calling thread's own.
pub(crate) unsafe fn note_handed_over(state: *mut ThreadState) {
    // SAFETY: the caller's promise.
    if let Some(events) = chunk_of(unsafe { (*state).index_position }) {
        pool().header(events).has_handed_over_others.store(1, Ordering::Release);
    }
}

/// Claims a chunk by the rules of the session, and says how long the thread had to wait for it, by the time-stamp counter.
///
/// # Safety
/// `state` is the calling thread's own.
unsafe fn obtain(
    state: *mut ThreadState,
    lane: Lane,
    was_in_dump: bool,
    handed_over: Option<&HandedOver>,
    blocked: &mut SignalsBlocked,
) -> Option<(usize, u64)> {
    let pool = pool();
    let control = pool.control();
    if recorder::is_gone(pool, || blocked.sleep(recorder::WAIT_STEP)) {
        return None;
    }
    if let Some(chunk) = pool.claim() {
        return Some((chunk, 0));
    }
    control.exhausted.fetch_add(1, Ordering::Relaxed);
    if pool.orders().on_full.load(Ordering::Relaxed) == OnFull::Drop as u32 {
        // What it has just filled is worth keeping as long as there is room for every thread's newest.
        let newest = handed_over.map(|full| full.chunk);
        // SAFETY: the caller's promise.
        let take_back = |but| unsafe { take_back(state, lane, but) };
        let taken = take_back(newest).or_else(growth::claim_chunk).or_else(|| take_back(None));
        return taken.map(|chunk| (chunk, 0));
    }
    // A thread waits only for its own chunks, which the drain will free: this bounds the memory of a thread that outruns the
    // disk. A thread with nothing to be drained would wait for others, which may wait for it.
    let is_worth_waiting = || handed_over.is_some_and(|full| pool.is_with_drain(full));
    if !is_worth_waiting()
        && let Some(chunk) = growth::claim_chunk()
    {
        return Some((chunk, 0));
    }
    if lane == Lane::Index && was_in_dump {
        // It has waited in vain before.
        return None;
    }
    let mut patience = Patience::new(pool);
    let mut looks = pool.orders().looks_for_ended.load(Ordering::Relaxed);
    let mut claims = control.claims.load(Ordering::Relaxed);
    let (mut hopeless, begun) = (0, clock());
    while patience.lasts() {
        blocked.sleep(WAIT_STEP);
        let has_hope =
            hopeless < HOPE || pool.orders().looks_for_ended.load(Ordering::Relaxed).wrapping_sub(looks) < LOOKS;
        let beyond = || if is_worth_waiting() && has_hope { None } else { growth::claim_chunk() };
        if let Some(chunk) = pool.claim().or_else(beyond) {
            return Some((chunk, clock().saturating_sub(begun)));
        }
        if !has_hope {
            // All chunks belong to living threads, which may be waiting for this one.
            return None;
        }
        let looked = pool.orders().looks_for_ended.load(Ordering::Relaxed);
        let given = control.claims.load(Ordering::Relaxed);
        if given != claims || pool.is_drain_behind() {
            (hopeless, looks, claims) = (0, looked, given);
        }
        hopeless += 1;
    }
    None
}

/// Takes back the oldest that a thread has handed to the drain, except for one.
///
/// # Safety
/// `state` is the calling thread's own.
unsafe fn take_back(state: *mut ThreadState, lane: Lane, but: Option<usize>) -> Option<usize> {
    let pool = pool();
    // SAFETY: the caller's promise.
    let owner = unsafe { (*state).thread_key() };
    let chunk = pool.reclaim_oldest(owner, lane, growth::mapped_chunks(), but)?;
    let old = pool.header(chunk);
    if old.lane.load(Ordering::Relaxed) == Lane::Index as u32 {
        // What was lost before it is lost before the next one.
        // SAFETY: the caller's promise.
        unsafe { (*state).lost += old.lost_before.load(Ordering::Relaxed) };
    }
    Some(chunk)
}

/// Whether a position lies in the dump, or ran past its end.
fn is_in_dump(position: u64) -> bool {
    position.wrapping_sub(pool().dump() as u64) < CHUNK_SIZE as u64
}

/// There is no chunk: the record goes to the dump, which nobody reads. It is counted at once, because the thread may end before
/// it comes back. Once the recorder is gone, a thread asks no more often than it needs to.
///
/// # Safety
/// `state` is the calling thread's own.
unsafe fn give_up(state: *mut ThreadState) -> u64 {
    let pool = pool();
    let control = pool.control();
    let (reason, lost) = match control.recorder_gone.load(Ordering::Relaxed) {
        0 => (DropReason::PoolExhausted, 1),
        _ => (DropReason::RecorderGone, RECORDS_PER_CHUNK),
    };
    control.count_drop(reason, lost as u64);
    let skipped = (RECORDS_PER_CHUNK - lost) * RawRecord::SIZE;
    let reserved = pool.dump() as u64 + skipped as u64;
    // SAFETY: the thread's own state.
    unsafe {
        (*state).lost += lost as u64;
        (*state).index_position = reserved + RawRecord::SIZE as u64;
    }
    reserved
}

/// # Safety
/// `state` is the calling thread's own, and the chunk is claimed.
pub(crate) unsafe fn label(pool: &Pool, chunk: usize, state: *mut ThreadState, lane: Lane, waited: u64) {
    pool.prepare_for(chunk, lane);
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
        header.cut_at.store(0, Ordering::Relaxed);
        header.lane.store(lane as u32, Ordering::Relaxed);
        header.wanted.store(0, Ordering::Relaxed);
        header.has_handed_over_others.store(0, Ordering::Relaxed);
        header.program.store(get(Item::Program) as u32, Ordering::Relaxed);
        header.thread_pointer.store(thread_pointer(), Ordering::Relaxed);
        let own_stack = (*state).number as usize;
        header.shadow_base_low.store(first_shadow_base(own_stack) as u32, Ordering::Relaxed);
        header.tall_shadow_low.store(tall_start(own_stack).unwrap_or(0) as u32, Ordering::Relaxed);
        header.lost_before.store((*state).lost, Ordering::Relaxed);
        header.waited_ticks.store(waited, Ordering::Relaxed);
        header.drained.store(0, Ordering::Relaxed);
        header.forked_by.store((*state).forked_by, Ordering::Relaxed);
        header.exit_status.store(0, Ordering::Relaxed);
        header.has_thread_result.store(0, Ordering::Relaxed);
        if lane == Lane::Index {
            (*state).lost = 0;
        }
    }
}

/// Notes in a thread's chunk that its own stack has a tall shadow stack from now on.
///
/// # Safety
/// `state` is the calling thread's own.
pub(crate) unsafe fn note_tall(state: *mut ThreadState) {
    // SAFETY: the caller's promise.
    let (position, own_stack) = unsafe { ((*state).index_position, (*state).number as usize) };
    if let Some(chunk) = chunk_of(position) {
        let start = tall_start(own_stack).unwrap_or(0);
        pool().header(chunk).tall_shadow_low.store(start as u32, Ordering::Release);
    }
}

/// Writes a record of the agent's own.
///
/// # Safety
/// `state` is the calling thread's own.
pub unsafe fn write(state: *mut ThreadState, function: u32, top_and_kind: u32) {
    // SAFETY: the caller's promise. A thread without a state may not be allowed to read the clock.
    unsafe {
        if (*state).number != 0 {
            write_at(state, function, top_and_kind, clock());
        }
    }
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
    // SAFETY: as in `reserve`.
    let position = unsafe { AtomicU64::from_ptr(&raw mut (*state).index_position) };
    let mut reserved = position.fetch_add(RawRecord::SIZE as u64, Ordering::Relaxed);
    if is_past_end(reserved) {
        // SAFETY: the thread's own state.
        reserved = unsafe { reserve(state) };
    }
    // SAFETY: a reserved record, or one in the dump.
    unsafe { RawRecord::publish(reserved as *mut RawRecord, function, top_and_kind, time) };
}
