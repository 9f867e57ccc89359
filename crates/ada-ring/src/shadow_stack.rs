//! Where a shadow stack begins, which follows from the low half of any address in it.
//!
//! So a record, which has the low half of the newest frame's address, says how many frames are open, and on which of a
//! thread's stacks.
//!
//! Recursion may need more than a shadow stack has room for. Then a tall one takes its place, which lies where a region of
//! the target's private memory has nothing, and so can be told from others by the low half of an address too.

use crate::ShadowFrame;

/// Bytes of a shadow stack, of which each is at a multiple: some 32,700 frames.
pub const SHADOW_BYTES: usize = 1 << 20;

/// Bytes of a tall shadow stack, of which each is at a multiple: a million frames. Calls take 16 bytes
/// of the program's stack and more, so that one of 8 MiB has half as many at most.
pub const TALL_BYTES: usize = 1 << 25;
/// How often the part of the memory repeats in which tall ones are, …
pub const TALL_STRIDE: usize = 1 << 29;
/// … where in it they begin, …
pub const TALLS_AT: usize = 9 * TALL_BYTES;
/// … and how many there are in each, up to its end.
pub const TALLS_IN_ROW: usize = (TALL_STRIDE - TALLS_AT) / TALL_BYTES;
/// How many a process can have. They lie in as many parts as these take, right below its first region.
pub const MOST_TALLS: usize = 2 * TALLS_IN_ROW;

/// The lines of the cache that shadow stacks begin at: if all began at the same one, they would push each other out.
const LINES: u32 = 64;
const LINE_BYTES: u32 = 64;

/// Whether an address, of which the low half is given, is in a tall shadow stack.
pub const fn is_tall(address_low: u32) -> bool {
    address_low % TALL_STRIDE as u32 >= TALLS_AT as u32
}

/// Where a tall shadow stack's memory is; `regions_at` is where the process's first region is.
pub const fn tall_at(regions_at: u64, number: usize) -> u64 {
    let rows = MOST_TALLS / TALLS_IN_ROW - number / TALLS_IN_ROW;
    regions_at - (rows * TALL_STRIDE) as u64 + (TALLS_AT + number % TALLS_IN_ROW * TALL_BYTES) as u64
}

const fn bytes_of_that_at(address_low: u32) -> u32 {
    if is_tall(address_low) { TALL_BYTES as u32 } else { SHADOW_BYTES as u32 }
}

/// The number of a shadow stack among those whose low halves differ, from the low half of an address in it.
pub const fn number(address_low: u32) -> u32 {
    address_low / bytes_of_that_at(address_low) * (bytes_of_that_at(address_low) / SHADOW_BYTES as u32)
}

/// How far behind the start of a shadow stack's memory its sentinel is.
pub const fn sentinel_at(address_low: u32) -> u32 {
    number(address_low) % LINES * LINE_BYTES
}

/// How many frames there are up to the one at an address, of which the low half is given.
pub const fn frames(address_low: u32) -> u32 {
    let within = address_low % bytes_of_that_at(address_low);
    within.saturating_sub(sentinel_at(address_low)) / ShadowFrame::SIZE as u32
}

const _: () = assert!((LINE_BYTES as usize).is_multiple_of(ShadowFrame::SIZE));

#[cfg(test)]
mod tests {
    extern crate std;
    use super::*;
    use std::vec::Vec;

    #[test]
    fn frames_are_counted_from_the_sentinel_wherever_it_is() {
        for start in [0, 0x8010_0000, 0x8ff0_0000_u32] {
            let sentinel = start + sentinel_at(start);
            assert_eq!(frames(sentinel), 0);
            assert_eq!(frames(sentinel + 3 * ShadowFrame::SIZE as u32), 3);
            assert_eq!(number(sentinel), start >> 20);
        }
        assert_ne!(sentinel_at(0x8010_0000), sentinel_at(0x8020_0000));
    }

    #[test]
    fn a_tall_one_is_one_stack_from_its_start_to_its_end() {
        const REGIONS_AT: u64 = 0x7f00_8000_0000;
        for number_of in 0..MOST_TALLS {
            let start = tall_at(REGIONS_AT, number_of);
            assert!(start + TALL_BYTES as u64 <= REGIONS_AT);
            let (first, last) = (start as u32, (start + TALL_BYTES as u64 - 1) as u32);
            assert!(is_tall(first) && is_tall(last));
            assert_eq!((number(first), number(last)), (first >> 20, first >> 20));
            let sentinel = first + sentinel_at(first);
            assert_eq!(sentinel_at(last), sentinel - first);
            assert_eq!(frames(sentinel + 1_000_000 * ShadowFrame::SIZE as u32), 1_000_000);
        }
        let starts: Vec<u64> = (0..MOST_TALLS).map(|number| tall_at(REGIONS_AT, number)).collect();
        assert!(starts.is_sorted_by(|one, other| one + TALL_BYTES as u64 <= *other), "{starts:x?}");
        assert!(!is_tall(REGIONS_AT as u32) && !is_tall(REGIONS_AT as u32 + TALLS_AT as u32 - 1));
    }
}
