//! Threads that wait for each other for ever.

use ada_event::TraceNanos;
use ada_span::wait::{WaitKind, WaitSpan};
use serde_json::json;

use super::{About, Finding, nanoseconds};
use crate::error::QueryError;
use crate::waits::{CallPlaces, Deadlock, deadlocks, object_name, to_json};

pub(super) fn find(about: &About<'_>) -> Result<Vec<Finding>, QueryError> {
    let circles = deadlocks(about.process);
    let waits = circles.iter().flat_map(|circle| &circle.0);
    let places = CallPlaces::of_waits(about.trace, about.process, waits)?;
    Ok(circles.iter().map(|circle| finding(about, circle, &places)).collect())
}

fn finding(about: &About<'_>, circle: &Deadlock, places: &CallPlaces) -> Finding {
    let process = about.process;
    let name = |wait: &WaitSpan| {
        let place = places.name(process, wait.thread, wait.seq).map(|place| format!(" ({place})")).unwrap_or_default();
        format!("{}{place}", process.thread_id(wait.thread))
    };
    let names: Vec<String> = circle.0.iter().map(name).collect();
    let title = match &names[..] {
        [one] => format!("thread {one} waits for a lock that it holds itself"),
        [all @ .., last] => format!("threads {} and {last} wait for each other", all.join(", ")),
        [] => "threads wait for each other".to_owned(),
    };
    // Of each: what it holds, which is what the one before it waits for, and what it waits for.
    let before = circle.0.iter().cycle().skip(circle.0.len().saturating_sub(1));
    let parts: Vec<String> = before.zip(&circle.0).map(|(held, wait)| part(about, held, wait, places)).collect();
    let rationale = format!("{}. None of these waits can end.", parts.join("; "));
    let mut finding = about.finding("deadlock", 99.0, title, rationale);
    finding.function = circle.0.first().and_then(|wait| places.name(process, wait.thread, wait.seq));
    finding.evidence = circle.0.iter().map(|wait| about.frame(wait.thread, wait.seq)).collect();
    let waits: Vec<_> = circle.0.iter().map(|wait| to_json(about.trace, process, wait, places)).collect();
    finding.facts = json!({ "waits": waits });
    finding
}

/// `thread 2657 holds 0x… since 1.2 ms (taken in transfer) and waits for 0x… in journal since 1.3 ms`.
fn part(about: &About<'_>, held: &WaitSpan, wait: &WaitSpan, places: &CallPlaces) -> String {
    let process = about.process;
    let since_start = |time: TraceNanos| nanoseconds(time.since(about.trace.start()));
    let mut words = format!("thread {}", process.thread_id(wait.thread));
    if held.kind() != WaitKind::Join {
        words.push_str(&format!(
            " {} {} {}",
            held.kind().holding(),
            held.kind(),
            object_name(process, held).unwrap_or_default()
        ));
        words.extend(held.hold_start.map(|since| format!(" since {}", since_start(since))));
        let place = held.holder.zip(held.hold_seq).and_then(|(thread, seq)| places.name(process, thread, seq));
        words.extend(place.map(|place| format!(" (taken in {place})")));
        words.push_str(" and");
    }
    words.push_str(&format!(" waits for {} {}", wait.kind(), object_name(process, wait).unwrap_or_default()));
    words.extend(places.name(process, wait.thread, wait.seq).map(|place| format!(" in {place}")));
    words.push_str(&format!(" since {}", since_start(wait.start)));
    words
}
