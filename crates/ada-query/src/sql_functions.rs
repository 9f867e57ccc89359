//! Functions of our own in SQL.

use rusqlite::functions::{Aggregate, Context, FunctionFlags};
use rusqlite::types::{Value, ValueRef};
use rusqlite::{Connection, Result};

/// Our functions, for completion and for suggestions.
pub(crate) const NAMES: [&str; 6] = ["demangle", "duration", "percentile", "median", "p95", "p99"];

/// Our functions, with what they do.
pub fn documented_functions() -> &'static [(&'static str, &'static str)] {
    &ABOUT
}

const ABOUT: [(&str, &str); 4] = [
    ("demangle(symbol)", "a linker's name as people write it"),
    ("duration(ns)", "nanoseconds with a unit that fits: 1.50 µs"),
    ("percentile(value, p)", "the value that p percent do not exceed, exactly; an aggregate"),
    ("median(value), p95(value), p99(value)", "the same for 50, 95 and 99 percent"),
];

/// Values that an aggregate keeps at most: exact percentiles need all of them.
const MOST_VALUES: usize = 1 << 26;

pub(crate) fn register(connection: &Connection) -> Result<()> {
    let flags = FunctionFlags::SQLITE_UTF8 | FunctionFlags::SQLITE_DETERMINISTIC | FunctionFlags::SQLITE_INNOCUOUS;
    connection.create_scalar_function("demangle", 1, flags, |context| {
        Ok(match context.get_raw(0) {
            ValueRef::Text(bytes) => {
                Value::Text(ada_image::demangle(&String::from_utf8_lossy(bytes)).replace(char::is_control, "?"))
            }
            other => Value::try_from(other).unwrap_or(Value::Null),
        })
    })?;
    connection.create_scalar_function("duration", 1, flags, |context| {
        Ok(match context.get_raw(0) {
            ValueRef::Integer(nanos) => Value::Text(duration(nanos as f64)),
            ValueRef::Real(nanos) => Value::Text(duration(nanos)),
            _ => Value::Null,
        })
    })?;
    connection.create_aggregate_function("percentile", 2, flags, Percentile(None))?;
    for (name, share) in [("median", 50.0), ("p95", 95.0), ("p99", 99.0)] {
        connection.create_aggregate_function(name, 1, flags, Percentile(Some(share)))?;
    }
    Ok(())
}

/// A duration with a unit that fits.
pub(crate) fn duration(nanos: f64) -> String {
    match nanos.abs() {
        size if size < 1e3 => format!("{nanos:.0} ns"),
        size if size < 1e6 => format!("{:.2} µs", nanos / 1e3),
        size if size < 1e9 => format!("{:.2} ms", nanos / 1e6),
        _ => format!("{:.3} s", nanos / 1e9),
    }
}

struct Percentile(Option<f64>);

#[derive(Default)]
struct Values {
    numbers: Vec<f64>,
    share: f64,
    are_whole: bool,
}

impl Aggregate<Values, Value> for Percentile {
    fn init(&self, _: &mut Context<'_>) -> Result<Values> {
        Ok(Values { numbers: Vec::new(), share: self.0.unwrap_or(50.0), are_whole: true })
    }

    fn step(&self, context: &mut Context<'_>, values: &mut Values) -> Result<()> {
        match context.get_raw(0) {
            ValueRef::Integer(number) => values.numbers.push(number as f64),
            ValueRef::Real(number) => {
                values.are_whole = false;
                values.numbers.push(number);
            }
            _ => return Ok(()),
        }
        if values.numbers.len() > MOST_VALUES {
            let words = "percentile has too many values; stats(…) gives percentiles of any number of spans";
            return Err(rusqlite::Error::UserFunctionError(words.into()));
        }
        if self.0.is_none() {
            let share: f64 = context.get(1)?;
            if !(0.0..=100.0).contains(&share) {
                return Err(rusqlite::Error::UserFunctionError("a percentile is between 0 and 100".into()));
            }
            values.share = share;
        }
        Ok(())
    }

    fn finalize(&self, _: &mut Context<'_>, values: Option<Values>) -> Result<Value> {
        let Some(mut values) = values.filter(|values| !values.numbers.is_empty()) else { return Ok(Value::Null) };
        let index = (values.numbers.len() as f64 * values.share / 100.0).ceil() as usize;
        let index = index.clamp(1, values.numbers.len()) - 1;
        let (_, value, _) = values.numbers.select_nth_unstable_by(index, f64::total_cmp);
        Ok(if values.are_whole { Value::Integer(*value as i64) } else { Value::Real(*value) })
    }
}
