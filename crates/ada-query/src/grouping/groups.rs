//! Groups that were made, in the order of their values.

use std::cmp::Ordering;
use std::sync::Arc;

use rusqlite::types::Value;

use super::group_table::GroupTable;
use super::key::digits;
use super::numbering::order;
use super::question::{Aggregate, MOST_PARTS, Term, Top};
use super::shape::Shape;
use crate::predicate::Measure;

/// Groups, or some of many.
pub(crate) struct Groups {
    shape: Arc<Shape>,
    tables: Vec<GroupTable>,
    /// Tables and rows, in the order in which they are given.
    rows: Vec<(u32, u32)>,
}

impl Groups {
    pub(super) fn new(shape: Arc<Shape>, tables: Vec<GroupTable>, is_sorted: bool) -> Self {
        let mut rows: Vec<(u32, u32)> = Vec::new();
        for (table, number) in tables.iter().zip(0..) {
            rows.extend(table.filled().map(|row| (number, row as u32)));
        }
        if rows.is_empty() && shape.question.is_never_empty {
            rows.extend(tables.first().map(|_| (0, 1)));
        }
        let mut groups = Self { shape, tables, rows };
        groups.keep_top();
        let is_in_order = matches!(&groups.tables[..], [table] if table.is_dense());
        if is_sorted && !is_in_order {
            groups.sort_by_key();
        }
        groups
    }

    fn sort_by_key(&mut self) {
        let mut rows: Vec<(u128, (u32, u32))> = self.rows.iter().map(|&row| (self.key(row), row)).collect();
        rows.sort_unstable();
        self.rows = rows.into_iter().map(|(_, row)| row).collect();
    }

    /// Forgets groups that are behind those that are asked for.
    fn keep_top(&mut self) {
        let Some(top) = self.shape.question.top.clone() else { return };
        if top.count == 0 || self.rows.len() <= top.count {
            return;
        }
        let mut rows = std::mem::take(&mut self.rows);
        rows.select_nth_unstable_by(top.count - 1, |left, right| self.compare(&top, *left, *right));
        rows.truncate(top.count);
        self.rows = rows;
        self.sort_by_key();
    }

    fn compare(&self, top: &Top, left: (u32, u32), right: (u32, u32)) -> Ordering {
        let (left_key, right_key) = (self.key(left), self.key(right));
        for (term, is_descending) in &top.terms {
            let ordering = match term {
                Term::Key(part) => self.digit(left_key, *part).cmp(&self.digit(right_key, *part)),
                Term::Value(number) => {
                    let value = |row| self.value_in(row, *number).unwrap_or(Value::Null);
                    order(&value(left), &value(right))
                }
            };
            if ordering != Ordering::Equal {
                return if *is_descending { ordering.reverse() } else { ordering };
            }
        }
        left_key.cmp(&right_key)
    }

    pub(crate) fn len(&self) -> usize {
        self.rows.len()
    }

    fn key(&self, (table, row): (u32, u32)) -> u128 {
        self.tables[table as usize].key(row as usize)
    }

    fn digit(&self, key: u128, part: usize) -> u64 {
        let mut found = [0; MOST_PARTS];
        let sizes = &self.shape.sizes;
        digits(key, sizes, &mut found[..sizes.len()]);
        found[part]
    }

    /// The value of a part that is grouped by.
    pub(crate) fn key_value(&self, at: usize, part: usize) -> Value {
        match self.shape.numberings.get(part) {
            Some(numbering) => numbering.value(self.digit(self.key(self.rows[at]), part)),
            None => Value::Null,
        }
    }

    /// A sum by its number in the question; none where it is larger than SQLite's numbers.
    pub(crate) fn value(&self, at: usize, number: usize) -> Option<Value> {
        self.value_in(self.rows[at], number)
    }

    fn value_in(&self, (table, row): (u32, u32), number: usize) -> Option<Value> {
        let Some(aggregate) = self.shape.question.values.get(number) else { return Some(Value::Null) };
        self.shape.layout.value(self.tables[table as usize].sums(row as usize), *aggregate)
    }

    /// A percentile of the durations, where they were counted.
    pub(crate) fn quantile(&self, at: usize, share: f64) -> Option<u64> {
        let (table, row) = self.rows[at];
        let (table, row) = (&self.tables[table as usize], row as usize);
        let extreme = |aggregate| match self.shape.layout.value(table.sums(row), aggregate) {
            Some(Value::Integer(number)) => u64::try_from(number).ok(),
            _ => None,
        };
        let least = extreme(Aggregate::Least(Measure::Duration))?;
        let most = extreme(Aggregate::Most(Measure::Duration))?;
        Some(table.complete_histogram(row)?.quantile(share).clamp(least, most))
    }
}
