//! The control block at the start of the rings' memory.

use core::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use crate::chunk::{CHUNK_SIZE, MAX_CHUNKS};
use crate::code_edits::EditsMade;
use crate::contention::ContentionMarks;
use crate::counters;
use crate::crash::CrashSlots;
use crate::handler_functions::HandlerFunctions;

/// Why records were given up; each has a counter in [`Control::drops`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum DropReason {
    /// The thread's own oldest chunk was taken back, because the drain had not reached it.
    RingFull = 0,
    /// All chunks that there can be belonged to other threads, or the process could not map more of them.
    PoolExhausted = 1,
    /// More threads at once than there are thread states.
    StatesExhausted = 2,
    /// The wait for a chunk ended because the recorder was gone or stuck.
    RecorderGone = 3,
    /// The program forbids itself the system calls without which a new thread or process cannot be distinguished from others.
    Forbidden = 4,
}

impl DropReason {
    /// All reasons, in the order of their counters.
    pub const ALL: [Self; 5] =
        [Self::RingFull, Self::PoolExhausted, Self::StatesExhausted, Self::RecorderGone, Self::Forbidden];

    /// The reason's name in manifests.
    pub const fn name(self) -> &'static str {
        match self {
            Self::RingFull => "ring_full",
            Self::PoolExhausted => "pool_exhausted",
            Self::StatesExhausted => "states_exhausted",
            Self::RecorderGone => "recorder_gone",
            Self::Forbidden => "forbidden",
        }
    }
}

/// The control block: the first pages of the memory that programs write. What the recorder alone says is elsewhere, see [`crate::orders`].
/// All zero is a valid start.
#[repr(C)]
pub struct Control {
    /// Which of the session's rings these are: processes of each user have their own.
    pub number: AtomicU32,
    /// How many chunks there are, once some beyond those that all share have been needed.
    pub chunk_end: AtomicU32,
    /// 1 once the recorder has said that it will take no more, or was found to be gone.
    pub recorder_gone: AtomicU32,
    /// How many chunks have been given to threads.
    pub claims: AtomicU64,
    /// How often no chunk was free.
    pub exhausted: AtomicU64,
    /// Records given up, by [`DropReason`].
    pub drops: [AtomicU64; DropReason::ALL.len()],
    /// The thread that waits until the recorder has seen the new libraries.
    pub loader: LoaderCall,
    /// Threads that are about to run other programs.
    pub execs: ExecCalls,
    /// What threads record of fatal signals.
    pub crashes: CrashSlots,
    /// What became of the edits of code.
    pub edits_made: EditsMade,
    /// Which functions handle signals.
    pub handlers: HandlerFunctions,
    /// What the agent has taken of the programs' time.
    pub agent_time: AgentTime,
    /// Which mutexes were found contended.
    pub contention: ContentionMarks,
    /// How many threads share the block of counters that is nobody's.
    pub counter_sharers: AtomicU64,
    /// The process that each block of counters belongs to; 0 for none. See [`crate::counters`].
    pub counter_owners: [AtomicU32; counters::MAX_BLOCKS],
    /// Chunk states.
    pub chunks: [AtomicU32; MAX_CHUNKS],
}

/// What the agent has taken of the programs' time, on lines of its own: all threads count here.
#[repr(C, align(128))]
pub struct AgentTime {
    /// How often it was called.
    pub calls: AtomicU64,
    /// And for how long, by the time-stamp counter.
    pub ticks: AtomicU64,
}

/// Stands for the waiting process while a thread fills the rest in.
pub const ASKING: u32 = u32::MAX;

/// What a thread says that has loaded a library, to the recorder that hooks it. The thread does not only wait: it makes the system
/// calls that the recorder asks for ([`crate::orders::LoaderOrder`]), so that nobody needs to stop it from outside.
#[repr(C)]
pub struct LoaderCall {
    /// The process of the waiting thread; 0 when nobody waits, [`ASKING`] when somebody is about to. The recorder sleeps on this word.
    pub waiting: AtomicU32,
    /// The number of the program that the process runs.
    pub program: AtomicU32,
    /// The number of the newest system call that was made. The recorder sleeps on this word.
    pub made: AtomicU32,
    /// What that gave.
    pub result: AtomicU64,
}

/// How many threads can be about to run other programs at once. Others wait until one of these has got there.
pub const MAX_EXECS: usize = 64;

/// Threads that are about to run other programs. The recorder takes charge of each for as long as that takes: the new
/// program is hooked before it runs. None of them waits for another, which may be stopped for as long as its user likes.
#[repr(C)]
pub struct ExecCalls {
    /// Grows with every question. The recorder sleeps on this word.
    pub asked: AtomicU32,
    /// Grows whenever an entry becomes free. Threads that find none sleep on this word.
    pub freed: AtomicU32,
    /// One for each thread.
    pub calls: [ExecCall; MAX_EXECS],
}

/// The meeting of a thread that is about to run another program and the recorder.
#[repr(C)]
pub struct ExecCall {
    /// Whose entry this is: a thread's id; 0 while it is free.
    pub tid: AtomicU32,
    /// An [`ExecStage`] as a number. The thread sleeps on this word.
    pub stage: AtomicU32,
    /// The process.
    pub pid: AtomicU32,
    /// The number of the program that it runs, and will have run.
    pub program: AtomicU32,
    /// Where the thread has the path of the other program; 0 where it has none.
    pub path: AtomicU64,
}

/// How far the meeting has got.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum ExecStage {
    /// The thread fills in who it is, or nobody is there.
    Idle = 0,
    /// The thread waits for the recorder.
    Asked = 1,
    /// The recorder is about to take charge of the thread, which still waits.
    Heard = 2,
    /// The thread may go on, and the recorder watches it.
    Go = 3,
    /// The thread is back: the program could not be run.
    Failed = 4,
}

impl ExecCall {
    /// Goes from one stage to another. False where it is not at that stage.
    pub fn advance(&self, from: ExecStage, to: ExecStage) -> bool {
        // Acquire and Release pair with each other: what a side has filled in is seen by the one that goes on.
        self.stage.compare_exchange(from as u32, to as u32, Ordering::AcqRel, Ordering::Relaxed).is_ok()
    }

    /// Whether it is at a stage.
    pub fn is_at(&self, stage: ExecStage) -> bool {
        self.stage.load(Ordering::Acquire) == stage as u32
    }
}

impl ExecCalls {
    /// The entry of a thread, if it has one.
    pub fn of_thread(&self, tid: u32) -> Option<&ExecCall> {
        self.calls.iter().find(|call| call.tid.load(Ordering::Acquire) == tid)
    }

    /// Takes a free entry for a thread.
    pub fn claim(&self, tid: u32) -> Option<&ExecCall> {
        let take = |call: &&ExecCall| call.tid.compare_exchange(0, tid, Ordering::AcqRel, Ordering::Relaxed).is_ok();
        self.calls.iter().find(take)
    }

    /// Gives an entry back, whose stage nobody else changes any more. Whoever sleeps on `freed` is to be woken.
    pub fn give_back(&self, call: &ExecCall) {
        call.stage.store(ExecStage::Idle as u32, Ordering::Release);
        call.tid.store(0, Ordering::Release);
        self.freed.fetch_add(1, Ordering::Release);
    }
}

impl Control {
    /// Counts records that were given up.
    pub fn count_drop(&self, reason: DropReason, records: u64) {
        self.drops[reason as usize].fetch_add(records, Ordering::Relaxed);
    }
}

/// Bytes of the control block, a whole number of chunks so that each is aligned.
pub const CONTROL_BYTES: usize = size_of::<Control>().next_multiple_of(CHUNK_SIZE);
