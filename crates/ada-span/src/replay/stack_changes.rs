//! Threads that go on with another stack: coroutines, and stacks that change threads.

use std::mem;

use ada_event::{Event, EventKind, EventSeq};

use super::causes::Causes;
use super::moved_stacks::{MovedStacks, StayNumber};
use super::parked::Parked;
use super::{REPLACED, Replay, SpanSink};
use crate::outcome::{Outcome, Reason, Status};
use crate::role::Role;

impl<S: SpanSink> Replay<S> {
    /// The thread goes on with another stack. What was open on this one waits, and is not busy meanwhile.
    #[inline(never)]
    pub(super) fn change_stack(&mut self, seq: EventSeq, event: Event) {
        let number = event.function.0;
        if number == self.stack_number {
            return;
        }
        self.hand_over();
        self.stay = self.moved.as_ref().and_then(|(moved, thread)| moved.stay(number, *thread, event.timestamp));
        let is_taken_over = self.is_moved(MovedStacks::is_taken_over, number);
        let waiting = self.parked.take(number).filter(|_| !is_taken_over);
        self.left_at = waiting.as_ref().map(|it| it.since);
        let next = waiting.unwrap_or_else(|| Parked {
            frames: Vec::new(),
            since: self.time,
            unknown_below: event.depth,
            is_taken_over,
            causes: Causes::default(),
        });
        let left = Parked {
            frames: mem::replace(&mut self.stack, next.frames),
            since: self.time,
            unknown_below: mem::replace(&mut self.unknown_below, next.unknown_below),
            is_taken_over: mem::replace(&mut self.is_taken_over, next.is_taken_over),
            causes: mem::replace(&mut self.causes, next.causes),
        };
        let left_number = mem::replace(&mut self.stack_number, number);
        self.sink.change_stack(number);
        // Where a thread begins on another stack, as a child of a fork may, nothing is known of its own yet.
        if seq.0 > 0 {
            self.parked.put(left_number, left);
        }
        if let Some(top) = self.stack.last_mut() {
            top.children_ns += self.time - next.since;
        }
    }

    pub(super) fn is_moved(&self, how: fn(&MovedStacks, u64, StayNumber) -> bool, number: u64) -> bool {
        self.moved.as_ref().zip(self.stay).is_some_and(|((moved, _), stay)| how(moved, number, stay))
    }

    /// Ends what is open on a stack that another thread is on next, where it ends there. What happens there is no time of its own.
    pub(super) fn hand_over(&mut self) {
        if !self.is_moved(MovedStacks::is_handed_over, self.stack_number) {
            return;
        }
        let Some(((moved, _), stay)) = self.moved.clone().zip(self.stay) else { return };
        let left = self.time;
        while let Some(depth) = self.stack.last().map(|top| top.depth) {
            let end = moved.end_after(self.stack_number, stay, depth);
            let end_time = end.map_or(self.options.end_time, |end| end.time).max(self.time);
            if let Some(top) = self.stack.last_mut() {
                top.children_ns += end_time - self.time;
            }
            self.time = end_time;
            let outcome = match end.map(|end| end.kind) {
                Some(EventKind::RETURN) => Outcome::default(),
                Some(EventKind::TAIL) => Outcome::new(Status::Completed, Reason::TailCall),
                Some(_) => Outcome::new(Status::Unmatched, Reason::None),
                None => self.options.end.outcome(),
            };
            self.give_up_top(outcome);
        }
        self.time = left;
    }

    /// Ends what is open on the stacks that wait.
    pub(super) fn give_up_parked(&mut self, outcome: Outcome) {
        for (number, parked) in self.parked.take_all() {
            self.sink.change_stack(number);
            let left = mem::replace(&mut self.stack, parked.frames);
            // What a child of `posix_spawn` ran on, as this thread, until it ran another program.
            let has_run_another = self.stack.last().is_some_and(|top| top.role == Role::Exec);
            let (end, outcome) = if has_run_another { (parked.since, REPLACED) } else { (self.time, outcome) };
            let now = mem::replace(&mut self.time, end);
            if let Some(top) = self.stack.last_mut() {
                top.children_ns += self.time - parked.since;
            }
            while !self.stack.is_empty() {
                self.give_up_top(outcome);
            }
            self.stack = left;
            self.time = now;
        }
        self.sink.change_stack(self.stack_number);
    }
}
