//! `events`.

use std::ops::Range;

use ada_event::{Event, EventKind, EventSeq, FunctionId, TraceNanos};
use ada_span::{AnomalyKind, ThreadIndex};
use rusqlite::types::{Null, Value};
use rusqlite::vtab::Context;

use crate::doc::{Kind, TableDoc, plain, pushed};
use crate::error::QueryError;
use crate::pattern::{glob, like};
use crate::relation::{Ask, Described, Op, Relation, RowCursor, signed};
use crate::shared::Shared;
use crate::trace::{FunctionLabel, Trace, TraceProcess};
use crate::trace::{Reference, Target};

const SESSION: usize = 0;
const PID: usize = 1;
pub(super) const EVENT_ID: usize = 2;
const THREAD: usize = 3;
pub(super) const SEQ: usize = 4;
const TIME: usize = 5;
const KIND: usize = 6;
const FUNCTION_ID: usize = 7;
const NAME: usize = 8;
const MODULE: usize = 9;
const DEPTH: usize = 10;
const HAS_DETAIL: usize = 11;

/// Events that are taken at once.
const BATCH: usize = 4096;
/// Events between two releases of the pages that were read.
const RELEASE_EVERY: u64 = 1 << 17;

/// Calls and returns as they were recorded, by thread.
pub(super) struct Events;

impl Described for Events {
    const DOC: &'static TableDoc = &TableDoc {
        name: "events",
        about: "calls, returns and exceptions as they were recorded, by thread and time",
        columns: &[
            pushed("session", Kind::Text, "the session's folder"),
            pushed("pid", Kind::Integer, "the process"),
            pushed("event_id", Kind::Text, "its reference, which ada show takes: event:THREAD:N"),
            pushed("thread_id", Kind::Integer, "the thread"),
            pushed("seq", Kind::Integer, "its position among the thread's events, from 0"),
            pushed("time_ns", Kind::Integer, "when, on the trace's clock"),
            pushed(
                "kind",
                Kind::Text,
                "call, return, exception, entry, tail, or stack: the thread goes on with another one",
            ),
            pushed("function_id", Kind::Text, "the function as module:symbol; null for a stack"),
            pushed("name", Kind::Text, "the function's demangled name, or module+0xoffset"),
            pushed("module", Kind::Text, "the file name of the function's module"),
            plain("depth", Kind::Integer, "open calls below it"),
            plain("has_detail", Kind::Integer, "1 where registers were recorded; table details has them"),
        ],
        parameters: &[],
    };
}

impl Relation for Events {
    type Cursor = EventCursor;
    type Source = Shared;

    fn doc(_: &Shared) -> &'static TableDoc {
        Self::DOC
    }

    fn open(shared: &Shared, ask: &Ask) -> Result<EventCursor, QueryError> {
        let mut lanes = Vec::new();
        for (number, process) in shared.trace.processes().iter().enumerate() {
            if is_wanted(&shared.trace, process, ask) {
                let functions = wanted_functions(process, ask);
                for thread in ThreadIndex::all(process.tables.meta().threads.len()) {
                    let range = wanted_range(&shared.trace, process, thread, ask);
                    if !range.is_empty() {
                        lanes.push(Lane { process: number, thread, range, functions: functions.clone() });
                    }
                }
            }
        }
        let kind = ask.text(KIND).map(kind_number);
        let mut cursor = EventCursor {
            shared: shared.clone(),
            time: ask.range(TIME),
            kind,
            lanes: lanes.into_iter(),
            lane: None,
            batch: Vec::new(),
            at: 0,
            released: EventSeq(0),
            is_done: false,
        };
        cursor.fill()?;
        Ok(cursor)
    }

    fn expect(shared: &Shared, conditions: &[(usize, Op)]) -> f64 {
        let events =
            |process: &TraceProcess| process.tables.meta().threads.iter().map(|it| it.facts.events).sum::<u64>();
        let mut rows = shared.trace.processes().iter().map(events).sum::<u64>() as f64;
        for (column, op) in conditions {
            rows /= match (*column, op) {
                (EVENT_ID | SEQ, Op::Eq) => return 1.0,
                (NAME | FUNCTION_ID, _) => 100.0,
                (SESSION | PID, _) => 1.0,
                _ => 4.0,
            };
        }
        rows
    }
}

/// Whether a process can have what is asked for.
pub(super) fn is_wanted(trace: &Trace, process: &TraceProcess, ask: &Ask) -> bool {
    ask.text(SESSION).is_none_or(|name| name == trace.session_of(process).name)
        && ask.number(PID).is_none_or(|pid| pid == i64::from(process.pid.0))
}

/// The functions that conditions on names leave, sorted; none for all. The columns have the same indexes in `details`.
pub(super) fn wanted_functions(process: &TraceProcess, ask: &Ask) -> Option<Vec<FunctionId>> {
    type Of = fn(&FunctionLabel) -> &String;
    let columns: [(usize, Of); 3] = [(FUNCTION_ID, |it| &it.id), (NAME, |it| &it.name), (MODULE, |it| &it.module)];
    let mut tests: Vec<(Of, Op, &str)> = Vec::new();
    for condition in &ask.conditions {
        let of = columns.iter().find(|(column, _)| *column == condition.column);
        if let (Some((_, of)), Value::Text(text)) = (of, &condition.value)
            && (matches!(condition.op, Op::Eq | Op::Like) || condition.op == Op::Glob && !text.contains('['))
        {
            tests.push((*of, condition.op, text));
        }
    }
    if tests.is_empty() {
        return None;
    }
    let holds = |label: &FunctionLabel| {
        tests.iter().all(|(of, op, pattern)| match op {
            Op::Like => like(pattern, of(label)),
            Op::Glob => glob(pattern, of(label)).unwrap_or(true),
            _ => of(label) == pattern,
        })
    };
    let functions = process.tables.meta().functions.iter().zip(process.labels());
    let mut found: Vec<FunctionId> = functions.filter(|(_, label)| holds(label)).map(|(it, _)| it.function).collect();
    found.sort_unstable();
    Some(found)
}

/// The positions of a thread's events that can match.
pub(super) fn wanted_range(trace: &Trace, process: &TraceProcess, thread: ThreadIndex, ask: &Ask) -> Range<EventSeq> {
    let recorded = &trace.recorded(process).threads[thread.as_usize()];
    let index = recorded.index();
    let id = recorded.id();
    if ask.number(THREAD).is_some_and(|wanted| wanted != i64::from(id.0)) {
        return EventSeq(0)..EventSeq(0);
    }
    let (low, high) = ask.range(SEQ);
    let (mut from, mut until) = (EventSeq(low), EventSeq(index.len()).min(EventSeq(high).next()));
    if let Some(wanted) = ask.text(EVENT_ID) {
        match wanted.parse::<Reference>() {
            Ok(Reference { pid, target: Target::Event(thread, seq) })
                if thread == id && pid.is_none_or(|pid| pid == process.pid) =>
            {
                (from, until) = (from.max(seq), until.min(seq.next()));
            }
            _ => return EventSeq(0)..EventSeq(0),
        }
    }
    // Time runs backwards in few threads; those have to be looked through.
    let anomalies = &process.tables.meta().anomalies;
    let is_ordered = !anomalies.iter().any(|it| it.thread == thread && it.kind == AnomalyKind::TimeBackwards as u32);
    let (low, high) = ask.range(TIME);
    if is_ordered && low <= high && (low, high) != (0, u64::MAX) {
        from = from.max(index.first_at(TraceNanos(low)));
        until = until.min(high.checked_add(1).map_or(EventSeq(u64::MAX), |behind| index.first_at(TraceNanos(behind))));
    }
    from..until.max(from)
}

fn kind_number(word: &str) -> u32 {
    let known =
        [EventKind::CALL, EventKind::RETURN, EventKind::EXCEPTION, EventKind::ENTRY, EventKind::TAIL, EventKind::STACK];
    known.into_iter().find(|kind| kind.name() == Some(word)).map_or(u32::MAX, |kind| kind.0)
}

struct Lane {
    process: usize,
    thread: ThreadIndex,
    range: Range<EventSeq>,
    functions: Option<Vec<FunctionId>>,
}

pub(super) struct EventCursor {
    shared: Shared,
    time: (u64, u64),
    kind: Option<u32>,
    lanes: std::vec::IntoIter<Lane>,
    lane: Option<Lane>,
    batch: Vec<(EventSeq, Event)>,
    at: usize,
    released: EventSeq,
    is_done: bool,
}

impl EventCursor {
    fn fill(&mut self) -> Result<(), QueryError> {
        self.batch.clear();
        self.at = 0;
        loop {
            self.shared.cancel.check()?;
            if self.lane.as_ref().is_none_or(|lane| lane.range.is_empty()) {
                self.lane = self.lanes.next();
                self.released = EventSeq(0);
            }
            let Some(lane) = &mut self.lane else {
                self.is_done = true;
                return Ok(());
            };
            let trace = &self.shared.trace;
            let thread = &trace.recorded(&trace.processes()[lane.process]).threads[lane.thread.as_usize()];
            let index = thread.index();
            if let Some(functions) = &lane.functions {
                lane.range.start = index.skip_without(functions, lane.range.start).min(lane.range.end);
            }
            // Where functions are asked for, many events are passed over.
            let most = if lane.functions.is_some() { RELEASE_EVERY as usize } else { BATCH };
            let until = lane.range.end.min(lane.range.start + most as u64);
            for seq in (lane.range.start.0..until.0).map(EventSeq) {
                let Some(event) = index.event(seq) else { continue };
                let is_wanted = (self.time.0..=self.time.1).contains(&event.timestamp.0)
                    && self.kind.is_none_or(|kind| kind == event.kind.0)
                    && lane.functions.as_ref().is_none_or(|them| them.binary_search(&event.function).is_ok());
                if is_wanted {
                    self.batch.push((seq, event));
                }
            }
            lane.range.start = until;
            if until.since(self.released) >= RELEASE_EVERY {
                self.released = until;
                thread.release();
            }
            if !self.batch.is_empty() {
                return Ok(());
            }
        }
    }

    fn label<T>(&self, function: FunctionId, put: impl FnOnce(&FunctionLabel) -> T) -> T {
        let process = self.lane.as_ref().map_or(0, |lane| lane.process);
        let process = &self.shared.trace.processes()[process];
        put(&process.label(function))
    }
}

impl RowCursor for EventCursor {
    #[inline]
    fn is_done(&self) -> bool {
        self.is_done
    }

    #[inline]
    fn advance(&mut self) -> Result<(), QueryError> {
        self.at += 1;
        if self.at < self.batch.len() { Ok(()) } else { self.fill() }
    }

    fn id(&self) -> i64 {
        match (&self.lane, self.batch.get(self.at)) {
            (Some(lane), Some((seq, _))) => self.shared.trace.processes()[lane.process].event_number(lane.thread, *seq),
            _ => 0,
        }
    }

    fn put(&self, column: usize, out: &mut Context) -> rusqlite::Result<()> {
        let (Some(lane), Some((seq, event))) = (&self.lane, self.batch.get(self.at)) else {
            return out.set_result(Null);
        };
        let trace = &self.shared.trace;
        let process = &trace.processes()[lane.process];
        match column {
            SESSION => out.set_result(&*trace.session_of(process).name),
            PID => out.set_result(process.pid.0),
            EVENT_ID => out.set_result(process.refer(Target::Event(process.thread_id(lane.thread), *seq))),
            THREAD => out.set_result(process.thread_id(lane.thread).0),
            SEQ => out.set_result(signed(seq.0)),
            TIME => out.set_result(signed(event.timestamp.0)),
            KIND => match event.kind.name() {
                Some(name) => out.set_result(name),
                None => out.set_result(event.kind.to_string()),
            },
            FUNCTION_ID | NAME | MODULE if event.kind == EventKind::STACK => out.set_result(Null),
            FUNCTION_ID => self.label(event.function, |label| out.set_result(&*label.id)),
            NAME => self.label(event.function, |label| out.set_result(&*label.name)),
            MODULE => self.label(event.function, |label| out.set_result(&*label.module)),
            DEPTH => out.set_result(event.depth),
            HAS_DETAIL => out.set_result(event.detail.get().is_some()),
            _ => out.set_result(Null),
        }
    }
}
