//! What is shown, as people read it: the call first, then when, how long and by whom, then what is around it.

use ada_event::TraceNanos;
use serde_json::Value;

use crate::analysis::{Out, nanoseconds, since_start};

/// What comes first, in this order; the rest follows by name.
const FIRST: [&str; 26] = [
    "call",
    "name",
    "span_id",
    "reference",
    "status",
    "reason",
    "outcome",
    "error",
    "start_ns",
    "duration_ns",
    "self_ns",
    "corrected_ns",
    "on_cpu_ns",
    "ready_ns",
    "blocked_ns",
    "thread_id",
    "pid",
    "parent",
    "parent_span_id",
    "call_site",
    "module",
    "source",
    "values",
    "callees",
    "before",
    "after",
];
/// What is of use to programs, or said elsewhere.
const FOR_PROGRAMS: [&str; 10] = [
    "opened_by",
    "closed_by",
    "evidence",
    "corrected_error_ns",
    "end_thread_id",
    "end_ns",
    "function_id",
    "type",
    "runtime",
    "depth",
];
/// Moments, and not lengths of time.
const MOMENTS: [&str; 11] = [
    "start_ns",
    "end_ns",
    "time_ns",
    "first_event_ns",
    "last_event_ns",
    "created_ns",
    "create_ns",
    "submit_ns",
    "join_ns",
    "cancel_ns",
    "resumed_ns",
];
/// The same among a span's attributes: a call was ready for some time, a task at some time.
const MOMENTS_OF_TASKS: [&str; 1] = ["ready_ns"];

/// A page of what is shown. All of it where that is `wide`.
pub(super) struct Page {
    /// When the session began.
    pub(super) start: TraceNanos,
    pub(super) is_wide: bool,
}

impl Page {
    pub(super) fn print(&self, shown: &Value, out: &mut Out) -> anyhow::Result<()> {
        let mut shown = shown.clone();
        if let Some(fields) = shown.as_object_mut() {
            if fields.get("call").is_some() {
                fields.remove("name");
            }
            // Where it was called is the caller's place, and not the event's.
            if let Some(site) = fields.get("opened_by").and_then(|it| it.get("call_site")).cloned() {
                fields.insert("call_site".into(), place(&site));
            }
            if let Some(values) = fields.get("values").map(values) {
                fields.insert("values".into(), values);
            }
        }
        self.fields("", &shown, 0, out)?;
        if !self.is_wide && has_more(&shown) {
            out.line("\nevents, registers and ids: --wide, or --format json")?;
        }
        Ok(())
    }

    /// Those of a group, which has a name unless it is the whole page.
    fn fields(&self, group: &str, value: &Value, indent: usize, out: &mut Out) -> anyhow::Result<()> {
        let Some(fields) = value.as_object() else { return out.line(&format!("{:indent$}{}", "", plain(value))) };
        let is_shown = |name: &str| self.is_wide || indent > 0 || !FOR_PROGRAMS.contains(&name);
        let rank = |name: &str| FIRST.iter().position(|first| *first == name).unwrap_or(FIRST.len());
        let mut shown: Vec<(&String, &Value)> =
            fields.iter().filter(|(name, value)| is_shown(name) && !is_nothing(value)).collect();
        shown.sort_by_key(|(name, _)| (rank(name), *name));
        let width = shown.iter().filter(|(_, it)| !it.is_object() && !it.is_array()).map(|(name, _)| label(name).len());
        let width = width.max().unwrap_or(0);
        for (name, value) in shown {
            match value {
                Value::Object(_) => {
                    out.line(&format!("{:indent$}{}", "", label(name)))?;
                    self.fields(name, value, indent + 2, out)?;
                }
                Value::Array(items) => {
                    out.line(&format!("{:indent$}{}", "", label(name)))?;
                    items.iter().try_for_each(|item| self.fields(name, item, indent + 2, out))?;
                }
                _ => out.line(&format!("{:indent$}{:<width$}  {}", "", label(name), self.text(group, name, value)))?,
            }
        }
        Ok(())
    }

    /// Times with a unit, moments from the session's start on.
    fn text(&self, group: &str, name: &str, value: &Value) -> String {
        let is_moment = MOMENTS.contains(&name) || group == "attributes" && MOMENTS_OF_TASKS.contains(&name);
        match value.as_u64().filter(|_| name.ends_with("_ns")) {
            Some(ns) if is_moment => since_start(self.start, TraceNanos(ns)),
            Some(ns) => nanoseconds(ns),
            None => plain(value),
        }
    }
}

/// A field's name in words.
fn label(name: &str) -> String {
    match name {
        "on_cpu_ns" => "on processor".to_owned(),
        "parent" => "called by".to_owned(),
        "parent_span_id" => "its call".to_owned(),
        "call_site" => "called at".to_owned(),
        _ => name.strip_suffix("_ns").unwrap_or(name).replace('_', " "),
    }
}

/// `opensock  sock.c:167`.
fn place(site: &Value) -> Value {
    let parts = ["name", "source"].map(|part| site[part].as_str().unwrap_or_default());
    parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("  ").into()
}

/// A line for each value, in the order of the parameters.
fn values(call: &Value) -> Value {
    let named = call["arguments"].as_array().into_iter().flatten().chain([&call["result"]]);
    let parts = |it: &Value| Some([it["name"].as_str()?.to_owned(), plain(&it["value"]), plain(&it["type"])]);
    let lines: Vec<[String; 3]> = named.filter_map(parts).collect();
    let width = lines.iter().map(|[name, ..]| name.len()).max().unwrap_or(0);
    lines.iter().map(|[name, value, ty]| Value::from(format!("{name:<width$}  {value}  ({ty})"))).collect()
}

fn has_more(shown: &Value) -> bool {
    shown.as_object().is_some_and(|fields| FOR_PROGRAMS.iter().any(|name| fields.contains_key(*name)))
}

fn is_nothing(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Array(items) => items.is_empty(),
        Value::Object(fields) => fields.is_empty(),
        _ => false,
    }
}

fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}
