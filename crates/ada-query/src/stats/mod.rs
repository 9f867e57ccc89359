//! `stats(by, condition)`: sums over spans in groups, made by all processors. SQLite's own `GROUP BY` takes ten times
//! as long.

mod named;

pub(crate) use named::with_names;

use rusqlite::types::Value;

use crate::doc::{ColumnDoc, Kind, TableDoc, plain};
use crate::error::QueryError;
use crate::grouping::{Aggregate, MOST_PARTS, Question, Running, parse_parts};
use crate::mistake::Mistake;
use crate::predicate::{Measure, Subject, Test, parse_condition};
use crate::relation::{Ask, Described, Listed, Op, Relation, maybe, number};
use crate::shared::Shared;

/// Groups in all: each is a row in memory.
const MOST_GROUPS: usize = 1 << 22;
/// Bytes that groups may take.
const MEMORY: u64 = 1 << 30;
/// The columns between the keys and the percentiles.
const SUMS: [Aggregate; 6] = [
    Aggregate::Rows,
    Aggregate::Sum(Measure::Duration),
    Aggregate::Sum(Measure::SelfTime),
    Aggregate::Least(Measure::Duration),
    Aggregate::Most(Measure::Duration),
    Aggregate::Mean(Measure::Duration),
];
const P50: usize = MOST_PARTS + SUMS.len();

const COLUMNS: &[ColumnDoc] = &[
    plain("key1", Kind::Text, "the value of the first column that is grouped by"),
    plain("key2", Kind::Text, "of the second"),
    plain("key3", Kind::Text, "of the third"),
    plain("key4", Kind::Text, "of the fourth"),
    plain("count", Kind::Integer, "how many spans"),
    plain("total_ns", Kind::Integer, "their durations together"),
    plain("self_ns", Kind::Integer, "their time in themselves together; none of threads and the like"),
    plain("min_ns", Kind::Integer, "the shortest"),
    plain("max_ns", Kind::Integer, "the longest"),
    plain("avg_ns", Kind::Real, "the mean"),
    plain("p50_ns", Kind::Integer, "the median, to within 6 %"),
    plain("p95_ns", Kind::Integer, "the 95th percentile, to within 6 %"),
    plain("p99_ns", Kind::Integer, "the 99th percentile, to within 6 %"),
];

/// The table.
pub(crate) struct Stats;

impl Described for Stats {
    const DOC: &'static TableDoc = &TableDoc {
        name: "stats",
        about: "sums over spans in groups, by all processors: stats('name'), stats('thread_id, status', 'duration_ns > 1000000'), stats('start_ns/1000000')",
        columns: COLUMNS,
        parameters: &[
            plain(
                "by",
                Kind::Text,
                "up to four columns of spans, separated by commas; start_ns/1000000 groups by milliseconds; '' makes one group",
            ),
            plain(
                "condition",
                Kind::Text,
                "like a WHERE over columns of spans: AND, OR, NOT, comparisons, LIKE, GLOB, IN, BETWEEN, IS NULL",
            ),
        ],
    };
}

impl Relation for Stats {
    type Cursor = Listed;
    type Source = Shared;

    fn doc(_: &Shared) -> &'static TableDoc {
        Self::DOC
    }

    fn open(shared: &Shared, ask: &Ask) -> Result<Listed, QueryError> {
        let columns = Self::DOC.columns.len();
        let argument = |index: usize| -> Result<&str, QueryError> {
            let found = ask.conditions.iter().find(|it| it.column == columns + index && it.op == Op::Eq);
            match found.map(|it| &it.value) {
                None | Some(Value::Null) => Ok(""),
                Some(Value::Text(text)) => Ok(text),
                Some(_) => Err(QueryError::Mistake(Mistake::new("stats takes texts, such as stats('name')", "", None))),
            }
        };
        let parts = parse_parts(Subject::Spans, argument(0)?)?;
        let test = match argument(1)?.trim() {
            "" => Test::All(Vec::new()),
            _ => parse_condition(Subject::Spans, argument(1)?).map_err(QueryError::Mistake)?,
        };
        let keys = parts.len();
        let question = Question {
            subject: Subject::Spans,
            parts,
            test,
            values: SUMS.to_vec(),
            top: None,
            is_never_empty: false,
            wants_quantiles: (P50..columns).any(|column| ask.uses(column)),
        };
        let Some((mut running, first)) = Running::begin(shared, question, MEMORY)? else {
            return Err(QueryError::TooLarge);
        };
        let (mut rows, mut next) = (Vec::new(), Some(first));
        while let Some(groups) = next {
            if rows.len() + groups.len() > MOST_GROUPS {
                return Err(QueryError::TooLarge);
            }
            for at in 0..groups.len() {
                let mut row: Vec<Value> = (0..keys).map(|part| groups.key_value(at, part)).collect();
                row.resize(MOST_PARTS, Value::Null);
                row.extend((0..SUMS.len()).map(|sum| groups.value(at, sum).unwrap_or(Value::Integer(i64::MAX))));
                debug_assert_eq!(row.len(), P50);
                row.extend([0.5, 0.95, 0.99].map(|share| maybe(groups.quantile(at, share), number)));
                rows.push(row);
            }
            next = running.next()?;
        }
        // What took longest comes first; the same in the order of their values.
        let sum = |row: &Vec<Value>, column: usize| match row[column] {
            Value::Integer(number) => number,
            _ => 0,
        };
        rows.sort_by_key(|row| std::cmp::Reverse((sum(row, MOST_PARTS + 1), sum(row, MOST_PARTS))));
        Ok(Listed::new(rows))
    }

    fn expect(_: &Shared, _: &[(usize, Op)]) -> f64 {
        1000.0
    }
}
