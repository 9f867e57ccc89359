//! Where a thread goes on with another stack: each record names its stack, and an event marks each change.

use ada_ring::RawRecord;

use super::own_stack::OwnStack;

/// The stack that a thread's last event was on, if it was not its own.
#[derive(Default)]
pub(super) struct StackChanges {
    other: Option<Stack>,
}

/// A stack, as records name it, and as the agent has.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Stack {
    by_address: u32,
    name: Option<u32>,
}

impl Stack {
    fn by_address(by_address: u32) -> Self {
        Self { by_address, name: None }
    }

    fn is(&self, own: OwnStack) -> bool {
        self.name.map_or(self.by_address == own.number(), |name| name == 0)
    }

    /// The record that says so, before another one.
    fn before(&self, record: &RawRecord) -> RawRecord {
        let before = record.stack_before();
        let function = self.name.map_or(before.function, RawRecord::naming_stack);
        RawRecord { function, ..before }
    }
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
        own: OwnStack,
        is_one_stack: bool,
    ) -> Option<Vec<RawRecord>> {
        let first = batch.first()?;
        let is_own = is_one_stack && own.stack_of(first) == own.number() && self.other.is_none();
        if is_own && batch.iter().all(|record| record.named_stack().is_none()) {
            return None;
        }
        let mut stack = Stack::by_address(own.number());
        let mut is_said = match self.other {
            // It is still there: that is said again.
            Some(other) if other.by_address == own.stack_of(first) => {
                stack = other;
                other.is(own)
            }
            Some(other) => {
                stack = other;
                true
            }
            None => true,
        };
        let mut changed = Vec::with_capacity(batch.len() + 1);
        let mut changed_times = Vec::new();
        for (number, record) in batch.iter().enumerate() {
            if let Some(name) = record.named_stack() {
                (stack, is_said) = (Stack { by_address: own.stack_of(record), name: Some(name) }, true);
            } else if own.stack_of(record) != stack.by_address {
                (stack, is_said) = (Stack::by_address(own.stack_of(record)), false);
            }
            let is_change = !is_said;
            if is_change {
                changed.push(stack.before(record));
                is_said = true;
            }
            changed.push(*record);
            if let Some(&time) = times.get(number) {
                changed_times.extend(std::iter::repeat_n(time, 1 + usize::from(is_change)));
            }
        }
        *times = changed_times;
        self.other = Some(stack).filter(|stack| !stack.is(own));
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
        let (own, mut times, mut changes) = (OwnStack::with_number(0x401), Vec::new(), StackChanges::default());
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
    fn stacks_that_the_agent_names_are_known_by_their_names() {
        let named = |tsc, stack: u32, name| RawRecord {
            function: RawRecord::naming_stack(name),
            top_and_kind: call(tsc, stack).top_and_kind | RecordKind::Stack as u32,
            tsc,
        };
        let names = |records: Vec<RawRecord>| records.iter().map(|it| it.named_stack()).collect::<Vec<_>>();
        let (own, mut times, mut changes) = (OwnStack::with_number(0x401), Vec::new(), StackChanges::default());
        // The address is that of the own one.
        let batch = [call(1, 1), named(2, 1, 4097), call(3, 1), named(4, 1, 8193)];
        assert_eq!(
            names(changes.changes(&batch, &mut times, own, true).unwrap()),
            [None, Some(4097), None, Some(8193)]
        );
        let again = changes.changes(&[call(5, 1)], &mut times, own, true).unwrap();
        assert_eq!(names(again), [Some(8193), None]);
        let back = changes.changes(&[named(6, 1, 0), call(7, 1)], &mut times, own, true).unwrap();
        assert_eq!(names(back), [Some(0), None]);
        assert_eq!(changes.changes(&[call(8, 1)], &mut times, own, true), None);
    }

    #[test]
    fn a_change_has_the_time_of_what_follows() {
        let (mut times, mut changes) = (vec![10, 20], StackChanges::default());
        changes.changes(&[call(50, 1), call(20, 2)], &mut times, OwnStack::with_number(0x401), false).unwrap();
        assert_eq!(times, [10, 20, 20]);
    }
}
