//! `stats(by, condition)`: sums over spans in groups, made by all processors. SQLite's own `GROUP BY` takes ten times
//! as long.

mod condition;
mod group;
mod grouped;

use rusqlite::types::Value;

use crate::doc::{Kind, TableDoc, plain};
use crate::error::QueryError;
use crate::mistake::Mistake;
use crate::predicate::Test;
use crate::relation::{Ask, Described, Listed, Op, Relation, maybe, number};
use crate::shared::Shared;

use group::{MOST_PARTS, aggregate, parse_parts};
pub(crate) use grouped::grouped;

const KEYS: usize = MOST_PARTS;
const P50: usize = KEYS + 6;

/// The table.
pub(crate) struct Stats;

impl Described for Stats {
    const DOC: &'static TableDoc = &TableDoc {
        name: "stats",
        about: "sums over spans in groups, by all processors: stats('name'), stats('thread_id, status', 'duration_ns > 1000000'), stats('start_ns/1000000')",
        columns: &[
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
        ],
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
        let parts = parse_parts(argument(0)?)?;
        let test = match argument(1)?.trim() {
            "" => Test::All(Vec::new()),
            _ => condition::parse(argument(1)?).map_err(QueryError::Mistake)?,
        };
        let wants_quantiles = (MOST_PARTS + 6..columns).any(|column| ask.uses(column));
        let groups = aggregate(shared, &parts, &test, wants_quantiles)?;
        let rows = groups.into_iter().map(|(keys, sums)| {
            let mut row: Vec<Value> = keys;
            row.resize(KEYS, Value::Null);
            row.extend([
                number(sums.count),
                number(sums.total),
                maybe(sums.self_ns(), number),
                number(sums.least),
                number(sums.most),
                Value::Real(sums.total as f64 / sums.count.max(1) as f64),
            ]);
            debug_assert_eq!(row.len(), P50);
            row.extend([0.5, 0.95, 0.99].map(|share| maybe(sums.quantile(share), number)));
            row
        });
        Ok(Listed::new(rows.collect()))
    }

    fn expect(_: &Shared, _: &[(usize, Op)]) -> f64 {
        1000.0
    }
}
