//! A wait as its calls tell it, before its holder and its waker are looked for.

use ada_event::TraceNanos;

use super::WaitSpan;
use super::owner_word::OwnerWord;
use super::shared_calls::SharedWait;
use crate::NONE;
use crate::outcome::{Outcome, Reason, Status};

/// Of a program that goes on, what is this young, in nanoseconds, may have ended by the time its thread's events were read.
pub(crate) const RECENT: u64 = 200_000_000;

/// A wait that was found.
pub(super) struct Found {
    pub(super) wait: WaitSpan,
    /// When what the program called began: whoever ends the wait may come before the thread sleeps.
    pub(super) asked: TraceNanos,
    /// When it was over, and only a mutex was to be taken again.
    pub(super) woken: TraceNanos,
    /// Whether it ended without anybody's doing.
    pub(super) has_given_up: bool,
    /// Of the words of a read-write lock, whether it waits for the lock to be handed from those that read to one that writes, or back.
    pub(super) phase: Option<Phase>,
    /// Of a mutex whose lock word is its owner's id, what it said.
    pub(super) mutex: Option<OwnerWord>,
}

/// What a read-write lock is to be handed over for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    /// To be written: nobody else has it when the wait is over.
    Write,
    /// To be read, by as many as there are: who has it to write lets go of it.
    Read,
}

impl Found {
    /// What is needed to find who ended it in another process.
    pub(super) fn shared(&self) -> SharedWait {
        let Self { wait, asked, woken, has_given_up, mutex, .. } = self;
        SharedWait {
            thread: wait.thread,
            seq: wait.seq,
            start: wait.start,
            asked: *asked,
            woken: *woken,
            has_given_up: u64::from(*has_given_up),
            is_robust: mutex.is_some_and(OwnerWord::is_robust).into(),
        }
    }
}

/// Whether a call has ended, as [`WaitSpan::has_ended`] says it.
pub(super) fn has_ended(outcome: &Outcome) -> u64 {
    match (outcome.status, outcome.reason) {
        _ if outcome.is_uncertain => NONE,
        (_, Reason::Dropped | Reason::AttachedMidway) => NONE,
        (Status::Open, _) | (_, Reason::ProcessExit | Reason::Crash) => 0,
        _ => 1,
    }
}
