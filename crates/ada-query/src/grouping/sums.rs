//! The words of a group, behind its key: how many rows, and what was asked of their measures.

use crate::predicate::Measure;
use rusqlite::types::Value;

use super::question::Aggregate;

/// How a word changes with a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Change {
    /// Counts rows without a value: only threads and the like, which are added one by one.
    Missing,
    /// Adds, and carries into the word behind it.
    Add,
    Least,
    Most,
}

#[derive(Clone, Copy, Debug)]
struct Word {
    change: Change,
    measure: Measure,
    at: usize,
}

/// Which words there are.
#[derive(Clone, Debug)]
pub(super) struct Layout {
    words: Vec<Word>,
    /// Words of a group without its key; the first counts its rows.
    pub(super) width: usize,
}

impl Layout {
    pub(super) fn of(values: &[Aggregate]) -> Self {
        let mut layout = Self { words: Vec::new(), width: 1 };
        for value in values {
            let (change, measure) = match *value {
                Aggregate::Rows => continue,
                Aggregate::Count(measure) => (Change::Missing, measure),
                Aggregate::Sum(measure) | Aggregate::Total(measure) | Aggregate::Mean(measure) => {
                    (Change::Add, measure)
                }
                Aggregate::Least(measure) => (Change::Least, measure),
                Aggregate::Most(measure) => (Change::Most, measure),
            };
            layout.want(Change::Missing, measure);
            layout.want(change, measure);
        }
        layout
    }

    fn want(&mut self, change: Change, measure: Measure) {
        if self.find(change, measure).is_none() {
            self.words.push(Word { change, measure, at: self.width });
            self.width += if change == Change::Add { 2 } else { 1 };
        }
    }

    fn find(&self, change: Change, measure: Measure) -> Option<usize> {
        self.words.iter().find(|it| it.change == change && it.measure == measure).map(|it| it.at)
    }

    /// What is measured.
    pub(super) fn measures(&self) -> impl Iterator<Item = Measure> {
        self.words.iter().filter(|it| it.change == Change::Missing).map(|it| it.measure)
    }

    /// A group's words before its first row.
    pub(super) fn empty(&self) -> Vec<u64> {
        let mut words = vec![0; self.width];
        for word in self.words.iter().filter(|it| it.change == Change::Least) {
            words[word.at] = u64::MAX;
        }
        words
    }

    /// Adds the rows of a batch to the groups at `places`: where each group's words begin.
    #[inline]
    pub(super) fn add_rows<'a>(&self, groups: &mut [u64], places: &[usize], values_of: impl Fn(Measure) -> &'a [u64]) {
        for &place in places {
            groups[place] += 1;
        }
        for word in &self.words {
            let at = word.at;
            let rows = places.iter().zip(values_of(word.measure));
            match word.change {
                Change::Missing => {}
                Change::Add => {
                    for (&place, &value) in rows {
                        let words = &mut groups[place + at..place + at + 2];
                        let (sum, has_carried) = words[0].overflowing_add(value);
                        words[0] = sum;
                        words[1] += u64::from(has_carried);
                    }
                }
                Change::Least => {
                    for (&place, &value) in rows {
                        let word = &mut groups[place + at];
                        *word = (*word).min(value);
                    }
                }
                Change::Most => {
                    for (&place, &value) in rows {
                        let word = &mut groups[place + at];
                        *word = (*word).max(value);
                    }
                }
            }
        }
    }

    /// Adds one row, of which measures may be missing.
    pub(super) fn add_row(&self, group: &mut [u64], value_of: impl Fn(Measure) -> Option<u64>) {
        group[0] += 1;
        for word in &self.words {
            match (word.change, value_of(word.measure)) {
                (Change::Missing, value) => group[word.at] += u64::from(value.is_none()),
                (_, None) => {}
                (change, Some(value)) => merge_word(change, &mut group[word.at..], &[value, 0]),
            }
        }
    }

    /// Adds the sums of the same group elsewhere.
    pub(super) fn merge(&self, group: &mut [u64], other: &[u64]) {
        group[0] += other[0];
        for word in &self.words {
            merge_word(word.change, &mut group[word.at..], &other[word.at..]);
        }
    }

    /// A value of a group; none where it is larger than SQLite's numbers.
    pub(super) fn value(&self, group: &[u64], aggregate: Aggregate) -> Option<Value> {
        let word = |change, measure| self.find(change, measure).map_or(0, |at| group[at]);
        let there = |measure| group[0] - word(Change::Missing, measure);
        let sum = |measure| {
            let at = self.find(Change::Add, measure).unwrap_or(0);
            u128::from(group[at + 1]) << 64 | u128::from(group[at])
        };
        let number = |number: u128| i64::try_from(number).ok().map(Value::Integer);
        let extreme = |change, measure| {
            if there(measure) == 0 { Some(Value::Null) } else { number(word(change, measure).into()) }
        };
        match aggregate {
            Aggregate::Rows => number(group[0].into()),
            Aggregate::Count(measure) => number(there(measure).into()),
            Aggregate::Sum(measure) if there(measure) == 0 => Some(Value::Null),
            Aggregate::Sum(measure) => number(sum(measure)),
            Aggregate::Total(measure) => Some(Value::Real(sum(measure) as f64)),
            Aggregate::Mean(measure) if there(measure) == 0 => Some(Value::Null),
            Aggregate::Mean(measure) => Some(Value::Real(sum(measure) as f64 / there(measure) as f64)),
            Aggregate::Least(measure) => extreme(Change::Least, measure),
            Aggregate::Most(measure) => extreme(Change::Most, measure),
        }
    }
}

fn merge_word(change: Change, words: &mut [u64], others: &[u64]) {
    match change {
        Change::Missing => words[0] += others[0],
        Change::Add => {
            let (sum, has_carried) = words[0].overflowing_add(others[0]);
            words[0] = sum;
            words[1] += others[1] + u64::from(has_carried);
        }
        Change::Least => words[0] = words[0].min(others[0]),
        Change::Most => words[0] = words[0].max(others[0]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_are_exact_beyond_a_word_and_know_what_is_missing() {
        let measure = Measure::Duration;
        let all = [Aggregate::Rows, Aggregate::Count(measure), Aggregate::Sum(measure), Aggregate::Mean(measure)];
        let all = [&all[..], &[Aggregate::Least(measure), Aggregate::Most(measure)]].concat();
        let layout = Layout::of(&all);
        let mut group = layout.empty();
        let value = |group: &[u64], aggregate| layout.value(group, aggregate);
        assert_eq!(value(&group, Aggregate::Least(measure)), Some(Value::Null));
        layout.add_rows(&mut group, &[0, 0], |_| &[3, 5]);
        layout.add_row(&mut group, |_| None);
        assert_eq!(value(&group, Aggregate::Rows), Some(Value::Integer(3)));
        assert_eq!(value(&group, Aggregate::Mean(measure)), Some(Value::Real(4.0)));
        assert_eq!(value(&group, Aggregate::Least(measure)), Some(Value::Integer(3)));
        let mut other = layout.empty();
        layout.add_rows(&mut other, &[0, 0], |_| &[u64::MAX, u64::MAX]);
        layout.merge(&mut group, &other);
        assert_eq!(value(&group, Aggregate::Sum(measure)), None);
        assert_eq!(value(&group, Aggregate::Count(measure)), Some(Value::Integer(4)));
        let mean = (2.0 * u64::MAX as f64 + 8.0) / 4.0;
        assert_eq!(value(&group, Aggregate::Mean(measure)), Some(Value::Real(mean)));
    }
}
