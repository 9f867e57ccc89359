//! Waits: for what, who held it, and who ended the wait.

mod at_end;
mod books;
mod call;
mod correlate;
mod deaths;
mod dispatched;
mod found;
mod futex;
mod holds;
mod left_over;
mod looks;
mod once;
mod only_reader;
mod owned_mutexes;
mod owner_word;
mod parties;
mod readers;
mod shared_calls;
mod spins;
mod waiting;
mod wakes;
mod waking;
mod yields;

pub(crate) use wakes::{Wake, Wakes, WokenBy};

pub use at_end::{HeldAtEnd, LastRelease, LocksAtEnd};
pub(crate) use call::{SyncCalls, has_contention};
pub(crate) use correlate::{Waits, correlate};
pub(crate) use dispatched::name_dispatched;
pub(crate) use found::RECENT;
pub use holds::HoldSpan;
pub(crate) use parties::Known;
pub use shared_calls::{SharedCalls, SharedWait, SharedWake};

use ada_event::{EventSeq, ThreadId, TraceNanos};

use crate::thread_index::ThreadIndex;
use crate::word_enum::word_enum;
use crate::word_struct::word_struct;

word_struct! {
    /// One wait. [`crate::NONE`] where something is not known.
    pub struct WaitSpan {
        /// The thread that waited.
        pub thread: ThreadIndex,
        /// The call that the program made, by its opening event.
        pub seq: EventSeq,
        /// When the wait began.
        pub start: TraceNanos,
        /// When it ended, or the process did.
        pub end: TraceNanos,
        /// 1 if it ended, 0 if it had not when the process or the recording did, [`crate::NONE`] if events are missing.
        pub has_ended: u64,
        /// [`WaitKind`]'s number.
        pub kind: u64,
        /// 1 if it gives up after a while.
        pub is_timed: u64,
        /// The address of what was waited for; a thread's handle.
        pub object: u64,
        /// The mutex that a condition goes with.
        pub mutex: u64,
        /// The thread that held the object when the wait began.
        pub holder: Option<ThreadIndex>,
        /// The same as the operating system calls it: it may be no thread of this process.
        pub holder_tid: Option<ThreadId>,
        /// The call that took it, by its opening event.
        pub hold_seq: Option<EventSeq>,
        /// Since when it was held.
        pub hold_start: Option<TraceNanos>,
        /// The thread that ended the wait.
        pub waker: Option<ThreadIndex>,
        /// The call that did, by its opening event.
        pub wake_seq: Option<EventSeq>,
        /// When that was.
        pub wake_time: Option<TraceNanos>,
        /// The descriptor that was waited for.
        pub descriptor: Option<u64>,
        /// Of a waker in another process, which is known only with all processes of a session at hand: that process's index, and the
        /// thread's there. The call and the time are those above.
        pub remote_process: Option<u64>,
        /// The thread.
        pub remote_waker: Option<ThreadIndex>,
        /// 1 if the lock hands on the priority of who waits to who has it.
        pub inherits: u64,
        /// 1 if nobody let go of the lock: the thread that had it ended, which is the waker.
        pub has_died: u64,
        /// Of a holder in another process, the same.
        pub holder_process: Option<u64>,
        /// The thread.
        pub remote_holder: Option<ThreadIndex>,
        /// What an object in shared memory is called, by its number among all names of the session.
        pub shared_object: Option<u64>,
        /// Of a task's wait, its place in [`crate::table::Meta::suspensions`]: the thread only ran the task before. Answers list such
        /// waits beside those of threads; tables of waits have none.
        pub suspension: Option<u64>,
        /// [`Doubts`].
        pub doubts: u64,
    }
}

word_enum! {
    /// What was waited for.
    pub enum WaitKind {
        /// A mutex.
        Mutex = 0, "mutex";
        /// A read-write lock.
        ReadWriteLock = 1, "rwlock";
        /// A condition variable.
        Condition = 2, "condition";
        /// A semaphore.
        Semaphore = 3, "semaphore";
        /// Other threads at a barrier.
        Barrier = 4, "barrier";
        /// The end of a thread.
        Join = 5, "join";
        /// A futex that nothing better is known of: of another library, or one of the C library's own locks.
        Futex = 6, "futex";
        /// Time to pass.
        Sleep = 7, "sleep";
        /// Input, room for output, or a child process, as far as the call's time shows.
        Input = 8, "io";
        /// A channel of Go's.
        Channel = 9, "channel";
        /// One of several channels.
        Select = 10, "select";
        /// The end of a task.
        Task = 11, "task";
        /// Everything that a group or wait group counts.
        Group = 12, "group";
        /// Whoever resumes a continuation.
        Continuation = 13, "continuation";
        /// A turn on an actor or another executor.
        Executor = 14, "executor";
        /// A dispatch queue that is to run something.
        Queue = 15, "queue";
        /// A signal.
        Signal = 16, "signal";
        /// Anything else that a runtime has its tasks wait for, as its collector.
        Runtime = 17, "runtime";
        /// Another thread that runs what is to be run once.
        Once = 18, "once";
        /// Something that a thread looks for again and again, and gives up its turn in between.
        Yield = 19, "yield";
        /// A lock that the thread looks at until it is free.
        Spin = 20, "spin";
    }
}

word_enum! {
    /// Why something about a wait is not known, or not for certain: a bit each.
    pub enum Doubt {
        /// The lock did not say who had it.
        NoOwner = 0, "no_owner";
        /// Who had it is no thread that was recorded.
        UnknownOwner = 1, "unknown_owner";
        /// The holder had taken several locks, and which of its calls took this one is not recorded.
        SeveralLocks = 2, "several_locks";
        /// No call that took it is recorded.
        NoLockCall = 3, "no_lock_call";
        /// Several calls may have ended the wait.
        SeveralWakers = 4, "several_wakers";
        /// No call that can have ended it is recorded.
        NoWaker = 5, "no_waker";
        /// The holder may have let go since.
        MayBeReleased = 6, "may_be_released";
        /// Events are missing.
        Dropped = 7, "dropped";
        /// What a descriptor stood for was not seen while it was open.
        UnknownObject = 8, "unknown_object";
        /// Somebody who is not recorded may have ended it.
        OutsideWaker = 9, "outside_waker";
        /// What a ring was asked to do lies in memory that the program shares with the kernel, and is not read.
        UnreadRing = 10, "unread_ring";
    }
}

impl WaitKind {
    /// What its holder does with it, in a word.
    pub const fn holding(self) -> &'static str {
        if matches!(self, Self::Once) { "runs" } else { "holds" }
    }
}

/// A set of [`Doubt`]s.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Doubts(pub u64);

impl Doubts {
    /// Adds one.
    pub(crate) fn add(&mut self, doubt: Doubt) {
        self.0 |= 1 << doubt as u64;
    }

    /// The same without one.
    pub(crate) const fn without(self, doubt: Doubt) -> Self {
        Self(self.0 & !(1 << doubt as u64))
    }

    /// Whether it has one.
    pub const fn has(self, doubt: Doubt) -> bool {
        self.0 & 1 << doubt as u64 != 0
    }

    /// Those that it has.
    pub fn iter(self) -> impl Iterator<Item = Doubt> {
        Doubt::ALL.iter().copied().filter(move |doubt| self.has(*doubt))
    }
}

impl WaitSpan {
    pub(crate) fn is_consistent(&self, threads: usize) -> bool {
        let may_exist = |thread: Option<ThreadIndex>| thread.is_none_or(|thread| thread.as_usize() < threads);
        self.thread.as_usize() < threads
            && may_exist(self.holder)
            && may_exist(self.waker)
            && WaitKind::from_number(self.kind).is_some()
            && self.start <= self.end
    }

    /// What was waited for.
    pub fn kind(&self) -> WaitKind {
        WaitKind::from_number(self.kind).unwrap_or(WaitKind::Futex)
    }

    /// What is not certain.
    pub fn doubts(&self) -> Doubts {
        Doubts(self.doubts)
    }

    /// How long it took.
    pub fn duration(&self) -> u64 {
        self.end.since(self.start)
    }

    /// Whether it had not ended when the process or the recording did.
    pub fn is_open(&self) -> bool {
        self.has_ended == 0
    }

    /// Whether it cannot end before its holder lets go: that one is known, in whichever process, and has let go of nothing since.
    pub fn is_blocked_by_holder(&self) -> bool {
        let has_holder = self.holder.or(self.remote_holder).is_some();
        self.is_open() && self.is_timed == 0 && has_holder && !self.doubts().has(Doubt::MayBeReleased)
    }
}
