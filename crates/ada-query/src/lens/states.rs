//! How long functions were on the processor, ready and blocked, in themselves and in what they called that is not shown.

use ada_event::{EventSeq, TraceNanos};
use ada_span::state::{StateTimes, ThreadState};
use ada_span::table::{Column, Columns, FunctionIndex};
use ada_span::{OpenCall, OpenChains, SpanEnds, ThreadIndex};

use crate::cancel::Cancel;
use crate::error::QueryError;
use crate::scan::scan_pieces;
use crate::trace::TraceProcess;

/// The times of each function that is shown, by its index. What is not known is among them. Tasks share their threads with others, so
/// that nothing is known of their calls.
pub fn self_states(process: &TraceProcess, shown: &[bool], cancel: &Cancel) -> Result<Vec<StateTimes>, QueryError> {
    let threads = process.tables.meta().threads.len();
    let parts = scan_pieces(
        threads,
        cancel,
        || vec![Sum::default(); shown.len()],
        |sums, thread| add_thread(sums, process, ThreadIndex(thread as u32), shown, cancel),
    )?;
    let mut all = vec![StateTimes::default(); shown.len()];
    for (all, at) in all.iter_mut().zip(0..) {
        let times = parts.iter().filter_map(|part| part.get(at)).fold(Sum::default(), |mut sum, part| {
            sum.change(part.0, 1);
            sum
        });
        *all = StateTimes::new(times.0.map(|time| time.try_into().unwrap_or(0)));
    }
    Ok(all)
}

/// Times of calls, less those of what they called.
#[derive(Clone, Copy, Default)]
struct Sum([i128; ThreadState::ALL.len()]);

impl Sum {
    fn change(&mut self, times: [i128; ThreadState::ALL.len()], sign: i128) {
        self.0.iter_mut().zip(times).for_each(|(sum, time)| *sum += sign * time);
    }
}

struct Open {
    ends: SpanEnds,
    /// Who its time belongs to.
    shown: Option<FunctionIndex>,
}

impl OpenCall for Open {
    fn seq(&self) -> EventSeq {
        self.ends.seq
    }

    fn end(&self) -> TraceNanos {
        self.ends.end
    }
}

fn add_thread(
    sums: &mut [Sum],
    process: &TraceProcess,
    thread: ThreadIndex,
    shown: &[bool],
    cancel: &Cancel,
) -> Result<(), QueryError> {
    let tables = &process.tables;
    let mut chains = OpenChains::<Open>::default();
    let mut columns = Columns::new();
    for block in tables.blocks_of(thread) {
        cancel.check()?;
        tables.read(block, |column| column != Column::Context, &mut columns)?;
        for row in 0..columns.rows() {
            let ends = SpanEnds::read(&columns, row);
            chains.go_to(ends.parent, ends.start, |top: &Open| top.ends.goes_on_in(ends.seq), |_| ());
            let open = chains.current();
            let above = open.last().and_then(|top| top.shown);
            let is_shown = shown.get(ends.function.as_usize()) == Some(&true);
            if is_shown {
                let end = ends.start.saturating_add(columns.at(Column::Duration, row));
                let times = process.state_times(thread, ends.seq, ends.start, end);
                let mut changes = [0; ThreadState::ALL.len()];
                ThreadState::ALL.iter().for_each(|state| changes[*state as usize] = times.of(*state).into());
                sums[ends.function.as_usize()].change(changes, 1);
                // Who jumped here has ended: the time is a part of its caller's.
                let caller = open.iter().rev().find(|it| Some(it.ends.seq) == ends.parent);
                if let Some(caller) = caller.and_then(|it| it.shown) {
                    sums[caller.as_usize()].change(changes, -1);
                }
            }
            let shown = if is_shown { Some(ends.function) } else { above };
            open.push(Open { ends, shown });
        }
    }
    Ok(())
}
