//! The instruction that stops a traced program.

/// `int3`. The program stops behind it.
pub(crate) const BREAKPOINT: [u8; 1] = [0xcc];
