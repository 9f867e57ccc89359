//! Priority inversions: a thread waits for a lock, and who has it goes before it in nothing, and cannot run, because others do.
//!
//! It takes a stretch of time in which a thread certainly had the lock; a wait of a thread with a higher priority for it meanwhile; and that
//! the kernel says that the one with the lock could have run then, and did not. Locks that hand on their waiters' priorities are left out.

use std::collections::{BTreeMap, HashMap};

use ada_event::{ThreadId, TraceNanos};
use ada_format::atf::{SeenPriority, read_priorities};
use ada_span::state::ThreadState;
use ada_span::table::FunctionIndex;
use ada_span::wait::{HoldSpan, WaitKind, WaitSpan};
use serde_json::json;

use super::{About, Finding, nanoseconds};
use crate::error::QueryError;
use crate::waits::{CallPlaces, hides_releases};

/// Shorter times are not worth a word.
const SHORTEST: u64 = 500_000;
/// Holds that are looked through for those that a wait was for.
const MANY: usize = 256;

/// One of them.
#[derive(Clone, Copy)]
struct Inverted {
    wait: WaitSpan,
    hold: HoldSpan,
    ready_ns: u64,
    waiter: SeenPriority,
    holder: SeenPriority,
}

pub(super) fn find(about: &About<'_>) -> Result<Vec<Finding>, QueryError> {
    let process = about.process;
    let seen = Priorities::of(read_priorities(&about.trace.recorded(process).path));
    if hides_releases(process) || seen.0.is_empty() {
        return Ok(Vec::new());
    }
    let meta = process.tables.meta();
    let mut by_lock: HashMap<u64, Vec<&HoldSpan>> = HashMap::new();
    for hold in meta.holds.iter().filter(|hold| hold.is_shared == 0) {
        by_lock.entry(hold.object).or_default().push(hold);
    }
    let mut found: Vec<Inverted> = Vec::new();
    let is_lock = |wait: &&WaitSpan| matches!(wait.kind(), WaitKind::Mutex | WaitKind::ReadWriteLock);
    for wait in meta.waits.iter().filter(is_lock).filter(|wait| wait.inherits != 1) {
        let holds = by_lock.get(&wait.object).map_or(&[][..], Vec::as_slice);
        let begun = &holds[..holds.partition_point(|hold| hold.start < wait.end)];
        for hold in begun.iter().rev().take(MANY).filter(|it| it.end > wait.start && it.thread != wait.thread) {
            let (start, end) = (wait.start.max(hold.start), wait.end.min(hold.end));
            let of = |thread| seen.during(process.thread_id(thread), start, end);
            let (Some(waiter), Some(holder)) = (of(wait.thread), of(hold.thread)) else { continue };
            let is_higher = waiter.rank().zip(holder.rank()).is_some_and(|(waiter, holder)| waiter > holder);
            let Some(states) = process.thread_states(hold.thread).filter(|_| is_higher) else { continue };
            let ready_ns = states.between(start, end).of(ThreadState::Ready);
            if ready_ns >= SHORTEST {
                found.push(Inverted { wait: *wait, hold: **hold, ready_ns, waiter, holder });
            }
        }
    }
    let calls = found.iter().flat_map(|it| [(it.hold.thread, it.hold.seq), (it.wait.thread, it.wait.seq)]);
    let places = CallPlaces::of_calls(about.trace, process, calls)?;
    let mut by_place: BTreeMap<Option<FunctionIndex>, Vec<Inverted>> = BTreeMap::new();
    for it in found {
        by_place.entry(places.get(it.hold.thread, it.hold.seq)).or_default().push(it);
    }
    Ok(by_place.into_iter().filter_map(|(place, list)| finding(about, place, &list, &places)).collect())
}

fn finding(about: &About<'_>, place: Option<FunctionIndex>, list: &[Inverted], places: &CallPlaces) -> Option<Finding> {
    let process = about.process;
    let worst = list.iter().max_by_key(|it| it.ready_ns)?;
    let total = list.iter().fold(0_u64, |sum, it| sum.saturating_add(it.ready_ns));
    let (waiter, holder) = (process.thread_id(worst.wait.thread), process.thread_id(worst.hold.thread));
    let name = |function: Option<FunctionIndex>| function.map_or_else(|| "a function".to_owned(), |it| about.name(it));
    let (taken, waited) = (name(place), name(places.get(worst.wait.thread, worst.wait.seq)));
    let title = format!(
        "{waited}, with {}, waited for a lock that {taken} had taken with {}, which could not run for {} of that",
        worst.waiter.written(),
        worst.holder.written(),
        nanoseconds(total)
    );
    let rationale = format!(
        "{} waits. The worst one: thread {waiter} ({}) waited for {} {:#x}; thread {holder} ({}) had it, was ready to run for {} meanwhile, and others had the processors.",
        list.len(),
        worst.waiter.written(),
        worst.hold.kind(),
        worst.hold.object,
        worst.holder.written(),
        nanoseconds(worst.ready_ns),
    );
    let share = (total as f64 / about.lifetime().max(1) as f64).min(1.0);
    let mut finding = about.finding("priority_inversion", 60.0 + 25.0 * share, title, rationale);
    finding.evidence =
        vec![about.frame(worst.wait.thread, worst.wait.seq), about.frame(worst.hold.thread, worst.hold.seq)];
    finding.facts = json!({
        "waits": list.len(), "ready_ns": total, "object": format!("{:#x}", worst.hold.object),
        "waiter_thread_id": waiter.0, "holder_thread_id": holder.0,
        "waiter_priority": worst.waiter.written(), "holder_priority": worst.holder.written(),
        "waited_in": waited, "taken_in": taken,
    });
    finding.function = place.map(|it| about.name(it));
    Some(finding)
}

/// What threads were seen to have, in the order of time.
struct Priorities(HashMap<ThreadId, Vec<SeenPriority>>);

impl Priorities {
    fn of(seen: Vec<SeenPriority>) -> Self {
        let mut by_thread: HashMap<ThreadId, Vec<SeenPriority>> = HashMap::new();
        seen.into_iter().for_each(|it| by_thread.entry(it.thread).or_default().push(it));
        by_thread.values_mut().for_each(|list| list.sort_by_key(|it| it.from));
        Self(by_thread)
    }

    /// What a thread had between two moments: what it had at the last look before, at the first one after and at all between, where these are
    /// the same. A thread that was looked at on one side alone had that as far as is known.
    fn during(&self, thread: ThreadId, start: TraceNanos, end: TraceNanos) -> Option<SeenPriority> {
        let list = self.0.get(&thread)?;
        let first = list.partition_point(|it| it.to <= start).saturating_sub(1);
        let behind = (list.partition_point(|it| it.from <= end) + 1).min(list.len());
        let around = list.get(first..behind)?;
        let one = around.first()?;
        let is_same = |it: &SeenPriority| (it.policy, it.realtime, it.nice) == (one.policy, one.realtime, one.nice);
        around.iter().all(is_same).then_some(*one)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_changed_meanwhile_is_not_known() {
        let seen = |at: u64, nice| SeenPriority {
            from: TraceNanos(at),
            to: TraceNanos(at + 1),
            thread: ThreadId(7),
            policy: 0,
            realtime: 0,
            nice,
        };
        let all = Priorities::of(vec![seen(50, 5), seen(10, 0), seen(20, 0)]);
        let nice = |start, end| all.during(ThreadId(7), TraceNanos(start), TraceNanos(end)).map(|it| it.nice);
        assert_eq!((nice(12, 15), nice(1, 5), nice(60, 70)), (Some(0), Some(0), Some(5)));
        // It is another one at the next look.
        assert_eq!((nice(25, 30), nice(15, 60)), (None, None));
        assert!(all.during(ThreadId(8), TraceNanos(1), TraceNanos(2)).is_none());
    }
}
