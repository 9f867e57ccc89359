//! How far apart two programs have the same image.

use ada_event::RuntimeAddr;

/// How far a program's image is from where the first program has it: added to each address, wrapping.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Shift(pub(crate) u64);

impl Shift {
    /// Where the program has what the first program has here.
    pub(crate) fn apply(self, address: RuntimeAddr) -> RuntimeAddr {
        address.wrapping_add(self.0)
    }

    /// Where the first program has what the program has here.
    pub(crate) fn undo(self, address: RuntimeAddr) -> RuntimeAddr {
        address.wrapping_add(self.0.wrapping_neg())
    }
}
