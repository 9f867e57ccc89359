//! "Was this function called?", answered as far as the trace shows.

use std::collections::BTreeSet;

use ada_event::{EventSeq, FunctionId, ProcessId, TraceNanos};
use ada_span::ThreadIndex;
use ada_span::table::{Column, Columns, FunctionIndex};

use crate::batch::SpanBatch;
use crate::cancel::Cancel;
use crate::error::QueryError;
use crate::function_pattern::FunctionPattern;
use crate::nearest::nearest;
use crate::predicate::Ready;
use crate::scan::scan_pieces;
use crate::trace::{Target, Trace, TraceProcess};

/// Functions that an answer lists.
const MOST_LISTED: usize = 50;

/// The answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It was called.
    Yes,
    /// It was hooked all the time, nothing was lost, and there is no call.
    No,
    /// The trace does not show it.
    Unknown,
}

impl Verdict {
    /// The one word for it.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Yes => "yes",
            Self::No => "no",
            Self::Unknown => "unknown",
        }
    }
}

/// A moment and the call that began then.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Moment {
    /// When, on the trace's clock.
    pub time: TraceNanos,
    /// The call.
    pub span_id: String,
}

/// One function that the question can mean.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Meant {
    /// Its session.
    pub session: String,
    /// Its process.
    pub pid: ProcessId,
    /// What commands call it.
    pub reference: String,
    /// Its name.
    pub name: String,
    /// Its module.
    pub module: String,
    /// `hooked`, `entry_only` or `skipped`.
    pub hook: String,
    /// Why it is not hooked fully.
    pub hook_reason: Option<String>,
    /// Since when it was hooked.
    pub since: TraceNanos,
    /// Until when.
    pub until: TraceNanos,
    /// Recorded calls.
    pub calls: u64,
    /// Calls that were only counted, while it was switched.
    pub counted_calls: u64,
    /// The first recorded call.
    pub first: Option<Moment>,
    /// The last one.
    pub last: Option<Moment>,
    /// The answer for this function.
    pub verdict: Verdict,
    /// What keeps the answer from being yes or no.
    pub doubts: Vec<String>,
}

/// The answer to the whole question.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Called {
    /// Yes if any function that is meant was called; no if all were watched and none was.
    pub verdict: Verdict,
    /// In words.
    pub because: String,
    /// The functions that can be meant, the called ones first.
    pub functions: Vec<Meant>,
    /// Those that are not listed.
    pub left_out: usize,
    /// Names that may have been meant, where nothing has this one.
    pub near: Vec<String>,
}

/// Looks for functions of this name: demangled, with or without arguments, or as linkers spell it; `*` and `?` are wild.
pub fn called(trace: &Trace, cancel: &Cancel, wanted: &str) -> Result<Called, QueryError> {
    let mut functions = Vec::new();
    let mut left_out = 0;
    for process in trace.processes() {
        for function in matching(trace, process, wanted) {
            cancel.check()?;
            if functions.len() < MOST_LISTED {
                functions.push(meant(trace, cancel, process, function)?);
            } else {
                left_out += 1;
            }
        }
    }
    let order = |it: &Meant| (std::cmp::Reverse(it.calls + it.counted_calls), it.verdict != Verdict::Unknown);
    functions.sort_by_key(order);
    let (verdict, because) = judge(wanted, &functions, left_out);
    let near = if functions.is_empty() { near_names(trace, wanted) } else { Vec::new() };
    Ok(Called { verdict, because, functions, left_out, near })
}

fn judge(wanted: &str, functions: &[Meant], left_out: usize) -> (Verdict, String) {
    let calls: u64 = functions.iter().map(|it| it.calls + it.counted_calls).sum();
    if calls > 0 {
        let times = if calls == 1 { "once".to_owned() } else { format!("{calls} times") };
        let counted: u64 = functions.iter().map(|it| it.counted_calls).sum();
        let words = match counted {
            0 => format!("it was called {times}"),
            _ => format!("it was called {times}, {counted} of them only counted"),
        };
        return (Verdict::Yes, words);
    }
    if functions.is_empty() {
        let words = format!(
            "no function called {wanted} was found: it may be inlined, have another name, or be in a module without symbols"
        );
        return (Verdict::Unknown, words);
    }
    let doubts: BTreeSet<&str> = functions.iter().flat_map(|it| &it.doubts).map(String::as_str).collect();
    if doubts.is_empty() && left_out == 0 {
        return (Verdict::No, "it was hooked all the time, nothing was dropped, and no call was recorded".into());
    }
    (Verdict::Unknown, doubts.into_iter().collect::<Vec<_>>().join("; "))
}

/// The functions of a process that a name means, called or not.
pub fn matching(trace: &Trace, process: &TraceProcess, wanted: &str) -> Vec<FunctionId> {
    let pattern = FunctionPattern::new(wanted);
    let mut found = BTreeSet::new();
    for module in trace.manifest(process).iter().flat_map(|it| &it.modules) {
        for index in 0..process.names.functions(module.module_id).len() {
            let id = FunctionId::new(module.module_id, index as u32);
            if pattern.matches_function(process, id) {
                found.insert(id);
            }
        }
    }
    // A trace from elsewhere has no lists, and still functions.
    let functions = process.tables.meta().functions.iter().map(|it| it.function);
    found.extend(functions.filter(|it| pattern.matches_function(process, *it)));
    found.into_iter().collect()
}

fn meant(trace: &Trace, cancel: &Cancel, process: &TraceProcess, function: FunctionId) -> Result<Meant, QueryError> {
    let label = process.label(function).into_owned();
    let manifest = trace.manifest(process);
    let session = trace.session_of(process);
    let rows = process.names.functions(function.module());
    let row = rows.get(function.symbol_index() as usize);
    let hook = row.map_or("hooked", |it| it.verdict.as_str()).to_owned();
    let hook_reason = row.map(|it| it.reason.clone()).filter(|it| !it.is_empty());
    let since = manifest.map_or(session.start, |it| it.time_start_ns);
    let until = manifest.map_or(session.end, |it| it.time_end_ns).max(session.end);
    let switches = || manifest.iter().flat_map(|it| &it.switches).filter(move |it| it.function_id == function);
    let counted_calls = switches().filter_map(|it| it.count).sum();
    let index = process.tables.meta().function_index(function);
    let calls = index.map_or(0, |index| process.tables.meta().functions[index.as_usize()].spans);
    let (first, last) = match index {
        Some(index) => first_and_last(cancel, process, index)?,
        None => (None, None),
    };
    let mut doubts = Vec::new();
    if hook == "skipped" {
        let why = hook_reason.as_deref().unwrap_or("no reason is known");
        doubts.push(format!("{} was not hooked: {why}", label.name));
    }
    if switches().any(|it| it.count.is_none()) {
        doubts.push(format!("{} was switched off for a time", label.name));
    }
    let lost = manifest.map_or(0, |it| it.drops.iter().filter(|it| it.lane == "index").map(|it| it.count).sum());
    if lost > 0 {
        doubts.push(format!("{lost} events were dropped, and its calls may be among them"));
    }
    if let Some(ring) = manifest.and_then(|it| it.ring.as_ref()).filter(|it| it.let_go_events > 0) {
        doubts.push(format!("the recording keeps its newest part only: {} events were let go", ring.let_go_events));
    }
    if manifest.is_none_or(|it| it.finished == Some(false)) {
        doubts.push("the recording was cut short".into());
    }
    let verdict = match calls + counted_calls {
        0 if doubts.is_empty() => Verdict::No,
        0 => Verdict::Unknown,
        _ => Verdict::Yes,
    };
    Ok(Meant {
        session: session.name.clone(),
        pid: process.pid,
        reference: process.refer(Target::Function(function)),
        name: label.name,
        module: label.module,
        hook,
        hook_reason,
        since,
        until,
        calls,
        counted_calls,
        first,
        last,
        verdict,
        doubts,
    })
}

type Found = Option<(TraceNanos, ThreadIndex, EventSeq)>;

/// The first and the last call of a function.
fn first_and_last(
    cancel: &Cancel,
    process: &TraceProcess,
    function: FunctionIndex,
) -> Result<(Option<Moment>, Option<Moment>), QueryError> {
    let tables = &process.tables;
    let mut flags = vec![false; tables.meta().functions.len()];
    flags[function.as_usize()] = true;
    let ready = Ready::Function(flags);
    let state = || (Columns::new(), Vec::new(), Found::None, Found::None);
    let states = scan_pieces(tables.meta().blocks.len(), cancel, state, |(columns, chosen, first, last), block| {
        let entry = tables.block(block);
        // What lies between what was found already cannot be the first or the last.
        if first.is_some_and(|it| it.0 <= entry.min_start) && last.is_some_and(|it| it.0 >= entry.max_start) {
            return Ok(());
        }
        let wanted = |column| matches!(column, Column::Function | Column::Start | Column::OpenSeq);
        tables.read(block, wanted, columns)?;
        ready.select(&SpanBatch { thread: entry.thread, columns }, chosen);
        for row in (0..columns.rows()).filter(|&row| chosen[row]) {
            let found = (columns.start(row), entry.thread, columns.seq(row));
            *first = Some(first.map_or(found, |it| it.min(found)));
            *last = Some(last.map_or(found, |it| it.max(found)));
        }
        Ok(())
    })?;
    let moment = |found: Found| {
        found.map(|(time, thread, seq)| Moment {
            time,
            span_id: process.refer(Target::Frame(process.thread_id(thread), seq)),
        })
    };
    let first = states.iter().filter_map(|it| it.2).min();
    let last = states.iter().filter_map(|it| it.3).max();
    Ok((moment(first), moment(last)))
}

/// Names of functions that may have been meant, where none has this one.
pub fn near_names(trace: &Trace, wanted: &str) -> Vec<String> {
    let mut names = BTreeSet::new();
    let mut parts = BTreeSet::new();
    for process in trace.processes() {
        for module in trace.manifest(process).iter().flat_map(|it| &it.modules) {
            for row in process.names.functions(module.module_id) {
                let name = ada_image::demangle(&row.name);
                let plain = ada_image::without_arguments(&name).to_owned();
                if plain.is_empty() {
                    continue;
                }
                if wanted.len() >= 3 && plain.to_lowercase().contains(&wanted.to_lowercase()) && parts.len() < 8 {
                    parts.insert(plain.clone());
                }
                names.insert(plain);
            }
        }
    }
    let mut near: Vec<String> =
        nearest(wanted, names.iter().map(String::as_str)).map(str::to_owned).into_iter().collect();
    near.extend(parts.into_iter().filter(|it| Some(it) != near.first().as_ref().map(|it| *it)).collect::<Vec<_>>());
    near.truncate(8);
    near
}
