//! Who sent the signal that ended a wait.

use super::finder::{Finder, IoWait, piece};
use super::streams::{CallPlace, Piece};
use crate::io_call_span::IoCallSpan;
use crate::role::IoCall;
use crate::thread_index::ThreadIndex;
use crate::wait::{Doubt, Doubts, WaitKind, WaitSpan};

/// Signals that a process was sent, in the order of the calls' starts.
pub(super) struct Signals(Vec<(Piece, Option<ThreadIndex>)>);

/// Calls that are looked through for one that took long.
const MANY: usize = 256;

impl Signals {
    /// Those of a process, each with the thread that it is for, if it is for one.
    pub(super) fn of(finder: &Finder<'_>, process: usize) -> Self {
        let io = &finder.processes[process];
        let mut sent = Vec::new();
        for (from, sender) in finder.processes.iter().enumerate() {
            for (at, call) in sender.io.calls.iter().enumerate() {
                let is_for = |pid: u64| pid as u32 == io.pid.0;
                let thread = match call.what() {
                    IoCall::Kill if is_for(call.arguments[0]) => None,
                    IoCall::ThreadKill if from == process => {
                        let Some(thread) = (io.thread_of_handle)(call.arguments[0], call.start) else { continue };
                        Some(thread)
                    }
                    _ => continue,
                };
                if is_sent(call) {
                    sent.push((piece(CallPlace { process: from, call: at }, call, 0), thread));
                }
            }
        }
        sent.sort_unstable_by_key(|(piece, _)| (piece.start, piece.end));
        Self(sent)
    }

    /// The first one to a thread that came between two moments, and whether there are several.
    fn first(&self, wait: &WaitSpan) -> Option<(Piece, bool)> {
        let begun = &self.0[..self.0.partition_point(|(it, _)| it.start <= wait.end)];
        let meanwhile = begun
            .iter()
            .rev()
            .take(MANY)
            .filter(|(it, thread)| it.end >= wait.start && thread.is_none_or(|thread| thread == wait.thread));
        let mut found: Vec<Piece> = meanwhile.map(|(it, _)| *it).collect();
        found.sort_unstable_by_key(|it| it.start);
        // One that was under way when the wait began may have ended the wait before.
        let first = found.iter().find(|it| it.start >= wait.start).or(found.first())?;
        Some((*first, found.len() > 1))
    }
}

/// Whether it has sent something: signal 0 only asks whether somebody is there.
fn is_sent(call: &IoCallSpan) -> bool {
    let is_known = call.arguments[1] as u32 != 0;
    is_known && call.small_result().is_none_or(|result| result == 0)
}

impl Finder<'_> {
    /// A wait for a signal, or a sleep that did not last: who sent one meanwhile. Who else may have is never known.
    pub(super) fn signalled(&self, at: usize, wait: &WaitSpan, signals: &Signals) -> Option<IoWait> {
        let is_one = match wait.kind() {
            WaitKind::Signal => wait.has_ended == 1,
            WaitKind::Sleep => wait.doubts().has(Doubt::NoWaker),
            _ => false,
        };
        if !is_one {
            return None;
        }
        let found = signals.first(wait);
        let mut doubts = Doubts(wait.doubts).without(Doubt::NoWaker);
        match found {
            None => doubts.add(Doubt::NoWaker),
            Some((_, true)) => doubts.add(Doubt::SeveralWakers),
            Some((_, false)) => {}
        }
        if found.is_some() {
            doubts.add(Doubt::OutsideWaker);
        }
        let waker = found.and_then(|(piece, _)| self.waker(piece));
        Some(IoWait { wait: at, descriptor: None, object: None, others: Vec::new(), waker, doubts })
    }
}
