//! Threads that waited long, or for ever, and that asked for input or output too often.

use std::collections::BTreeMap;

use ada_span::ThreadIndex;
use ada_span::table::FunctionIndex;
use ada_span::wait::{Doubt, WaitKind, WaitSpan};
use serde_json::json;

use super::disturbed::children_waited_for_hooks;
use super::pairs::Wait;
use super::survey::{NOBODY, Survey, Waited};
use super::{About, Finding, nanoseconds};
use crate::error::QueryError;
use crate::waits::CallPlaces;

/// A wait that is this share of the process's life, in percent, is worth a look.
const LONG_SHARE: u64 = 5;
/// One that is this share of it, in percent, is all that its thread does.
const WHOLE_LIFE: u64 = 90;
/// Shorter waits never are.
const SHORTEST: u64 = 1_000_000;
/// So many reads or writes are too many, where they take long in all.
const MANY: u64 = 10_000;
/// How much they matter, if they take next to none of the process's life.
const CHATTY: f64 = 50.0;

pub(super) fn find(about: &About<'_>, survey: &Survey) -> Result<Vec<Finding>, QueryError> {
    let holders = Holders::of(about)?;
    let life = about.lifetime().max(1);
    let stuck_on_locks: u64 =
        survey.waits.iter().filter(|((_, wait), _)| *wait == Wait::Lock).map(|(_, it)| it.unfinished).sum();
    let exit = about.trace.manifest(about.process).and_then(|it| it.exit.as_ref());
    let what_ended = if exit.is_some() { "process" } else { "recording" };
    let exit_code = exit.and_then(|it| it.code);
    // A program that comes to its end has not hung; threads that wait then were a pool's, or a runtime's.
    let (has_exited, came_to_an_end) = (exit_code.is_some(), exit_code == Some(0));
    let mut found = Vec::new();
    // How long a library's own threads wait for work says nothing.
    let is_of_interest = |own, wait| own != NOBODY || wait == Wait::Lock;
    for (&(own, wait), waited) in survey.waits.iter().filter(|((own, wait), _)| is_of_interest(*own, *wait)) {
        let who = if own == NOBODY { "a library".to_owned() } else { about.name(own) };
        let facts = json!({
            "waits_for": wait.words(), "count": waited.count, "total_ns": waited.total_ns,
            "spent_ns": waited.spent_ns, "longest_ns": waited.longest.0, "unfinished": waited.unfinished,
            "process_exited": has_exited,
        });
        let (duration, thread, seq) = waited.longest_unfinished;
        // A trace that does not say for how long the process lived ends with its last event, and threads that wait for each other
        // make none: for a lock, that it was waited for at the end is enough.
        let is_long = duration >= SHORTEST && duration.saturating_mul(100) / life >= LONG_SHARE;
        if waited.unfinished > 0 && (wait == Wait::Lock || is_long && !came_to_an_end) {
            // Pools wait for work until the end; a lock that never comes is another matter.
            let score = match wait {
                Wait::Lock if has_exited => 50.0,
                Wait::Lock => 95.0,
                Wait::Thread => 55.0,
                Wait::Condition | Wait::Signal | Wait::Child => 50.0,
                Wait::Input => 45.0,
                Wait::Events => 32.0,
                Wait::Sleep => 30.0,
            };
            let by_then = if is_long { format!(", {} by then", nanoseconds(duration)) } else { String::new() };
            let title = format!("{who} waited for {} when the {what_ended} ended{by_then}", wait.words());
            let mut rationale = format!("{} of its waits never ended. ", waited.unfinished);
            rationale.push_str(match wait {
                Wait::Lock if stuck_on_locks > 1 => {
                    "Several threads wait for locks at the end: they may hold what the others wait for (a deadlock). Look at what each of them locked before."
                }
                Wait::Lock if has_exited => {
                    "Whoever holds the lock did not let go of it. The process exited all the same: some programs, as redis, have threads wait this way until there is work."
                }
                Wait::Lock => "Whoever holds the lock did not let go of it. Look at who locked it last.",
                _ => "This is usual for a pool of threads, and a hang where something was to come.",
            });
            if wait == Wait::Lock {
                rationale.push_str(&holders.sentence(about, own));
            }
            let mut finding = about.finding("hang", score, title, rationale);
            finding.function = (own != NOBODY).then_some(who);
            finding.evidence = vec![about.frame(thread, seq)];
            finding.facts = facts;
            found.push(finding);
            continue;
        }
        let (duration, thread, seq) = waited.longest;
        let is_long = |time: u64| time >= SHORTEST && time.saturating_mul(100) / life >= LONG_SHARE;
        // A thread that is there for what may come once, as for a signal, or for the end, waits for as long as the process lives.
        let waits_for_the_end =
            matches!(wait, Wait::Condition | Wait::Signal) && duration.saturating_mul(100) / life >= WHOLE_LIFE;
        if is_long(waited.total_ns) && wait != Wait::Events && !waits_for_the_end {
            let share = (waited.total_ns as f64 / life as f64).min(1.0);
            let base = match wait {
                // Threads that stand in line for a lock do nothing at all.
                Wait::Lock => 60.0,
                // Byte by byte.
                Wait::Input if waited.count >= MANY => CHATTY,
                Wait::Input | Wait::Child | Wait::Sleep => 35.0,
                Wait::Condition | Wait::Signal => 25.0,
                Wait::Thread => 15.0,
                Wait::Events => 5.0,
            };
            let calls = match (waited.slept, waited.count) {
                (1, 1) => "one call".to_owned(),
                (slept, count) if slept == count => format!("{count} calls"),
                (slept, count) => format!("{slept} of {count} calls"),
            };
            let title = format!("{who} waited {} for {} in {calls}", nanoseconds(waited.total_ns), wait.words());
            let mut rationale = format!(
                "That is {:.0} % of the process's life (over all threads); the longest wait took {}.",
                waited.total_ns as f64 / life as f64 * 100.0,
                nanoseconds(duration)
            );
            if wait == Wait::Input && waited.unknown > 0 {
                rationale.push_str(
                    " For how long the threads slept in these calls is not known: the whole of them is counted.",
                );
            }
            match wait {
                Wait::Lock => rationale.push_str(&holders.sentence(about, own)),
                _ => rationale.push_str(&waker_sentence(about, waited)),
            }
            // Not what the program is like: ada took that time.
            let may_be = matches!(wait, Wait::Child | Wait::Input);
            let hooked = if may_be { children_waited_for_hooks(about) } else { 0 };
            let base = if hooked.saturating_mul(2) > waited.total_ns { 0.0 } else { base };
            if hooked.saturating_mul(10) > waited.total_ns {
                rationale.push_str(&format!(
                    " Programs that it ran, and their children, waited {} in all to be hooked.",
                    nanoseconds(hooked)
                ));
            }
            let mut finding = about.finding("long_wait", base + 15.0 * share, title, rationale);
            finding.function = (own != NOBODY).then_some(who);
            finding.evidence = vec![about.frame(thread, seq)];
            finding.facts = facts;
            found.push(finding);
        } else if wait == Wait::Input && waited.count >= MANY && is_long(waited.spent_ns) {
            let share = waited.spent_ns as f64 / life as f64;
            let title =
                format!("{who} spent {} in {} calls for input or output", nanoseconds(waited.spent_ns), waited.count);
            let rationale = format!(
                "That is {:.0} % of the process's life (over all threads). It waited for {} of it: the rest is what so many calls take.",
                share * 100.0,
                nanoseconds(waited.total_ns)
            );
            let mut finding = about.finding("chatty_io", CHATTY + 15.0 * share.min(1.0), title, rationale);
            finding.function = (own != NOBODY).then_some(who);
            finding.evidence = vec![about.frame(thread, seq)];
            finding.facts = facts;
            found.push(finding);
        }
    }
    Ok(found)
}

/// Who ended most of the waits, where it is known.
fn waker_sentence(about: &About<'_>, waited: &Waited) -> String {
    let most = waited.wakers.iter().max_by_key(|(_, time)| **time).filter(|(_, time)| **time > 0);
    most.map_or_else(String::new, |(waker, time)| {
        format!(" For {} of it, it waited for {}.", nanoseconds(*time), waker.words(about))
    })
}

/// For whom functions waited: by the function that waited and who had the lock, the time.
struct Holders(BTreeMap<FunctionIndex, BTreeMap<Holder, u64>>);

/// Who had a lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Holder {
    /// A function that had taken it.
    Function(FunctionIndex),
    /// A thread, of which it is not known where it had taken it.
    Thread(ThreadIndex),
}

impl Holders {
    fn of(about: &About<'_>) -> Result<Self, QueryError> {
        let waits = &about.process.tables.meta().waits;
        let is_lock = |wait: &&WaitSpan| matches!(wait.kind(), WaitKind::Mutex | WaitKind::ReadWriteLock);
        let places = CallPlaces::of_waits(about.trace, about.process, waits.iter().filter(is_lock))?;
        let mut times: BTreeMap<FunctionIndex, BTreeMap<Holder, u64>> = BTreeMap::new();
        // A condition's wait takes its lock again, and is counted as a wait for the condition.
        let is_call_of_lock = |wait: &&WaitSpan| {
            let called = places.called(wait.thread, wait.seq).map(|it| about.process.function(it));
            called.and_then(|it| about.process.names.raw(it)).and_then(Wait::of) == Some(Wait::Lock)
        };
        for wait in waits.iter().filter(is_lock).filter(is_call_of_lock) {
            let taken_in = wait.holder.zip(wait.hold_seq).and_then(|(thread, seq)| places.get(thread, seq));
            let had_it = wait.holder.filter(|_| !wait.doubts().has(Doubt::MayBeReleased)).map(Holder::Thread);
            let holder = taken_in.map(Holder::Function).or(had_it);
            if let Some((waited, holder)) = places.get(wait.thread, wait.seq).zip(holder) {
                let sum = times.entry(waited).or_default().entry(holder).or_default();
                *sum = sum.saturating_add(wait.duration());
            }
        }
        Ok(Self(times))
    }

    /// Who held the lock for most of the time.
    fn sentence(&self, about: &About<'_>, waited: FunctionIndex) -> String {
        let most = self
            .0
            .get(&waited)
            .and_then(|held| held.iter().max_by_key(|(_, time)| **time))
            .filter(|(_, time)| **time > 0);
        let sentence = |(holder, time): (&Holder, &u64)| match *holder {
            Holder::Function(held) => {
                format!(" For {} of it the lock had been taken in {}.", nanoseconds(*time), about.name(held))
            }
            Holder::Thread(thread) => {
                format!(" For {} of it thread {} had the lock.", nanoseconds(*time), about.process.thread_id(thread))
            }
        };
        most.map(sentence).unwrap_or_default()
    }
}
