//! Where the agent was called that is interrupted: it lets signals in while it waits.
//!
//! It waits on the program's stack, and leaves a note there. A handler may leave for good, and the note with it: what is put
//! there next overwrites it.

use ada_ring::ThreadState;
use ada_ring::arch::{RED_ZONE, SAVED_VECTORS, SIGNAL_MASKS};
use ada_ring::state::Interruption;
use core::ops::Range;

/// In a note that holds, its own address is its mark.
const MARK: u64 = 0x6164_615f_7761_6974;
/// No more of the stack is used while the agent waits, below the note.
const MOST_BYTES: u64 = 1024;

/// The note.
#[derive(Default)]
#[repr(C)]
pub(crate) struct Wait {
    mark: u64,
    /// Where the way into the agent goes on, and the frame pointer there.
    call: [u64; 2],
    /// The note before.
    before: u64,
}

impl Wait {
    /// For the agent's own stack, while it is in use.
    ///
    /// # Safety
    /// `state` is the calling thread's own.
    pub(crate) unsafe fn of(state: *mut ThreadState) -> Self {
        // SAFETY: the way has left its return address there when it called the agent.
        let way = unsafe { *(((*state).agent_stack - SAVED_VECTORS - 8) as *const u64) };
        // SAFETY: the thread's own state.
        let program_stack = unsafe { (*state).program_stack };
        Self { mark: 0, call: [way, program_stack + SIGNAL_MASKS], before: 0 }
    }

    /// Waits, with a note on the stack that this runs on.
    ///
    /// # Safety
    /// As [`Self::of`].
    pub(crate) unsafe fn during(&self, state: *mut ThreadState, wait: impl FnOnce()) {
        let mut note = Self { call: self.call, ..Self::default() };
        let note = &raw mut note;
        // SAFETY: the note is on our stack. A handler reads it: hence the volatile writes.
        unsafe {
            (&raw mut (*note).before).write_volatile((*state).waiting);
            (&raw mut (*note).mark).write_volatile(note as u64 ^ MARK);
            (&raw mut (*state).waiting).write_volatile(note as u64);
            wait();
            (&raw mut (*note).mark).write_volatile(0);
            (&raw mut (*state).waiting).write_volatile((&raw const (*note).before).read_volatile());
        }
    }
}

/// Where the agent was called that is interrupted with this stack pointer. Zeros where that is not known.
///
/// # Safety
/// `state` is the calling thread's own.
pub(crate) unsafe fn agent_call(state: *mut ThreadState, stack_pointer: u64) -> [u64; 2] {
    // SAFETY: a note above the stack pointer, and close to it, is on a stack in use, though it may be no note any more.
    unsafe {
        let note = (*state).waiting as *const Wait;
        // It may lie in the red zone.
        let distance = (note as u64 + RED_ZONE).checked_sub(stack_pointer);
        let is_near = distance.is_some_and(|distance| distance < MOST_BYTES + RED_ZONE);
        if is_near && (*note).mark == note as u64 ^ MARK { (*note).call } else { [0; 2] }
    }
}

/// Nobody comes back to the newest wait: the agent's own stack is free.
///
/// # Safety
/// The caller vouches for that; `state` is the one that waits.
pub(crate) unsafe fn abandon(state: *mut ThreadState) {
    // SAFETY: the caller's promise.
    unsafe {
        (*state).waiting = 0;
        (*state).holds_signals = 0;
        (*state).agent_stack_busy = 0;
    }
}

/// Frees the agent's own stack where a handler that interrupted the wait has left for good: it is none of those that are running,
/// and what the thread uses of the stack that the note is on ends above it.
///
/// # Safety
/// `state` is the calling thread's own, with signals blocked, and `extent` what is known of the stack that it is on.
pub(crate) unsafe fn reclaim(state: *mut ThreadState, extent: &Range<u64>) {
    let local = 0_u64;
    // SAFETY: the caller's promise.
    unsafe {
        let (note, here) = ((*state).waiting, &raw const local as u64);
        let is_above = note < here && extent.contains(&note) && extent.contains(&here);
        let runs = |it: &Interruption| it.slot != 0 && it.agent_call != [0; 2];
        if is_above && (*state).agent_stack_busy != 0 && !(*state).interruptions.iter().any(runs) {
            abandon(state);
        }
    }
}

/// Whether an address is in the agent's code.
pub(crate) fn is_own_code(address: u64) -> bool {
    // The linker's.
    unsafe extern "C" {
        static __ehdr_start: u8;
        static etext: u8;
    }
    (&raw const __ehdr_start as u64..&raw const etext as u64).contains(&address)
}
