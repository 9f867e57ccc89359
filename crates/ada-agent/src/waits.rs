//! Where the agent was called that is interrupted. It lets signals in only while it waits, on the program's stack: else it has
//! blocked them.

use ada_ring::ThreadState;
use ada_ring::arch::{SAVED_VECTORS, SIGNAL_MASKS};

/// Whether an address is in the agent's code.
pub(crate) fn is_own_code(address: u64) -> bool {
    // The linker's.
    unsafe extern "C" {
        static __ehdr_start: u8;
        static etext: u8;
    }
    (&raw const __ehdr_start as u64..&raw const etext as u64).contains(&address)
}

/// Where the way into the agent goes on, and what the frame pointer is there. Zeros where the agent is not on its own stack.
///
/// # Safety
/// `state` is the calling thread's own.
pub(crate) unsafe fn agent_call(state: *mut ThreadState) -> [u64; 2] {
    // SAFETY: the way has put its return address there before it called the agent, and the stack stays in use.
    unsafe {
        if (*state).agent_stack == 0 || (*state).agent_stack_busy == 0 {
            return [0; 2];
        }
        let way = ((*state).agent_stack - SAVED_VECTORS - 8) as *const u64;
        [*way, (*state).program_stack + SIGNAL_MASKS]
    }
}
