//! The time of functions that are not shown, charged to the nearest one that is.

use std::collections::{BTreeMap, HashMap};

use ada_event::{EventSeq, TraceNanos};
use ada_span::table::{Column, Columns, FunctionIndex};
use ada_span::{Correction, Histogram, OpenCall, OpenChains, SelfCosts, SpanEnds, ThreadIndex};

use crate::cancel::Cancel;
use crate::error::QueryError;
use crate::scan::scan_pieces;
use crate::trace::TraceProcess;

/// Calls out of what is shown, and the time in them until what is shown was called again.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Outside {
    /// How many.
    pub calls: u64,
    /// Time in them and in what they called that is not shown.
    pub ns: u64,
    /// What recording took of it, where that was asked for.
    pub costs: SelfCosts,
}

impl Outside {
    /// Adds other calls.
    pub fn add(&mut self, more: Self) {
        self.calls += more.calls;
        self.ns = self.ns.saturating_add(more.ns);
        self.costs = self.costs.plus(more.costs);
    }
}

/// By the function that is shown, none where none is above, and the one that it called.
pub type Charged = BTreeMap<(Option<FunctionIndex>, FunctionIndex), Outside>;

/// Goes through all calls of a process once. `shown` says which functions are, by their index. With a correction, what recording took
/// is known, too.
pub fn charged(
    process: &TraceProcess,
    shown: &[bool],
    correction: Option<&Correction>,
    cancel: &Cancel,
) -> Result<Charged, QueryError> {
    Ok(sums(process, shown, false, correction, cancel)?.outside)
}

/// What the functions that are shown called, and how long their calls took.
#[derive(Clone, Debug, Default)]
pub struct ShownCalls {
    /// Calls out of what is shown.
    pub outside: Charged,
    /// Calls of what is shown by what is shown: how often, and their time.
    pub callers: Charged,
    /// The times that calls took by themselves, of each function that is shown.
    pub own: BTreeMap<FunctionIndex, Histogram>,
}

/// The same, and who called what of the functions that are shown.
pub fn shown_calls(process: &TraceProcess, shown: &[bool], cancel: &Cancel) -> Result<ShownCalls, QueryError> {
    sums(process, shown, true, None, cancel)
}

fn sums(
    process: &TraceProcess,
    shown: &[bool],
    with_callers: bool,
    correction: Option<&Correction>,
    cancel: &Cancel,
) -> Result<ShownCalls, QueryError> {
    let threads = process.tables.meta().threads.len();
    let new = || Sums { callers: with_callers.then(HashMap::new), ..Sums::default() };
    let states = scan_pieces(threads, cancel, new, |sums, thread| {
        sums.add_thread(process, ThreadIndex(thread as u32), shown, correction, cancel)
    })?;
    let mut all = ShownCalls::default();
    let add = |all: &mut Charged, key, more: Outside| all.entry(key).or_default().add(more);
    for sums in states {
        sums.known.into_iter().for_each(|(key, slot)| add(&mut all.outside, key, sums.slots[slot]));
        sums.callers.into_iter().flatten().for_each(|(key, sum)| add(&mut all.callers, key, sum));
        sums.own.into_iter().for_each(|(function, times)| all.own.entry(function).or_default().merge(&times));
    }
    Ok(all)
}

/// The sums of some threads. A slot is looked up where a call leads out, and kept for all below.
#[derive(Default)]
struct Sums {
    slots: Vec<Outside>,
    known: HashMap<(Option<FunctionIndex>, FunctionIndex), usize>,
    /// Calls of what is shown, where somebody asks.
    callers: Option<HashMap<(Option<FunctionIndex>, FunctionIndex), Outside>>,
    own: HashMap<FunctionIndex, Histogram>,
}

struct Open {
    ends: SpanEnds,
    /// The nearest function that is shown.
    shown: Option<FunctionIndex>,
    /// Where its time goes if it is not shown itself.
    slot: Option<usize>,
}

impl OpenCall for Open {
    fn seq(&self) -> EventSeq {
        self.ends.seq
    }

    fn end(&self) -> TraceNanos {
        self.ends.end
    }
}

impl Sums {
    fn add_thread(
        &mut self,
        process: &TraceProcess,
        thread: ThreadIndex,
        shown: &[bool],
        correction: Option<&Correction>,
        cancel: &Cancel,
    ) -> Result<(), QueryError> {
        let tables = &process.tables;
        let id = tables.meta().threads[thread.as_usize()].id;
        let mut chains = OpenChains::<Open>::default();
        let mut waits = correction.map(|it| it.of_thread(id));
        let mut columns = Columns::new();
        for block in tables.blocks_of(thread) {
            cancel.check()?;
            tables.read(block, |column| !matches!(column, Column::Depth | Column::Context), &mut columns)?;
            for row in 0..columns.rows() {
                let ends = SpanEnds::read(&columns, row);
                let stays = |top: &Open| top.ends.goes_on_in(ends.seq);
                chains.go_to(ends.parent, ends.start, stays, |_| ());
                let above = chains.current().last().map(|it| (it.shown, it.slot));
                let (above_shown, above_slot) = above.unwrap_or_default();
                let function = ends.function;
                let waited = waits.as_mut().map(|it| it.between(ends.start, ends.end));
                if let Some((waited, slot)) = waited.zip(above_slot) {
                    self.slots[slot].costs.add_below(&ends, waited);
                }
                let is_shown = shown.get(function.as_usize()).copied().unwrap_or(false);
                let (own, slot) = if is_shown {
                    if let Some(callers) = &mut self.callers {
                        let sum = callers.entry((above_shown, function)).or_default();
                        sum.calls += 1;
                        sum.ns = sum.ns.saturating_add(columns.at(Column::Duration, row));
                        self.own.entry(function).or_default().add(columns.at(Column::SelfTime, row));
                    }
                    (Some(function), None)
                } else {
                    let slot = above_slot.unwrap_or_else(|| self.enter(above_shown, function));
                    let sum = &mut self.slots[slot];
                    sum.ns = sum.ns.saturating_add(columns.at(Column::SelfTime, row));
                    if let Some(waited) = waited {
                        sum.costs.add(&ends, waited);
                    }
                    (above_shown, Some(slot))
                };
                chains.current().push(Open { ends, shown: own, slot });
            }
        }
        Ok(())
    }

    fn enter(&mut self, from: Option<FunctionIndex>, to: FunctionIndex) -> usize {
        let slots = &mut self.slots;
        let slot = *self.known.entry((from, to)).or_insert_with(|| {
            slots.push(Outside::default());
            slots.len() - 1
        });
        self.slots[slot].calls += 1;
        slot
    }
}
