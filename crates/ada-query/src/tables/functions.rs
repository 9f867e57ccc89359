//! `functions`.

use ada_span::{FunctionStats, Status};
use rusqlite::types::Value;

use crate::doc::{Kind, TableDoc, plain, pushed};
use crate::error::QueryError;
use crate::relation::{Ask, Described, Listed, Op, Relation, maybe, number, text};
use crate::shared::Shared;
use crate::trace::Target;
use crate::trace::{FunctionLabel, Trace, TraceProcess};

const SESSION: usize = 0;
const PID: usize = 1;
const FUNCTION_ID: usize = 2;
const NAME: usize = 4;
const MODULE: usize = 5;

/// The functions that were called, with their sums, which are kept beside the spans and cost no reading of these.
pub(super) struct Functions;

impl Described for Functions {
    const DOC: &'static TableDoc = &TableDoc {
        name: "functions",
        about: "the functions that were called, with sums over all their calls; ready at once, whatever the trace's size",
        columns: &[
            pushed("session", Kind::Text, "the session's folder"),
            pushed("pid", Kind::Integer, "the process"),
            pushed("function_id", Kind::Text, "the function as module:symbol"),
            plain("reference", Kind::Text, "what ada show takes: function:MODULE:SYMBOL"),
            pushed("name", Kind::Text, "the demangled name, or module+0xoffset"),
            pushed("module", Kind::Text, "the file name of its module"),
            plain("symbol", Kind::Text, "the name as the linker saw it"),
            plain("calls", Kind::Integer, "how often it was called"),
            plain(
                "total_ns",
                Kind::Integer,
                "time in it and what it called; where it calls itself, the outermost call counts",
            ),
            plain("self_ns", Kind::Integer, "time in it alone"),
            plain("min_ns", Kind::Integer, "its shortest call"),
            plain("max_ns", Kind::Integer, "its longest call"),
            plain(
                "avg_ns",
                Kind::Real,
                "the mean duration of calls whose end is known, for functions that do not call themselves",
            ),
            plain("p50_ns", Kind::Integer, "the median duration, to within 6 %"),
            plain("p95_ns", Kind::Integer, "the 95th percentile, to within 6 %"),
            plain("p99_ns", Kind::Integer, "the 99th percentile, to within 6 %"),
            plain("timed", Kind::Integer, "calls whose both ends are known"),
            plain("unmatched", Kind::Integer, "calls with status unmatched"),
            plain("open", Kind::Integer, "calls that had not ended when the recording did"),
            plain("longest_span_id", Kind::Text, "its longest call"),
        ],
        parameters: &[],
    };
}

impl Relation for Functions {
    type Cursor = Listed;
    type Source = Shared;

    fn doc(_: &Shared) -> &'static TableDoc {
        Self::DOC
    }

    fn open(shared: &Shared, ask: &Ask) -> Result<Listed, QueryError> {
        let trace = &shared.trace;
        let mut rows = Vec::new();
        let mut first_id = 0_i64;
        for process in trace.processes() {
            let first = first_id;
            first_id += process.tables.meta().functions.len() as i64;
            let is_wanted = ask.text(SESSION).is_none_or(|name| name == trace.session_of(process).name)
                && ask.number(PID).is_none_or(|pid| pid == i64::from(process.pid.0));
            if !is_wanted {
                continue;
            }
            let id = ask.text(FUNCTION_ID).map(parse_id);
            if let Some(id) = id {
                // A join asks for one function after the other.
                let index = id.and_then(|id| process.tables.meta().function_index(id));
                if let Some((index, label)) = index.and_then(|index| Some((index, process.label_at(index)?))) {
                    let stats = &process.tables.meta().functions[index.as_usize()];
                    rows.push((first + i64::from(index.0), row(trace, process, stats, label, ask)));
                }
                continue;
            }
            for (id, (stats, label)) in (first..).zip(process.tables.meta().functions.iter().zip(process.labels())) {
                if ask.text(NAME).is_none_or(|name| name == label.name)
                    && ask.text(MODULE).is_none_or(|module| module == label.module)
                {
                    rows.push((id, row(trace, process, stats, label, ask)));
                }
            }
        }
        Ok(Listed::with_ids(rows))
    }

    fn expect(shared: &Shared, conditions: &[(usize, Op)]) -> f64 {
        if conditions.iter().any(|it| matches!(it, (FUNCTION_ID | NAME, Op::Eq))) {
            return 1.0;
        }
        shared.trace.processes().iter().map(|it| it.tables.meta().functions.len()).sum::<usize>() as f64
    }
}

fn parse_id(text: &str) -> Option<ada_event::FunctionId> {
    let (module, symbol) = text.split_once(':')?;
    Some(ada_event::FunctionId::new(ada_event::ModuleId(module.parse().ok()?), symbol.parse().ok()?))
}

fn row(trace: &Trace, process: &TraceProcess, stats: &FunctionStats, label: &FunctionLabel, ask: &Ask) -> Vec<Value> {
    let is_timed = stats.timed > 0;
    let timed = |value: u64| if is_timed { number(value) } else { Value::Null };
    // Percentiles go through a histogram, which is not done for nobody.
    let quantile = |column: usize, share: f64| {
        if ask.uses(column) { maybe(stats.quantile(share), number) } else { Value::Null }
    };
    let longest = || {
        let (thread, seq) = stats.longest;
        text(process.refer(Target::Frame(process.thread_id(thread), seq)))
    };
    vec![
        text(&trace.session_of(process).name),
        number(process.pid),
        text(&label.id),
        text(process.refer(Target::Function(stats.function))),
        text(&label.name),
        text(&label.module),
        maybe(process.names.raw(stats.function).filter(|it| !it.is_empty()), text),
        number(stats.spans),
        number(stats.total_ns),
        number(stats.self_ns),
        timed(stats.min_ns),
        timed(stats.max_ns),
        if is_timed { Value::Real(stats.total_ns as f64 / stats.timed as f64) } else { Value::Null },
        quantile(13, 0.5),
        quantile(14, 0.95),
        quantile(15, 0.99),
        number(stats.timed),
        number(stats.by_status[Status::Unmatched as usize]),
        number(stats.by_status[Status::Open as usize]),
        if is_timed { longest() } else { Value::Null },
    ]
}
