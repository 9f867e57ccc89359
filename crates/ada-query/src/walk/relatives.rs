//! `ancestors(span_id)`, `descendants(span_id)` and `overlaps(t0, t1)`.

use ada_span::SpanError;
use rusqlite::types::Value;

use crate::doc::{ColumnDoc, Kind, TableDoc, plain};
use crate::error::QueryError;
use crate::mistake::Mistake;
use crate::predicate::{Field, Test};
use crate::relation::{Ask, Described, Op, Relation};
use crate::shared::Shared;
use crate::span::{COLUMNS, Extent, FrameSpan, Span, SpanKind, find};
use crate::span_cursor::{SpanCursor, SpanScan, hints, used_columns};
use crate::trace::Trace;

const SPAN_PARAMETERS: &[ColumnDoc] = &[
    plain("of_span", Kind::Text, "the span_id to begin at"),
    plain("in_session", Kind::Text, "its session, where several are asked"),
];

/// The arguments of a function behind the columns of a span.
fn argument(ask: &Ask, index: usize) -> Option<&Value> {
    let column = COLUMNS.len() + index;
    ask.conditions.iter().find(|it| it.column == column && it.op == Op::Eq).map(|it| &it.value)
}

pub(super) fn span_argument(shared: &Shared, ask: &Ask, columns: usize, name: &str) -> Result<Span, QueryError> {
    let at = |index: usize| {
        let found = ask.conditions.iter().find(|it| it.column == columns + index && it.op == Op::Eq);
        found.and_then(|it| match &it.value {
            Value::Text(text) => Some(text.as_str()),
            _ => None,
        })
    };
    let Some(id) = at(0) else {
        let words = format!("{name} takes a span_id, such as {name}('frame:4712:90')");
        return Err(QueryError::Mistake(Mistake::new(words, "", None)));
    };
    find::one(&shared.trace, at(1), id)
}

/// What led to a span: its callers, and across threads the calls that made its thread or handed its address over.
pub(crate) struct Ancestors;

impl Described for Ancestors {
    const DOC: &'static TableDoc = &TableDoc {
        name: "ancestors",
        about: "what led to a span, nearest first: callers, and the calls that created its thread or registered its callback",
        columns: COLUMNS,
        parameters: SPAN_PARAMETERS,
    };
}

impl Relation for Ancestors {
    type Cursor = SpanCursor;
    type Source = Shared;

    fn doc(_: &Shared) -> &'static TableDoc {
        Self::DOC
    }

    fn open(shared: &Shared, ask: &Ask) -> Result<SpanCursor, QueryError> {
        let span = span_argument(shared, ask, COLUMNS.len(), "ancestors")?;
        SpanCursor::of(shared.clone(), ancestors(&shared.trace, span)?)
    }

    fn expect(_: &Shared, _: &[(usize, Op)]) -> f64 {
        30.0
    }
}

/// The longest chain that is followed: a damaged trace could have a circle.
const LONGEST: usize = 1 << 22;

pub(crate) fn ancestors(trace: &Trace, span: Span) -> Result<Vec<Span>, QueryError> {
    let mut found = Vec::new();
    let mut at = span;
    while found.len() < LONGEST {
        let Some(next) = parent(trace, at)? else { break };
        found.push(next);
        at = next;
    }
    Ok(found)
}

fn parent(trace: &Trace, span: Span) -> Result<Option<Span>, SpanError> {
    let process = span.process;
    let tables = &trace.processes()[process].tables;
    let meta = tables.meta();
    let call = match span.kind {
        SpanKind::Frame(call) => {
            let (thread, seq) = (call.thread, call.seq());
            let lives = meta.pthreads.iter().enumerate();
            let own = lives.filter(|(_, it)| it.thread == thread && it.begin_seq <= seq);
            let own = own.max_by_key(|(_, it)| it.begin_seq).map(|(at, it)| (at, it.routine_seq));
            // Where a thread's routine begins, its creation is what led to it, and not the library's first function.
            if let Some((at, routine)) = own
                && (routine == Some(seq) || call.parent_seq().is_none())
            {
                return Ok(Some(Span { process, kind: SpanKind::Pthread(at) }));
            }
            match call.parent_seq() {
                Some(parent) => Some((thread, parent)),
                None => return Ok(None),
            }
        }
        SpanKind::Pthread(at) => meta.pthreads[at].creator.zip(meta.pthreads[at].create_seq),
        SpanKind::Callback(at) => Some((meta.callbacks[at].initiator_thread, meta.callbacks[at].initiator_seq)),
        SpanKind::Task(at) => match SpanKind::of_context(meta.tasks[at].parent()) {
            Some(kind) => return Ok(Some(Span { process, kind })),
            None => meta.tasks[at].create_thread.zip(meta.tasks[at].create_seq),
        },
        SpanKind::Block(at) => match SpanKind::of_context(meta.dispatched[at].parent()) {
            Some(kind) => return Ok(Some(Span { process, kind })),
            None => Some((meta.dispatched[at].submit_thread, meta.dispatched[at].submit_seq)),
        },
    };
    let Some((thread, seq)) = call else { return Ok(None) };
    Ok(FrameSpan::read(tables, thread, seq)?.map(|call| Span::frame(process, call)))
}

/// The calls that a span encloses, at any depth.
pub(crate) struct Descendants;

impl Described for Descendants {
    const DOC: &'static TableDoc = &TableDoc {
        name: "descendants",
        about: "the calls that a span encloses, at any depth, in the order of their start",
        columns: COLUMNS,
        parameters: SPAN_PARAMETERS,
    };
}

impl Relation for Descendants {
    type Cursor = SpanCursor;
    type Source = Shared;

    fn doc(_: &Shared) -> &'static TableDoc {
        Self::DOC
    }

    fn open(shared: &Shared, ask: &Ask) -> Result<SpanCursor, QueryError> {
        let span = span_argument(shared, ask, COLUMNS.len(), "descendants")?;
        let within = match span.call(&shared.trace)? {
            Some(call) => Some(Extent::below(&shared.trace, span.process, &call)?),
            None => None,
        };
        let used = used_columns(ask);
        SpanCursor::open(
            shared.clone(),
            SpanScan { test: Test::All(hints(ask)), used, within: Some(within), with_logical: false },
        )
    }

    fn expect(_: &Shared, _: &[(usize, Op)]) -> f64 {
        1e4
    }
}

/// The spans that were under way in a stretch of time.
pub(crate) struct Overlaps;

impl Described for Overlaps {
    const DOC: &'static TableDoc = &TableDoc {
        name: "overlaps",
        about: "the spans that were under way between two moments of the trace's clock",
        columns: COLUMNS,
        parameters: &[
            plain("from_ns", Kind::Integer, "the first moment"),
            plain("to_ns", Kind::Integer, "the last moment"),
        ],
    };
}

impl Relation for Overlaps {
    type Cursor = SpanCursor;
    type Source = Shared;

    fn doc(_: &Shared) -> &'static TableDoc {
        Self::DOC
    }

    fn open(shared: &Shared, ask: &Ask) -> Result<SpanCursor, QueryError> {
        let (Some(from), Some(to)) = (argument(ask, 0), argument(ask, 1)) else {
            let words = "overlaps takes two moments, such as overlaps(12050214209794, 12050214309794)";
            return Err(QueryError::Mistake(Mistake::new(words, "", None)));
        };
        let mut tests = hints(ask);
        tests.push(Test::Compare(Field::Start, Op::Le, to.clone()));
        tests.push(Test::Compare(Field::End, Op::Ge, from.clone()));
        let scan = SpanScan { test: Test::All(tests), used: used_columns(ask), within: None, with_logical: true };
        SpanCursor::open(shared.clone(), scan)
    }

    fn expect(_: &Shared, _: &[(usize, Op)]) -> f64 {
        1e4
    }
}
