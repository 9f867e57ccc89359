//! Why frames are unwound: the exception, jump or end of the thread that is under way.

use ada_event::EventSeq;

use crate::outcome::{Outcome, Reason, Status};
use crate::role::Role;

/// An unwinding that is under way, or was the last.
#[derive(Clone, Copy)]
struct Cause {
    kind: CauseKind,
    seq: EventSeq,
    /// The lowest depth that was unwound so far.
    lowest: u32,
    /// The first return from below that. The unwinding has ended then, unless the next event unwinds on: a signal may have
    /// interrupted a call that had returned already, and its event is written by whoever clears the stack up.
    returned: Option<EventSeq>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum CauseKind {
    Throw,
    Jump,
    Exit,
    Cancel,
    /// A forced unwinding of somebody who may stop it: most likely the same, by a C library without names.
    Forced,
}

impl Cause {
    fn new(kind: CauseKind, seq: EventSeq) -> Self {
        Self { kind, seq, lowest: u32::MAX, returned: None }
    }

    fn outcome(&self) -> Outcome {
        match self.kind {
            CauseKind::Throw => Outcome::new(Status::Unmatched, Reason::Exception),
            CauseKind::Jump => Outcome::new(Status::Unmatched, Reason::Unwind),
            CauseKind::Exit => Outcome::new(Status::Exited, Reason::Unwind),
            CauseKind::Cancel | CauseKind::Forced => Outcome::new(Status::Canceled, Reason::Canceled),
        }
    }

    /// Whether it unwinds no further, seen from a call.
    fn is_over(&self) -> bool {
        self.returned.is_some()
    }

    /// Whether it may have unwound a frame at an event.
    fn may_unwind_at(&self, seq: EventSeq) -> bool {
        self.returned.is_none_or(|returned| returned + 1 == seq)
    }

    fn note_return(&mut self, seq: EventSeq, depth: u32) {
        if depth < self.lowest && self.lowest != u32::MAX && !matches!(self.kind, CauseKind::Exit | CauseKind::Cancel) {
            self.returned.get_or_insert(seq);
        }
    }
}

/// What unwinds the frames of a stack.
#[derive(Clone, Copy, Default)]
pub(super) struct Causes {
    /// The end of the thread, during which its code may throw and catch above what is unwound.
    ending: Option<Cause>,
    /// The newest exception or jump.
    newest: Option<Cause>,
}

impl Causes {
    /// Takes note of a call that begins an unwinding.
    pub(super) fn note(&mut self, seq: EventSeq, role: Role) {
        let newest = self.newest.filter(|cause| !cause.is_over());
        let is_ending = self.ending.is_some_and(|cause| !cause.is_over());
        let kind = match role {
            Role::Throw => CauseKind::Throw,
            // `catch (...) { throw; }` around a thread's end goes on with that.
            Role::Rethrow if is_ending && newest.is_none() => return,
            Role::Rethrow => CauseKind::Throw,
            Role::Resume if newest.is_none() && !is_ending => CauseKind::Throw,
            // The end of a thread is a jump at last, to where it began.
            Role::Jump if !is_ending => CauseKind::Jump,
            Role::ThreadExit => CauseKind::Exit,
            Role::ThreadUnwind if !is_ending => CauseKind::Cancel,
            Role::ForcedUnwind if !is_ending => CauseKind::Forced,
            _ => return,
        };
        if matches!(kind, CauseKind::Exit | CauseKind::Cancel | CauseKind::Forced) {
            *self = Self { ending: Some(Cause::new(kind, seq)), newest: None };
            return;
        }
        // A throw calls other functions of the same part on its way; the first one is the throw.
        let is_same = newest.is_some_and(|cause| cause.kind == kind && cause.lowest == u32::MAX);
        if !is_same {
            self.newest = Some(Cause::new(kind, seq));
        }
    }

    /// A call at this depth has returned.
    #[inline]
    pub(super) fn note_return(&mut self, seq: EventSeq, depth: u32) {
        if self.newest.is_some() || self.ending.is_some() {
            self.newest.iter_mut().chain(&mut self.ending).for_each(|cause| cause.note_return(seq, depth));
        }
    }

    /// A frame at this depth was unwound: its outcome, and the call that has led to it.
    pub(super) fn unwound(&mut self, seq: EventSeq, depth: u32) -> (Outcome, Option<EventSeq>) {
        let newest = self.newest.as_mut().filter(|cause| cause.may_unwind_at(seq));
        let ending = self.ending.as_mut().filter(|cause| cause.may_unwind_at(seq));
        let cause = match (ending, newest) {
            (Some(ending), None) => ending,
            (Some(ending), Some(_)) if depth < ending.lowest && ending.lowest != u32::MAX => ending,
            (_, Some(newest)) => newest,
            (None, None) => return (Outcome::new(Status::Unmatched, Reason::Unwind), None),
        };
        cause.lowest = cause.lowest.min(depth);
        cause.returned = None;
        (cause.outcome(), Some(cause.seq))
    }
}
