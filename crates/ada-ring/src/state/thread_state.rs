//! One thread's state, and what it remembers of its calls.

use crate::arch::CRASH_REGISTERS;
use crate::chunk::ThreadKey;
use crate::probe::BASES_AT_CALL;
use crate::state::private::STATE_STRIDE;

/// What is remembered of a probed call until it returns. Stubs fill it in too, without blocking signals: the frame comes first, and is looked
/// at last.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct ProbeCall {
    /// The address of its shadow frame; 0 for no call.
    pub frame: u64,
    /// The address of its return slot. A handler that comes when the frame is taken out, and the call is not, has the same frame.
    pub slot: u64,
    /// The number of its probe.
    pub probe: u64,
    /// What memory reads start from, by [`crate::probe::Base`].
    pub registers: [u64; BASES_AT_CALL],
}

/// How many probed calls of a thread can be open at one time.
pub const PROBE_CALLS: usize = 16;

/// Where a signal handler interrupts a thread, as it is. What the handler sees of it follows from that.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct Interruption {
    /// The handler's return slot, above which the kernel has put the context; 0 for none.
    pub slot: u64,
    /// The number of the innermost function that is recorded, + 1; 0 for none.
    pub function: u64,
    /// The registers of the context.
    pub registers: [u64; CRASH_REGISTERS],
    /// Where the agent was called, and the frame pointer there, if it waits; else 0.
    pub agent_call: [u64; 2],
}

/// For how many handlers of a thread, one within the other, this is done.
pub const INTERRUPTIONS: usize = 8;

/// How many frames of signal handlers a shadow stack has room for when it is full.
pub const HANDLER_FRAMES: usize = 8;

/// A call that opens a window if it takes long.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct SlowCall {
    /// The address of its return slot.
    pub slot: u64,
    /// When it began.
    pub tsc: u64,
}

/// How many such calls of a thread are followed at one time.
pub const SLOW_CALLS: usize = 8;

/// How many pages of Go's runtime a thread remembers.
pub const RUNTIME_PAGES: usize = 64;

/// The position of a thread that has no chunk: past the end of nothing.
pub const NO_CHUNK: u64 = crate::chunk::PAST_END_MASK as u64;

/// One thread's state, at its GS base.
#[derive(Debug)]
#[repr(C)]
pub struct ThreadState {
    /// The newest shadow frame; the sentinel where there is none.
    pub shadow_top: u64,
    /// Where the next index record goes.
    pub index_position: u64,
    /// Where the next detail record goes.
    pub detail_position: u64,
    /// Addresses from here …
    pub stack_low: u64,
    /// … to here are known to be mapped: a stack window within them is read without asking.
    pub stack_high: u64,
    /// The sentinel, a frame below the first. Its slot is where the stack ends, as far as is known.
    pub shadow_base: u64,
    /// With its top at or above this address the shadow stack is full, and no return is caught.
    pub shadow_limit: u64,
    /// With the shadow stack's top at or above this address no call is recorded: the user's depth limit.
    pub record_limit: u64,
    /// The thread's own counters: see [`crate::counters`].
    pub counters: u64,
    /// Complement of the lowest address that is known to be of the stack that the thread is on: what happens below may happen
    /// on another one.
    pub floor_complement: u64,
    /// Where signal handlers return to; 1 where nothing is known.
    pub signal_return: u64,
    /// 1 where there may be more room for the shadow stack than it has: see `takeover.rs` in ada-agent.
    pub may_grow: u64,
    /// The end of the stack that the agent runs on, with all signals blocked; 0 where it runs on the program's.
    pub agent_stack: u64,
    /// 1 while it is in use.
    pub agent_stack_busy: u64,
    /// Where the program's stack ends meanwhile. The signals that were blocked before are in the second word there.
    pub program_stack: u64,
    /// 1 while the agent, on its own stack, is in the middle of something that no handler may see.
    pub holds_signals: u64,
    /// The thread that owns this state.
    pub tid: u32,
    /// Its process. A child of vfork runs as its parent's thread until it runs another program.
    pub pid: u32,
    /// This state's number, and that of the shadow stack of the thread's own stack.
    pub number: u32,
    /// The number of the shadow stack of the stack that it is on.
    pub stack_number: u32,
    /// The process that this one is a fork of, if the thread is the one that was forked; 0 for none.
    pub forked_by: u32,
    /// 1 where it is known that nothing can be read from `stack_high` on.
    pub stack_ends: u64,
    /// How many chunks the thread has had.
    pub chunks_taken: u64,
    /// How many chunks of the detail lane the thread has had.
    pub detail_chunks_taken: u64,
    /// The thread's own detail chunks, + 1, where it keeps its newest detail; 0 for none.
    pub detail_chunks: [u32; 2],
    /// Records given up since the last chunk was taken.
    pub lost: u64,
    /// Where the next record of a runtime probe goes.
    pub probe_position: u64,
    /// How many chunks of the probes' lane the thread has had.
    pub probe_chunks_taken: u64,
    /// How many probed calls have been made.
    pub probe_calls: u64,
    /// Those that have not returned, as far as there is room.
    pub open_probes: [ProbeCall; PROBE_CALLS],
    /// Since when calls whose values nobody has asked for are counted, by the time-stamp counter …
    pub usual_since: u64,
    /// … and how many there were.
    pub usual_calls: u64,
    /// How many more events of a window's post-roll are to come …
    pub window_events: u64,
    /// … and until when it lasts.
    pub window_until: u64,
    /// How many calls are open that may turn out to take long.
    pub slow_count: u64,
    /// The oldest of them.
    pub slow_calls: [SlowCall; SLOW_CALLS],
    /// Where the agent has left a note about its newest wait; 0 for nowhere.
    pub waiting: u64,
    /// What was put right for the handlers that are running.
    pub interruptions: [Interruption; INTERRUPTIONS],
    /// The stretch of time for which calls are counted whose registers are kept though nobody has asked for them …
    pub kept_stretch: u64,
    /// … and how many more of them it has room for.
    pub kept_room: u64,
    /// 1 while the thread has no state, because a thread that it makes must not have this one.
    pub is_left: u64,
    /// Addresses from here …
    pub own_stack_low: u64,
    /// … to here are the thread's own stack, which is there for as long as the thread is on it; 0 where that is not known. It is
    /// written after the other and read before it: a signal handler may come in between.
    pub own_stack_high: u64,
    /// Where the list of the memory begins that is there for as long as the program: see [`crate::lasting`].
    pub lasting: u64,
    /// The number of the process, where stubs may have the kernel read its memory; else 0.
    pub read_as: u64,
    /// Where the table of [`crate::probe::Probe`]s is.
    pub probes: u64,
    /// Where the [`crate::contention`] marks are.
    pub contention: u64,
    /// How far `errno` is from the thread pointer; 0 where that is not known.
    pub errno_distance: u64,
    /// Where the stack ends that the thread is on, if it is a goroutine's; else 0.
    pub goroutine_stack_high: u64,
    /// The numbers of pages in which Go's runtime has goroutines and threads.
    pub runtime_pages: [u64; RUNTIME_PAGES],
}

impl ThreadState {
    /// The thread that owns this state.
    pub const fn thread_key(&self) -> ThreadKey {
        ThreadKey { pid: self.pid, tid: self.tid }
    }
}

const _: () = assert!(size_of::<ThreadState>() <= STATE_STRIDE);
