//! The rows of calls where only some functions are shown: who is called by what is hidden moves up to whoever is shown above it.

use ada_event::{EventSeq, TraceNanos};
use ada_format::parallel::in_parallel;
use ada_span::table::{Column, Columns, FunctionIndex, Tables};
use ada_span::{OpenCall, OpenChains, SpanEnds, SpanError, ThreadIndex};

use crate::item::LAST_ROW;

/// Which calls are shown, and in which rows. A byte for each call.
pub struct LensRows {
    /// By the function's index.
    shown: Vec<bool>,
    /// By block, and by call in it: how many of the calls above it are shown.
    above: Vec<Vec<u8>>,
    threads: Vec<ThreadRows>,
    functions: Vec<u64>,
}

/// What is shown of a thread.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ThreadRows {
    /// How many calls.
    pub calls: u64,
    /// In how many rows.
    pub rows: u32,
}

impl LensRows {
    /// Goes through all calls once. `shown` says which functions are, by their index. `progress` hears of calls.
    pub fn of(tables: &Tables, shown: Vec<bool>, progress: &(dyn Fn(u64) + Sync)) -> Result<Self, SpanError> {
        let made = in_parallel(tables.meta().threads.len(), |thread| {
            of_thread(tables, ThreadIndex(thread as u32), &shown, progress)
        });
        let mut all = Self {
            above: vec![Vec::new(); tables.meta().blocks.len()],
            threads: Vec::new(),
            functions: vec![0; shown.len()],
            shown,
        };
        for (thread, made) in ThreadIndex::all(made.len()).zip(made) {
            let made = made?;
            all.above[tables.blocks_of(thread)].iter_mut().zip(made.above).for_each(|(to, from)| *to = from);
            all.functions.iter_mut().zip(made.functions).for_each(|(sum, ns)| *sum = sum.saturating_add(ns));
            all.threads.push(made.rows);
        }
        Ok(all)
    }

    /// What is shown of a thread.
    pub fn of_thread(&self, thread: ThreadIndex) -> ThreadRows {
        self.threads.get(thread.as_usize()).copied().unwrap_or_default()
    }

    /// The time of each function in itself and in what it called that is hidden, by index; 0 of those that are hidden.
    pub fn charged(&self) -> &[u64] {
        &self.functions
    }

    /// The row of a call that is shown.
    pub(crate) fn row(&self, block: usize, at: usize, function: FunctionIndex) -> Option<u32> {
        self.is_shown(function).then(|| self.above(block, at))
    }

    /// The row of a call, or of the nearest one above it that is shown.
    pub(crate) fn nearest_row(&self, block: usize, at: usize, function: FunctionIndex) -> u32 {
        let above = self.above(block, at);
        if self.is_shown(function) { above } else { above.saturating_sub(1) }
    }

    fn is_shown(&self, function: FunctionIndex) -> bool {
        self.shown.get(function.as_usize()) == Some(&true)
    }

    fn above(&self, block: usize, at: usize) -> u32 {
        self.above.get(block).and_then(|rows| rows.get(at)).copied().unwrap_or_default().into()
    }
}

#[derive(Default)]
struct OfThread {
    above: Vec<Vec<u8>>,
    rows: ThreadRows,
    functions: Vec<u64>,
}

struct Open {
    ends: SpanEnds,
    /// How many of the calls above it are shown, and whether it is itself.
    above: u32,
    is_shown: bool,
    /// The nearest function that is shown, itself or above.
    nearest: Option<FunctionIndex>,
}

impl Open {
    /// What holds for a call below it: how many above that are shown, and the nearest one. What is jumped to goes on in the
    /// place of who jumped there, and its time is theirs.
    fn for_callee(&self, callee: &SpanEnds) -> (u32, Option<FunctionIndex>) {
        if Some(self.ends.seq) == callee.parent {
            (self.above + u32::from(self.is_shown), self.nearest)
        } else if self.ends.goes_on_in(callee.seq) {
            (self.above, self.nearest)
        } else {
            // A call of another stack.
            (0, None)
        }
    }
}

impl OpenCall for Open {
    fn seq(&self) -> EventSeq {
        self.ends.seq
    }

    fn end(&self) -> TraceNanos {
        self.ends.end
    }
}

fn of_thread(
    tables: &Tables,
    thread: ThreadIndex,
    shown: &[bool],
    progress: &(dyn Fn(u64) + Sync),
) -> Result<OfThread, SpanError> {
    let mut made = OfThread { functions: vec![0; shown.len()], ..OfThread::default() };
    let mut chains = OpenChains::<Open>::default();
    let mut columns = Columns::new();
    for block in tables.blocks_of(thread) {
        tables.read(block, |column| column != Column::Context, &mut columns)?;
        let mut rows = Vec::with_capacity(columns.rows());
        for row in 0..columns.rows() {
            let ends = SpanEnds::read(&columns, row);
            chains.go_to(ends.parent, ends.start, |top: &Open| top.ends.goes_on_in(ends.seq), |_| ());
            let (above, mut nearest) = chains.current().last().map_or((0, None), |it| it.for_callee(&ends));
            let is_shown = shown.get(ends.function.as_usize()) == Some(&true);
            if is_shown {
                made.rows.calls += 1;
                made.rows.rows = made.rows.rows.max(above.min(LAST_ROW) + 1);
                nearest = Some(ends.function);
            }
            if let Some(function) = nearest {
                let sum = &mut made.functions[function.as_usize()];
                *sum = sum.saturating_add(columns.at(Column::SelfTime, row));
            }
            rows.push(above.min(LAST_ROW) as u8);
            chains.current().push(Open { ends, above, is_shown, nearest });
        }
        progress(columns.rows() as u64);
        made.above.push(rows);
    }
    Ok(made)
}
