//! Where a shadow stack begins, which follows from the low half of any address in it.
//!
//! So a record, which has the low half of the newest frame's address, says how many frames are open, and on which of a
//! thread's stacks.

use crate::ShadowFrame;

/// Bytes of a shadow stack, of which each is at a multiple: some 32,700 frames.
pub const SHADOW_BYTES: usize = 1 << 20;

/// The lines of the cache that shadow stacks begin at: if all began at the same one, they would push each other out.
const LINES: u32 = 64;
const LINE_BYTES: u32 = 64;

/// The number of a shadow stack among those whose low halves differ, from the low half of an address in it.
pub const fn number(address_low: u32) -> u32 {
    address_low / SHADOW_BYTES as u32
}

/// How far behind the start of a shadow stack's memory its sentinel is.
pub const fn sentinel_at(address_low: u32) -> u32 {
    number(address_low) % LINES * LINE_BYTES
}

/// How many frames there are up to the one at an address, of which the low half is given.
pub const fn frames(address_low: u32) -> u32 {
    let within = address_low % SHADOW_BYTES as u32;
    within.saturating_sub(sentinel_at(address_low)) / ShadowFrame::SIZE as u32
}

const _: () = assert!((LINE_BYTES as usize).is_multiple_of(ShadowFrame::SIZE));

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_are_counted_from_the_sentinel_wherever_it_is() {
        for start in [0, 0x8010_0000, 0xfff0_0000_u32] {
            let sentinel = start + sentinel_at(start);
            assert_eq!(frames(sentinel), 0);
            assert_eq!(frames(sentinel + 3 * ShadowFrame::SIZE as u32), 3);
            assert_eq!(number(sentinel), start >> 20);
        }
        assert_ne!(sentinel_at(0x8010_0000), sentinel_at(0x8020_0000));
    }
}
