//! Which thread of a process, by its index in the tables.

/// A thread's index in [`crate::table::Meta::threads`]. Its id, which is the operating system's, stands there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(transparent)]
pub struct ThreadIndex(pub u32);

impl ThreadIndex {
    /// As a position in a list.
    #[inline]
    pub const fn as_usize(self) -> usize {
        self.0 as usize
    }

    /// All threads of a process that has so many.
    pub fn all(count: usize) -> impl Iterator<Item = Self> {
        (0..count as u32).map(Self)
    }
}

/// As a word of a record.
impl From<ThreadIndex> for u64 {
    fn from(index: ThreadIndex) -> Self {
        index.0.into()
    }
}
