//! What a thread of the target carries: its state behind the GS base, and its shadow stack.
//!
//! These live in the target's private memory, so that a fork copies them; the stubs address the fields by the offsets
//! of this struct. The owner word lies [`OWNER_DISTANCE`] below the state, in pages that the kernel zeroes in a fork
//! child: the child's first event then fails the owner check and takes a state of its own.

use core::sync::atomic::{AtomicU32, AtomicU64};

/// How many thread states a process has from the start, and gets at a time where these are not enough: a region of its
/// private memory.
pub const STATES: usize = 256;
/// How many regions a process can have.
pub const MAX_REGIONS: usize = 64;
/// Bytes from one state to the next.
pub const STATE_STRIDE: usize = 4096;
/// How far below a state its owner word lies.
pub const OWNER_DISTANCE: usize = STATES * STATE_STRIDE;

/// A traced frame whose return is caught. 32 bytes, so that five bits of its address are free.
///
/// A stub fills the place above the newest frame first, and then moves the top over it. A handler that comes in
/// between leaves another slot word there, by which the stub sees that it has to fill the place once more.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct ShadowFrame {
    /// Complement of the address of the frame's return slot; 0 for none. Complemented so that an older frame, whose
    /// slot lies higher, compares lower, and zeroed memory lowest.
    pub slot_complement: u64,
    /// Where the function really returns to.
    pub return_address: u64,
    /// The function's number in its process.
    pub function: u32,
    /// The low half of the address of the frame's newest record, which may not be written yet; `FRAME_…` bits in the
    /// places that its alignment leaves free.
    pub record_and_flags: u32,
    /// What the return slot holds while the frame is caught: the address behind the stub's call.
    pub trampoline: u64,
}

/// The frame's real return address was put back for an unwinder, and the frame is not caught at the moment.
pub const FRAME_RESTORED: u32 = 1;
/// The function has returned, and its frame is about to be popped; the record is that of the return.
pub const FRAME_RETURNING: u32 = 2;
/// The frame's stack was switched away from: "below the stack pointer" means nothing for it.
pub const FRAME_PARKED: u32 = 4;
/// With [`FRAME_RESTORED`]: it was put back for a function that only looks, so that a frame that is gone has returned.
pub const FRAME_WALKED: u32 = 8;

impl ShadowFrame {
    /// Bytes of a frame.
    pub const SIZE: usize = 32;
    /// The bits of [`Self::record_and_flags`] that are flags.
    pub const FLAGS: u32 = 15;

    /// The address of the frame's return slot.
    pub const fn slot(&self) -> u64 {
        !self.slot_complement
    }

    /// Whether a `FRAME_…` bit is set.
    pub const fn has(&self, flag: u32) -> bool {
        self.record_and_flags & flag != 0
    }
}

/// Calls after which the stack is not what it was, as the stubs tell the agent of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum StackChange {
    /// Frames may be unwound, and are looked at by their return addresses.
    Unwind = 0,
    /// Frames are only looked at.
    Walk = 1,
    /// The stack goes back to where the first argument, a `jmp_buf`, says.
    LongJump = 2,
    /// Another stack takes over: the second argument, a `ucontext_t`, says which.
    SwapContext = 3,
    /// The same for the first argument.
    SetContext = 4,
}

impl StackChange {
    /// The change that a number stands for.
    pub const fn from_number(number: u64) -> Option<Self> {
        Some(match number {
            0 => Self::Unwind,
            1 => Self::Walk,
            2 => Self::LongJump,
            3 => Self::SwapContext,
            4 => Self::SetContext,
            _ => return None,
        })
    }
}

/// A frame that was taken for dead while its slot held something else than its trampoline's address. Should it come
/// back (its stack was copied away and back, or its stub was interrupted before the call), this says where it returns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct Buried {
    /// The address of the return slot.
    pub slot: u64,
    /// What the slot held while the frame was caught.
    pub trampoline: u64,
    /// Where the function really returns to.
    pub return_address: u64,
}

/// How many buried frames a thread remembers.
pub const GRAVES: usize = 96;

/// What is remembered of a probed call until it returns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct ProbeCall {
    /// The address of its shadow frame.
    pub frame: u64,
    /// The number of its probe.
    pub probe: u64,
    /// Registers at the call, by [`crate::probe::Base`].
    pub registers: [u64; 7],
}

/// How many probed calls of a thread can be open at one time.
pub const PROBE_CALLS: usize = 16;

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

/// The position of a thread that has no chunk: past the end of nothing.
pub const NO_CHUNK: u64 = crate::chunk::PAST_END_MASK as u64;

/// What the agent keeps for a process, in private memory behind the thread states. Of the one behind those of a further
/// region only `state_threads` is used.
#[repr(C)]
pub struct ProcessBlock {
    /// The thread of each state of the region; 0 for a free one. State 0 of the first is nobody's: threads that have none
    /// yet point at it.
    pub state_threads: [AtomicU32; STATES],
    /// How many regions there are besides the first.
    pub further_regions: AtomicU32,
    /// Where to go on looking for states of threads that have ended.
    pub look_from: AtomicU32,
    /// How many chunks are mapped besides those that there are from the start, …
    pub further_chunks: AtomicU32,
    /// … and how many blocks of counters.
    pub further_blocks: AtomicU32,
    /// 1 while one of the process's threads maps more of anything.
    pub growing: AtomicU32,
    /// How often the recorder had given a sign of life when it was last looked for, …
    pub heartbeats_seen: AtomicU64,
    /// … and when it was first seen to have been so often.
    pub seen_at: AtomicU64,
    /// The time before which it is no use to look for the state of a thread that has ended: all live.
    pub look_again_at: AtomicU64,
    /// The fatal signals, as a mask, whose default action the agent's handler stands for.
    pub crash_signals: AtomicU64,
    /// The default actions that it stands for, by signal, as the kernel gave them: a program may have set flags.
    pub default_actions: [[AtomicU64; 4]; 32],
    /// How many orders this process has carried out, or need not.
    pub orders_done: AtomicU32,
    /// 1 while one of its threads carries orders out.
    pub orders_busy: AtomicU32,
    /// Room for the arguments of system calls that the recorder has made.
    pub scratch: [AtomicU64; 8],
}

/// Where things are in a region of the target's private memory, from its start: owner words, states, process block, shadow
/// stacks.
pub mod private {
    use super::{OWNER_DISTANCE, STATE_STRIDE, STATES};

    /// The states.
    pub const STATES_AT: usize = OWNER_DISTANCE;
    /// The process block.
    pub const PROCESS_AT: usize = STATES_AT + STATES * STATE_STRIDE;
    /// The shadow stacks.
    pub const SHADOWS_AT: usize = PROCESS_AT + 4096;
    /// Bytes of one shadow stack: 32,767 frames.
    pub const SHADOW_BYTES: usize = 1 << 20;
    /// Bytes of a region.
    pub const BYTES: usize = SHADOWS_AT + STATES * SHADOW_BYTES;
    /// Bytes from one region to the next.
    pub const REGION_STRIDE: usize = 1 << 29;
    /// Bytes at the start of a region that a fork child finds zeroed.
    pub const WIPED_BYTES: usize = OWNER_DISTANCE;
}

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
    /// The sentinel: an all-zero frame below the first.
    pub shadow_base: u64,
    /// With its top at or above this address the shadow stack is full, and no return is caught.
    pub shadow_limit: u64,
    /// With the shadow stack's top at or above this address no call is recorded: the user's depth limit.
    pub record_limit: u64,
    /// The table of pages whose code has unwind information: see [`covered`].
    pub covered: u64,
    /// The thread's own counters: see [`crate::counters`].
    pub counters: u64,
    /// The thread that owns this state.
    pub tid: u32,
    /// Its process. A child of vfork runs as its parent's thread until it runs another program.
    pub pid: u32,
    /// This state's number.
    pub number: u32,
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
    /// The return slot of the call that unwinds the stack; 0 when none does.
    pub unwinder_slot: u64,
    /// The frame whose slot word is set to the highest value, so that every entry looks whether the unwinding is over.
    pub alarm_frame: u64,
    /// That frame's own slot word.
    pub alarm_saved: u64,
    /// Where the next record of a runtime probe goes.
    pub probe_position: u64,
    /// How many chunks of the probes' lane the thread has had.
    pub probe_chunks_taken: u64,
    /// How many probed calls have been made.
    pub probe_calls: u64,
    /// The newest of them; number n is at n modulo [`PROBE_CALLS`].
    pub open_probes: [ProbeCall; PROBE_CALLS],
    /// How many more events of a window's post-roll are to come …
    pub window_events: u64,
    /// … and until when it lasts.
    pub window_until: u64,
    /// How many calls are open that may turn out to take long.
    pub slow_count: u64,
    /// The oldest of them.
    pub slow_calls: [SlowCall; SLOW_CALLS],
    /// How many frames have been buried.
    pub buried: u64,
    /// The newest of them; number n is at n modulo [`GRAVES`].
    pub graves: [Buried; GRAVES],
}

const _: () = {
    assert!(size_of::<ShadowFrame>() == ShadowFrame::SIZE);
    assert!(size_of::<ThreadState>() <= STATE_STRIDE);
    assert!(size_of::<ProcessBlock>() <= 4096);
    assert!(OWNER_DISTANCE <= i32::MAX as usize);
    assert!(private::BYTES <= private::REGION_STRIDE);
};

/// The table that says which pages hold code with unwind information. A return address elsewhere belongs to generated
/// code, which may read its callee's return slot, so the return is not caught there.
///
/// ```text
/// 0           a leaf that is all zero: nothing is covered
/// FIRST_LEVEL one u32 for each 256 MiB of the address space: the byte offset of its leaf from the table's start
/// LEAVES      leaves: one byte a page, not 0 where the page is covered
/// ```
pub mod covered {
    /// Address bits below a first-level entry.
    pub const LEAF_SHIFT: u32 = 28;
    /// Bytes of a leaf.
    pub const LEAF_BYTES: usize = 1 << (LEAF_SHIFT - 12);
    /// Where the first level starts.
    pub const FIRST_LEVEL: usize = LEAF_BYTES;
    /// Entries of the first level: 47 address bits.
    pub const ENTRIES: usize = 1 << (47 - LEAF_SHIFT);
    /// Where the leaves start.
    pub const LEAVES: usize = FIRST_LEVEL + ENTRIES * 4;
    /// How many leaves there is room for.
    pub const LEAF_COUNT: usize = 128;
    /// Bytes of the whole.
    pub const BYTES: usize = LEAVES + LEAF_COUNT * LEAF_BYTES;
}
