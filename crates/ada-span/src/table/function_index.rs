//! Which function of the tables.

/// A function's index in [`super::Meta::functions`]. Its id stands there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(transparent)]
pub struct FunctionIndex(pub u32);

impl FunctionIndex {
    /// As a position in a list.
    #[inline]
    pub const fn as_usize(self) -> usize {
        self.0 as usize
    }
}
