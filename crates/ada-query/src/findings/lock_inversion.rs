//! Locks that two threads took in opposite orders, and that did not make them wait for ever this time.
//!
//! An order is known where a thread certainly had one lock when it took or asked for another without a time limit. Most locks that
//! are taken are not known by address, so that most orders are not known; none that is named here is a guess.

use std::collections::{BTreeMap, BTreeSet};

use ada_event::{EventSeq, TraceNanos};
use ada_span::ThreadIndex;
use ada_span::pthread::PthreadSpan;
use ada_span::wait::{HoldSpan, WaitKind, WaitSpan};
use serde_json::json;

use super::{About, Finding, nanoseconds};
use crate::error::QueryError;
use crate::waits::{CallPlaces, deadlocks, hides_releases};

/// Times that two locks were taken in one order, by one thread and by all, that are looked at.
const MOST_OF_THREAD: usize = 4;
const MOST_TIMES: usize = 64;
/// Pairs of locks that are told.
const MOST_FOUND: usize = 20;
/// Locks that a thread is believed to have at a time.
const MOST_HELD: usize = 64;

pub(super) fn find(about: &About<'_>) -> Result<Vec<Finding>, QueryError> {
    let meta = about.process.tables.meta();
    if hides_releases(about.process) {
        return Ok(Vec::new());
    }
    let circles = deadlocks(about.trace, about.number);
    let stuck: Vec<BTreeSet<u64>> =
        circles.iter().map(|circle| circle.waits_in(about.number).map(|wait| wait.object).collect()).collect();
    let mut found = inversions(&meta.holds, &meta.waits, &meta.pthreads);
    // What has become a deadlock is told as one.
    found.retain(|[one, _]| !stuck.iter().any(|stuck| stuck.contains(&one.first) && stuck.contains(&one.second)));
    found.truncate(MOST_FOUND);
    let calls = found.iter().flatten().flat_map(|it| [(it.thread, it.first_seq), (it.thread, it.second_seq)]);
    let places = CallPlaces::of_calls(about.trace, about.process, calls)?;
    Ok(found.iter().map(|pair| finding(about, pair, &places)).collect())
}

/// A thread had the first lock when it asked for the second.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Order {
    first: u64,
    second: u64,
    thread: ThreadIndex,
    first_seq: EventSeq,
    second_seq: EventSeq,
    /// When it asked, or had both.
    time: TraceNanos,
    /// What else it had.
    others: BTreeSet<u64>,
}

/// Pairs of orders of two threads, one for each pair of locks.
fn inversions(holds: &[HoldSpan], waits: &[WaitSpan], lives: &[PthreadSpan]) -> Vec<[Order; 2]> {
    let mut by_locks: BTreeMap<(u64, u64), Vec<Order>> = BTreeMap::new();
    for_each_order(holds, waits, |order| {
        let times = by_locks.entry((order.first, order.second)).or_default();
        let of_thread = times.iter().filter(|it| it.thread == order.thread).count();
        if of_thread < MOST_OF_THREAD && times.len() < MOST_TIMES {
            times.push(order);
        }
    });
    let mut found = Vec::new();
    for ((first, second), one_way) in by_locks.range(..).filter(|((first, second), _)| first < second) {
        let Some(other_way) = by_locks.get(&(*second, *first)) else { continue };
        let pairs = one_way.iter().flat_map(|one| other_way.iter().map(move |other| (one, other)));
        let mut pairs = pairs.filter(|(one, other)| may_meet(one, other, lives));
        found.extend(pairs.next().map(|(one, other)| [one.clone(), other.clone()]));
    }
    found
}

/// Whether two threads can have done so at the same time, as far as is known: both were there both times, and had no other lock in
/// common.
fn may_meet(one: &Order, other: &Order, lives: &[PthreadSpan]) -> bool {
    let was_there = |thread, time| lives.iter().any(|it| it.thread == thread && it.start <= time && time <= it.end);
    one.thread != other.thread
        && one.others.is_disjoint(&other.others)
        && was_there(one.thread, other.time)
        && was_there(other.thread, one.time)
}

/// What each thread asked for while it had something.
fn for_each_order(holds: &[HoldSpan], waits: &[WaitSpan], mut found: impl FnMut(Order)) {
    let is_lock = |wait: &&WaitSpan| wait.kind() == WaitKind::Mutex && wait.is_timed == 0;
    let taken = holds.iter().filter(|hold| hold.kind() == WaitKind::Mutex);
    let asked = waits.iter().filter(is_lock).map(|wait| (wait.start, wait.thread, wait.seq, wait.object, None));
    let got = taken.map(|hold| (hold.start, hold.thread, hold.seq, hold.object, Some(hold)));
    let mut steps: Vec<_> = asked.chain(got).collect();
    steps.sort_by_key(|(time, thread, ..)| (*thread, *time));
    let mut held: Vec<&HoldSpan> = Vec::new();
    for (time, thread, seq, object, hold) in steps {
        held.retain(|held| held.thread == thread && held.end > time);
        // Who has it already, and may take it again, comes to no new order.
        if !held.iter().any(|held| held.object == object) {
            let objects: BTreeSet<u64> = held.iter().map(|held| held.object).collect();
            for first in &held {
                let mut others = objects.clone();
                others.remove(&first.object);
                let (first_seq, second_seq, first) = (first.seq, seq, first.object);
                found(Order { first, second: object, thread, first_seq, second_seq, time, others });
            }
        }
        if held.len() < MOST_HELD {
            held.extend(hold);
        }
    }
}

fn finding(about: &About<'_>, pair: &[Order; 2], places: &CallPlaces) -> Finding {
    let process = about.process;
    let place = |order: &Order, seq| places.name(process, order.thread, seq);
    let sentence = |order: &Order| {
        let [first, second] = [order.first_seq, order.second_seq]
            .map(|seq| place(order, seq).map(|place| format!(" (in {place})")).unwrap_or_default());
        format!(
            "thread {} had mutex {:#x}{first} and asked for {:#x}{second} at {}",
            process.thread_id(order.thread),
            order.first,
            order.second,
            nanoseconds(order.time.since(about.trace.start()))
        )
    };
    let [one, other] = pair;
    let name = |order: &Order| place(order, order.second_seq).unwrap_or_else(|| "nobody known".to_owned());
    let title = format!(
        "mutexes {:#x} and {:#x} are taken in both orders, by {} and by {}",
        one.first,
        one.second,
        name(one),
        name(other)
    );
    let rationale = format!(
        "{}; {}. If both happen at once, each waits for the other for ever. It did not come to that here, and something that is \
         not recorded may keep them apart. Locks are known by their addresses: memory that was freed and used again would be \
         another lock.",
        sentence(one),
        sentence(other)
    );
    let mut finding = about.finding("lock_inversion", 70.0, title, rationale);
    finding.function = place(one, one.second_seq);
    finding.evidence = pair.iter().map(|order| about.frame(order.thread, order.second_seq)).collect();
    let facts = |order: &Order| {
        json!({
            "thread_id": process.thread_id(order.thread).0,
            "first": format!("{:#x}", order.first), "second": format!("{:#x}", order.second),
            "first_function": place(order, order.first_seq), "second_function": place(order, order.second_seq),
            "at_ns": order.time.0,
        })
    };
    finding.facts = json!({ "orders": pair.iter().map(facts).collect::<Vec<_>>() });
    finding
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hold(thread: u32, object: u64, (start, end): (u64, u64)) -> HoldSpan {
        let (start, end) = (TraceNanos(start), TraceNanos(end));
        let kind = WaitKind::Mutex as u64;
        HoldSpan { thread: ThreadIndex(thread), seq: EventSeq(start.0), start, end, object, kind, is_shared: 0 }
    }

    fn wait(thread: u32, object: u64, start: u64) -> WaitSpan {
        WaitSpan {
            thread: ThreadIndex(thread),
            seq: EventSeq(start),
            kind: WaitKind::Mutex as u64,
            is_timed: 0,
            object,
            start: TraceNanos(start),
            end: TraceNanos(start + 1),
            ..WaitSpan::default()
        }
    }

    fn lives(of: &[(u32, u64, u64)]) -> Vec<PthreadSpan> {
        let life = |&(thread, start, end): &(u32, u64, u64)| PthreadSpan {
            thread: ThreadIndex(thread),
            start: TraceNanos(start),
            end: TraceNanos(end),
            ..PthreadSpan::default()
        };
        of.iter().map(life).collect()
    }

    const BOTH: [(u32, u64, u64); 2] = [(1, 0, 100), (2, 0, 100)];

    fn threads(holds: &[HoldSpan], waits: &[WaitSpan], of: &[(u32, u64, u64)]) -> Vec<[u32; 2]> {
        inversions(holds, waits, &lives(of)).iter().map(|pair| [pair[0].thread.0, pair[1].thread.0]).collect()
    }

    #[test]
    fn two_threads_with_two_orders_are_found_by_takes_and_by_waits() {
        let one = [hold(1, 7, (10, 30)), hold(1, 8, (20, 30))];
        let other = [hold(2, 8, (40, 60)), hold(2, 7, (50, 60))];
        let all = [&one[..], &other].concat();
        assert_eq!(threads(&all, &[], &BOTH), [[1, 2]]);
        // The second one asked, and it is not known that it got it.
        assert_eq!(threads(&[&one[..], &other[..1]].concat(), &[wait(2, 7, 50)], &BOTH), [[1, 2]]);
        let timed = WaitSpan { is_timed: 1, ..wait(2, 7, 50) };
        assert!(threads(&[&one[..], &other[..1]].concat(), &[timed], &BOTH).is_empty());
    }

    #[test]
    fn what_is_no_inversion_is_not_found() {
        let one = [hold(1, 7, (10, 30)), hold(1, 8, (20, 30))];
        // The same order, the same thread, one behind the other, and a lock that it has already.
        let others: [&[HoldSpan]; 4] = [
            &[hold(2, 7, (40, 60)), hold(2, 8, (50, 60))],
            &[hold(1, 8, (40, 60)), hold(1, 7, (50, 60))],
            &[hold(2, 8, (40, 50)), hold(2, 7, (50, 60))],
            &[hold(2, 7, (35, 60)), hold(2, 8, (40, 60)), hold(2, 7, (50, 55))],
        ];
        for other in others {
            assert!(threads(&[&one[..], other].concat(), &[], &BOTH).is_empty(), "{other:?}");
        }
    }

    #[test]
    fn what_cannot_meet_is_not_found() {
        let one = [hold(1, 7, (10, 30)), hold(1, 8, (20, 30))];
        let other = [hold(2, 8, (40, 60)), hold(2, 7, (50, 60))];
        let all = [&one[..], &other].concat();
        // The second thread was made later.
        assert!(threads(&all, &[], &[(1, 0, 100), (2, 35, 100)]).is_empty());
        // Both take a third lock first.
        let gates = [hold(1, 9, (5, 31)), hold(2, 9, (35, 61))];
        let mut gated = [&all[..], &gates].concat();
        gated.sort_by_key(|hold| hold.start);
        assert!(threads(&gated, &[], &BOTH).is_empty());
    }
}
