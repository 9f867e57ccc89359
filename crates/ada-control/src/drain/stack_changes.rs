//! Where a thread goes on with another stack: each record names its stack, and an event marks each change.

use ada_ring::RawRecord;

/// The stack that a thread's last event was on, if it was not its own.
#[derive(Default)]
pub(super) struct StackChanges {
    other: Option<u32>,
}

impl StackChanges {
    /// A batch with a record before each that is on another stack than the one before it; `None` where there is none. A batch
    /// that does not begin on the thread's own stack says so, because what comes before it may not be kept.
    ///
    /// `times` are the time stamps by which the batch is in order, none where these are its own.
    pub(super) fn changes(
        &mut self,
        batch: &[RawRecord],
        times: &mut Vec<u64>,
        own: u32,
        is_one_stack: bool,
    ) -> Option<Vec<RawRecord>> {
        let first = batch.first()?.stack();
        if is_one_stack && first == own && self.other.is_none() {
            return None;
        }
        let mut stack = if first == own { self.other.unwrap_or(own) } else { own };
        let mut changed = Vec::with_capacity(batch.len() + 1);
        let mut changed_times = Vec::new();
        for (number, record) in batch.iter().enumerate() {
            let is_change = record.stack() != stack;
            if is_change {
                stack = record.stack();
                changed.push(record.stack_before());
            }
            changed.push(*record);
            if let Some(&time) = times.get(number) {
                changed_times.extend(std::iter::repeat_n(time, 1 + usize::from(is_change)));
            }
        }
        *times = changed_times;
        self.other = Some(stack).filter(|stack| *stack != own);
        Some(changed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ada_ring::RecordKind;

    /// A call on one of the stacks from 1 on.
    fn call(tsc: u64, stack: u32) -> RawRecord {
        RawRecord { tsc, function: 9, top_and_kind: 0x4000_0000 + (stack << 20) }
    }

    fn stacks(records: &[RawRecord]) -> Vec<(u32, bool)> {
        records.iter().map(|it| (it.stack() - 0x400, it.kind() == RecordKind::Stack)).collect()
    }

    #[test]
    fn each_change_is_said_once_and_each_batch_that_begins_elsewhere_says_so() {
        let (own, mut times, mut changes) = (0x401, Vec::new(), StackChanges::default());
        assert_eq!(changes.changes(&[call(1, 1), call(2, 1)], &mut times, own, true), None);
        let there = changes.changes(&[call(3, 1), call(4, 2), call(5, 2)], &mut times, own, false).unwrap();
        assert_eq!(stacks(&there), [(1, false), (2, true), (2, false), (2, false)]);
        let again = changes.changes(&[call(6, 2)], &mut times, own, true).unwrap();
        assert_eq!(stacks(&again), [(2, true), (2, false)]);
        let back = changes.changes(&[call(7, 1)], &mut times, own, true).unwrap();
        assert_eq!(stacks(&back), [(1, true), (1, false)]);
        assert_eq!(changes.changes(&[call(8, 1)], &mut times, own, true), None);
        assert!(times.is_empty());
    }

    #[test]
    fn a_change_has_the_time_of_what_follows() {
        let (mut times, mut changes) = (vec![10, 20], StackChanges::default());
        changes.changes(&[call(50, 1), call(20, 2)], &mut times, 0x401, false).unwrap();
        assert_eq!(times, [10, 20, 20]);
    }
}
