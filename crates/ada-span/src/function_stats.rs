//! What each function did, summed up while its spans are made.

use ada_event::{EventKind, EventSeq, FunctionId};

use crate::histogram::Histogram;
use crate::outcome::{Outcome, Reason, Status};
use crate::thread_index::ThreadIndex;

/// The kinds of events that functions have.
pub const EVENT_KINDS: [EventKind; 5] =
    [EventKind::CALL, EventKind::RETURN, EventKind::EXCEPTION, EventKind::ENTRY, EventKind::TAIL];

/// How many events a function has of each of [`EVENT_KINDS`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EventCounts(pub [u64; EVENT_KINDS.len()]);

impl EventCounts {
    /// Counts an event; one of another kind belongs to no function.
    #[inline(always)]
    pub fn add(&mut self, kind: EventKind) {
        let [calls, returns, exceptions, entries, tails] = &mut self.0;
        let count = match kind {
            EventKind::CALL => calls,
            EventKind::RETURN => returns,
            EventKind::EXCEPTION => exceptions,
            EventKind::ENTRY => entries,
            EventKind::TAIL => tails,
            _ => return,
        };
        *count += 1;
    }
}

/// The sums of one function over all threads.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FunctionStats {
    /// Which function.
    pub function: FunctionId,
    /// How many spans it has.
    pub spans: u64,
    /// How many of them have a known end, and so a duration.
    pub timed: u64,
    /// Time in the function and what it called. Where it calls itself, the outermost call counts.
    pub total_ns: u64,
    /// Time in the function alone.
    pub self_ns: u64,
    /// The shortest timed span.
    pub min_ns: u64,
    /// The longest timed span.
    pub max_ns: u64,
    /// The longest timed span's thread and opening event.
    pub longest: (ThreadIndex, EventSeq),
    /// Spans by status.
    pub by_status: [u64; Status::ALL.len()],
    /// Its events by kind.
    pub events: EventCounts,
    /// The timed spans' durations; none if there were too many functions to keep them for all.
    pub durations: Option<Histogram>,
}

impl FunctionStats {
    /// Counts a span that has ended. `is_outermost`: the function is not open below.
    #[inline]
    pub fn add(
        &mut self,
        thread: ThreadIndex,
        seq: EventSeq,
        duration: u64,
        self_ns: u64,
        outcome: Outcome,
        is_outermost: bool,
    ) {
        let status = outcome.status;
        self.spans += 1;
        self.by_status[status as usize] += 1;
        if status == Status::EntryOnly {
            return;
        }
        // The times of a damaged trace are any.
        self.self_ns = self.self_ns.saturating_add(self_ns);
        if is_outermost {
            self.total_ns = self.total_ns.saturating_add(duration);
        }
        // Where a function jumps to another one is known as well as where it returns.
        let has_no_end = matches!(status, Status::Unmatched | Status::Open) && outcome.reason != Reason::TailCall;
        if has_no_end || outcome.is_uncertain {
            return;
        }
        if self.timed == 0 || duration < self.min_ns {
            self.min_ns = duration;
        }
        // Of equally long spans the first in the tables' order, whichever worker counts it.
        let is_longest = duration > self.max_ns || duration == self.max_ns && (thread, seq) < self.longest;
        if self.timed == 0 || is_longest {
            self.max_ns = duration;
            self.longest = (thread, seq);
        }
        self.timed += 1;
        if let Some(durations) = &mut self.durations {
            durations.add(duration);
        }
    }

    /// Adds another part of the same function's sums.
    pub fn merge(&mut self, other: Self) {
        if other.timed > 0 {
            if self.timed == 0 || other.min_ns < self.min_ns {
                self.min_ns = other.min_ns;
            }
            if self.timed == 0
                || other.max_ns > self.max_ns
                || other.max_ns == self.max_ns && other.longest < self.longest
            {
                (self.max_ns, self.longest) = (other.max_ns, other.longest);
            }
        }
        self.spans += other.spans;
        self.timed += other.timed;
        self.total_ns = self.total_ns.saturating_add(other.total_ns);
        self.self_ns = self.self_ns.saturating_add(other.self_ns);
        for (count, more) in self.by_status.iter_mut().zip(other.by_status) {
            *count += more;
        }
        for (count, more) in self.events.0.iter_mut().zip(other.events.0) {
            *count += more;
        }
        match (&mut self.durations, other.durations) {
            (Some(durations), Some(more)) => durations.merge(&more),
            (durations, _) => *durations = None,
        }
    }

    /// The duration that `share` of the timed spans do not exceed.
    pub fn quantile(&self, share: f64) -> Option<u64> {
        let durations = self.durations.as_ref().filter(|_| self.timed > 0)?;
        Some(durations.quantile(share).clamp(self.min_ns, self.max_ns))
    }
}
