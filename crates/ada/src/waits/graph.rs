//! Who waited for whom at a moment.

use ada_event::TraceNanos;
use ada_query::waits::{
    By, CallPlaces, Party, Readers, WaitSum, blocked_at, deadlocks, held_at, object_name, sums, suspended,
    suspended_at, to_json as wait_json,
};
use ada_span::ThreadIndex;
use ada_span::wait::{Doubt, WaitSpan};
use serde_json::{Value, json};

use super::of_tasks;
use crate::analysis::{Moment, OpenedSession, Out, TraceProcess, counted, nanoseconds, thread_title};

/// The moment on the trace's clock; the end where nothing was asked for.
fn moment(opened: &OpenedSession, at: Option<Moment>) -> TraceNanos {
    at.map_or(TraceNanos::MAX, |at| at.on_clock(opened.trace().start()))
}

/// The waits of threads that were under way, with those who had the locks then.
fn waits_at(process: &TraceProcess, time: TraceNanos) -> Vec<WaitSpan> {
    blocked_at(process, time).values().map(|wait| held_at(process, wait, time)).collect()
}

pub(super) fn print(opened: &OpenedSession, at: Option<Moment>, out: &mut Out) -> anyhow::Result<()> {
    let time = moment(opened, at);
    let start = opened.trace().start();
    for (number, process) in opened.processes().iter().enumerate() {
        let (blocked, suspended) = (waits_at(process, time), suspended_at(process, time));
        if blocked.is_empty() && suspended.is_empty() {
            continue;
        }
        let when = match at {
            None => "At the end".to_owned(),
            Some(_) => format!("{} after the beginning", nanoseconds(time.since(start))),
        };
        out.line("")?;
        let who = [(blocked.len(), "thread"), (suspended.len(), "task")].into_iter().filter(|(count, _)| *count > 0);
        let who: Vec<String> = who.map(|(count, word)| counted(count as u64, word)).collect();
        out.line(&format!("{when}, {} of process {} waited:", who.join(" and "), process.pid))?;
        let places = CallPlaces::of_waits(opened.trace(), process, &blocked)?;
        let readers = Readers::of_process(process);
        for wait in &blocked {
            let also = readers.of(process, wait).filter(|ids| ids.contains(','));
            let also = also.map(|ids| format!("; threads {ids} read it when the wait began")).unwrap_or_default();
            out.line(&format!("  {}{also}", sentence(opened, number, wait, &places, time)))?;
        }
        let places = CallPlaces::of_waits(opened.trace(), process, &suspended)?;
        for sum in sums(process, &suspended, &places, By::Waiter) {
            out.line(&format!("  {}", sentence_of_tasks(process, &sum, &places, time)))?;
        }
        for circle in deadlocks(opened.trace(), number).iter().filter(|circle| circle.has_begun(time)) {
            let name = |(party, _): &(Party, WaitSpan)| {
                let process = &opened.processes()[party.process];
                let id = process.thread_id(party.thread);
                if circle.is_of_several_processes() {
                    format!("{id} of process {}", process.pid)
                } else {
                    id.to_string()
                }
            };
            let threads: Vec<String> = circle.0.iter().map(name).collect();
            out.line(&format!("  deadlock: threads {} wait for each other", threads.join(", ")))?;
        }
    }
    Ok(())
}

/// `thread 12 (worker) waits for mutex 0x… in lock_both since 1.2 ms; thread 13 (clerk) holds it since 1.1 ms, from take`.
fn sentence(opened: &OpenedSession, number: usize, wait: &WaitSpan, places: &CallPlaces, time: TraceNanos) -> String {
    let process = &opened.processes()[number];
    let start = opened.trace().start();
    let name = |thread: ThreadIndex| {
        format!("thread {} ({})", process.thread_id(thread), thread_title(opened, number, thread))
    };
    let object = object_name(process, wait).map(|object| format!(" {object}")).unwrap_or_default();
    let place = places.name(process, wait.thread, wait.seq).map(|place| format!(" in {place}")).unwrap_or_default();
    let by_then = wait.end.min(time).since(wait.start);
    let mut words =
        format!("{} waits for {}{object}{place}, {} by then", name(wait.thread), wait.kind(), nanoseconds(by_then));
    match wait.holder {
        Some(_) if wait.kind() == ada_span::wait::WaitKind::Join => {}
        Some(holder) if wait.doubts().has(Doubt::MayBeReleased) => {
            words.push_str(&format!("; {} had it when the wait began", name(holder)));
        }
        Some(holder) => {
            words.push_str(&format!("; {} {} it", name(holder), wait.kind().holding()));
            if let Some(since) = wait.hold_start {
                words.push_str(&format!(" since {}", nanoseconds(since.since(start))));
            }
            if let Some(place) = wait.hold_seq.and_then(|seq| places.name(process, holder, seq)) {
                words.push_str(&format!(", from {place}"));
            }
        }
        None => words.extend(remote_holder(opened, wait, places)),
    }
    words
}

/// `; thread 13 of process 12 holds it since 1.1 ms, from take`.
fn remote_holder(opened: &OpenedSession, wait: &WaitSpan, places: &CallPlaces) -> Option<String> {
    let tid = wait.holder_tid?;
    let Some(holder) = opened.trace().remote_holder(wait) else {
        return Some(format!("; thread {tid} holds it, which was not recorded"));
    };
    let who = format!("; thread {tid} of process {}", holder.process.pid);
    if wait.doubts().has(Doubt::MayBeReleased) || !wait.is_open() {
        return Some(format!("{who} had it when the wait began"));
    }
    let mut words = format!("{who} {} it", wait.kind().holding());
    words.extend(wait.hold_start.map(|since| format!(" since {}", nanoseconds(since.since(opened.trace().start())))));
    words.extend(places.remote_hold_name(wait).map(|place| format!(", from {place}")));
    Some(words)
}

/// `12 goroutines wait for channel (chan receive) in main.leaks, 3.1 ms by then at most`.
fn sentence_of_tasks(process: &TraceProcess, sum: &WaitSum, places: &CallPlaces, time: TraceNanos) -> String {
    let longest = &sum.longest;
    let Some((task, suspension)) = suspended(process, longest) else { return String::new() };
    let (verb, object) = match sum.tasks {
        1 => ("waits", object_name(process, longest).map(|object| format!(" {object}")).unwrap_or_default()),
        _ => ("wait", String::new()),
    };
    let place = places.name_of_waiter(process, longest).map(|place| format!(" in {place}")).unwrap_or_default();
    let by_then = nanoseconds(longest.end.min(time).since(longest.start));
    let most = if sum.tasks > 1 { " at most" } else { "" };
    let (who, kind, reason) = (of_tasks(sum.tasks, task), sum.kind, suspension.kind());
    format!("{who} {verb} for {kind}{object} ({reason}){place}, {by_then} by then{most}")
}

pub(super) fn to_json(opened: &OpenedSession, at: Option<Moment>) -> anyhow::Result<Value> {
    let time = moment(opened, at);
    let (mut waits, mut circles) = (Vec::new(), Vec::new());
    for (number, process) in opened.processes().iter().enumerate() {
        let blocked = waits_at(process, time);
        let places = CallPlaces::of_waits(opened.trace(), process, &blocked)?;
        waits.extend(blocked.iter().map(|wait| wait_json(opened.trace(), process, wait, &places)));
        let suspended = suspended_at(process, time);
        let places = CallPlaces::of_waits(opened.trace(), process, &suspended)?;
        waits.extend(suspended.iter().map(|wait| wait_json(opened.trace(), process, wait, &places)));
        for circle in deadlocks(opened.trace(), number).iter().filter(|circle| circle.has_begun(time)) {
            let of = |(party, _): &(Party, WaitSpan)| (&opened.processes()[party.process], party.thread);
            let threads: Vec<u32> = circle.0.iter().map(of).map(|(it, thread)| it.thread_id(thread).0).collect();
            let pids: Vec<u32> = circle.0.iter().map(of).map(|(it, _)| it.pid.0).collect();
            circles.push(json!({ "pid": process.pid.0, "thread_ids": threads, "pids": pids }));
        }
    }
    let at_ns = if at.is_some() { time } else { opened.trace().end() };
    Ok(json!({ "at_ns": at_ns.0, "waits": waits, "deadlocks": circles }))
}
