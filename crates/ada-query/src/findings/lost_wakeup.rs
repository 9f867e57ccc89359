//! Waits that nobody could end any more.

use ada_event::EventSeq;
use ada_span::ThreadIndex;
use ada_span::pthread::ThreadEnd;
use ada_span::wait::{WaitKind, WaitSpan};

use super::{About, Finding};
use crate::error::QueryError;
use crate::waits::{CallPlaces, blocked_at, deadlocks, object_name, to_json};

/// Threads that waited for a signal or a post when all others had ended or waited too.
pub(super) fn find(about: &About<'_>) -> Result<Vec<Finding>, QueryError> {
    let process = about.process;
    let blocked = blocked_at(process, ada_event::TraceNanos::MAX);
    let is_for_ever = |wait: &WaitSpan| {
        wait.is_open()
            && wait.is_timed == 0
            // Another process can end it.
            && wait.shared_object.is_none()
            && !matches!(wait.kind(), WaitKind::Sleep | WaitKind::Input | WaitKind::Signal | WaitKind::Yield | WaitKind::Spin)
    };
    let all = ThreadIndex::all(process.tables.meta().threads.len());
    let mut alive = all.filter(|thread| is_alive(about, *thread));
    if !alive.all(|thread| blocked.get(&thread).is_some_and(is_for_ever))
        || !deadlocks(about.trace, about.number).is_empty()
    {
        return Ok(Vec::new());
    }
    let is_to_be_woken = |kind| matches!(kind, WaitKind::Condition | WaitKind::Semaphore | WaitKind::Futex);
    let waits: Vec<WaitSpan> = blocked.into_values().filter(|wait| is_to_be_woken(wait.kind())).collect();
    let places = CallPlaces::of_waits(about.trace, process, &waits)?;
    let finding = |wait: &WaitSpan| {
        let id = process.thread_id(wait.thread);
        let object = object_name(process, wait).unwrap_or_default();
        let place = places.name(process, wait.thread, wait.seq);
        let who = place.as_ref().map_or_else(|| format!("thread {id}"), |place| format!("{place} (thread {id})"));
        let title = format!("{who} waited for {} {object}, and nobody was left to end that", wait.kind());
        let rationale = "Every other thread of the process had ended, or waited without a time limit itself. It was \
                         signalled before it waited, or never (a lost wake-up).";
        let mut finding = about.finding("lost_wakeup", 94.0, title, rationale);
        finding.function = place;
        finding.evidence = vec![about.frame(wait.thread, wait.seq)];
        finding.facts = to_json(about.trace, process, wait, &places);
        finding
    };
    Ok(waits.iter().map(finding).collect())
}

/// Whether a thread had not ended when the process or the recording did.
fn is_alive(about: &About<'_>, thread: ThreadIndex) -> bool {
    let life = about.process.pthread(thread, EventSeq(u64::MAX));
    life.is_none_or(|life| matches!(life.end_how(), ThreadEnd::ProcessEnd | ThreadEnd::Alive))
}
