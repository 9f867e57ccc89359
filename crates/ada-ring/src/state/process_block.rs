//! What the threads of one process share.

use core::sync::atomic::{AtomicU32, AtomicU64};

use crate::origins::{ARENAS, ListedArena};
use crate::shadow_stack::MOST_TALLS;
use crate::state::private::{PROCESS_BYTES, STATES};
use crate::state::ring_note::{RING_NOTES, RingNote};

/// What the agent keeps for a process, in private memory behind the thread states. Of the one behind those of a further
/// region only `state_threads` is used.
#[repr(C)]
pub struct ProcessBlock {
    /// The thread of each state of the region; 0 for a free one. State 0 of the first is nobody's: threads that have none
    /// yet point at it.
    pub state_threads: [AtomicU32; STATES],
    /// How many regions there are besides the first.
    pub further_regions: AtomicU32,
    /// The highest state that anybody has had.
    pub states_used: AtomicU32,
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
    /// When somebody last looked for a sign of life, in ticks of the clock.
    pub looked_at: AtomicU64,
    /// The time before which it is no use to look for the state of a thread that has ended: all live.
    pub look_again_at: AtomicU64,
    /// The fatal signals, as a mask, whose default action the agent's handler stands for.
    pub crash_signals: AtomicU64,
    /// The default actions that it stands for, by signal, as the kernel gave them: a program may have set flags.
    pub default_actions: [[AtomicU64; 4]; 32],
    /// How many code edits this process has made, or need not make.
    pub edits_done: AtomicU32,
    /// 1 while one of its threads makes some.
    pub edits_busy: AtomicU32,
    /// 1 while it has switches of its own, which let calls pass.
    pub has_own_switches: AtomicU32,
    /// How many states are left by their threads: see `ThreadState::is_left`.
    pub left_states: AtomicU32,
    /// System calls that the program has forbidden itself, by number: a bit for each.
    pub forbidden: [AtomicU64; 8],
    /// Where signal handlers return to; 0 where nothing is known.
    pub signal_return: AtomicU64,
    /// For which shadow stack each tall one stands, by its number; 0 for none.
    pub tall_of: [AtomicU32; MOST_TALLS],
    /// How many of these may stand for any, …
    pub talls_used: AtomicU32,
    /// … and which are mapped, a bit for each.
    pub talls_mapped: AtomicU32,
    /// How many stacks are known: see [`super::KnownStack`].
    pub known_stacks: AtomicU32,
    /// 1 while one of the process's threads looks at them.
    pub stacks_busy: AtomicU32,
    /// 1 while one of them looks for a signal handler that began on another thread, or gives one up.
    pub handlers_busy: AtomicU32,
    /// How far a thread's `errno` is from its thread pointer; 0 where that is not known.
    pub errno_distance: AtomicU64,
    /// How far what a thread ends with is from its thread pointer; 0 where that is not known.
    pub thread_result_distance: AtomicU64,
    /// 1 where functions of Go are hooked: stacks are moved, and no address of ada's may ever lie on them.
    pub goroutines: AtomicU64,
    /// How many calls were open when the process was attached to: see [`super::OpenFrame`]; …
    pub open_frames: AtomicU32,
    /// … and when that was, by the time-stamp counter.
    pub attached_at: AtomicU64,
    /// 1 from when the program asks for a `userfaultfd`: whoever reads memory may wait for the program, also by a system call.
    pub faults_are_watched: AtomicU64,
    /// The arenas, in no order.
    pub arenas: [ListedArena; ARENAS],
    /// Rings of the kernel's that the program has used, in no order.
    pub rings: [RingNote; RING_NOTES],
    /// Room for the arguments of system calls that the recorder has made.
    pub scratch: [AtomicU64; 8],
}

const _: () = assert!(size_of::<ProcessBlock>() <= PROCESS_BYTES && MOST_TALLS <= 32);
