//! What a process did about objects in memory that other processes may have too.

use ada_event::{EventSeq, TraceNanos};

use super::at_end::{HeldAtEnd, LastRelease, LocksAtEnd};
use super::wakes::Wake;
use crate::bytes::{Decoder, Encoder};
use crate::thread_index::ThreadIndex;
use crate::word_struct::word_struct;

/// What a process did about objects in memory that others may have too.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SharedCalls {
    /// The waits, by their starts.
    pub waits: Vec<SharedWait>,
    /// The calls that end others' waits, and those of which it is not known whether others have what they are about.
    pub wakes: Vec<SharedWake>,
    /// The ends of threads that had robust mutexes.
    pub deaths: Vec<SharedWake>,
    /// How many wakes were not kept, because there were too many.
    pub left_out: u64,
    /// Who has which lock at the end.
    pub locks: LocksAtEnd,
}

word_struct! {
    /// What has to be known of a wait beside what [`crate::wait::WaitSpan`] says.
    pub struct SharedWait {
        /// The thread.
        pub thread: ThreadIndex,
        /// The call that the program made, by its opening event.
        pub seq: EventSeq,
        /// When the wait began.
        pub start: TraceNanos,
        /// When the call did: whoever ends the wait may come before the thread sleeps.
        pub asked: TraceNanos,
        /// When it was over, and only a mutex was to be taken again.
        pub woken: TraceNanos,
        /// 1 if it ended without anybody's doing.
        pub has_given_up: u64,
        /// 1 if it is for a mutex that goes on to the next one where its owner ends.
        pub is_robust: u64,
    }
}

word_struct! {
    /// A call that ends waits.
    pub struct SharedWake {
        /// The thread.
        pub thread: ThreadIndex,
        /// What the program called.
        pub seq: EventSeq,
        /// When it began.
        pub start: TraceNanos,
        /// When it ended.
        pub end: TraceNanos,
        /// How many waits it can end; 0 where it may be that it ends none.
        pub room: u64,
        /// The address of what it is about.
        pub object: u64,
    }
}

impl SharedWake {
    pub(super) fn of(&(object, wake): &(u64, Wake)) -> Self {
        let Wake { thread, seq, start, end, room } = wake;
        Self { thread, seq, start, end, room, object }
    }
}

impl SharedCalls {
    pub(crate) fn encode(&self, out: &mut Encoder) {
        out.list(&self.waits, |out, it| it.encode(out));
        out.list(&self.wakes, |out, it| it.encode(out));
        out.list(&self.deaths, |out, it| it.encode(out));
        out.u64(self.left_out);
        out.u64(self.locks.sees_releases).u64(self.locks.goes_on);
        out.list(&self.locks.releases, |out, it| it.encode(out));
        out.list(&self.locks.held, |out, it| it.encode(out));
    }

    pub(crate) fn decode(from: &mut Decoder<'_>) -> Option<Self> {
        Some(Self {
            waits: from.list(SharedWait::decode)?,
            wakes: from.list(SharedWake::decode)?,
            deaths: from.list(SharedWake::decode)?,
            left_out: from.u64()?,
            locks: LocksAtEnd {
                sees_releases: from.u64()?,
                goes_on: from.u64()?,
                releases: from.list(LastRelease::decode)?,
                held: from.list(HeldAtEnd::decode)?,
            },
        })
    }

    pub(crate) fn is_consistent(&self, threads: usize) -> bool {
        self.waits.iter().all(|it| it.thread.as_usize() < threads)
            && self.wakes.iter().chain(&self.deaths).all(|it| it.thread.as_usize() < threads)
            && self.locks.releases.iter().all(|it| it.thread.as_usize() < threads)
            && self.locks.held.iter().all(|it| it.thread.as_usize() < threads)
    }
}
