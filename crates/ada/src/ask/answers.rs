//! Answers as lines for people and JSON for programs.

use ada_query::Trace;
use ada_query::called::{Called, Meant, Moment};
use ada_query::findings::{Finding, advice};
use ada_query::why_slow::WhySlow;
use serde_json::{Value, json};

use crate::analysis::{nanoseconds, since_start};

pub(crate) fn called_json(answer: &Called) -> Value {
    let moment = |it: &Option<Moment>| {
        it.as_ref().map(|it| json!({ "time_ns": it.time.0, "span_id": it.span_id })).unwrap_or_default()
    };
    let function = |it: &Meant| {
        json!({
            "session": it.session, "pid": it.pid.0, "function": it.reference, "name": it.name, "module": it.module,
            "answer": it.verdict.word(), "calls": it.calls, "counted_calls": it.counted_calls,
            "first": moment(&it.first), "last": moment(&it.last), "hook": it.hook, "hook_reason": it.hook_reason,
            "hooked_from_ns": it.since.0, "hooked_until_ns": it.until.0, "doubts": it.doubts,
        })
    };
    json!({
        "answer": answer.verdict.word(),
        "because": answer.because,
        "functions": answer.functions.iter().map(function).collect::<Vec<_>>(),
        "left_out": answer.left_out,
        "did_you_mean": answer.near,
    })
}

pub(super) fn called_lines(trace: &Trace, answer: &Called) -> Vec<String> {
    let mut lines = vec![format!("{}: {}", answer.verdict.word(), answer.because)];
    // Where some were called, others of the same name that were not are of no interest.
    let any_is_called = answer.functions.iter().any(|it| it.calls > 0);
    let (shown, others): (Vec<_>, Vec<_>) = answer.functions.iter().partition(|it| it.calls > 0 || !any_is_called);
    for it in shown {
        let session = trace.sessions().iter().find(|session| session.name == it.session);
        let start = session.map(|it| it.start).unwrap_or_default();
        let hooked = match &it.hook_reason {
            Some(reason) => format!("{} ({reason})", it.hook),
            None => it.hook.clone(),
        };
        lines.push(format!(
            "  {} {} [{}] pid {}: {hooked}, {} calls",
            it.reference, it.name, it.module, it.pid, it.calls
        ));
        if let (Some(first), Some(last)) = (&it.first, &it.last) {
            lines.push(format!("    first {}   {}", since_start(start, first.time), first.span_id));
            lines.push(format!("    last  {}   {}", since_start(start, last.time), last.span_id));
        } else if it.hook != "skipped" {
            let (from, to) = (since_start(start, it.since), since_start(start, it.until));
            lines.push(format!("    hooked from {from} to {to}"));
        }
    }
    if !others.is_empty() {
        lines.push(format!("  and {} of that name that were not called", others.len()));
    }
    if answer.left_out > 0 {
        lines.push(format!("  and {} more functions of that name", answer.left_out));
    }
    if !answer.near.is_empty() {
        lines.push(format!("did you mean {}?", answer.near.join(", ")));
    }
    lines
}

pub(super) fn why_slow_lines(answer: &WhySlow) -> Vec<String> {
    let mut lines = vec![format!("{} {}: {}", answer.span_id, answer.name, nanoseconds(answer.duration_ns))];
    lines.extend(answer.because.iter().map(|it| format!("  {it}")));
    if !answer.inside.is_empty() {
        lines.push("time inside it, by function".into());
    }
    for it in &answer.inside {
        let time = nanoseconds(it.self_ns);
        lines
            .push(format!("  {time:>10}  {:>8} calls  {} [{}]   {}", it.calls, it.name, it.module, it.longest_span_id));
    }
    if answer.path.len() > 1 {
        lines.push("steps of the critical path with the most time of their own".into());
        for it in &answer.path {
            lines.push(format!("  {:>10}  {:<5} {}   {}", nanoseconds(it.own_ns), it.via, it.name, it.span_id));
        }
    }
    lines
}

pub(crate) fn finding_json(finding: &Finding) -> Value {
    let advice = advice(finding);
    json!({
        "kind": finding.kind,
        "score": (finding.score * 10.0).round() / 10.0,
        "title": finding.title,
        "rationale": finding.rationale,
        "function": finding.function,
        "evidence": finding.evidence,
        "facts": finding.facts,
        "what_to_do": advice.what_to_do,
        "next": advice.next,
        "certainty": advice.certainty,
        "session": finding.session,
        "pid": finding.pid.0,
    })
}

/// `of_sessions` is what a command has to say behind its own words, if this one had to.
pub(super) fn finding_lines(findings: &[Finding], all: usize, of_sessions: &str) -> Vec<String> {
    if findings.is_empty() {
        return vec!["nothing stands out".into()];
    }
    let mut lines = Vec::new();
    for (number, it) in (1..).zip(findings) {
        lines.push(format!("{number:>2}. {} ({}): {}", it.kind.replace('_', " "), advice(it).certainty, it.title));
        lines.push(format!("    {}", it.rationale));
        if !it.evidence.is_empty() {
            lines.push(format!("    look at {}", it.evidence.join(", ")));
        }
        let advice = advice(it);
        lines.push(format!("    {}", advice.what_to_do));
        lines.push(format!("    next: {}{of_sessions}", advice.next));
    }
    if all > findings.len() {
        lines.push(format!("and {} more; --limit lists them", all - findings.len()));
    }
    lines
}
