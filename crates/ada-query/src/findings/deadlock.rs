//! Threads that wait for each other for ever.

use ada_event::TraceNanos;
use ada_span::wait::{WaitKind, WaitSpan};
use serde_json::json;

use super::{About, Finding, nanoseconds};
use crate::error::QueryError;
use crate::trace::{Target, TraceProcess};
use crate::waits::{CallPlaces, Deadlock, Party, deadlocks, object_name, to_json};

pub(super) fn find(about: &About<'_>) -> Result<Vec<Finding>, QueryError> {
    let circles = deadlocks(about.trace, about.number);
    circles.iter().map(|circle| finding(about, circle)).collect()
}

/// One of those in the circle, with the code places of its process.
struct Waiter<'a> {
    process: &'a TraceProcess,
    wait: &'a WaitSpan,
    places: CallPlaces,
}

impl<'a> Waiter<'a> {
    fn of(about: &About<'a>, (party, wait): &'a (Party, WaitSpan)) -> Result<Self, QueryError> {
        let process = &about.trace.processes()[party.process];
        Ok(Self { process, wait, places: CallPlaces::of_waits(about.trace, process, [wait])? })
    }

    fn place(&self) -> Option<String> {
        self.places.name(self.process, self.wait.thread, self.wait.seq)
    }

    /// Where the lock was taken that it waits for.
    fn hold_place(&self) -> Option<String> {
        let own = self.wait.holder.zip(self.wait.hold_seq);
        let own = own.and_then(|(thread, seq)| self.places.name(self.process, thread, seq));
        own.or_else(|| self.places.remote_hold_name(self.wait))
    }

    fn object(&self) -> String {
        object_name(self.process, self.wait).unwrap_or_default()
    }

    fn thread(&self, names_process: bool) -> String {
        let id = self.process.thread_id(self.wait.thread);
        if names_process { format!("{id} of process {}", self.process.pid) } else { id.to_string() }
    }
}

fn finding(about: &About<'_>, circle: &Deadlock) -> Result<Finding, QueryError> {
    let waiters = circle.0.iter().map(|it| Waiter::of(about, it)).collect::<Result<Vec<_>, _>>()?;
    let names_processes = circle.is_of_several_processes();
    let name = |it: &Waiter<'_>| {
        let place = it.place().map(|place| format!(" ({place})")).unwrap_or_default();
        format!("{}{place}", it.thread(names_processes))
    };
    let names: Vec<String> = waiters.iter().map(name).collect();
    let title = match &names[..] {
        [one] => format!("thread {one} waits for a lock that it holds itself"),
        [all @ .., last] => format!("threads {} and {last} wait for each other", all.join(", ")),
        [] => "threads wait for each other".to_owned(),
    };
    // Of each: what it holds, which is what the one before it waits for, and what it waits for.
    let before = waiters.iter().cycle().skip(waiters.len().saturating_sub(1));
    let parts: Vec<String> = before.zip(&waiters).map(|(held, it)| part(about, held, it, names_processes)).collect();
    let rationale = format!("{}. None of these waits can end.", parts.join("; "));
    let mut finding = about.finding("deadlock", 99.0, title, rationale);
    finding.function = waiters.first().and_then(Waiter::place);
    let frame = |it: &Waiter<'_>| it.process.refer(Target::Frame(it.process.thread_id(it.wait.thread), it.wait.seq));
    finding.evidence = waiters.iter().map(frame).collect();
    let waits: Vec<_> = waiters.iter().map(|it| to_json(about.trace, it.process, it.wait, &it.places)).collect();
    finding.facts = json!({ "waits": waits });
    Ok(finding)
}

/// `thread 2657 holds 0x… since 1.2 ms (taken in transfer) and waits for 0x… in journal since 1.3 ms`.
fn part(about: &About<'_>, held: &Waiter<'_>, it: &Waiter<'_>, names_process: bool) -> String {
    let since_start = |time: TraceNanos| nanoseconds(time.since(about.trace.start()));
    let mut words = format!("thread {}", it.thread(names_process));
    if held.wait.kind() != WaitKind::Join {
        words.push_str(&format!(" {} {} {}", held.wait.kind().holding(), held.wait.kind(), held.object()));
        words.extend(held.wait.hold_start.map(|since| format!(" since {}", since_start(since))));
        words.extend(held.hold_place().map(|place| format!(" (taken in {place})")));
        words.push_str(" and");
    }
    words.push_str(&format!(" waits for {} {}", it.wait.kind(), it.object()));
    words.extend(it.place().map(|place| format!(" in {place}")));
    words.push_str(&format!(" since {}", since_start(it.wait.start)));
    words
}
