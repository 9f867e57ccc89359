//! Goroutines that never went on, and those that ended their process.

use std::collections::BTreeMap;

use ada_event::{EventSeq, FunctionId, TraceNanos};
use ada_format::atf::Payload;
use ada_span::task::{TaskEnd, TaskKind, TaskRuntime, WaitKind};
use ada_span::{NONE, Reason, Status, ThreadIndex};
use serde_json::json;

use super::{About, Finding, nanoseconds};
use crate::span::{Span, SpanKind};
use crate::trace::Target;

/// In a text's length: it goes on behind what was read.
const GOES_ON: u64 = 1 << 32;
/// So many that wait in one place are too many to be there by design.
const MANY: usize = 10;
/// Evidence that is named.
const NAMED: usize = 5;

pub(super) fn find(about: &About<'_>) -> Vec<Finding> {
    let mut found = unfinished(about);
    found.extend(ended_the_process(about));
    found
}

/// Those that wait for the same in the same function.
struct Waiting {
    ids: Vec<u64>,
    since: TraceNanos,
    until: TraceNanos,
    has_ended: bool,
}

fn unfinished(about: &About<'_>) -> Vec<Finding> {
    let meta = about.process.tables.meta();
    let mut groups: BTreeMap<(WaitKind, Option<FunctionId>), Waiting> = BTreeMap::new();
    for task in meta.tasks.iter().filter(|task| task.runtime() == TaskRuntime::Go && task.kind() != TaskKind::Helper) {
        let Some(wait) = about.process.suspensions_of(task).last().filter(|wait| wait.end.is_none()) else { continue };
        let outcome = task.outcome();
        let has_ended = matches!(outcome.reason, Reason::ProcessExit | Reason::Crash);
        // Where events are missing, it may have gone on; one that was woken is about to.
        let is_known = wait.is_cut == 0 && !outcome.is_uncertain && (has_ended || outcome.status == Status::Open);
        // `main` waits for all others by design.
        if !is_known || wait.resume_time.is_some() || task.kind() == TaskKind::Main {
            continue;
        }
        let (since, until) = (wait.start, task.end);
        let new = Waiting { ids: Vec::new(), since, until, has_ended };
        let group = groups.entry((wait.kind(), wait.awaiting)).or_insert(new);
        group.ids.push(task.id);
        (group.since, group.until) = (group.since.min(since), group.until.max(until));
    }
    groups.into_iter().filter_map(|((kind, function), group)| unfinished_group(about, kind, function, &group)).collect()
}

fn unfinished_group(
    about: &About<'_>,
    kind: WaitKind,
    function: Option<FunctionId>,
    group: &Waiting,
) -> Option<Finding> {
    let count = group.ids.len();
    let is_hopeless = matches!(kind, WaitKind::ChanReceiveNil | WaitKind::ChanSendNil | WaitKind::SelectNoCases);
    // Servers wait for input and for time to pass by design, and what is alive may still be given what it waits for.
    let is_usual = matches!(
        kind,
        WaitKind::IoWait | WaitKind::Sleep | WaitKind::Processor | WaitKind::Preempted | WaitKind::Yield
    );
    let score = match count {
        _ if is_hopeless => 70.0,
        ..MANY if is_usual => return None,
        _ if is_usual => 15.0,
        MANY.. if group.has_ended => 70.0,
        MANY.. => 40.0,
        2.. if group.has_ended => 35.0,
        _ => 12.0,
    };
    let name = function.map(|function| about.process.names.name(function));
    let who = if count == 1 { "a goroutine waits".to_owned() } else { format!("{count} goroutines wait") };
    let place = name.as_ref().map_or_else(String::new, |name| format!(" in {name}"));
    let waited = group.until.since(group.since);
    let title = format!("{who} in {kind}{place} since {}", nanoseconds(waited));
    let rationale = match (is_hopeless, group.has_ended) {
        (true, _) => "Nobody can ever wake it: there is no channel.",
        (_, true) => {
            "They never went on before the process ended: what they wait for never came, and they keep what they hold."
        }
        (_, false) => "They had not gone on when the recording ended.",
    };
    let mut finding = about.finding("leaked_goroutines", score, title, rationale);
    finding.evidence = group.ids.iter().take(NAMED).map(|&id| about.process.refer(Target::Task(id))).collect();
    finding.facts = json!({ "count": count, "waits_for": kind.word(), "since_ns": group.since.0, "waited_ns": waited });
    finding.function = name;
    Some(finding)
}

/// Panics that nobody recovered, and what else the runtime ended the process for.
fn ended_the_process(about: &About<'_>) -> Vec<Finding> {
    let meta = about.process.tables.meta();
    let mut found = Vec::new();
    for (index, task) in meta.tasks.iter().enumerate() {
        let Some((thread, seq)) = task.end_thread.zip(task.end_seq).filter(|_| task.end_how() == TaskEnd::Panic) else {
            continue;
        };
        let name = Span { process: about.number, kind: SpanKind::Task(index) }.name(about.trace);
        let printed = ["runtime.printpanicval", "runtime.printany"];
        let message = handed_over(about, thread, &printed, seq).and_then(|(_, words)| panic_text(&words));
        let said = message.as_ref().map_or_else(String::new, |message| format!(": {message}"));
        let title = format!("goroutine {} ({name}) panicked{said}", task.id);
        let mut finding = about.finding("panic", 105.0, title, "Nobody recovered, and that ended the process.");
        finding.evidence = vec![about.frame(thread, seq), about.process.refer(Target::Task(task.id))];
        finding.facts = json!({ "task_id": task.id, "message": message, "time_ns": task.end.0 });
        finding.function = Some(name);
        found.push(finding);
    }
    for thread in ThreadIndex::all(meta.threads.len()) {
        let Some((seq, words)) = handed_over(about, thread, &["runtime.throw", "runtime.fatal"], EventSeq(0)) else {
            continue;
        };
        let message = plain_text(&words);
        let said = message.as_ref().map_or_else(String::new, |message| format!(": {message}"));
        let title = format!("Go's runtime gave up{said}");
        let mut finding = about.finding("panic", 105.0, title, "That ended the process.");
        finding.evidence = vec![about.frame(thread, seq)];
        finding.facts = json!({ "message": message });
        found.push(finding);
    }
    found
}

/// The first call of one of some functions on a thread, from an event on, and the words that its probe has read.
fn handed_over(
    about: &About<'_>,
    thread: ThreadIndex,
    functions: &[&str],
    from: EventSeq,
) -> Option<(EventSeq, Vec<u64>)> {
    let is_named = |id: &FunctionId| about.process.names.raw(*id).is_some_and(|name| functions.contains(&name));
    let called = about.process.tables.meta().functions.iter().map(|stats| stats.function);
    let wanted: Vec<FunctionId> = called.filter(is_named).collect();
    let recorded = about.trace.recorded(about.process).threads.get(thread.as_usize())?;
    let mut records = recorded.detail().filter(|_| !wanted.is_empty())?.records().map_while(Result::ok);
    records.find_map(|record| {
        let Ok(Payload::X86Call(call)) = record.payload() else { return None };
        let seq = record.get().event_seq();
        let is_it = seq >= from && wanted.contains(&call.function);
        Some((seq, call.probes.filter(|_| is_it)?.values().collect()))
    })
}

/// A text that was read whole, or as far as there was room.
fn plain_text(words: &[u64]) -> Option<String> {
    let (&length, content) = words.split_first()?;
    shown(content, length & !GOES_ON, length & GOES_ON != 0)
}

/// The value of a panic, if it is a text: the runtime has made one of what can be made one.
fn panic_text(words: &[u64]) -> Option<String> {
    /// The kind of a type is its last byte but for three bits.
    const STRING: u64 = 24;
    let &[kind, _, length, _, ref content @ ..] = words else { return None };
    let is_text = kind != NONE && kind >> 56 & 31 == STRING;
    shown(content, length, length as usize > 8 * content.len()).filter(|_| is_text)
}

fn shown(content: &[u64], length: u64, goes_on: bool) -> Option<String> {
    if length == NONE {
        return None;
    }
    let bytes: Vec<u8> = content.iter().flat_map(|word| word.to_le_bytes()).collect();
    let text = String::from_utf8_lossy(&bytes[..bytes.len().min(length as usize)]).replace(char::is_control, " ");
    Some(if goes_on { format!("{text}…") } else { text })
}
