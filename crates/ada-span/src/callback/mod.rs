//! Callbacks: a call that is handed a function's address, and the later call of that function.
//!
//! Where the function runs while the call that was handed its address is open on the same thread, the match is
//! certain. Otherwise the call has only registered it, and the nearest earlier registration that fits is taken.

mod addresses;
mod deferred;
mod execution;
mod open_calls;
mod tracker;

pub use addresses::CodeAddresses;
pub(crate) use deferred::join;
pub(crate) use tracker::{CallbackObserved, CallbackTracker};

use ada_event::{EventSeq, FunctionId, TraceNanos};

use crate::outcome::Outcome;
use crate::thread_index::ThreadIndex;
use crate::word_struct::word_struct;

word_struct! {
    /// One execution of a callback.
    pub struct CallbackSpan {
        /// The thread.
        pub thread: ThreadIndex,
        /// The position of the event that entered the callback: also the frame span's name.
        pub seq: EventSeq,
        /// When it was entered.
        pub start: TraceNanos,
        /// When it ended.
        pub end: TraceNanos,
        /// [`Outcome::to_byte`].
        pub outcome: u64,
        /// The event that ended it.
        pub close_seq: Option<EventSeq>,
        /// The callback.
        pub function: FunctionId,
        /// The thread whose call was handed the address.
        pub initiator_thread: ThreadIndex,
        /// The position of that call.
        pub initiator_seq: EventSeq,
        /// When it was called.
        pub initiator_time: TraceNanos,
        /// What was called.
        pub initiator_function: FunctionId,
        /// How sure the match is, in percent: 100 where the one encloses the other.
        pub confidence: u64,
    }
}

/// The initiating call encloses the callback.
pub const CERTAIN: u64 = 100;
/// Something that was handed over with the address came back as an argument of the callback.
pub const LIKELY: u64 = 90;
/// There is one registration that fits.
pub const PROBABLE: u64 = 60;
/// There are several; the nearest one was taken.
pub const POSSIBLE: u64 = 30;

impl CallbackSpan {
    pub(crate) fn is_consistent(&self, threads: usize) -> bool {
        self.thread.as_usize() < threads
            && self.initiator_thread.as_usize() < threads
            && Outcome::from_word(self.outcome).is_some()
    }

    /// How and why it ended.
    pub fn outcome(&self) -> Outcome {
        Outcome::from_word(self.outcome).unwrap_or_default()
    }
}
