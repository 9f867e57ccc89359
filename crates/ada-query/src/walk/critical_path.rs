//! `critical_path(span_id)`: what a span's time was spent on, across threads.
//!
//! Within a thread a call is followed into the calls that it encloses. Where one of them waited for a thread to end, the
//! way goes on in that thread, as far as the wait lasted; where another thread ended a wait, in that one until it did. Calls that take less than a hundredth of the whole are part of
//! their caller's own time.

use std::collections::HashMap;

use ada_event::{EventSeq, TraceNanos};
use ada_span::table::Columns;
use ada_span::wait::{WaitKind, WaitSpan};

use super::relatives::span_argument;
use crate::cancel::Cancel;
use crate::doc::{Kind, TableDoc, plain};
use crate::error::QueryError;
use crate::predicate::{Measure, Ready};
use crate::relation::{Ask, Described, Listed, Op, Relation, number, text};
use crate::scan::Matching;
use crate::shared::Shared;
use crate::span::{Extent, FrameSpan, Span, SpanColumn, SpanKind};
use crate::trace::Trace;

/// Calls below this part of the whole count as their caller's own time.
const LEAST_SHARE: u64 = 100;
/// Steps of an answer at most.
const MOST_STEPS: usize = 10_000;
/// Threads that wait for threads that wait are followed so far.
const MOST_JUMPS: usize = 64;

/// A stretch of time: from its beginning to its end.
type TimeWindow = (TraceNanos, TraceNanos);

/// A part of the way.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Step {
    pub(crate) span: Span,
    pub(crate) level: usize,
    /// How it was come to: `span`, `call`, `join` or `wake`.
    pub(crate) via: &'static str,
    pub(crate) start: TraceNanos,
    pub(crate) end: TraceNanos,
    /// Time on the way that no later step has.
    pub(crate) own_ns: u64,
}

/// The way through a span.
pub(crate) fn critical_path(trace: &Trace, cancel: &Cancel, span: Span) -> Result<Vec<Step>, QueryError> {
    let Some(call) = span.call(trace)? else {
        let (start, duration) = (span.start(trace), span.duration(trace));
        let end = start.saturating_add(duration);
        return Ok(vec![Step { span, level: 0, via: "span", start, end, own_ns: duration }]);
    };
    let least = (call.duration() / LEAST_SHARE).max(1);
    let mut walk = Walk { trace, cancel, least, steps: Vec::new(), jumps: 0 };
    walk.call(span.process, call, (call.start(), call.end()), "span", 0)?;
    Ok(walk.steps)
}

struct Walk<'a> {
    trace: &'a Trace,
    cancel: &'a Cancel,
    least: u64,
    steps: Vec<Step>,
    jumps: usize,
}

/// Calls of a thread that are long enough to be steps, by their callers.
struct Calls {
    process: usize,
    by_parent: HashMap<EventSeq, Vec<FrameSpan>>,
    /// What was waited for, by the call that did.
    waits: HashMap<EventSeq, WaitedFor>,
}

/// Where the way goes on from a call that waited.
#[derive(Clone, Copy)]
enum WaitedFor {
    /// The end of a thread, by the index of its span.
    Thread(usize),
    /// A call of another thread, by the index of the wait that it ended.
    Waker(usize),
}

impl Walk<'_> {
    fn call(
        &mut self,
        process: usize,
        call: FrameSpan,
        window: TimeWindow,
        via: &'static str,
        level: usize,
    ) -> Result<(), QueryError> {
        let calls = self.calls_below(process, &call)?;
        self.add_steps(&calls, call, window, via, level)
    }

    fn calls_below(&self, process: usize, root: &FrameSpan) -> Result<Calls, QueryError> {
        let tables = &self.trace.processes()[process].tables;
        let extent = Extent::below(self.trace, process, root)?;
        let blocks = tables.blocks_of(root.thread).filter(|&block| {
            let entry = tables.block(block);
            entry.first_seq <= *extent.seqs.end() && entry.last_seq >= *extent.seqs.start()
        });
        let mut matching = Matching::new(tables, Ready::Range(Measure::Duration, self.least, u64::MAX), blocks);
        let mut columns = Columns::new();
        let mut by_parent: HashMap<EventSeq, Vec<FrameSpan>> = HashMap::new();
        while let Some((block, rows)) = matching.next(tables, self.cancel)? {
            tables.read(block, |_| true, &mut columns)?;
            for row in rows.unwrap_or_else(|| (0..columns.rows() as u16).collect()) {
                let call = FrameSpan::of_row(root.thread, &columns, row.into());
                if extent.seqs.contains(&call.seq()) {
                    by_parent.entry(call.parent_seq().unwrap_or(call.seq())).or_default().push(call);
                }
            }
        }
        let mut waits = HashMap::new();
        // The deepest call in which a whole wait lies.
        let around = |begin: TraceNanos, end: TraceNanos| {
            let all = by_parent.values().flatten().chain([root]);
            all.filter(|it| it.start() <= begin && it.end() >= end).max_by_key(|it| it.depth()).map(FrameSpan::seq)
        };
        let all = tables.meta().waits.iter().enumerate();
        let mut ended: Vec<(usize, &WaitSpan)> = all.filter(|(_, it)| self.is_followed(it, root)).collect();
        // The longest of several in a call stays.
        ended.sort_by_key(|(_, wait)| wait.duration());
        for (index, wait) in ended {
            waits.extend(around(wait.start, wait.end).map(|call| (call, WaitedFor::Waker(index))));
        }
        for (index, span) in tables.meta().pthreads.iter().enumerate() {
            if let Some((begin, end)) = span.join_time.zip(span.join_end).filter(|_| span.joiner == Some(root.thread)) {
                waits.extend(around(begin, end).map(|call| (call, WaitedFor::Thread(index))));
            }
        }
        Ok(Calls { process, by_parent, waits })
    }

    /// Adds a call, what it encloses and whom it waits for.
    fn add_steps(
        &mut self,
        calls: &Calls,
        root: FrameSpan,
        window: TimeWindow,
        via: &'static str,
        level: usize,
    ) -> Result<(), QueryError> {
        // A stack of our own: programs nest deeper than we could.
        let mut open: Vec<(FrameSpan, &'static str, usize)> = vec![(root, via, level)];
        while let Some((call, via, level)) = open.pop() {
            if self.steps.len() >= MOST_STEPS {
                return Ok(());
            }
            let (start, end) = clip(&call, window);
            let children = calls.by_parent.get(&call.seq()).map_or(&[][..], Vec::as_slice);
            let inside = |it: &&FrameSpan| clip(it, window).0 < clip(it, window).1;
            let covered: u64 =
                children.iter().filter(inside).map(|it| clip(it, window)).map(|(from, to)| to - from).sum();
            let span = Span::frame(calls.process, call);
            let own_ns = end.since(start).saturating_sub(covered);
            self.steps.push(Step { span, level, via, start, end, own_ns });
            // What a wait calls is how it waits; the way goes through whom it waits for.
            if let Some(&waited_for) = calls.waits.get(&call.seq())
                && self.follow(calls.process, waited_for, (start, end), level + 1)?
            {
                continue;
            }
            let later = children.iter().rev().filter(inside);
            open.extend(later.map(|it| (*it, "call", level + 1)));
        }
        Ok(())
    }

    /// Goes on in a thread that was waited for. False if it did nothing meanwhile.
    fn follow(
        &mut self,
        mut process: usize,
        waited_for: WaitedFor,
        window: TimeWindow,
        level: usize,
    ) -> Result<bool, QueryError> {
        if self.jumps >= MOST_JUMPS {
            return Ok(false);
        }
        self.jumps += 1;
        let waiting = self.steps.len() - 1;
        let (call, via, meanwhile) = match waited_for {
            WaitedFor::Thread(index) => {
                let thread = Span { process, kind: SpanKind::Pthread(index) };
                (thread.call(self.trace)?, "join", window)
            }
            WaitedFor::Waker(index) => {
                let wait = self.trace.processes()[process].tables.meta().waits[index];
                // What ends later is not what this part of the way waits for.
                if wait.end > window.1 {
                    return Ok(false);
                }
                let until = wait.wake_time.unwrap_or(wait.end).clamp(window.0, window.1);
                process = wait.remote_process.map_or(process, |remote| remote as usize);
                (self.outermost(process, &wait)?, "wake", (wait.start.clamp(window.0, until), until))
            }
        };
        let Some(call) = call else { return Ok(false) };
        let (start, end) = clip(&call, meanwhile);
        if start >= end {
            return Ok(false);
        }
        // The wait itself is what the other thread did meanwhile.
        self.steps[waiting].own_ns = (window.1 - window.0).saturating_sub(end - start);
        self.call(process, call, (start, end), via, level)?;
        Ok(true)
    }

    /// Whether a wait of a call's thread is long enough, and it is known who ended it.
    fn is_followed(&self, wait: &WaitSpan, root: &FrameSpan) -> bool {
        let is_other = wait.waker.is_some_and(|waker| waker != wait.thread) || wait.remote_waker.is_some();
        let is_known = wait.wake_seq.is_some() && is_other;
        is_known && wait.kind() != WaitKind::Join && wait.thread == root.thread && wait.duration() >= self.least
    }

    /// The outermost call around the one that ended a wait.
    fn outermost(&self, process: usize, wait: &WaitSpan) -> Result<Option<FrameSpan>, QueryError> {
        /// Calls that are looked through at most.
        const DEEPEST: usize = 1000;
        let Some((thread, seq)) = wait.waker.or(wait.remote_waker).zip(wait.wake_seq) else { return Ok(None) };
        let tables = &self.trace.processes()[process].tables;
        let mut call = FrameSpan::read(tables, thread, seq)?;
        for _ in 0..DEEPEST {
            let Some(parent) = call.and_then(|call| call.parent_seq()) else { break };
            call = FrameSpan::read(tables, thread, parent)?.or(call);
        }
        Ok(call)
    }
}

fn clip(call: &FrameSpan, window: TimeWindow) -> TimeWindow {
    let (start, end) = (call.start(), call.end());
    (start.max(window.0).min(window.1), end.min(window.1).max(window.0))
}

/// The table.
pub(crate) struct CriticalPath;

impl Described for CriticalPath {
    const DOC: &'static TableDoc = &TableDoc {
        name: "critical_path",
        about: "what a span's time was spent on, step by step and across threads that it waited for; calls below 1 % count as their caller's",
        columns: &[
            plain("session", Kind::Text, "the session's folder"),
            plain("step", Kind::Integer, "steps from 1, in the order in which they are entered"),
            plain("level", Kind::Integer, "how deep the step is"),
            plain(
                "via",
                Kind::Text,
                "span (the first), call, join: in a thread that was waited for, or wake: in one that ended a wait",
            ),
            plain("span_id", Kind::Text, "the call"),
            plain("name", Kind::Text, "its function"),
            plain("module", Kind::Text, "its module"),
            plain("thread_id", Kind::Integer, "its thread"),
            plain("start_ns", Kind::Integer, "where it enters the path"),
            plain("end_ns", Kind::Integer, "where it leaves it"),
            plain("own_ns", Kind::Integer, "time on the path that no later step has"),
        ],
        parameters: &[
            plain("of_span", Kind::Text, "the span_id"),
            plain("in_session", Kind::Text, "its session, where several are asked"),
        ],
    };
}

impl Relation for CriticalPath {
    type Cursor = Listed;
    type Source = Shared;

    fn doc(_: &Shared) -> &'static TableDoc {
        Self::DOC
    }

    fn open(shared: &Shared, ask: &Ask) -> Result<Listed, QueryError> {
        let span = span_argument(shared, ask, Self::DOC.columns.len(), "critical_path")?;
        let trace = &shared.trace;
        let steps = critical_path(trace, &shared.cancel, span)?;
        let rows = steps.iter().zip(1_u64..).map(|(step, position)| {
            let of = |column: SpanColumn| step.span.value(trace, column).into();
            vec![
                of(SpanColumn::Session),
                number(position),
                number(step.level as u64),
                text(step.via),
                of(SpanColumn::SpanId),
                of(SpanColumn::Name),
                of(SpanColumn::Module),
                of(SpanColumn::Thread),
                number(step.start),
                number(step.end),
                number(step.own_ns),
            ]
        });
        Ok(Listed::new(rows.collect()))
    }

    fn expect(_: &Shared, _: &[(usize, Op)]) -> f64 {
        100.0
    }
}
