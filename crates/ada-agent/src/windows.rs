//! Windows of detail: a thread that overwrites its oldest detail hands over what lies around a trigger instead.
//!
//! The drain reads events a moment after they happened, when a busy thread has gone round its two chunks many times. So
//! the thread itself looks through a chunk that it has filled, for functions that triggers name. The chunk, the one
//! before it, and those of the post-roll go to the drain, which decides exactly what is written.

use ada_ring::arch::RETURN_POPS;
use ada_ring::detail::{CALL, RETURN};
use ada_ring::marks::{MARK_CALL, MARK_SLOW, Marks};
use ada_ring::state::{SLOW_CALLS, SlowCall};
use ada_ring::{ChunkState, OnFull, Pool, RECORDS_END, RawDetail, ThreadState};
use core::sync::atomic::Ordering;

use crate::arch::clock;
use crate::chunks;
use crate::config::{Item, get};
use crate::memory::pool;
use crate::syscall::SignalsBlocked;

const LEFT_FOR_EVENTS: usize = 16;
const WAIT_STEP: u32 = 200_000;
/// Steps without a sign of life from the recorder.
const PATIENCE: u32 = 2_000_000_000 / WAIT_STEP;

/// Called when a detail chunk is full, before the thread goes on in the other.
///
/// # Safety
/// `state` is the calling thread's own, with signals blocked; the chunk is the one that it has filled.
pub(crate) unsafe fn chunk_is_full(state: *mut ThreadState, full: usize) {
    let pool = pool();
    // SAFETY: the caller's promise.
    unsafe {
        let Some(turn) = (0..2).find(|&turn| (*state).detail_chunks[turn] == full as u32 + 1) else { return };
        let marks = &pool.orders().marks;
        let mut is_wanted = pool.header(full).wanted.load(Ordering::Relaxed) != 0;
        if marks.is_on.load(Ordering::Relaxed) != 0 {
            let stride = get(Item::DetailStride) as usize;
            let begun = is_open(state);
            (*state).window_events = (*state).window_events.saturating_sub((RECORDS_END / stride) as u64);
            let triggered = look_through(state, pool.records(full), stride, marks);
            if triggered {
                hand_over(&pool, state, 1 - turn);
            }
            is_wanted |= begun || triggered;
        }
        if is_wanted {
            hand_over(&pool, state, turn);
        }
        let other = (*state).detail_chunks[1 - turn];
        if other != 0 && pool.header(other as usize - 1).wanted.load(Ordering::Relaxed) != 0 {
            hand_over(&pool, state, 1 - turn);
        }
    }
}

/// Whether what the thread does now belongs to a window.
///
/// # Safety
/// `state` is the calling thread's own.
unsafe fn is_open(state: *mut ThreadState) -> bool {
    // SAFETY: the caller's promise.
    unsafe { (*state).window_events > 0 || clock() < (*state).window_until }
}

/// A chunk for what may become a window, waited for where the session is to be complete: as long as the drain has
/// something to free. Chunks that events need stay theirs.
pub(crate) fn wait_for_chunk(blocked: &mut SignalsBlocked) -> Option<(usize, u64)> {
    let pool = pool();
    let orders = pool.orders();
    let mut rounds = orders.heartbeats.load(Ordering::Relaxed);
    let (mut idle, mut has_waited, begun) = (0, false, clock());
    loop {
        if let Some(chunk) = pool.claim_leaving(LEFT_FOR_EVENTS) {
            let waited = if has_waited { clock().saturating_sub(begun) } else { 0 };
            return Some((chunk, waited));
        }
        let may_wait = orders.on_full.load(Ordering::Relaxed) == OnFull::Wait as u32
            && pool.control().recorder_gone.load(Ordering::Relaxed) == 0
            && pool.is_drain_behind()
            && idle < PATIENCE;
        if !may_wait {
            return None;
        }
        blocked.sleep(WAIT_STEP);
        has_waited = true;
        let now = orders.heartbeats.load(Ordering::Relaxed);
        idle = if now == rounds { idle + 1 } else { 0 };
        rounds = now;
    }
}

/// # Safety
/// As [`chunk_is_full`].
unsafe fn hand_over(pool: &Pool, state: *mut ThreadState, turn: usize) {
    // SAFETY: the caller's promise.
    unsafe {
        if let Some(chunk) = ((*state).detail_chunks[turn] as usize).checked_sub(1) {
            pool.change(chunk, ChunkState::Active, ChunkState::Full);
            (*state).detail_chunks[turn] = 0;
            chunks::note_handed_over(state);
        }
    }
}

/// Whether there is a trigger among the records; notes how far its post-roll reaches.
///
/// # Safety
/// As [`chunk_is_full`]; the records have this stride.
pub unsafe fn look_through(state: *mut ThreadState, records: *const u8, stride: usize, marks: &Marks) -> bool {
    let mut is_found = false;
    for at in (0..RECORDS_END).step_by(stride) {
        // SAFETY: a record within the chunk, which is this thread's.
        let (mark, function, tsc, slot) = unsafe {
            let record = records.add(at).cast::<RawDetail>();
            ((*record).mark, (*record).function, (*record).tsc, (*record).stack_pointer)
        };
        let marked = marks.of(function);
        if marked == 0 {
            continue;
        }
        let mut is_trigger = mark == CALL && marked & MARK_CALL != 0;
        if marked & MARK_SLOW != 0 {
            // SAFETY: the thread's own state.
            let began = unsafe {
                match mark {
                    CALL => {
                        push_slow(state, SlowCall { slot, tsc });
                        None
                    }
                    RETURN => pop_slow(state, slot.wrapping_sub(RETURN_POPS)),
                    _ => None,
                }
            };
            let limit = marks.slow_ticks.load(Ordering::Relaxed);
            is_trigger |= began.is_some_and(|began| tsc.saturating_sub(began) >= limit);
        }
        if is_trigger {
            is_found = true;
            let behind = ((RECORDS_END - at) / stride) as u64;
            // SAFETY: the thread's own state.
            unsafe {
                (*state).window_events = marks.post_events.load(Ordering::Relaxed).saturating_sub(behind);
                (*state).window_until = tsc.saturating_add(marks.post_ticks.load(Ordering::Relaxed));
            }
        }
    }
    is_found
}

/// # Safety
/// `state` is the calling thread's own.
unsafe fn push_slow(state: *mut ThreadState, call: SlowCall) {
    // SAFETY: the caller's promise.
    unsafe {
        // What lies below a call has ended, seen or not.
        while (*state).slow_count > 0 && (*state).slow_calls[(*state).slow_count as usize - 1].slot <= call.slot {
            (*state).slow_count -= 1;
        }
        if ((*state).slow_count as usize) < SLOW_CALLS {
            (*state).slow_calls[(*state).slow_count as usize] = call;
            (*state).slow_count += 1;
        }
    }
}

/// # Safety
/// `state` is the calling thread's own.
unsafe fn pop_slow(state: *mut ThreadState, slot: u64) -> Option<u64> {
    // SAFETY: the caller's promise.
    unsafe {
        while (*state).slow_count > 0 && (*state).slow_calls[(*state).slow_count as usize - 1].slot < slot {
            (*state).slow_count -= 1;
        }
        let newest = (*state).slow_calls[((*state).slow_count as usize).checked_sub(1)?];
        if newest.slot != slot {
            return None;
        }
        (*state).slow_count -= 1;
        Some(newest.tsc)
    }
}

#[cfg(test)]
mod tests {
    extern crate std;
    use super::*;
    use std::boxed::Box;
    use std::vec;
    use std::vec::Vec;

    const STRIDE: usize = RawDetail::SIZE + 8;

    struct Thread {
        state: Box<ThreadState>,
        marks: Box<Marks>,
        chunk: Vec<u64>,
    }

    impl Thread {
        fn new() -> Self {
            // SAFETY: zeroes are valid in all fields of both.
            let (state, marks) = unsafe { (Box::new_zeroed().assume_init(), Box::<Marks>::new_zeroed().assume_init()) };
            marks.post_events.store(5, Ordering::Relaxed);
            marks.slow_ticks.store(100, Ordering::Relaxed);
            Self { state, marks, chunk: vec![0; RECORDS_END / 8] }
        }

        fn write(&mut self, number: usize, mark: u32, function: u32, tsc: u64, stack_pointer: u64) {
            let record = RawDetail { mark, function, tsc, stack_pointer, ..RawDetail::default() };
            // SAFETY: a record within the chunk, whose words are as aligned as it.
            unsafe { self.chunk.as_mut_ptr().add(number * STRIDE / 8).cast::<RawDetail>().write(record) };
        }

        fn finds(&mut self) -> bool {
            // SAFETY: the test's own memory.
            unsafe { look_through(&raw mut *self.state, self.chunk.as_ptr().cast(), STRIDE, &self.marks) }
        }
    }

    #[test]
    fn a_marked_call_is_found_and_an_unmarked_one_is_not() {
        let mut thread = Thread::new();
        thread.marks.set(7, MARK_CALL);
        thread.write(3, CALL, 6, 10, 0x1000);
        thread.write(4, RETURN, 7, 11, 0x1000);
        assert!(!thread.finds());
        let last = RECORDS_END / STRIDE - 2;
        thread.write(last, CALL, 7, 12, 0x1000);
        assert!(thread.finds());
        assert_eq!((thread.state.window_events, thread.state.window_until), (3, 12));
    }

    #[test]
    fn a_call_is_slow_by_its_time_even_across_chunks() {
        let mut thread = Thread::new();
        thread.marks.set(7, MARK_SLOW);
        thread.write(0, CALL, 7, 1000, 0x2000);
        thread.write(1, CALL, 7, 1010, 0x1000);
        thread.write(2, RETURN, 7, 1020, 0x1008);
        assert!(!thread.finds());
        thread.chunk.fill(0);
        thread.write(0, RETURN, 7, 1099, 0x2008);
        assert!(!thread.finds(), "one tick less than slow");
        thread.chunk.fill(0);
        thread.write(0, CALL, 7, 2000, 0x2000);
        thread.write(9, RETURN, 7, 2100, 0x2008);
        assert!(thread.finds());
    }

    #[test]
    fn calls_that_never_returned_do_not_pile_up() {
        let mut thread = Thread::new();
        thread.marks.set(7, MARK_SLOW);
        for number in 0..100 {
            thread.write(number, CALL, 7, 1000, 0x2000);
        }
        assert!(!thread.finds());
        assert_eq!(thread.state.slow_count, 1);
    }
}
