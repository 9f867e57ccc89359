//! What a table of the trace owes SQLite: rows, and help with not reading all of them.

use rusqlite::types::Value;
use rusqlite::vtab::Context;

use crate::doc::TableDoc;
use crate::error::QueryError;

/// A condition on a column that need not be looked at row by row. SQLite checks all rows again: a table may use a
/// condition, use a part of it, or let it be.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Condition {
    /// The column's index; parameters come behind the columns.
    pub(crate) column: usize,
    pub(crate) op: Op,
    pub(crate) value: Value,
}

/// How a column is compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Op {
    Eq,
    Gt,
    Ge,
    Lt,
    Le,
    Like,
    Glob,
}

/// A question to one table.
#[derive(Clone, Debug, Default)]
pub(crate) struct Ask {
    pub(crate) conditions: Vec<Condition>,
    /// A bit for each column whose values are wanted; the last bit stands for all from the 64th on.
    used: u64,
}

impl Ask {
    pub(crate) fn new(conditions: Vec<Condition>, used: u64) -> Self {
        Self { conditions, used }
    }

    /// Whether somebody wants the values of a column.
    pub(crate) fn uses(&self, column: usize) -> bool {
        self.used & 1 << column.min(63) != 0
    }

    /// The text that a column has to be equal to, if there is such a condition.
    pub(crate) fn text(&self, column: usize) -> Option<&str> {
        self.conditions.iter().find_map(|it| match (&it.op, &it.value) {
            (Op::Eq, Value::Text(text)) if it.column == column => Some(text.as_str()),
            _ => None,
        })
    }

    /// The number that a column has to be equal to.
    pub(crate) fn number(&self, column: usize) -> Option<i64> {
        self.conditions.iter().find_map(|it| match (&it.op, &it.value) {
            (Op::Eq, Value::Integer(number)) if it.column == column => Some(*number),
            _ => None,
        })
    }

    /// The whole numbers, both ends included, that a column can have.
    pub(crate) fn range(&self, column: usize) -> (u64, u64) {
        let mut range = (0, u64::MAX);
        for it in self.conditions.iter().filter(|it| it.column == column) {
            if let Some((low, high)) = number_range(it.op, &it.value) {
                range = (range.0.max(low), range.1.min(high));
            }
        }
        range
    }
}

/// The whole numbers from 0 that compare so with a value. None where the value is not a number.
pub(crate) fn number_range(op: Op, value: &Value) -> Option<(u64, u64)> {
    const EMPTY: (u64, u64) = (1, 0);
    let number = match value {
        Value::Integer(number) => i128::from(*number),
        Value::Real(real) if real.is_finite() && real.abs() < 1e18 => {
            let down = real.floor();
            match op {
                Op::Eq if down != *real => return Some(EMPTY),
                // x >= 1.5 is x >= 2, and x < 1.5 is x < 2.
                Op::Ge | Op::Lt if down != *real => down as i128 + 1,
                _ => down as i128,
            }
        }
        _ => return None,
    };
    let (low, high) = match op {
        Op::Eq => (number, number),
        Op::Gt => (number + 1, i128::MAX),
        Op::Ge => (number, i128::MAX),
        Op::Lt => (0, number - 1),
        Op::Le => (0, number),
        Op::Like | Op::Glob => return None,
    };
    let clamp = |number: i128| u64::try_from(number.max(0)).unwrap_or(u64::MAX);
    Some(if high < 0 || low > high { EMPTY } else { (clamp(low), clamp(high)) })
}

/// A table whose description is always the same.
pub(crate) trait Described {
    const DOC: &'static TableDoc;
}

/// A table.
pub(crate) trait Relation: 'static {
    type Cursor: RowCursor;
    /// What rows are read from.
    type Source: Clone + Send + Sync + 'static;

    /// What the table is.
    fn doc(source: &Self::Source) -> &'static TableDoc;

    /// Goes to the first row.
    fn open(source: &Self::Source, ask: &Ask) -> Result<Self::Cursor, QueryError>;

    /// How many rows there are, roughly; conditions are what [`Ask`] will have, without their values.
    fn expect(source: &Self::Source, conditions: &[(usize, Op)]) -> f64;
}

/// A position in a table.
pub(crate) trait RowCursor {
    fn is_done(&self) -> bool;

    fn advance(&mut self) -> Result<(), QueryError>;

    /// A number that the current row has in every scan: SQLite knows rows by it where it joins several scans into one.
    fn id(&self) -> i64;

    /// Goes to the next row if that takes no work, and says whether it did.
    #[inline]
    fn step(&mut self) -> bool {
        false
    }

    /// A value of the current row, if it is a number that takes no work.
    #[inline]
    fn number(&self, _column: usize) -> Option<i64> {
        None
    }

    /// Gives a value of the current row.
    fn put(&self, column: usize, out: &mut Context) -> rusqlite::Result<()>;
}

/// The cursor of a table whose rows were all made when it was opened.
pub(crate) struct Listed {
    rows: std::vec::IntoIter<(i64, Vec<Value>)>,
    current: Option<(i64, Vec<Value>)>,
}

impl Listed {
    /// All rows of a table, whatever was asked: their indexes are their ids.
    pub(crate) fn new(rows: Vec<Vec<Value>>) -> Self {
        Self::with_ids((0..).zip(rows).collect())
    }

    /// Rows that match the conditions, with the ids that they have without these.
    pub(crate) fn with_ids(rows: Vec<(i64, Vec<Value>)>) -> Self {
        let mut rows = rows.into_iter();
        let current = rows.next();
        Self { rows, current }
    }
}

impl RowCursor for Listed {
    fn is_done(&self) -> bool {
        self.current.is_none()
    }

    fn advance(&mut self) -> Result<(), QueryError> {
        self.current = self.rows.next();
        Ok(())
    }

    fn id(&self) -> i64 {
        self.current.as_ref().map_or(0, |(id, _)| *id)
    }

    fn put(&self, column: usize, out: &mut Context) -> rusqlite::Result<()> {
        match self.current.as_ref().and_then(|(_, row)| row.get(column)) {
            Some(value) => out.set_result(value),
            None => out.set_result(rusqlite::types::Null),
        }
    }
}

/// Makes the next rows of a table with their ids; none at its end.
pub(crate) type NextRows = Box<dyn FnMut() -> Result<Option<Vec<(i64, Vec<Value>)>>, QueryError>>;

/// The cursor of a table whose rows are made many at a time.
pub(crate) struct Batched {
    next: NextRows,
    rows: Listed,
}

impl Batched {
    pub(crate) fn new(next: NextRows) -> Result<Self, QueryError> {
        let mut cursor = Self { next, rows: Listed::new(Vec::new()) };
        cursor.fill()?;
        Ok(cursor)
    }

    fn fill(&mut self) -> Result<(), QueryError> {
        while self.rows.is_done() {
            match (self.next)()? {
                Some(rows) => self.rows = Listed::with_ids(rows),
                None => break,
            }
        }
        Ok(())
    }
}

impl RowCursor for Batched {
    fn is_done(&self) -> bool {
        self.rows.is_done()
    }

    fn advance(&mut self) -> Result<(), QueryError> {
        self.rows.advance()?;
        self.fill()
    }

    fn id(&self) -> i64 {
        self.rows.id()
    }

    fn put(&self, column: usize, out: &mut Context) -> rusqlite::Result<()> {
        self.rows.put(column, out)
    }
}

/// A text, or nothing.
pub(crate) fn text(value: impl Into<String>) -> Value {
    Value::Text(value.into())
}

/// A number that SQLite can hold; larger ones are its largest.
pub(crate) fn number(value: impl Into<u64>) -> Value {
    Value::Integer(signed(value.into()))
}

/// What may be there.
pub(crate) fn maybe<T>(value: Option<T>, to: impl FnOnce(T) -> Value) -> Value {
    value.map_or(Value::Null, to)
}

/// SQLite's numbers have a sign.
pub(crate) fn signed(value: u64) -> i64 {
    i64::try_from(value).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comparisons_become_ranges_of_whole_numbers() {
        let of = |op, value: f64| number_range(op, &Value::Real(value));
        assert_eq!(number_range(Op::Gt, &Value::Integer(5)), Some((6, u64::MAX)));
        assert_eq!(number_range(Op::Lt, &Value::Integer(0)), Some((1, 0)));
        assert_eq!(number_range(Op::Ge, &Value::Integer(-5)), Some((0, u64::MAX)));
        assert_eq!(number_range(Op::Eq, &Value::Integer(-5)), Some((1, 0)));
        assert_eq!(of(Op::Gt, 1.5), Some((2, u64::MAX)));
        assert_eq!(of(Op::Ge, 1.5), Some((2, u64::MAX)));
        assert_eq!(of(Op::Lt, 1.5), Some((0, 1)));
        assert_eq!(of(Op::Le, 1.5), Some((0, 1)));
        assert_eq!(of(Op::Le, 2.0), Some((0, 2)));
        assert_eq!(of(Op::Eq, 1.5), Some((1, 0)));
        assert_eq!(number_range(Op::Eq, &Value::Text("5".into())), None);
    }
}
