//! Giving a thread its state.

use ada_ring::state::{INTERRUPTIONS, Interruption, NO_CHUNK, PROBE_CALLS, ProbeCall, STATES};
use ada_ring::{DropReason, ThreadState};
use core::sync::atomic::{AtomicU64, Ordering};

use crate::arch::number::RT_SIGPROCMASK;
use crate::arch::{current_state, owner_mark, set_current_state};
use crate::config::{Item, get};
use crate::details::{self, note_stack};
use crate::memory::{
    agent_stack, owner, pool, process_block, shadow_base, state, state_address, state_number, state_threads, states,
};
use crate::shadow_stack::{sentinel, set_limits};
use crate::state_claims::claim;
use crate::{chunks, growth, open_frames, own_stacks, stacks, syscall};

/// No thread is known by this.
const NOBODY: u64 = 1;
/// The calling thread's state, given to it now if need be; `slot` is the return slot of the call or return at hand. `None` where all states belong to living threads.
///
/// Called when the owner check fails, which means one of: a new thread, which inherits its creator's GS base; a fork
/// child, whose owner words the kernel has zeroed; a thread that has changed its FS base; a stray GS base.
pub fn acquire(slot: u64) -> Option<*mut ThreadState> {
    let mut blocked = syscall::SignalsBlocked::new();
    if !syscall::may_ask_who() {
        pool().control().count_drop(DropReason::Forbidden, 1);
        return None;
    }
    let (mark, thread) = (owner_mark()?, syscall::thread());
    if let Some(number) = state_number(current_state()).filter(|&number| number != 0) {
        let current = state(number);
        // SAFETY: a state in mapped memory. Only its `tid` is read unless it is ours.
        let known = unsafe { (*current).tid };
        if known == thread {
            owner(number).store(mark, Ordering::Relaxed);
            return Some(current);
        }
        if owner(number).load(Ordering::Relaxed) == 0 {
            // A fork child: the state is the copy of the forking thread's, open frames included. Its chunk is not.
            state_threads(number / STATES)[number % STATES].store(thread, Ordering::Relaxed);
            // The threads that held these locks are not in this process.
            process_block().edits_busy.store(0, Ordering::Relaxed);
            process_block().growing.store(0, Ordering::Relaxed);
            process_block().stacks_busy.store(0, Ordering::Relaxed);
            process_block().handlers_busy.store(0, Ordering::Relaxed);
            // Nor are those whose calls were open when the parent was attached to.
            process_block().open_frames.store(0, Ordering::Relaxed);
            // SAFETY: the only thread of a new process, and this is its copy of the state.
            unsafe {
                (*current).tid = thread;
                (*current).forked_by = (*current).pid;
                (*current).pid = syscall::process();
                own_stacks::prepare(current, (*current).pid);
                give_counters(current, (*current).pid);
                start_without_chunk(current);
            }
            owner(number).store(mark, Ordering::Relaxed);
            return Some(current);
        }
    }
    if let Some(number) = take_again(thread) {
        owner(number).store(mark, Ordering::Relaxed);
        return Some(state(number));
    }
    let process = syscall::process();
    let Some(number) = claim(thread, process).filter(|&number| stacks::forget(number) || give_up(number)) else {
        pool().control().count_drop(DropReason::StatesExhausted, 1);
        return None;
    };
    let fresh = state(number);
    // SAFETY: claimed, so that no other thread uses it.
    unsafe {
        prepare(fresh, number, (process, thread), slot);
        set_current_state(state_address(number));
    }
    owner(number).store(mark, Ordering::Relaxed);
    // SAFETY: the thread's own from now on; signals are blocked.
    unsafe {
        open_frames::take_over(fresh, thread, slot);
        // Its first event needs both, and would block signals for each.
        chunks::refill(fresh, &mut blocked);
        details::begin(fresh, &mut blocked);
    }
    Some(fresh)
}

/// The calling thread, whose state this is, has none until it asks for one: what it makes now inherits its GS base, and its
/// FS base too, and would take its creator's state for its own.
///
/// # Safety
/// `state` is the calling thread's own.
pub(crate) unsafe fn leave(state: *mut ThreadState) {
    process_block().left_states.fetch_add(1, Ordering::Relaxed);
    // SAFETY: the caller's promise; the first state is nobody's.
    unsafe {
        (*state).is_left = 1;
        set_current_state(state_address(0));
    }
}

/// The state that a thread has left, which is its own again.
fn take_again(thread: u32) -> Option<usize> {
    if process_block().left_states.load(Ordering::Relaxed) == 0 {
        return None;
    }
    // SAFETY: states are mapped; that of a thread is changed by nobody else.
    let is_own = |number: &usize| unsafe {
        state_threads(*number / STATES)[*number % STATES].load(Ordering::Relaxed) == thread
            && (*state(*number)).is_left != 0
    };
    let number = (1..states()).find(is_own)?;
    process_block().left_states.fetch_sub(1, Ordering::Relaxed);
    // SAFETY: as above.
    unsafe {
        (*state(number)).is_left = 0;
        set_current_state(state_address(number));
    }
    Some(number)
}

/// The state of a thread that runs the agent: its own, unless it shares its creator's without anybody's knowledge. Then it
/// gets its own now; `None` where there is none to be had. A child of vfork runs as its parent's thread.
///
/// # Safety
/// `current` is that at the GS base.
pub(crate) unsafe fn own(current: *mut ThreadState, slot: u64) -> Option<*mut ThreadState> {
    // SAFETY: the caller's promise.
    if unsafe { is_shared(current) } { acquire(slot) } else { Some(current) }
}

/// Whether the state at the GS base is another thread's of this process, as far as can be known.
///
/// # Safety
/// As [`own`].
pub(crate) unsafe fn is_shared(current: *mut ThreadState) -> bool {
    // SAFETY: the caller's promise.
    let (thread, process) = unsafe { ((*current).tid, (*current).pid) };
    syscall::may_ask_who() && thread != syscall::thread() && process == syscall::process()
}

/// Gives a claimed state back.
fn give_up(number: usize) -> bool {
    state_threads(number / STATES)[number % STATES].store(0, Ordering::Release);
    false
}

/// The calling thread, whose state this is, has none from now on.
pub(crate) fn disown(number: usize) {
    owner(number).store(NOBODY, Ordering::Relaxed);
}

/// The stack of its own that the agent can have for a state; 0 for none.
fn stack_of(number: usize) -> u64 {
    if get(Item::OwnStacks) != 0 && syscall::may(RT_SIGPROCMASK) { agent_stack(number) } else { 0 }
}

/// The agent stays on the program's stacks from now on.
pub(crate) fn give_up_stacks() {
    for number in 1..states() {
        // SAFETY: states are mapped, and a stub reads this once for each of its calls.
        unsafe { AtomicU64::from_ptr(&raw mut (*state(number)).agent_stack).store(0, Ordering::Relaxed) };
    }
}

/// # Safety
/// The caller owns the state.
unsafe fn prepare(fresh: *mut ThreadState, number: usize, (process, thread): (u32, u32), slot: u64) {
    let base = shadow_base(number);
    let lowest = own_stacks::told_by_descriptor(slot).map_or(slot, |stack| stack.start);
    // SAFETY: the state and its shadow stack are mapped, and the caller's.
    unsafe {
        // Nothing is known of the stack but that this is on it, and what the C library says of its own.
        base.write(sentinel(slot + 8));
        (*fresh).floor_complement = !lowest;
        (*fresh).stack_number = number as u32;
        (*fresh).shadow_base = base as u64;
        (*fresh).shadow_top = base as u64;
        note_stack(fresh, slot);
        (*fresh).tid = thread;
        (*fresh).pid = process;
        (*fresh).number = number as u32;
        (*fresh).goroutine_stack_high = 0;
        set_limits(fresh);
        (*fresh).forked_by = 0;
        (*fresh).lost = 0;
        (*fresh).is_left = 0;
        own_stacks::prepare(fresh, process);
        (*fresh).agent_stack_busy = 0;
        (*fresh).holds_signals = 0;
        (*fresh).agent_stack = stack_of(number);
        // Nobody returns to address 1; the outermost function of a stack may have 0 in its slot.
        (*fresh).signal_return = process_block().signal_return.load(Ordering::Relaxed).max(1);
        (*fresh).waiting = 0;
        (*fresh).interruptions = [Interruption::default(); INTERRUPTIONS];
        (*fresh).probe_calls = 0;
        (*fresh).open_probes = [ProbeCall::default(); PROBE_CALLS];
        give_counters(fresh, process);
        start_without_chunk(fresh);
    }
}

/// A state that had a block of counters keeps it, unless it is the copy of another process's.
///
/// # Safety
/// The caller owns the state.
unsafe fn give_counters(state: *mut ThreadState, process: u32) {
    let pool = pool();
    // SAFETY: the caller's promise.
    unsafe {
        if pool.block_of((*state).counters, process).is_none() {
            (*state).counters = pool.counters(growth::claim_block(process)) as u64;
        }
    }
}

/// # Safety
/// The caller owns the state.
unsafe fn start_without_chunk(state: *mut ThreadState) {
    // SAFETY: the caller's promise.
    unsafe {
        (*state).index_position = NO_CHUNK;
        (*state).chunks_taken = 0;
        (*state).detail_position = NO_CHUNK;
        (*state).detail_chunks_taken = 0;
        (*state).detail_chunks = [0; 2];
        ((*state).window_events, (*state).window_until, (*state).slow_count) = (0, 0, 0);
        (*state).probe_position = NO_CHUNK;
        (*state).probe_chunks_taken = 0;
    }
}
