//! The list of the stacks that threads have left, or come to from others, in the order of their addresses.

use ada_ring::state::KnownStack;
use core::ops::Range;

/// The stacks that are known, at the start of as many as can be.
pub(crate) struct KnownStacks<'a> {
    all: &'a mut [KnownStack],
    count: usize,
}

impl<'a> KnownStacks<'a> {
    pub(crate) fn new(all: &'a mut [KnownStack], count: usize) -> Self {
        let count = count.min(all.len());
        Self { all, count }
    }

    pub(crate) fn count(&self) -> usize {
        self.count
    }

    pub(crate) fn get(&self, at: usize) -> Option<&KnownStack> {
        self.all[..self.count].get(at)
    }

    pub(crate) fn get_mut(&mut self, at: usize) -> Option<&mut KnownStack> {
        self.all[..self.count].get_mut(at)
    }

    /// The first stack that ends above an address; it has the address, or is the next one above it.
    pub(crate) fn first_above(&self, address: u64) -> usize {
        self.all[..self.count].partition_point(|it| it.high <= address)
    }

    /// The stack that has an address.
    pub(crate) fn containing(&self, address: u64) -> Option<usize> {
        let at = self.first_above(address);
        self.get(at).is_some_and(|it| it.low <= address).then_some(at)
    }

    /// The stack with a shadow stack, of which an address is known.
    pub(crate) fn with_number(&self, number: u32, address: u64) -> Option<usize> {
        let at = self.first_above(address);
        match self.get(at) {
            Some(it) if it.number == number => Some(at),
            _ => self.all[..self.count].iter().position(|it| it.number == number),
        }
    }

    /// The stack of a goroutine.
    pub(crate) fn with_goroutine(&self, goroutine: u64) -> Option<usize> {
        self.all[..self.count].iter().position(|it| it.goroutine == goroutine)
    }

    /// Takes a goroutine's stack that has any of these addresses off the list.
    pub(crate) fn take_goroutine_in(&mut self, bounds: &Range<u64>) -> Option<KnownStack> {
        let first = self.first_above(bounds.start);
        let in_bounds = self.all[first..self.count].iter().take_while(|it| it.low < bounds.end);
        let at = first + { in_bounds }.position(|it| it.goroutine != 0)?;
        let stack = self.all[at];
        self.remove(at);
        Some(stack)
    }

    /// Adds a stack, as far as it is nobody else's. `None` where there is no room.
    pub(crate) fn add(&mut self, mut stack: KnownStack) -> Option<usize> {
        let at = self.first_above(stack.low);
        if self.count == self.all.len() {
            return None;
        }
        if let Some(above) = self.get(at) {
            stack.high = stack.high.min(above.low);
        }
        self.all.copy_within(at..self.count, at + 1);
        self.all[at] = stack;
        self.count += 1;
        Some(at)
    }

    /// Moves the ends of a stack, as far as the memory is nobody else's.
    pub(crate) fn extend(&mut self, at: usize, to: Range<u64>) {
        let lowest = at.checked_sub(1).and_then(|at| self.get(at)).map_or(0, |below| below.high);
        let highest = self.get(at + 1).map_or(u64::MAX, |above| above.low);
        if let Some(stack) = self.get_mut(at) {
            stack.low = stack.low.min(to.start).max(lowest);
            stack.high = stack.high.max(to.end).min(highest);
        }
    }

    /// Takes memory from all stacks that had it: the program says that it is another one's.
    pub(crate) fn make_room(&mut self, bounds: &Range<u64>, mut removed: impl FnMut(&KnownStack)) {
        let mut at = self.first_above(bounds.start);
        while let Some(stack) = self.get_mut(at).filter(|it| it.low < bounds.end) {
            if stack.low < bounds.start {
                stack.high = bounds.start;
            } else if stack.high > bounds.end {
                stack.low = bounds.end;
            } else {
                removed(stack);
                self.remove(at);
                continue;
            }
            at += 1;
        }
    }

    pub(crate) fn remove(&mut self, at: usize) {
        self.all.copy_within(at + 1..self.count, at);
        self.count -= 1;
    }
}

#[cfg(test)]
mod tests {
    extern crate std;
    use super::*;
    use std::vec::Vec;

    fn stack(number: u32, low: u64, high: u64) -> KnownStack {
        KnownStack { low, high, number, ..KnownStack::default() }
    }

    fn extents(list: &KnownStacks<'_>) -> Vec<(u32, u64, u64)> {
        (0..list.count()).map(|at| list.get(at).unwrap()).map(|it| (it.number, it.low, it.high)).collect()
    }

    #[test]
    fn stacks_are_found_by_their_addresses_in_whatever_order_they_came() {
        let mut room = [KnownStack::default(); 4];
        let mut list = KnownStacks::new(&mut room, 0);
        for (number, low) in [(1, 500), (2, 100), (3, 900)] {
            list.add(stack(number, low, low + 100));
        }
        for (address, expected) in
            [(99, None), (100, Some(2)), (199, Some(2)), (200, None), (550, Some(1)), (999, Some(3))]
        {
            let found = list.containing(address).and_then(|at| list.get(at)).map(|it| it.number);
            assert_eq!(found, expected, "{address}");
        }
        assert_eq!(list.with_number(3, 920), Some(2));
        assert_eq!(list.with_number(3, 50), Some(2), "also where the address is another's");
        assert!(list.add(stack(4, 700, 800)).is_some());
        assert!(list.add(stack(5, 300, 400)).is_none(), "no room");
    }

    #[test]
    fn no_stack_grows_into_another() {
        let mut room = [KnownStack::default(); 4];
        let mut list = KnownStacks::new(&mut room, 0);
        list.add(stack(1, 100, 200));
        list.add(stack(2, 300, 400));
        list.add(stack(3, 450, 700));
        list.extend(1, 150..500);
        assert_eq!(extents(&list), [(1, 100, 200), (2, 200, 450), (3, 450, 700)]);
        list.add(stack(4, 50, 150));
        assert_eq!(list.get(0).map(|it| it.high), Some(100));
    }

    #[test]
    fn what_the_program_says_counts_more() {
        let mut room = [KnownStack::default(); 4];
        let mut list = KnownStacks::new(&mut room, 0);
        for (number, low) in [(1, 100), (2, 200), (3, 300)] {
            list.add(stack(number, low, low + 100));
        }
        let mut removed = Vec::new();
        list.make_room(&(150..350), |stack| removed.push(stack.number));
        assert_eq!(extents(&list), [(1, 100, 150), (3, 350, 400)]);
        assert_eq!(removed, [2]);
    }
}
