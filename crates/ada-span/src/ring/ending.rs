//! What a wait for a ring ended with.

use ada_event::EventSeq;

use crate::thread_index::ThreadIndex;
use crate::word_enum::word_enum;
use crate::word_struct::word_struct;

word_struct! {
    /// What a wait for a ring ended with, where that is known.
    pub struct RingEnd {
        /// The thread that waited.
        pub thread: ThreadIndex,
        /// The call that it waited in, by its opening event.
        pub seq: EventSeq,
        /// [`RingEnding`]'s number.
        pub how: u64,
        /// The operation, by its number among the process's.
        pub operation: Option<u64>,
    }
}

word_enum! {
    /// How such a wait ended.
    pub enum RingEnding {
        /// By nobody: time was up, or the kernel did what it was asked to.
        Nobody = 0, "nobody";
        /// As much had been done before as was waited for.
        WasThere = 1, "was_there";
        /// With an operation.
        Operation = 2, "operation";
        /// With one that somebody has taken back.
        Cancelled = 3, "cancelled";
        /// With one on something that has no descriptor.
        NoDescriptor = 4, "no_descriptor";
    }
}

impl RingEnd {
    /// How it ended.
    pub fn how(&self) -> Option<RingEnding> {
        RingEnding::from_number(self.how)
    }
}
