//! The order of a thread's records where signal handlers have interrupted it.
//!
//! A stub reserves its record, does its work and stamps the record last. A handler that interrupts it in between has its
//! own records behind the reserved one, with earlier times. Which of them comes first follows from their depths: a call
//! whose frame was pushed already contains the handler, one whose frame was not comes after it; a return whose frame
//! was popped already comes before the handler, one whose frame was not comes after it.

use ada_ring::RawRecord;
use ada_ring::record::RecordKind;

/// Sorts records by time. Gives the times by which they are sorted, where these are not the records' own.
pub(crate) fn put_in_order(records: &mut [RawRecord]) -> Vec<u64> {
    if records.is_sorted_by_key(|record| record.tsc) {
        return Vec::new();
    }
    let mut timed: Vec<(u64, RawRecord)> = records.iter().map(|&record| (record.tsc, record)).collect();
    for at in (1..timed.len()).rev() {
        let (next, behind) = timed[at];
        let (time, record) = &mut timed[at - 1];
        if *time > next && stays_before(record, &behind) {
            *time = next;
        }
    }
    timed.sort_by_key(|(time, _)| *time);
    for (slot, (_, record)) in records.iter_mut().zip(&timed) {
        *slot = *record;
    }
    timed.into_iter().map(|(time, _)| time).collect()
}

/// Whether a record comes before one that was reserved after it and written before it.
fn stays_before(record: &RawRecord, behind: &RawRecord) -> bool {
    let (depth, behind_depth) = (record.depth(), behind.depth());
    match record.kind() {
        // Depths of several stacks say nothing of each other.
        _ if record.stack() != behind.stack() => false,
        RecordKind::Call => behind_depth > depth,
        RecordKind::Return => behind_depth <= depth,
        RecordKind::Unwound | RecordKind::EntryOnly | RecordKind::Stack => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use RecordKind::{Call, EntryOnly, Return};

    const BASE: u32 = 0x4000_0000;

    fn record(tsc: u64, function: u32, kind: RecordKind, depth: u32) -> RawRecord {
        let frames = if kind == Return { depth + 1 } else { depth };
        RawRecord { tsc, function, top_and_kind: (BASE + 32 * frames) | kind as u32 }
    }

    fn ordered(mut records: Vec<RawRecord>) -> (Vec<u32>, Vec<u64>) {
        let times = put_in_order(&mut records);
        (records.iter().map(|record| record.function).collect(), times)
    }

    #[test]
    fn records_in_order_stay_as_they_are() {
        let (functions, times) = ordered(vec![record(1, 1, Call, 0), record(2, 2, Return, 0)]);
        assert_eq!((functions, times), (vec![1, 2], vec![]));
    }

    #[test]
    fn a_handler_before_the_push_comes_before_the_call() {
        let (functions, times) =
            ordered(vec![record(50, 1, Call, 3), record(10, 2, Call, 3), record(20, 2, Return, 3)]);
        assert_eq!((functions, times), (vec![2, 2, 1], vec![10, 20, 50]));
    }

    #[test]
    fn a_handler_behind_the_push_lies_within_the_call() {
        let (functions, times) =
            ordered(vec![record(50, 1, Call, 3), record(10, 2, Call, 4), record(20, 2, Return, 4)]);
        assert_eq!((functions, times), (vec![1, 2, 2], vec![10, 10, 20]));
    }

    #[test]
    fn a_handler_before_the_pop_lies_within_the_call() {
        let (functions, _) = ordered(vec![record(50, 1, Return, 3), record(10, 2, Call, 4), record(20, 2, Return, 4)]);
        assert_eq!(functions, [2, 2, 1]);
    }

    #[test]
    fn a_handler_behind_the_pop_comes_after_the_return() {
        let (functions, times) =
            ordered(vec![record(50, 1, Return, 3), record(10, 2, EntryOnly, 3), record(60, 3, Call, 3)]);
        assert_eq!((functions, times), (vec![1, 2, 3], vec![10, 10, 60]));
    }

    #[test]
    fn a_handler_within_a_handler_within_a_call() {
        let (functions, times) = ordered(vec![
            record(90, 1, Call, 0),
            record(80, 2, Call, 1),
            record(30, 3, Call, 2),
            record(40, 3, Return, 2),
            record(85, 2, Return, 1),
        ]);
        assert_eq!((functions, times), (vec![1, 2, 3, 3, 2], vec![30, 30, 30, 40, 85]));
    }
}
