//! "Why did this take so long?": a span compared with others of its function, and what its time went into.

use ada_event::EventSeq;
use ada_span::state::ThreadState;
use ada_span::table::{Column, Columns, FunctionIndex};
use ada_span::wait::{Doubt, WaitKind, WaitSpan};
use serde_json::{Value, json};

use crate::cancel::Cancel;
use crate::error::QueryError;
use crate::span::{Extent, FrameSpan, Span, SpanKind, find};
use crate::trace::{Trace, TraceProcess};
use crate::waits::{By, CallPlaces, WaitSum, object_name, sums};
use crate::walk::critical_path;

/// Functions and steps that an answer lists.
const MOST_LISTED: usize = 10;

/// One function's part of a span's time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Share {
    /// The function.
    pub name: String,
    /// Its module.
    pub module: String,
    /// Calls inside the span.
    pub calls: u64,
    /// Time in themselves.
    pub self_ns: u64,
    /// The longest of them.
    pub longest_span_id: String,
}

/// One step of the way that took the time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PathStep {
    /// How deep.
    pub level: usize,
    /// How it was come to: `span`, `call`, `join` or `wake`.
    pub via: &'static str,
    /// The call.
    pub span_id: String,
    /// Its function.
    pub name: String,
    /// Time on the way that no later step has.
    pub own_ns: u64,
}

/// What is known.
#[derive(Clone, Debug, PartialEq)]
pub struct WhySlow {
    /// The span.
    pub span_id: String,
    /// Its function.
    pub name: String,
    /// How long it took.
    pub duration_ns: u64,
    /// Time in itself.
    pub self_ns: Option<u64>,
    /// What half, and 99 of a hundred, of its function's calls take at most.
    pub usual: Option<(u64, u64, u64)>,
    /// The functions inside it with the most time in themselves.
    pub inside: Vec<Share>,
    /// Calls inside it, at any depth.
    pub calls_inside: u64,
    /// What hooks took of it, about, where that was measured.
    pub hooks_ns: Option<u64>,
    /// The steps with the most time of their own, along the critical path.
    pub path: Vec<PathStep>,
    /// In words, the most important first.
    pub because: Vec<String>,
}

impl WhySlow {
    /// The same as JSON.
    pub fn to_json(&self) -> Value {
        json!({
            "span_id": self.span_id,
            "name": self.name,
            "duration_ns": self.duration_ns,
            "self_ns": self.self_ns,
            "usual": self.usual.map(|(p50, p99, calls)| json!({ "p50_ns": p50, "p99_ns": p99, "calls": calls })),
            "calls_inside": self.calls_inside,
            "hooks_ns": self.hooks_ns,
            "because": self.because,
            "inside": self.inside.iter().map(|it| json!({
                "name": it.name, "module": it.module, "calls": it.calls, "self_ns": it.self_ns,
                "longest_span_id": it.longest_span_id,
            })).collect::<Vec<_>>(),
            "path": self.path.iter().map(|it| json!({
                "level": it.level, "via": it.via, "span_id": it.span_id, "name": it.name, "own_ns": it.own_ns,
            })).collect::<Vec<_>>(),
        })
    }
}

/// Looks into a span.
pub fn why_slow(trace: &Trace, cancel: &Cancel, session: Option<&str>, id: &str) -> Result<WhySlow, QueryError> {
    let span = find::one(trace, session, id)?;
    let call = span.call(trace)?;
    let duration_ns = span.duration(trace);
    let mut answer = WhySlow {
        span_id: span.reference(trace).to_string(),
        name: span.name(trace),
        duration_ns,
        self_ns: None,
        usual: None,
        inside: Vec::new(),
        calls_inside: 0,
        hooks_ns: None,
        path: Vec::new(),
        because: Vec::new(),
    };
    if let Some(call) = call {
        look_inside(trace, cancel, span.process, &call, &mut answer)?;
    }
    let mut steps = critical_path(trace, cancel, span)?;
    steps.sort_by_key(|it| std::cmp::Reverse(it.own_ns));
    answer.path = steps
        .iter()
        .take(MOST_LISTED)
        .map(|it| PathStep {
            level: it.level,
            via: it.via,
            span_id: it.span.reference(trace).to_string(),
            name: it.span.name(trace),
            own_ns: it.own_ns,
        })
        .collect();
    explain(trace, span, &mut answer);
    if let Some(call) = call {
        explain_states(trace, span.process, &call, &mut answer);
        explain_waits(trace, span.process, &call, &mut answer)?;
    }
    Ok(answer)
}

/// Adds for how long others had the processors.
fn explain_states(trace: &Trace, number: usize, call: &FrameSpan, answer: &mut WhySlow) {
    let process = &trace.processes()[number];
    if process.is_of_task(call.thread, call.seq()) {
        return;
    }
    let times = process.known_state_times(call.thread, call.start(), call.end());
    let Some(ready) = times.map(|times| times.of(ThreadState::Ready)) else { return };
    let share = ready as f64 / answer.duration_ns.max(1) as f64;
    if share >= 0.1 {
        let time = crate::sql_functions::duration(ready as f64);
        answer
            .because
            .push(format!("it could have run for {time} ({:.0} %), and others had the processors", share * 100.0));
    }
}

/// Adds what was waited for inside a call, and for whom.
fn explain_waits(trace: &Trace, number: usize, call: &FrameSpan, answer: &mut WhySlow) -> Result<(), QueryError> {
    let process = &trace.processes()[number];
    let (start, end) = (call.start(), call.start().saturating_add(answer.duration_ns));
    let all = &process.tables.meta().waits;
    let inside = all[all.partition_point(|wait| wait.start < start)..].iter().take_while(|wait| wait.start < end);
    let own: Vec<&WaitSpan> = inside.filter(|wait| wait.thread == call.thread && wait.end <= end).collect();
    let places = CallPlaces::of_waits(trace, process, own.iter().copied())?;
    for sum in sums(process, own, &places, By::Object) {
        let share = sum.total_ns as f64 / answer.duration_ns.max(1) as f64;
        if share < 0.1 {
            break;
        }
        let object = object_name(process, &sum.longest).map(|object| format!(" {object}")).unwrap_or_default();
        let holder = sum.longest.holder.filter(|_| sum.kind != WaitKind::Join);
        let never = if sum.longest.has_died == 1 && sum.longest.waker == holder { " and ended with" } else { "" };
        let held = holder.map(|holder| format!(", which thread {} had{never}", process.thread_id(holder)));
        let held = held.or_else(|| remote_holder(trace, &sum.longest));
        let place = sum.mostly_held_in(process).map(|name| format!(" (taken in {name})"));
        let held = held.or_else(|| waker(trace, process, &sum, &places).filter(|_| sum.kind != WaitKind::Join));
        answer.because.push(format!(
            "it waited {} ({:.0} %) for {}{object}{}{}",
            crate::sql_functions::duration(sum.total_ns as f64),
            share * 100.0,
            sum.kind,
            held.unwrap_or_default(),
            place.unwrap_or_default(),
        ));
    }
    Ok(())
}

/// `, which thread 13 of process 12 had`.
fn remote_holder(trace: &Trace, wait: &WaitSpan) -> Option<String> {
    let holder = trace.remote_holder(wait)?;
    Some(format!(", which thread {} of process {} had", wait.holder_tid?, holder.process.pid))
}

/// `, which thread 13 of process 12 ended in serve`: what nobody has, somebody makes come. Of several, who ended the longest one.
fn waker(trace: &Trace, process: &TraceProcess, sum: &WaitSum, places: &CallPlaces) -> Option<String> {
    let wait = &sum.longest;
    let who = match (wait.waker, trace.remote_waker(wait)) {
        (Some(thread), _) => format!("thread {}", process.thread_id(thread)),
        (None, Some(remote)) => format!("thread {} of process {}", remote.thread_id, remote.process.pid),
        (None, None) => return None,
    };
    let own = || places.name(process, wait.waker?, wait.wake_seq?);
    let place = own().or_else(|| places.remote_name(wait)).map(|name| format!(" in {name}")).unwrap_or_default();
    let which = if sum.count > 1 { "the longest of which" } else { "which" };
    let is_doubtful = wait.doubts().has(Doubt::SeveralWakers) || wait.doubts().has(Doubt::OutsideWaker);
    let perhaps = if is_doubtful { "perhaps " } else { "" };
    Some(format!(", {which} {perhaps}{who} ended{place}"))
}

fn look_inside(
    trace: &Trace,
    cancel: &Cancel,
    number: usize,
    call: &FrameSpan,
    answer: &mut WhySlow,
) -> Result<(), QueryError> {
    let process = &trace.processes()[number];
    let tables = &process.tables;
    let meta = tables.meta();
    answer.self_ns = Some(call.self_ns());
    if let Some(stats) = meta.functions.get(call.function_index().as_usize()) {
        answer.usual = stats.quantile(0.5).zip(stats.quantile(0.99)).map(|(p50, p99)| (p50, p99, stats.spans));
    }
    let extent = Extent::below(trace, number, call)?;
    // Calls, time in themselves, the longest one's duration and event.
    let mut sums: Vec<(u64, u64, u64, EventSeq)> = vec![(0, 0, 0, EventSeq(0)); meta.functions.len()];
    let mut columns = Columns::new();
    for block in tables.blocks_of(call.thread) {
        let entry = tables.block(block);
        if entry.last_seq < *extent.seqs.start() || entry.first_seq > *extent.seqs.end() {
            continue;
        }
        cancel.check()?;
        tables.read(block, |_| true, &mut columns)?;
        for row in 0..columns.rows() {
            let seq = columns.seq(row);
            if !extent.seqs.contains(&seq) {
                continue;
            }
            answer.calls_inside += 1;
            if let Some(sum) = sums.get_mut(columns.function(row).as_usize()) {
                sum.0 += 1;
                sum.1 = sum.1.saturating_add(columns.at(Column::SelfTime, row));
                let duration = columns.at(Column::Duration, row);
                if duration >= sum.2 {
                    (sum.2, sum.3) = (duration, seq);
                }
            }
        }
    }
    let mut order: Vec<usize> = (0..sums.len()).filter(|&it| sums[it].0 > 0).collect();
    order.sort_by_key(|&it| (std::cmp::Reverse(sums[it].1), it));
    for index in order.into_iter().take(MOST_LISTED) {
        let (calls, self_ns, _, seq) = sums[index];
        let Some(label) = process.label_at(FunctionIndex(index as u32)) else { continue };
        let longest = crate::Target::Frame(process.thread_id(call.thread), seq);
        answer.inside.push(Share {
            name: label.name.clone(),
            module: label.module.clone(),
            calls,
            self_ns,
            longest_span_id: process.refer(longest),
        });
    }
    let cost = trace.manifest(process).and_then(|it| it.hook_cost_ns.as_ref());
    answer.hooks_ns = cost.map(|it| (it.inside + it.pair * answer.calls_inside as f64).max(0.0) as u64);
    Ok(())
}

fn explain(trace: &Trace, span: Span, answer: &mut WhySlow) {
    let time = |nanos: u64| crate::sql_functions::duration(nanos as f64);
    let share = |nanos: u64| nanos as f64 / answer.duration_ns.max(1) as f64;
    let mut because = Vec::new();
    if let Some((p50, p99, calls)) = answer.usual {
        let words = match answer.duration_ns {
            duration if duration > p99.saturating_mul(2) => {
                format!("it took {}, where 99 % of {calls} calls take {} at most", time(duration), time(p99))
            }
            duration if duration > p50.saturating_mul(2) => {
                format!("it took {}, where half of {calls} calls take {} at most", time(duration), time(p50))
            }
            duration => {
                format!("it took {}, which is usual: half of {calls} calls take up to {}", time(duration), time(p50))
            }
        };
        because.push(words);
    }
    if let Some(self_ns) = answer.self_ns.filter(|it| share(*it) >= 0.5) {
        because.push(format!("{:.0} % of it is its own code", share(self_ns) * 100.0));
    }
    for it in answer.inside.iter().filter(|it| share(it.self_ns) >= 0.1) {
        let calls = if it.calls == 1 { "one call".to_owned() } else { format!("{} calls", it.calls) };
        because.push(format!("{} took {} in {calls} ({:.0} %)", it.name, time(it.self_ns), share(it.self_ns) * 100.0));
    }
    let joined = answer.path.iter().filter(|it| it.via == "join").map(|it| &it.name).collect::<Vec<_>>();
    if let Some(first) = joined.first() {
        because.push(format!("it waited for a thread, in which {first} took most of the time"));
    }
    if let SpanKind::Pthread(index) = span.kind {
        let span = &trace.processes()[span.process].tables.meta().pthreads[index];
        if let Some(latency) = span.spawn_latency().filter(|it| share(*it) >= 0.1) {
            because.push(format!("it began {} after it was created", time(latency)));
        }
    }
    if let Some(hooks) = answer.hooks_ns.filter(|it| share(*it) >= 0.1) {
        because.push(format!(
            "about {} of it ({:.0} %) are hooks, not the program",
            time(hooks),
            share(hooks).min(1.0) * 100.0
        ));
    }
    if because.is_empty() {
        because.push(format!("it took {}; nothing inside it stands out", time(answer.duration_ns)));
    }
    answer.because = because;
}
