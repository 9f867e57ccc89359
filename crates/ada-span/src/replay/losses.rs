//! What is not known of a thread's calls where events are missing.

use std::mem;

use ada_event::{Event, EventSeq, TraceNanos};

use super::{Opened, Replay, SpanSink};
use crate::anomaly::AnomalyKind;
use crate::outcome::{Outcome, Reason, Status};
use crate::role::Role;

impl<S: SpanSink> Replay<S> {
    /// Handles the first event, and the first one after each loss.
    #[cold]
    pub(super) fn take_stock(&mut self, event: &Event) {
        let (before, last_loss) = (if self.has_begun { self.time_before } else { TraceNanos(0) }, self.last_loss);
        if !self.has_begun {
            self.has_begun = true;
            self.is_cut = self.has_jumped || self.losses.last().is_some_and(|loss| *loss <= self.time);
            (self.first_time, self.time_before) = (self.time, self.time);
            self.unknown_below = event.depth.saturating_add(u32::from(event.kind.is_end()));
            self.begun_at_depth = self.unknown_below;
        }
        while let Some(loss) = self.losses.pop_if(|loss| *loss <= self.time) {
            self.last_loss = loss;
        }
        if mem::take(&mut self.has_jumped) {
            self.last_loss = self.time;
        }
        if self.last_loss != last_loss {
            self.sink.lost(before, self.time);
        }
        self.take_stock_at = self.losses.last().copied().unwrap_or(TraceNanos::MAX);
    }

    /// Whether events were lost since a time.
    #[inline]
    pub(super) fn has_lost_since(&self, time: TraceNanos) -> bool {
        time < self.last_loss
    }

    /// Whether an event may be missing since a time.
    pub(super) fn may_lack_since(&self, time: TraceNanos) -> bool {
        self.options.has_drops || self.has_lost_since(time)
    }

    /// The outcome of a span whose partner is missing, somewhere between a time and now.
    pub(super) fn lost_since(&self, time: TraceNanos) -> Outcome {
        let reason = if self.may_lack_since(time) { Reason::Dropped } else { Reason::None };
        Outcome::new(Status::Unmatched, reason)
    }

    /// Whether events were lost since the newest open call began: it may have ended among them, and this may be the end of
    /// another call of the same function.
    #[inline]
    pub(super) fn partner_is_a_guess(&self) -> bool {
        self.stack.last().is_some_and(|top| self.has_lost_since(top.start))
    }

    /// An end whose beginning is not on the stack is a span of its own, at the one moment that is known.
    #[cold]
    pub(super) fn end_of_unknown(&mut self, seq: EventSeq, event: &Event) {
        let depth = event.depth;
        if self.stack.last().is_some_and(|top| top.depth == depth) {
            self.vanish(seq, depth);
        }
        let began_before = depth < self.unknown_below;
        self.unknown_below = self.unknown_below.min(depth);
        if began_before && self.is_taken_over {
            return;
        }
        if !began_before {
            self.odd(AnomalyKind::EndWithoutBeginning, seq);
        }
        let function = self.sink.function(event.function);
        self.sink.event(function.number, event.kind);
        let opened = Opened {
            seq,
            start: self.time,
            function: function.number,
            depth,
            parent: self.stack.last().map(|parent| parent.seq),
            caller: self.stack.last().map(|parent| parent.number),
            detail: event.detail,
            is_frame: false,
            role: Role::Plain,
        };
        if self.sink.wants_to_move() {
            self.move_open();
        }
        let handle = self.sink.open(&opened);
        let outcome = match began_before {
            true if self.is_cut => Outcome::new(Status::Unmatched, Reason::Dropped),
            true => Outcome::new(Status::Unmatched, Reason::AttachedMidway),
            // It began after what encloses it.
            false => self.lost_since(self.stack.last().map_or(TraceNanos(0), |parent| parent.start)),
        };
        self.close_at_once(handle, &opened, outcome);
    }
}
