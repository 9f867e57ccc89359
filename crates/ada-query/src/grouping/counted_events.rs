//! Events by function and kind, which the tables have counted: questions about nothing else need not read the events.

use ada_event::EventKind;
use ada_span::table::{Column, Meta};
use ada_span::{AnomalyKind, EVENT_KINDS as COUNTED, ThreadIndex};

use super::numbering::Find;
use super::sums::Layout;
use crate::batch::{Batch, EVENT_KINDS};
use crate::predicate::Ready;

/// A row for each function and kind, with how many events there are of it.
#[derive(Default)]
pub(super) struct CountedEvents {
    functions: Vec<u64>,
    kinds: Vec<u64>,
    /// How many events each row stands for.
    pub(super) counts: Vec<u64>,
}

impl CountedEvents {
    /// None where a question asks for more than their number, or the tables do not know them all.
    pub(super) fn of(meta: &Meta, ready: &Ready, finds: &[Find], layout: &Layout) -> Option<Self> {
        let is_known = |column| matches!(column, Column::Function | Column::Outcome);
        let needs_more = Column::ALL
            .iter()
            .any(|&column| !is_known(column) && (ready.needs(column) || finds.iter().any(|find| find.needs(column))));
        let by_thread = ready.looks_at_threads() || finds.iter().any(|find| matches!(find, Find::Thread(_)));
        if needs_more || by_thread || layout.measures().next().is_some() {
            return None;
        }
        let mut rows = Self::default();
        for (stats, function) in meta.functions.iter().zip(0..) {
            for (kind, &count) in COUNTED.iter().zip(&stats.events.0) {
                rows.push(function, *kind, count);
            }
        }
        let stack_changes = meta.threads.iter().map(|it| it.facts.stack_changes).sum();
        rows.push(meta.functions.len() as u64, EventKind::STACK, stack_changes);
        let counted = rows.counts.iter().try_fold(0_u64, |sum, count| sum.checked_add(*count))?;
        let events = meta.threads.iter().try_fold(0_u64, |sum, it| sum.checked_add(it.facts.events))?;
        let is_unreadable = |kind: u32| kind == AnomalyKind::Unreadable as u32;
        let is_whole = counted == events && !meta.anomalies.iter().any(|it| is_unreadable(it.kind));
        is_whole.then_some(rows)
    }

    fn push(&mut self, function: u64, kind: EventKind, count: u64) {
        if let Some(kind) = EVENT_KINDS.iter().position(|it| *it == kind).filter(|_| count > 0) {
            self.functions.push(function);
            self.kinds.push(kind as u64);
            self.counts.push(count);
        }
    }
}

impl Batch for CountedEvents {
    fn rows(&self) -> usize {
        self.counts.len()
    }

    fn thread(&self) -> ThreadIndex {
        ThreadIndex(0)
    }

    fn column(&self, column: Column) -> &[u64] {
        match column {
            Column::Function => &self.functions,
            Column::Outcome => &self.kinds,
            _ => &[],
        }
    }
}
