//! Dispatched blocks as logical spans: who submitted them, to which queue, when and where they ran.
//!
//! `docs/swift.md` lists the functions that each of this is taken from.

mod blocks;
mod queues;

pub use crate::role::How;
pub(crate) use blocks::{Blocks, Surroundings};

use ada_event::{EventSeq, FunctionId, RuntimeAddr, TraceNanos};

use crate::NONE;
use crate::concurrency::{Context, HasContext};
use crate::outcome::Outcome;
use crate::thread_index::ThreadIndex;
use crate::word_struct::word_struct;

word_struct! {
    /// One run of a block or function that was submitted, or its submission if it never ran. [`crate::NONE`] where
    /// something is not known.
    pub struct BlockSpan {
        /// [`How`]'s number.
        pub how: u64,
        /// The thread that it ran on; if it never ran, the one that submitted it.
        pub thread: ThreadIndex,
        /// The event that its run begins with; if it never ran, its submission.
        pub seq: EventSeq,
        /// When it began to run; if it never did, when it was submitted.
        pub start: TraceNanos,
        /// When it ended.
        pub end: TraceNanos,
        /// [`Outcome::to_byte`].
        pub outcome: u64,
        /// The event that ended it.
        pub close_seq: Option<EventSeq>,
        /// The function that it ran.
        pub function: Option<FunctionId>,
        /// The thread that submitted it.
        pub submit_thread: ThreadIndex,
        /// The call that did.
        pub submit_seq: EventSeq,
        /// When that was.
        pub submit_time: TraceNanos,
        /// The task or block that did: a [`Context`] as a word.
        pub parent: u64,
        /// The queue's index in the table of queues.
        pub queue: u64,
        /// The block's address, on the heap where it was copied; of a function, its argument.
        pub block: u64,
        /// The group's index in the table of groups.
        pub group: u64,
        /// How many times the call will run it, or which of these this one is.
        pub index: u64,
        /// How sure it is that this run is of this submission, in percent.
        pub confidence: u64,
        /// 1 if it was cancelled before it ran.
        pub is_canceled: u64,
    }
}

/// A call that waits for a group.
#[derive(Clone, Copy, Debug)]
pub(crate) struct GroupWait {
    pub(crate) thread: ThreadIndex,
    pub(crate) start: TraceNanos,
    /// When it was over; the end of time if it never was.
    pub(crate) end: TraceNanos,
    pub(crate) group: RuntimeAddr,
}

word_struct! {
    /// A queue.
    pub struct QueueEntry {
        /// Its address, which others may have had before and after.
        pub address: RuntimeAddr,
        /// Its label: its number in [`crate::table::Meta::texts`].
        pub label: u64,
        /// 1 where the label goes on: its queue's creation was not seen, or it is very long.
        pub is_label_cut: u64,
        /// The index of the queue that it hands its work to, if the program said so.
        pub target: u64,
        /// When it was made, if that was seen.
        pub create_time: Option<TraceNanos>,
        /// Jobs of Swift's runtime that went through it.
        pub swift_jobs: u64,
        /// The quality of service that it was made with, as the system numbers them.
        pub qos: u64,
    }
}

word_struct! {
    /// A group.
    pub struct GroupEntry {
        /// Its address, which others may have had before and after.
        pub address: RuntimeAddr,
        /// When it was made, if that was seen.
        pub create_time: Option<TraceNanos>,
        /// Explicit entries.
        pub enters: u64,
        /// Leaves, also those of its blocks.
        pub leaves: u64,
        /// Blocks that were submitted to it.
        pub blocks: u64,
        /// Blocks that wait for it.
        pub notifies: u64,
        /// Waits for it.
        pub waits: u64,
        /// How long they took.
        pub wait_ns: u64,
        /// 1 where events are missing since it was made: what was counted is not all.
        pub is_cut: u64,
    }
}

impl BlockSpan {
    pub(crate) fn is_consistent(&self, threads: usize, queues: usize, groups: usize, has: HasContext<'_>) -> bool {
        let may_exist = |index: u64, count: usize| index == NONE || index < count as u64;
        self.thread.as_usize() < threads
            && self.submit_thread.as_usize() < threads
            && may_exist(self.queue, queues)
            && may_exist(self.group, groups)
            && has(self.parent)
            && How::from_number(self.how).is_some()
            && Outcome::from_word(self.outcome).is_some()
    }

    /// How it was submitted.
    pub fn how(&self) -> How {
        How::from_number(self.how).unwrap_or_default()
    }

    /// How and why it ended.
    pub fn outcome(&self) -> Outcome {
        Outcome::from_word(self.outcome).unwrap_or_default()
    }

    /// Who submitted it.
    pub fn parent(&self) -> Context {
        Context::from_word(self.parent)
    }

    /// Whether it ran.
    pub fn has_run(&self) -> bool {
        self.submit_seq != self.seq || self.submit_thread != self.thread || self.how() == How::Apply
    }

    /// From its submission to its run. A handler runs again and again, when its source has something for it.
    pub fn latency(&self) -> Option<u64> {
        (self.has_run() && self.how() != How::Source).then(|| self.start.since(self.submit_time))
    }
}

impl QueueEntry {
    /// The quality of service that it was made with; queues of the system have it in their labels.
    pub fn qos(&self, texts: &[String]) -> Option<String> {
        let made_with = qos_word(self.qos).map(str::to_owned);
        made_with.or_else(|| {
            let label = self.label(texts)?;
            let class = label.strip_prefix("com.apple.root.")?.split("-qos").next()?;
            Some(class.replace('-', "_"))
        })
    }

    /// Its label, among the texts of its process's tables.
    pub fn label<'a>(&self, texts: &'a [String]) -> Option<&'a str> {
        texts.get(usize::try_from(self.label).ok()?).map(String::as_str)
    }

    pub(crate) fn is_consistent(&self, queues: usize, texts: usize) -> bool {
        (self.target == NONE || self.target < queues as u64) && (self.label == NONE || self.label < texts as u64)
    }
}

/// A quality of service in words, as Swift has them.
pub fn qos_word(class: u64) -> Option<&'static str> {
    Some(match class {
        0x21 => "user_interactive",
        0x19 => "user_initiated",
        0x15 => "default",
        0x11 => "utility",
        0x09 => "background",
        0x05 => "maintenance",
        _ => return None,
    })
}

impl GroupEntry {
    /// What it still waits for; none where that is not known, since events are missing.
    pub fn remaining(&self) -> Option<u64> {
        (self.is_cut == 0).then(|| (self.enters + self.blocks).saturating_sub(self.leaves))
    }
}
