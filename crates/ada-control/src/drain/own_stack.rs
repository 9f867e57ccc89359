//! By which shadow stacks a thread's own stack goes: where recursion needs it, a tall one takes the place of the first.

use std::sync::atomic::Ordering;

use ada_ring::chunk::ChunkHeader;
use ada_ring::{RawRecord, shadow_stack};

/// The numbers of a thread's own stack.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct OwnStack {
    first: u32,
    tall: Option<u32>,
}

impl OwnStack {
    /// What is known where a chunk was read. The thread notes a tall one before it writes any record of it.
    pub(super) fn of(header: &ChunkHeader) -> Self {
        let tall = header.tall_shadow_low.load(Ordering::Relaxed);
        Self {
            first: shadow_stack::number(header.shadow_base_low.load(Ordering::Relaxed)),
            tall: (tall != 0).then(|| shadow_stack::number(tall)),
        }
    }

    /// The number of the thread's own stack.
    pub(super) fn number(self) -> u32 {
        self.first
    }

    /// The number of the stack that a record is about, which does not change where a tall shadow stack takes over.
    pub(super) fn stack_of(self, record: &RawRecord) -> u32 {
        let number = record.stack();
        if self.tall == Some(number) { self.first } else { number }
    }

    #[cfg(test)]
    pub(super) fn with_number(first: u32) -> Self {
        Self { first, tall: None }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ada_ring::shadow_stack::{MOST_TALLS, tall_at};

    #[test]
    fn a_tall_shadow_stack_is_of_the_same_stack_unless_it_is_anothers() {
        const REGIONS_AT: u64 = 0x7f00_8000_0000;
        let tall = |number: usize| tall_at(REGIONS_AT, number) as u32;
        let at = |low: u32| RawRecord { tsc: 1, function: 1, top_and_kind: low };
        let own = OwnStack { first: 0x803, tall: Some(shadow_stack::number(tall(4))) };
        assert_eq!(own.stack_of(&at(0x8030_0040)), 0x803);
        assert_eq!(own.stack_of(&at(tall(4) + 0x123_4560)), 0x803);
        for number in (0..MOST_TALLS).filter(|&number| number != 4) {
            assert_ne!(own.stack_of(&at(tall(number))), 0x803);
        }
        assert_eq!(OwnStack::with_number(0x803).stack_of(&at(0x8040_0000)), 0x804);
    }
}
