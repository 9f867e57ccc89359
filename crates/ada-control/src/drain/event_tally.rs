//! How many events each function makes: sampled in the drain, so that knowing it costs next to nothing.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};

use ada_event::ProcessId;
use ada_ring::RawRecord;

use crate::install::function_numbers::ByNumber;

/// One of so many records is looked at. Not a power of 2: calls and returns often come in regular patterns.
const STRIDE: usize = 13;

/// Events by the function's number, as far as they were sampled.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct EventTally {
    events: ByNumber<u64>,
    processes: BTreeSet<ProcessId>,
    /// Where in the next batch to begin.
    phase: usize,
}

/// Shared by the drain and its readers.
pub(crate) type SharedTally = Arc<Mutex<EventTally>>;

impl EventTally {
    /// Takes a thread's next records in. Numbers from `end` on are nobody's: a target may write anything, and memory
    /// must not follow from it.
    pub(crate) fn add(&mut self, process: ProcessId, records: &[RawRecord], end: u32) {
        self.processes.insert(process);
        let mut at = self.phase;
        while let Some(record) = records.get(at) {
            if record.function < end {
                *self.events.get_mut(record.function) += STRIDE as u64;
            }
            at += STRIDE;
        }
        self.phase = at - records.len();
    }

    /// The processes that have made events.
    pub(crate) fn processes(&self) -> &BTreeSet<ProcessId> {
        &self.processes
    }

    /// Events by the function's number.
    pub(crate) fn by_function(&self) -> &ByNumber<u64> {
        &self.events
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_add_up_over_batches_of_any_size() {
        let mut tally = EventTally::default();
        let records: Vec<RawRecord> = (0..130_000)
            .map(|number| RawRecord { tsc: 1, function: if number % 10 == 0 { 7 } else { 3 }, top_and_kind: 0 })
            .collect();
        let mut rest = &records[..];
        for size in (1..).map(|number| number % 97 + 1) {
            let (batch, others) = rest.split_at(size.min(rest.len()));
            tally.add(ProcessId(1), batch, 8);
            rest = others;
            if rest.is_empty() {
                break;
            }
        }
        assert_eq!(tally.by_function().iter().map(|(_, events)| events).sum::<u64>(), 130_000);
        assert!(tally.by_function().get(7).abs_diff(13_000) < 1_000, "{:?}", tally.by_function());
    }

    #[test]
    fn numbers_that_nobody_has_take_no_memory() {
        let mut tally = EventTally::default();
        let records: Vec<RawRecord> = [7, 8, u32::MAX]
            .into_iter()
            .flat_map(|function| vec![RawRecord { tsc: 1, function, top_and_kind: 0 }; STRIDE])
            .collect();
        tally.add(ProcessId(1), &records, 8);
        assert_eq!(
            tally.by_function().iter().filter(|(_, events)| *events > 0).collect::<Vec<_>>(),
            [(7, STRIDE as u64)]
        );
        assert_eq!(tally.by_function().iter().count(), 256, "one page");
    }
}
