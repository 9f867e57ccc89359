//! Locks that their holders kept while they slept, or waited for input, and others waited for the lock.
//!
//! It takes a stretch of time in which a thread certainly had the lock, a sleep of that thread inside it, and waits of others for the
//! same lock meanwhile. Who those asked first, and who woke them in the end, does not matter: where many stand in line, others
//! have had the lock in between.

use std::collections::{BTreeMap, BTreeSet};

use ada_event::EventSeq;
use ada_span::ThreadIndex;
use ada_span::table::FunctionIndex;
use ada_span::wait::{HoldSpan, WaitKind, WaitSpan};
use serde_json::json;

use super::{About, Finding, nanoseconds};
use crate::error::QueryError;
use crate::waits::{CallPlaces, WaitSum, hides_releases};

/// Shorter times that others waited meanwhile are not worth a word.
const SHORTEST: u64 = 1_000_000;
/// Addresses and threads that are listed.
const MOST_LISTED: usize = 8;

pub(super) fn find(about: &About<'_>) -> Result<Vec<Finding>, QueryError> {
    if hides_releases(about.process) {
        return Ok(Vec::new());
    }
    let meta = about.process.tables.meta();
    let found = sleeps_with_locks(&meta.waits, &meta.holds);
    let calls = found.iter().flat_map(|it| [(it.hold.thread, it.hold.seq), (it.hold.thread, it.sleep)]);
    let places = CallPlaces::of_calls(about.trace, about.process, calls)?;
    let mut by_place: BTreeMap<FunctionIndex, Sum> = BTreeMap::new();
    for it in &found {
        if let Some(place) = places.get(it.hold.thread, it.hold.seq) {
            by_place.entry(place).or_default().add(it, &places);
        }
    }
    let is_long = |(_, sum): &(FunctionIndex, Sum)| sum.total_ns >= SHORTEST;
    Ok(by_place.into_iter().filter(is_long).map(|(place, sum)| finding(about, place, &sum)).collect())
}

/// A sleep with a lock that others waited for.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Asleep {
    hold: HoldSpan,
    /// The call that slept.
    sleep: EventSeq,
    /// Who waited meanwhile, and for how long.
    waited: Vec<(ThreadIndex, u64)>,
}

/// Finds them. Waits and holds are in the order of their starts.
fn sleeps_with_locks(waits: &[WaitSpan], holds: &[HoldSpan]) -> Vec<Asleep> {
    let mut sleeps: BTreeMap<ThreadIndex, Vec<&WaitSpan>> = BTreeMap::new();
    let mut by_object: BTreeMap<(u64, u64), Vec<&WaitSpan>> = BTreeMap::new();
    for wait in waits {
        match wait.kind() {
            WaitKind::Sleep | WaitKind::Input | WaitKind::Signal => sleeps.entry(wait.thread).or_default().push(wait),
            WaitKind::Mutex | WaitKind::ReadWriteLock => {
                by_object.entry((wait.kind, wait.object)).or_default().push(wait);
            }
            _ => {}
        }
    }
    let mut inside: BTreeMap<(u64, u64), Vec<(&WaitSpan, &HoldSpan)>> = BTreeMap::new();
    for hold in holds {
        let Some(of_thread) = sleeps.get(&hold.thread) else { continue };
        let first = of_thread.partition_point(|sleep| sleep.start < hold.start);
        let slept = of_thread[first..].iter().take_while(|sleep| sleep.start < hold.end);
        inside.entry((hold.kind, hold.object)).or_default().extend(slept.map(|sleep| (*sleep, hold)));
    }
    let mut found = Vec::new();
    for (object, mut slept) in inside {
        slept.sort_by_key(|(sleep, _)| sleep.start);
        let mut coming = by_object.get(&object).into_iter().flatten().copied().peekable();
        // Those that stand in line.
        let mut line: Vec<&WaitSpan> = Vec::new();
        for (sleep, hold) in slept {
            let until = sleep.end.min(hold.end);
            while let Some(wait) = coming.next_if(|wait| wait.start < until) {
                line.push(wait);
            }
            line.retain(|wait| wait.end > sleep.start);
            let others = line.iter().filter(|wait| wait.thread != hold.thread);
            let overlap = |wait: &WaitSpan| wait.end.min(until).since(wait.start.max(sleep.start));
            let waited: Vec<_> = others.map(|wait| (wait.thread, overlap(wait))).filter(|(_, ns)| *ns > 0).collect();
            if !waited.is_empty() {
                found.push(Asleep { hold: *hold, sleep: sleep.seq, waited });
            }
        }
    }
    found
}

/// What others waited for the sleeps of one function.
#[derive(Default)]
struct Sum {
    sleeps: u64,
    total_ns: u64,
    /// How many waited at most at a time.
    most: usize,
    waiters: BTreeSet<ThreadIndex>,
    holders: BTreeSet<ThreadIndex>,
    objects: BTreeSet<u64>,
    /// What was called to sleep, and by which function of the program's own, with the time that others waited.
    slept_in: BTreeMap<FunctionIndex, u64>,
    slept_from: BTreeMap<FunctionIndex, u64>,
    /// The one that others waited for longest.
    longest: Option<(u64, Asleep)>,
}

impl Sum {
    fn add(&mut self, it: &Asleep, places: &CallPlaces) {
        let waited = it.waited.iter().fold(0_u64, |sum, (_, ns)| sum.saturating_add(*ns));
        self.sleeps += 1;
        self.total_ns = self.total_ns.saturating_add(waited);
        self.most = self.most.max(it.waited.len());
        self.waiters.extend(it.waited.iter().map(|(thread, _)| *thread));
        self.holders.insert(it.hold.thread);
        self.objects.insert(it.hold.object);
        let call = (it.hold.thread, it.sleep);
        for (list, function) in
            [(&mut self.slept_in, places.called(call.0, call.1)), (&mut self.slept_from, places.get(call.0, call.1))]
        {
            if let Some(function) = function {
                *list.entry(function).or_default() += waited;
            }
        }
        if self.longest.as_ref().is_none_or(|(longest, _)| waited > *longest) {
            self.longest = Some((waited, it.clone()));
        }
    }
}

fn finding(about: &About<'_>, place: FunctionIndex, sum: &Sum) -> Finding {
    let process = about.process;
    let name = about.name(place);
    let most = |list| WaitSum::most(list).map(|function| about.name(function));
    let (slept_in, slept_from) = (most(&sum.slept_in), most(&sum.slept_from));
    let call = slept_in.clone().unwrap_or_else(|| "a call".to_owned());
    let title = format!(
        "{name} took a lock and slept in {call} with it, while {} waited for it, {} in all",
        if sum.most > 1 { format!("up to {} threads", sum.most) } else { "another thread".to_owned() },
        nanoseconds(sum.total_ns)
    );
    let ids = |threads: &BTreeSet<ThreadIndex>| -> Vec<u32> {
        threads.iter().take(MOST_LISTED).map(|thread| process.thread_id(*thread).0).collect()
    };
    let objects: Vec<String> = sum.objects.iter().take(MOST_LISTED).map(|object| format!("{object:#x}")).collect();
    let threads = |count: usize| if count == 1 { "1 thread".to_owned() } else { format!("{count} threads") };
    let mut rationale = format!(
        "{} for input or output of {}, with a lock taken in {name}; {} waited for it meanwhile.",
        if sum.sleeps == 1 { "1 sleep or wait".to_owned() } else { format!("{} sleeps or waits", sum.sleeps) },
        threads(sum.holders.len()),
        threads(sum.waiters.len())
    );
    if let Some((waited, it)) = &sum.longest {
        let kind = it.hold.kind();
        let (id, object) = (process.thread_id(it.hold.thread), it.hold.object);
        rationale.push_str(&format!(
            " The worst one: thread {id} slept with {kind} {object:#x}, and others waited {} for that.",
            nanoseconds(*waited)
        ));
    }
    let share = (sum.total_ns as f64 / about.lifetime().max(1) as f64).min(1.0);
    let mut finding = about.finding("lock_held_asleep", 45.0 + 30.0 * share, title, rationale);
    let longest = sum.longest.iter();
    finding.evidence =
        longest.flat_map(|(_, it)| [it.hold.seq, it.sleep].map(|seq| about.frame(it.hold.thread, seq))).collect();
    finding.facts = json!({
        "sleeps": sum.sleeps, "total_ns": sum.total_ns, "most_waiters_at_once": sum.most,
        "waiters": sum.waiters.len(), "waiter_thread_ids": ids(&sum.waiters), "holder_thread_ids": ids(&sum.holders),
        "objects": objects, "slept_in": slept_in, "slept_from": slept_from,
    });
    finding.function = Some(name);
    finding
}

#[cfg(test)]
mod tests {
    use super::*;
    use ada_event::TraceNanos;

    fn wait(thread: u32, kind: WaitKind, object: u64, (start, end): (u64, u64)) -> WaitSpan {
        let (start, end) = (TraceNanos(start), TraceNanos(end));
        WaitSpan {
            thread: ThreadIndex(thread),
            seq: EventSeq(start.0),
            kind: kind as u64,
            object,
            start,
            end,
            ..WaitSpan::default()
        }
    }

    fn hold(thread: u32, object: u64, (start, end): (u64, u64)) -> HoldSpan {
        let (start, end) = (TraceNanos(start), TraceNanos(end));
        let kind = WaitKind::Mutex as u64;
        HoldSpan { thread: ThreadIndex(thread), seq: EventSeq(start.0), start, end, object, kind, is_shared: 0 }
    }

    /// The thread that slept, when, and who waited how long.
    type Short = (u32, u64, Vec<(u32, u64)>);

    fn found(waits: &[WaitSpan], holds: &[HoldSpan]) -> Vec<Short> {
        let short =
            |it: Asleep| (it.hold.thread.0, it.sleep.0, it.waited.iter().map(|(thread, ns)| (thread.0, *ns)).collect());
        sleeps_with_locks(waits, holds).into_iter().map(short).collect()
    }

    /// The third one waits while the first and then the second have the lock.
    #[test]
    fn in_a_convoy_each_holder_that_sleeps_is_found() {
        let waits = [
            wait(1, WaitKind::Sleep, 0, (10, 20)),
            wait(2, WaitKind::Mutex, 7, (12, 22)),
            wait(3, WaitKind::Mutex, 7, (15, 42)),
            wait(2, WaitKind::Input, 0, (25, 40)),
        ];
        let holds = [hold(1, 7, (5, 21)), hold(2, 7, (22, 41))];
        assert_eq!(found(&waits, &holds), [(1, 10, vec![(2, 8), (3, 5)]), (2, 25, vec![(3, 15)])]);
    }

    #[test]
    fn a_sleep_without_the_lock_is_none() {
        let waits = [
            wait(1, WaitKind::Sleep, 0, (2, 9)),
            wait(2, WaitKind::Mutex, 7, (3, 40)),
            wait(1, WaitKind::Sleep, 0, (25, 40)),
            wait(3, WaitKind::Mutex, 8, (30, 35)),
        ];
        // It sleeps before and after; and nobody waits for the other lock while it sleeps with that.
        let holds = [hold(1, 7, (10, 21)), hold(1, 8, (24, 26))];
        assert_eq!(found(&waits, &holds), []);
    }
}
