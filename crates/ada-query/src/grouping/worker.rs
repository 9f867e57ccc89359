//! Adds batches of rows to groups.

use ada_span::table::Column;

use super::group_table::GroupTable;
use super::key::Key;
use super::numbering::Find;
use super::sums::Layout;
use crate::batch::Batch;
use crate::predicate::Measure;

/// Adds batches to a table of its own.
pub(super) struct Worker<K> {
    pub(super) table: GroupTable,
    /// The keys that it takes: from the first, up to but without the second where there is one.
    pub(super) range: (K, Option<K>),
    keys: Vec<K>,
    places: Vec<usize>,
    ends: Vec<u64>,
}

impl<K: Key> Worker<K> {
    pub(super) fn new(table: GroupTable, range: (K, Option<K>)) -> Self {
        Self { table, range, keys: Vec::new(), places: Vec::new(), ends: Vec::new() }
    }

    /// Adds the rows that have a flag; all without flags. `sizes` are those of the numbers that are found.
    pub(super) fn add(
        &mut self,
        batch: &impl Batch,
        flags: Option<&[bool]>,
        (finds, sizes): (&[Find], &[u64]),
        layout: &Layout,
        wants_quantiles: bool,
    ) {
        let wants_ends = layout.measures().any(|it| it == Measure::End)
            || finds.iter().any(|it| matches!(it, Find::Measure(Measure::End, _)));
        if wants_ends {
            self.ends.clear();
            let starts = batch.column(Column::Start).iter();
            self.ends.extend(starts.zip(batch.column(Column::Duration)).map(|(start, it)| start.saturating_add(*it)));
        }
        let ends = std::mem::take(&mut self.ends);
        let values_of = |measure: Measure| match measure {
            Measure::End => &ends[..],
            measure => batch.column(measure.column()),
        };
        self.find_keys(batch, finds, sizes, values_of);
        self.find_places(flags);
        if wants_quantiles {
            self.add_durations(batch.column(Column::Duration));
        }
        layout.add_rows(self.table.words(), &self.places, values_of);
        self.ends = ends;
    }

    /// Adds rows that stand for several each, of which nothing is measured.
    pub(super) fn add_counted(
        &mut self,
        batch: &impl Batch,
        counts: &[u64],
        flags: Option<&[bool]>,
        (finds, sizes): (&[Find], &[u64]),
    ) {
        self.find_keys(batch, finds, sizes, |_| &[]);
        self.find_places(flags);
        let Self { table, places, .. } = self;
        for (&place, count) in places.iter().zip(counts) {
            table.words()[place] += count;
        }
    }

    fn find_keys<'a>(
        &mut self,
        batch: &impl Batch,
        finds: &[Find],
        sizes: &[u64],
        values_of: impl Fn(Measure) -> &'a [u64],
    ) {
        let keys = &mut self.keys;
        keys.clear();
        keys.resize(batch.rows(), K::LEAST);
        for (find, &size) in finds.iter().zip(sizes) {
            if let Some(number) = find.constant(batch.thread()) {
                keys.iter_mut().for_each(|key| *key = key.with_digit(size, number));
                continue;
            }
            match find {
                Find::Column(column, numbers) => {
                    for (key, &value) in keys.iter_mut().zip(batch.column(*column)) {
                        *key = key.with_digit(size, numbers.get(value as usize).copied().unwrap_or(0));
                    }
                }
                Find::Measure(measure, 1) => {
                    for (key, &value) in keys.iter_mut().zip(values_of(*measure)) {
                        *key = key.with_digit(size, 1 + value);
                    }
                }
                Find::Measure(measure, step) => {
                    // Neighbours are in the same step most of the time, and a division is slow.
                    let (mut begin, mut number) = (0, 1);
                    for (key, &value) in keys.iter_mut().zip(values_of(*measure)) {
                        if value.wrapping_sub(begin) >= *step {
                            (number, begin) = (1 + value / step, value - value % step);
                        }
                        *key = key.with_digit(size, number);
                    }
                }
                Find::Always(_) | Find::Thread(_) => {}
            }
        }
    }

    /// Where the sums of each row's group are; those of the first row for what is not wanted.
    fn find_places(&mut self, flags: Option<&[bool]>) {
        let Self { table, keys, places, range, .. } = self;
        places.clear();
        let nowhere = table.place(0);
        if table.is_dense() {
            let width = table.width;
            let place = |key: &K| (key.widened() as usize + 1) * width;
            match flags {
                None => places.extend(keys.iter().map(place)),
                Some(flags) => places.extend(keys.iter().zip(flags).map(|(key, &flag)| place(key) * usize::from(flag))),
            }
            return;
        }
        let (low, high) = *range;
        let mut last: Option<(K, usize)> = None;
        places.extend(keys.iter().enumerate().map(|(row, &key)| {
            let is_wanted = flags.is_none_or(|flags| flags[row]) && key >= low && high.is_none_or(|high| key < high);
            match last {
                _ if !is_wanted => nowhere,
                Some((known, place)) if known == key => place,
                _ => {
                    let found = table.row_of(key);
                    let place = table.place(found);
                    last = Some((key, place));
                    place
                }
            }
        }));
    }

    fn add_durations(&mut self, durations: &[u64]) {
        let nowhere = self.table.place(0);
        for (&place, &duration) in self.places.iter().zip(durations).filter(|(place, _)| **place != nowhere) {
            let row = place / self.table.width;
            if let Some(histogram) = self.table.histogram(row) {
                histogram.add(duration);
            }
        }
    }
}
