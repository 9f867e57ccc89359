//! Which function of the tables.

/// A function's place in [`super::Meta::functions`]. Its id stands there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(transparent)]
pub struct FunctionIndex(pub u32);

impl FunctionIndex {
    /// The place as lists count.
    #[inline]
    pub const fn place(self) -> usize {
        self.0 as usize
    }
}
