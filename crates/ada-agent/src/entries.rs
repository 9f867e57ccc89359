//! The doors: what the code that the stubs share calls, with the return slot and two words of the stub's.
//!
//! All vector registers are saved by then; errno, signals and the stack's other frames are never touched.

use ada_ring::agent_entries::{AgentEntries, AgentEntry};
use ada_ring::arch::{RETURN_POPS, SavedRegisters};
use ada_ring::probe::{Base, RawProbe};
use ada_ring::state::OWNER_DISTANCE;
use ada_ring::{Lane, RawDetail, RawRecord, StackChange, ThreadState};

use crate::arch::{bases_at_call, current_state, owner_mark};
use crate::memory::pool;
use crate::meter::Metered;
use crate::shadow_stack::newest;
use crate::{chunks, details, exits, frames, handlers, jumps, loader, probes, stub_reads, threads};

/// The table that the recorder reads.
#[unsafe(no_mangle)]
static ADA_ENTRIES: AgentEntries<AgentEntry> = AgentEntries {
    thread,
    chunk,
    fix,
    stack_change,
    loader,
    detail_chunk,
    stack,
    probe_stack,
    probe_call,
    exited,
    exiting,
    goes_on,
    handles,
    reads,
};

/// Gives the thread a state. 0 where none is to be had; the call then goes unrecorded.
extern "C" fn thread(slot: *mut u64, _: u64, _: u64) -> u64 {
    u64::from(threads::acquire(slot as u64).is_some())
}

/// Reserves a record.
extern "C" fn chunk(_: *mut u64, _: u64, _: u64) -> u64 {
    let state = current_state() as *mut ThreadState;
    // SAFETY: the stub has checked that the state is this thread's, or shared with it: then the record goes nowhere, and
    // the next entry or exit parts the two.
    unsafe { if threads::is_shared(state) { pool().dump() as u64 } else { chunks::reserve(state) } }
}

/// Puts the shadow stack in order before a call.
extern "C" fn fix(slot: *mut u64, _: u64, _: u64) -> u64 {
    // SAFETY: as above; the stub passes its own return slot.
    unsafe {
        if let Some(state) = threads::own(current_state() as *mut ThreadState, slot as u64) {
            let _metered = Metered::new();
            frames::prepare_entry(state, slot as u64);
        }
    }
    0
}

/// The state of a thread that leaves a function. Without one of its own it borrows nobody's: state 0 has no frames, and
/// its records go nowhere.
fn state_at_exit(slot: *mut u64) -> *mut ThreadState {
    let state = current_state() as *mut ThreadState;
    // SAFETY: GS always points at a state, and its owner word lies below it.
    let owner = unsafe { *((state as u64 - OWNER_DISTANCE as u64) as *const u64) };
    let state = if owner_mark() != Some(owner) {
        threads::acquire(slot as u64)
    // SAFETY: as above. Threads that share a state have stacks of their own: a frame with this slot is nobody else's, and
    // the kernel need not be asked who this is.
    } else if unsafe { newest(state).is_some_and(|frame| (*frame).slot() == slot as u64) } {
        Some(state)
    } else {
        // SAFETY: as above.
        unsafe { threads::own(state, slot as u64) }
    };
    state.unwrap_or_else(|| crate::memory::state(0))
}

/// Who has no state may have no clock either.
fn metered_as(state: *const ThreadState) -> Option<Metered> {
    (state != crate::memory::state(0)).then(Metered::new)
}

/// Keeps what a runtime probe sees of a call.
extern "C" fn probe_call(slot: *mut u64, record: u64, probe: u64) -> u64 {
    let _metered = Metered::new();
    // SAFETY: as in `fix`; the stub has reserved the record and filled it in but for the time.
    unsafe { probes::call(current_state() as *mut ThreadState, slot, record as *mut RawRecord, probe) };
    0
}

/// Finishes an exit by `ret` that the fast path could not.
extern "C" fn exited(slot: *mut u64, _: u64, _: u64) -> u64 {
    let state = state_at_exit(slot);
    let _metered = metered_as(state);
    // SAFETY: the thread's own state, and the slot on top of its stack.
    unsafe { exits::returned(state, slot) };
    0
}

/// Records an exit by other means.
extern "C" fn exiting(_: *mut u64, slot: u64, _: u64) -> u64 {
    let state = state_at_exit(slot as *mut u64);
    let _metered = metered_as(state);
    // SAFETY: as in `exited`.
    unsafe { exits::returns(state, slot) };
    0
}

/// Ends a frame that goes on in another function.
extern "C" fn goes_on(_: *mut u64, slot: u64, _: u64) -> u64 {
    let state = state_at_exit(slot as *mut u64);
    let _metered = metered_as(state);
    // SAFETY: as in `exited`.
    unsafe { exits::goes_on(state, slot) };
    0
}

/// Puts right what a signal handler sees.
extern "C" fn handles(slot: *mut u64, _: u64, _: u64) -> u64 {
    let _metered = Metered::new();
    // SAFETY: as in `fix`.
    unsafe { handlers::entered(current_state() as *mut ThreadState, slot) };
    0
}

/// Makes the reads of a probe into the record of its call, or of its return.
extern "C" fn reads(_: *mut u64, record: u64, probe: u64) -> u64 {
    let _metered = Metered::new();
    // SAFETY: as in `fix`; the stub has reserved the record, and filled its registers in.
    unsafe { stub_reads::take(current_state() as *mut ThreadState, record as *mut RawProbe, probe as u32) };
    0
}

/// Hears that the function about to run changes the stack; for a context, where the stack pointer will be.
extern "C" fn stack_change(slot: *mut u64, change: u64, pointer: u64) -> u64 {
    let state = current_state() as *mut ThreadState;
    // SAFETY: as in `fix`; the stubs of such functions pass the change.
    unsafe {
        match StackChange::from_number(change) {
            Some(StackChange::LongJump) => jumps::long_jump(state, argument(slot, Base::Argument1)),
            Some(StackChange::SwapContext) => {
                jumps::switch_context(state, argument(slot, Base::Argument2), pointer, slot as u64 + RETURN_POPS);
            }
            Some(StackChange::SetContext) => jumps::switch_context(state, argument(slot, Base::Argument1), pointer, 0),
            None => {}
        }
    }
    0
}

/// # Safety
/// As [`SavedRegisters::below`].
unsafe fn argument(slot: *const u64, argument: Base) -> u64 {
    // SAFETY: the caller's promise.
    bases_at_call(unsafe { SavedRegisters::below(slot) })[argument as usize]
}

/// Waits until new libraries are hooked.
extern "C" fn loader(_: *mut u64, _: u64, _: u64) -> u64 {
    loader::libraries_changed();
    0
}

/// Reserves a record of registers in a lane.
extern "C" fn detail_chunk(_: *mut u64, _: u64, lane: u64) -> u64 {
    let state = current_state() as *mut ThreadState;
    // SAFETY: as in `chunk`.
    unsafe {
        match lane == Lane::Probe as u64 {
            true => details::reserve_in_lane(state, Lane::Probe),
            false => details::reserve(state),
        }
    }
}

/// Copies the stack window at `from` into the detail record at `record`.
extern "C" fn stack(_: *mut u64, record: u64, from: u64) -> u64 {
    // SAFETY: the stub has reserved the record, and passes the address of its own return slot.
    unsafe { details::copy_stack(current_state() as *mut ThreadState, record as *mut RawDetail, from) };
    0
}

/// Copies the stack window at `from` behind the probe's record at `record`.
extern "C" fn probe_stack(_: *mut u64, record: u64, from: u64) -> u64 {
    // SAFETY: as in `stack`.
    unsafe { details::copy_stack_of_probe(current_state() as *mut ThreadState, record as *mut RawProbe, from) };
    0
}
