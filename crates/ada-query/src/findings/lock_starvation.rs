//! Threads that waited for a read-write lock while others that asked later got it first, again and again.
//!
//! A lock that prefers readers lets them in beside others while a writer waits; one that prefers writers hands itself from one to the next while
//! readers wait. It takes a wait, and stretches of time in which others certainly had the lock for the other purpose, by calls that began after the wait
//! did. What they cost is the time from when those were done that had come before until the last of them let go.

use std::collections::{BTreeMap, BTreeSet};

use ada_event::TraceNanos;
use ada_span::ThreadIndex;
use ada_span::table::FunctionIndex;
use ada_span::wait::{HoldSpan, WaitKind, WaitSpan};
use serde_json::json;

use super::{About, Finding, nanoseconds};
use crate::error::QueryError;
use crate::span::FrameSpan;
use crate::waits::{CallPlaces, WaitSum, hides_releases, object_name};

/// Who is delayed for less does not starve.
const SHORTEST: u64 = 1_000_000;
/// One that comes in between is chance.
const FEWEST: u64 = 2;
/// Threads that are listed.
const MOST_LISTED: usize = 8;
/// Times that are looked through for those that a moment lies in.
const MANY: usize = 1024;
/// Times that are counted of one wait.
const MOST_COUNTED: usize = 1 << 20;

pub(super) fn find(about: &About<'_>) -> Result<Vec<Finding>, QueryError> {
    if hides_releases(about.process) {
        return Ok(Vec::new());
    }
    let meta = about.process.tables.meta();
    let is_long = |wait: &&WaitSpan| wait.kind() == WaitKind::ReadWriteLock && wait.duration() >= SHORTEST;
    let waits: Vec<&WaitSpan> = meta.waits.iter().filter(is_long).collect();
    let mut places = CallPlaces::of_waits(about.trace, about.process, waits.iter().copied())?;
    let mut by_lock: BTreeMap<u64, Vec<&HoldSpan>> = BTreeMap::new();
    for hold in meta.holds.iter().filter(|hold| hold.kind() == WaitKind::ReadWriteLock) {
        by_lock.entry(hold.object).or_default().push(hold);
    }
    let mut found = Vec::new();
    for wait in waits {
        let called = places.called(wait.thread, wait.seq).map(|it| about.name(it));
        let Some(purpose) = called.as_deref().and_then(Purpose::of_call) else { continue };
        let Some(holds) = by_lock.get(&wait.object) else { continue };
        let asked = |hold: &HoldSpan| {
            Ok(FrameSpan::read(&about.process.tables, hold.thread, hold.seq)?.map(|frame| frame.start()))
        };
        found.extend(overtaken(wait, purpose, holds, asked)?);
    }
    places.extend(CallPlaces::of_calls(
        about.trace,
        about.process,
        found.iter().map(|it: &Starved| (it.last.thread, it.last.seq)),
    )?);
    let mut by_place: BTreeMap<(FunctionIndex, Purpose), Sum> = BTreeMap::new();
    for it in found {
        if let Some(place) = places.get(it.wait.thread, it.wait.seq) {
            by_place.entry((place, it.purpose)).or_default().add(it, &places);
        }
    }
    Ok(by_place.into_iter().filter_map(|((place, purpose), sum)| finding(about, place, purpose, &sum)).collect())
}

/// What a lock was asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Purpose {
    Read,
    Write,
}

impl Purpose {
    fn of_call(name: &str) -> Option<Self> {
        match name {
            _ if name.contains("wrlock") => Some(Self::Write),
            _ if name.contains("rdlock") => Some(Self::Read),
            _ => None,
        }
    }

    fn verb(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Write => "write",
        }
    }

    /// Those that it is kept waiting by.
    fn others(self) -> &'static str {
        match self {
            Self::Read => "writers",
            Self::Write => "readers",
        }
    }
}

/// A wait whose thread was overtaken.
#[derive(Clone, Debug)]
struct Starved {
    wait: WaitSpan,
    purpose: Purpose,
    /// How often.
    times: u64,
    by: BTreeSet<ThreadIndex>,
    /// From when those were done that had come before, as far as they are known, until the last that came later was.
    delayed: u64,
    /// The last one that came later.
    last: HoldSpan,
}

/// Counts who overtook a wait. `holds` are those of the lock, by their starts; `asked` says when the call began that took it.
fn overtaken(
    wait: &WaitSpan,
    purpose: Purpose,
    holds: &[&HoldSpan],
    mut asked: impl FnMut(&HoldSpan) -> Result<Option<TraceNanos>, QueryError>,
) -> Result<Option<Starved>, QueryError> {
    let first = holds.partition_point(|hold| hold.start <= wait.start);
    let had_it = holds[..first].iter().rev().take(MANY).filter(|hold| hold.end > wait.start);
    let mut before = had_it.map(|hold| hold.end).max();
    let meanwhile = holds[first..].iter().take(MOST_COUNTED).take_while(|hold| hold.start < wait.end);
    let mut by = BTreeSet::new();
    let (mut times, mut last, mut first_start) = (0, None::<HoldSpan>, None);
    for hold in meanwhile.filter(|hold| hold.thread != wait.thread) {
        let is_other = (hold.is_shared == 1) == (purpose == Purpose::Write);
        // A thread's second call cannot have begun before its first one was over.
        let is_later = is_other && (by.contains(&hold.thread) || asked(hold)?.is_some_and(|at| at > wait.start));
        if !is_later {
            before = before.max(Some(hold.end));
            continue;
        }
        by.insert(hold.thread);
        times += 1;
        first_start = first_start.or(Some(hold.start));
        last = last.filter(|last| last.end >= hold.end).or(Some(**hold));
    }
    let from = before.max(first_start).unwrap_or(wait.end);
    let starved = last.map(|last| {
        let delayed = last.end.min(wait.end).since(from);
        Starved { wait: *wait, purpose, times, by, delayed, last }
    });
    Ok(starved.filter(|it| it.times >= FEWEST && it.delayed >= SHORTEST))
}

/// The waits of one function.
#[derive(Default)]
struct Sum {
    waits: u64,
    times: u64,
    delayed: u64,
    waiters: BTreeSet<ThreadIndex>,
    by: BTreeSet<ThreadIndex>,
    /// Where the others took the lock, with what that cost.
    taken_in: BTreeMap<FunctionIndex, u64>,
    worst: Option<Starved>,
}

impl Sum {
    fn add(&mut self, it: Starved, places: &CallPlaces) {
        self.waits += 1;
        self.times += it.times;
        self.delayed = self.delayed.saturating_add(it.delayed);
        self.waiters.insert(it.wait.thread);
        self.by.extend(it.by.iter().copied());
        if let Some(function) = places.get(it.last.thread, it.last.seq) {
            *self.taken_in.entry(function).or_default() += it.delayed;
        }
        if self.worst.as_ref().is_none_or(|worst| it.delayed > worst.delayed) {
            self.worst = Some(it);
        }
    }
}

fn finding(about: &About<'_>, place: FunctionIndex, purpose: Purpose, sum: &Sum) -> Option<Finding> {
    let process = about.process;
    let worst = sum.worst.as_ref()?;
    let (name, others) = (about.name(place), purpose.others());
    let object = object_name(process, &worst.wait).unwrap_or_default();
    let title = format!(
        "{name} waited {} to {} what rwlock {object} guards: {} times {others} that came later had it first",
        nanoseconds(worst.wait.duration()),
        purpose.verb(),
        worst.times
    );
    let taken_in = WaitSum::most(&sum.taken_in).map(|function| about.name(function));
    let mut rationale = format!(
        "In {} of its waits, {} {others} asked for the lock after it did and had it before, {} times in all; without them it would have \
         waited {} less, as far as those are known that had the lock before it asked.",
        sum.waits,
        sum.by.len(),
        sum.times,
        nanoseconds(sum.delayed)
    );
    rationale.extend(taken_in.as_ref().map(|it| format!(" They took it in {it}.")));
    rationale.push_str(match purpose {
        Purpose::Write => " The lock lets readers in while a writer waits.",
        Purpose::Read => " The lock goes from one writer to the next while readers wait.",
    });
    let share = (sum.delayed as f64 / about.lifetime().max(1) as f64).min(1.0);
    let mut finding = about.finding("lock_starvation", 45.0 + 30.0 * share, title, rationale);
    finding.evidence =
        vec![about.frame(worst.wait.thread, worst.wait.seq), about.frame(worst.last.thread, worst.last.seq)];
    let ids = |threads: &BTreeSet<ThreadIndex>| -> Vec<u32> {
        threads.iter().take(MOST_LISTED).map(|thread| process.thread_id(*thread).0).collect()
    };
    finding.facts = json!({
        "waits_to": purpose.verb(), "object": object, "waits": sum.waits, "overtaken": sum.times, "delayed_ns": sum.delayed,
        "longest_ns": worst.wait.duration(), "waiter_thread_ids": ids(&sum.waiters), "overtaker_thread_ids": ids(&sum.by),
        "taken_in": taken_in,
    });
    finding.function = Some(name);
    Some(finding)
}

#[cfg(test)]
mod tests {
    use super::*;
    use ada_event::EventSeq;

    const LOCK: u64 = 0x700;
    const MS: u64 = 1_000_000;

    fn hold(thread: u32, (start, end): (u64, u64), is_shared: u64) -> HoldSpan {
        HoldSpan {
            thread: ThreadIndex(thread),
            seq: EventSeq(start),
            start: TraceNanos(start * MS),
            end: TraceNanos(end * MS),
            object: LOCK,
            kind: WaitKind::ReadWriteLock as u64,
            is_shared,
        }
    }

    /// How often a wait from 10 to 50 ms is overtaken, and what it costs. Calls that take the lock last one millisecond.
    fn count(purpose: Purpose, holds: &[HoldSpan]) -> Option<(u64, u64)> {
        let wait = WaitSpan {
            thread: ThreadIndex(0),
            kind: WaitKind::ReadWriteLock as u64,
            object: LOCK,
            start: TraceNanos(10 * MS),
            end: TraceNanos(50 * MS),
            ..WaitSpan::default()
        };
        let asked = |hold: &HoldSpan| Ok(Some(TraceNanos(hold.start.0 - MS)));
        let found = overtaken(&wait, purpose, &holds.iter().collect::<Vec<_>>(), asked).unwrap();
        found.map(|it| (it.times, it.delayed / MS))
    }

    #[test]
    fn those_that_come_later_and_go_first_are_counted() {
        // The first has the lock, the second has asked before.
        let before = [hold(1, (5, 20), 1), hold(2, (11, 22), 1)];
        let later = [hold(1, (21, 30), 1), hold(2, (29, 40), 1), hold(1, (39, 49), 1)];
        assert_eq!(count(Purpose::Write, &[&before[..], &later].concat()), Some((3, 49 - 22)));
        // One that stays from the beginning to the end is who the writer waits for.
        let stays = hold(3, (4, 50), 1);
        assert_eq!(count(Purpose::Write, &[&[stays][..], &later].concat()), None);
        // None, or one, or others that do the same.
        assert_eq!(count(Purpose::Write, &before), None);
        assert_eq!(count(Purpose::Write, &[&before[..], &later[..1]].concat()), None);
        assert_eq!(count(Purpose::Read, &[&before[..], &later].concat()), None);
    }

    #[test]
    fn writers_that_hand_the_lock_on_keep_readers_waiting() {
        let holds = [hold(1, (5, 20), 0), hold(2, (20, 30), 0), hold(1, (30, 40), 0), hold(2, (40, 50), 0)];
        assert_eq!(count(Purpose::Read, &holds), Some((3, 30)));
        assert_eq!(count(Purpose::Write, &holds), None);
    }
}
