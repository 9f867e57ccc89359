//! The stacks of a thread that it is not on: what is open there waits until it comes back.

use std::collections::HashMap;

use ada_event::TraceNanos;

use super::Frame;
use super::causes::Causes;

/// A stack that the thread has left.
pub(super) struct Parked {
    /// Its open calls.
    pub(super) frames: Vec<Frame>,
    /// When it was left.
    pub(super) since: TraceNanos,
    /// Frames below this depth may have been open before its first event.
    pub(super) unknown_below: u32,
    /// Those are another thread's to tell of.
    pub(super) is_taken_over: bool,
    /// The unwinding that is under way there, or was the last.
    pub(super) causes: Causes,
}

/// All of them, by number.
#[derive(Default)]
pub(super) struct ParkedStacks(HashMap<u64, Parked>);

impl ParkedStacks {
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn take(&mut self, number: u64) -> Option<Parked> {
        self.0.remove(&number)
    }

    pub(super) fn put(&mut self, number: u64, parked: Parked) {
        self.0.insert(number, parked);
    }

    pub(super) fn stacks(&mut self) -> impl Iterator<Item = &mut Parked> {
        self.0.values_mut()
    }

    /// Empties the list, in the order of the stacks' numbers.
    pub(super) fn take_all(&mut self) -> Vec<(u64, Parked)> {
        let mut all: Vec<(u64, Parked)> = self.0.drain().collect();
        all.sort_unstable_by_key(|(number, _)| *number);
        all
    }
}
