//! Who waits for whom at a moment, and the circles that can never end.

use std::collections::{BTreeMap, BTreeSet};

use ada_event::TraceNanos;
use ada_span::ThreadIndex;
use ada_span::wait::{Doubt, HoldSpan, WaitKind, WaitSpan};

use crate::trace::{Trace, TraceProcess};

/// Threads of which each waits for what the next one holds, and the last one for what the first one holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Deadlock(pub Vec<(Party, WaitSpan)>);

/// A thread of one of the processes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Party {
    /// The process's index in the trace.
    pub process: usize,
    /// The thread there.
    pub thread: ThreadIndex,
}

impl Deadlock {
    /// Whether all had begun to wait by a moment.
    pub fn has_begun(&self, time: TraceNanos) -> bool {
        self.0.iter().all(|(_, wait)| wait.start <= time)
    }

    /// Whether several processes take part.
    pub fn is_of_several_processes(&self) -> bool {
        self.0.iter().any(|(party, _)| party.process != self.0[0].0.process)
    }

    /// Its waits in one process.
    pub fn waits_in(&self, number: usize) -> impl Iterator<Item = &WaitSpan> {
        self.0.iter().filter(move |(party, _)| party.process == number).map(|(_, wait)| wait)
    }
}

/// The waits that were under way at a moment, by thread. Of several on one thread the innermost counts.
pub fn blocked_at(process: &TraceProcess, time: TraceNanos) -> BTreeMap<ThreadIndex, WaitSpan> {
    let waits = process.tables.meta().waits.iter().take_while(|wait| wait.start <= time);
    // They are in the order of their starts, so that inner ones come later.
    waits.filter(|wait| wait.is_open() || wait.end > time).map(|wait| (wait.thread, *wait)).collect()
}

/// A wait as it was at a moment: its holder is the thread that certainly has the lock then. Where nobody certainly does, it is still the one that had
/// it when the wait began, which may have let go since.
pub fn held_at(process: &TraceProcess, wait: &WaitSpan, time: TraceNanos) -> WaitSpan {
    let is_lock = matches!(wait.kind(), WaitKind::Mutex | WaitKind::ReadWriteLock) && wait.suspension.is_none();
    if !is_lock || wait.is_blocked_by_holder() {
        return *wait;
    }
    let time = time.min(wait.end);
    let is_it = |hold: &&HoldSpan| {
        (hold.kind, hold.object) == (wait.kind, wait.object)
            && hold.start <= time
            && time <= hold.end
            && hold.thread != wait.thread
    };
    let holds = if hides_releases(process) { &[][..] } else { &process.tables.meta().holds };
    // Of several that read it, the one that is named anyway.
    let found = holds.iter().filter(is_it).max_by_key(|hold| (Some(hold.thread) == wait.holder, hold.start));
    match found {
        Some(hold) => WaitSpan {
            holder: Some(hold.thread),
            holder_tid: Some(process.thread_id(hold.thread)),
            hold_seq: Some(hold.seq),
            hold_start: Some(hold.start),
            doubts: wait.doubts & !HOLDER_DOUBTS,
            ..*wait
        },
        None if wait.holder_tid.is_some() => {
            WaitSpan { doubts: wait.doubts | 1 << Doubt::MayBeReleased as u64, ..*wait }
        }
        None => *wait,
    }
}

/// What may be said of a wait's holder.
const HOLDER_DOUBTS: u64 = 1 << Doubt::NoOwner as u64
    | 1 << Doubt::UnknownOwner as u64
    | 1 << Doubt::SeveralLocks as u64
    | 1 << Doubt::NoLockCall as u64
    | 1 << Doubt::MayBeReleased as u64;

/// The circles of threads that wait for each other for ever, of one process or of several: those of which this is the first process that takes
/// part. Only what is proved is one: each wait had not ended when the recording did, gives up never, and its holder has let go of nothing since.
pub fn deadlocks(trace: &Trace, number: usize) -> Vec<Deadlock> {
    let mut blocked: BTreeMap<usize, BTreeMap<ThreadIndex, WaitSpan>> = BTreeMap::new();
    let of_process = |number: usize| match trace.processes().get(number) {
        Some(process) if !hides_releases(process) => blocked_at(process, TraceNanos::MAX),
        _ => BTreeMap::new(),
    };
    let starts: Vec<ThreadIndex> =
        blocked.entry(number).or_insert_with(|| of_process(number)).keys().copied().collect();
    let wait_of = |party: Party| {
        blocked.entry(party.process).or_insert_with(|| of_process(party.process)).get(&party.thread).copied()
    };
    let found = circles(starts.into_iter().map(|thread| Party { process: number, thread }), wait_of);
    let is_first = |it: &Deadlock| it.0.iter().map(|(party, _)| party.process).min() == Some(number);
    found.into_iter().filter(is_first).collect()
}

/// Whether calls that let go of locks, or take them to read, were switched off for a while: nobody knows who had what then.
pub fn hides_releases(process: &TraceProcess) -> bool {
    process.switched.hides(|function| shows_holders(process.names.raw(function).unwrap_or_default()))
}

/// Whether it takes all calls of a function to say who has locks.
fn shows_holders(raw: &str) -> bool {
    raw.contains("unlock") || raw.contains("rdlock") || raw.contains("cond_wait") || raw.contains("cond_timedwait")
}

fn circles(starts: impl Iterator<Item = Party>, mut wait_of: impl FnMut(Party) -> Option<WaitSpan>) -> Vec<Deadlock> {
    let mut next = |at: Party| {
        let wait = wait_of(at)?;
        let is_for_ever =
            matches!(wait.kind(), WaitKind::Mutex | WaitKind::ReadWriteLock | WaitKind::Join | WaitKind::Once);
        let own = wait.holder.map(|thread| Party { thread, ..at });
        let remote =
            || Some(Party { process: usize::try_from(wait.holder_process?).ok()?, thread: wait.remote_holder? });
        (is_for_ever && wait.is_blocked_by_holder()).then_some((wait, own.or_else(remote)?))
    };
    let mut seen = BTreeSet::new();
    let mut found = Vec::new();
    for start in starts {
        let mut path: Vec<(Party, WaitSpan)> = Vec::new();
        let mut at = start;
        while !seen.contains(&at)
            && let Some((wait, holder)) = next(at)
        {
            if let Some(first) = path.iter().position(|(party, _)| *party == at) {
                found.push(Deadlock(path[first..].to_vec()));
                break;
            }
            path.push((at, wait));
            at = holder;
        }
        seen.extend(path.iter().map(|(party, _)| *party));
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wait(thread: u32, holder: u32) -> WaitSpan {
        WaitSpan {
            thread: ThreadIndex(thread),
            holder: Some(ThreadIndex(holder)),
            kind: WaitKind::Mutex as u64,
            start: TraceNanos(1),
            end: TraceNanos(2),
            has_ended: 0,
            is_timed: 0,
            doubts: 0,
            ..WaitSpan::default()
        }
    }

    fn circles_of(waits: &[WaitSpan]) -> Vec<Vec<u32>> {
        let blocked: BTreeMap<ThreadIndex, WaitSpan> = waits.iter().map(|wait| (wait.thread, *wait)).collect();
        let starts = blocked.keys().map(|thread| Party { process: 0, thread: *thread });
        let found = circles(starts, |party| blocked.get(&party.thread).copied());
        found.iter().map(|it| it.0.iter().map(|(party, _)| party.thread.0).collect()).collect()
    }

    /// Two processes whose first threads have the same index.
    #[test]
    fn a_circle_may_go_through_processes() {
        let remote = |process: u64| WaitSpan {
            holder: None,
            holder_process: Some(process),
            remote_holder: Some(ThreadIndex(0)),
            ..wait(0, 0)
        };
        let found = |waits: [WaitSpan; 2]| -> Vec<usize> {
            let start = Party { process: 0, thread: ThreadIndex(0) };
            let circles = circles([start].into_iter(), |party| waits.get(party.process).copied());
            circles.iter().flat_map(|it| &it.0).map(|(party, _)| party.process).collect()
        };
        assert_eq!(found([remote(1), remote(0)]), [0, 1]);
        let released = WaitSpan { doubts: 1 << Doubt::MayBeReleased as u64, ..remote(0) };
        assert!(found([remote(1), released]).is_empty());
    }

    #[test]
    fn circles_are_found_once_and_chains_are_none() {
        assert_eq!(circles_of(&[wait(1, 2), wait(2, 1)]), [[1, 2]]);
        assert_eq!(circles_of(&[wait(1, 2), wait(2, 3), wait(3, 1), wait(4, 1), wait(0, 4)]), [[1, 2, 3]]);
        assert_eq!(circles_of(&[wait(5, 5)]), [[5]]);
        assert_eq!(circles_of(&[wait(1, 2), wait(2, 1), wait(3, 4), wait(4, 3)]), [[1, 2], [3, 4]]);
        assert!(circles_of(&[wait(1, 2), wait(2, 3)]).is_empty());
    }

    #[test]
    fn what_may_end_is_no_deadlock() {
        let timed = WaitSpan { is_timed: 1, ..wait(2, 1) };
        let ended = WaitSpan { has_ended: 1, ..wait(2, 1) };
        let unknown = WaitSpan { has_ended: ada_span::NONE, ..wait(2, 1) };
        let released = WaitSpan { doubts: 1 << Doubt::MayBeReleased as u64, ..wait(2, 1) };
        let condition = WaitSpan { kind: WaitKind::Condition as u64, ..wait(2, 1) };
        for other in [timed, ended, unknown, released, condition] {
            assert!(circles_of(&[wait(1, 2), other]).is_empty(), "{other:?}");
        }
    }
}
