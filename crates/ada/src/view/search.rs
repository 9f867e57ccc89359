//! Spans by name, status, reason and more, as people type it.

use ada_span::table::FunctionIndex;
use ada_span::{Reason, Status};
use anyhow::bail;
use serde_json::{Value, json};

use super::page_lens::Seen;
use super::timeline::Timeline;
use crate::analysis::{OpenedSession, Span, SpanKind, parse_nanos};
use crate::spans;

/// Spans and functions of an answer.
const MOST: usize = 200;
const MOST_FUNCTIONS: usize = 50;

/// What is looked for.
#[derive(Debug, Default, PartialEq, Eq)]
struct Sought {
    /// A part of the name, or a pattern with `*` and `?`.
    name: String,
    options: Vec<String>,
}

/// `parse status:unmatched longer:1ms thread:4712`: words with a colon are conditions, the others are the name.
fn parse(text: &str) -> anyhow::Result<Sought> {
    let mut sought = Sought::default();
    let mut option = |name: &str, value: &str| {
        sought.options.extend([format!("--{name}={value}")]);
    };
    let mut words = Vec::new();
    for word in text.split_whitespace() {
        // `a::b` is a name.
        let condition = word.split_once(':').filter(|(_, value)| !value.starts_with(':'));
        match condition {
            Some(("status", value)) => option("status", value),
            Some(("reason", value)) => option("reason", value),
            Some(("thread", value)) => option("thread", value),
            Some(("runtime", value)) => option("runtime", value),
            Some(("type", value)) => option("type", value),
            Some(("module", value)) => option("module", &format!("*{value}*")),
            Some(("longer", value)) => {
                if parse_nanos(value).is_err() {
                    bail!("longer:{value} is no duration; write longer:250us or longer:5ms");
                }
                option("min-duration", value);
            }
            // The one word that is also a status or a reason is meant as such.
            None if word.parse::<Status>().is_ok() => option("status", word),
            None if word != "none" && word.parse::<Reason>().is_ok() => option("reason", word),
            _ => words.push(word),
        }
    }
    let name = words.join(" ");
    if !name.is_empty() {
        let pattern = if name.contains(['*', '?']) { name.clone() } else { format!("*{name}*") };
        sought.options.push(format!("--function={pattern}"));
    }
    sought.name = name;
    Ok(sought)
}

/// The longest spans that are like that, and the functions whose name is.
pub(super) fn answer(opened: &OpenedSession, timeline: &Timeline, text: &str, seen: Seen) -> anyhow::Result<Value> {
    let sought = parse(text)?;
    if sought.options.is_empty() {
        return Ok(json!({ "spans": [], "functions": [], "has_more": false, "is_name": false }));
    }
    let mut options = sought.options.clone();
    options.push("--sort=duration".into());
    let (rows, has_more) = spans::list(opened, &options, MOST)?;
    let spans: Vec<Value> = rows.iter().map(|(span, _)| to_json(opened, timeline, span, seen)).collect();
    let mut functions = Vec::new();
    let needle = sought.name.to_lowercase();
    for (number, process) in opened.processes().iter().enumerate().filter(|_| !needle.is_empty()) {
        for (index, stats) in (0..).map(FunctionIndex).zip(&process.tables.meta().functions) {
            let name = timeline.names.of_function(number, index);
            if timeline.names.get(name).is_some_and(|(name, _)| name.to_lowercase().contains(&needle)) {
                functions.push((stats.self_ns, json!([name, stats.spans, stats.self_ns, stats.total_ns])));
            }
        }
    }
    functions.sort_by_key(|(own, _)| std::cmp::Reverse(*own));
    let functions: Vec<Value> = functions.into_iter().take(MOST_FUNCTIONS).map(|(_, it)| it).collect();
    // Then all calls of these functions are what is sought.
    let is_name = !sought.name.is_empty() && sought.options.len() == 1;
    Ok(json!({ "spans": spans, "functions": functions, "has_more": has_more, "is_name": is_name }))
}

/// A span in a list: enough to show it and to go there.
pub(super) fn to_json(opened: &OpenedSession, timeline: &Timeline, span: &Span, seen: Seen) -> Value {
    let outcome = span.outcome(opened);
    json!({
        "reference": span.reference(opened).to_string(),
        "name": span.name(opened),
        "runtime": span.runtime(opened),
        "start": span.start(opened).since(timeline.start),
        "duration": span.duration(opened),
        "status": outcome.status.word(),
        "reason": (outcome.reason != Reason::None).then(|| outcome.reason.word()),
        "place": place(timeline, span, seen),
    })
}

/// Where a span is drawn: its track and row. None where it is not drawn, as what the lens hides.
pub(super) fn place(timeline: &Timeline, span: &Span, seen: Seen) -> Option<(u32, u32)> {
    let placed = &timeline.processes[span.process].placed;
    match span.kind {
        SpanKind::Frame(it) => {
            let scene = timeline.scene(span.process, seen).ok()?;
            let (row, is_shown) = scene.place(it.thread, it.seq()).ok()??;
            is_shown.then(|| (timeline.track_of_thread(span.process, it.thread) as u32, row))
        }
        SpanKind::Pthread(index) => placed.threads.get(index).copied(),
        SpanKind::Task(index) => placed.tasks.get(index).copied(),
        SpanKind::Block(index) => placed.blocks.get(index).copied(),
        SpanKind::Callback(index) => placed.callbacks.get(index).copied(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_with_a_colon_are_conditions() {
        let sought = parse("std::map status:open longer:1ms find").unwrap();
        assert_eq!(sought.name, "std::map find");
        assert_eq!(sought.options, ["--status=open", "--min-duration=1ms", "--function=*std::map find*"]);
        assert_eq!(parse("parse_*").unwrap().options, ["--function=parse_*"]);
        assert_eq!(parse("unmatched exception").unwrap().options, ["--status=unmatched", "--reason=exception"]);
        assert!(parse("longer:soon").is_err());
    }
}
