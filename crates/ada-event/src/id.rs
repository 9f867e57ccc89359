//! Ids: modules, functions, threads, and positions in the files of a thread.

use core::fmt;

/// A loaded image, numbered within one process of one session.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(transparent)]
pub struct ModuleId(pub u32);

/// A function: the module in the upper half, its ordinal in that module's function table in the lower.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(transparent)]
pub struct FunctionId(pub u64);

/// The operating system's id of a thread, cut to the 32 bits that the file format has for it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(transparent)]
pub struct ThreadId(pub u32);

/// An event's position in its thread's index file, from 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(transparent)]
pub struct EventSeq(pub u64);

/// A record's position in its thread's detail file, from 0, as an event stores it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(transparent)]
pub struct DetailSeq(pub u32);

impl FunctionId {
    /// Function `symbol_index` of `module`.
    pub const fn new(module: ModuleId, symbol_index: u32) -> Self {
        Self((module.0 as u64) << 32 | symbol_index as u64)
    }

    /// The module that the function belongs to.
    pub const fn module(self) -> ModuleId {
        ModuleId((self.0 >> 32) as u32)
    }

    /// The function's ordinal in its module's function table.
    pub const fn symbol_index(self) -> u32 {
        self.0 as u32
    }
}

impl DetailSeq {
    /// The stored value that means that no detail was recorded.
    pub const NONE: Self = Self(u32::MAX);

    /// The position, if there is a detail record.
    pub const fn get(self) -> Option<u32> {
        if self.0 == Self::NONE.0 { None } else { Some(self.0) }
    }
}

impl Default for DetailSeq {
    fn default() -> Self {
        Self::NONE
    }
}

/// `module:symbol`, both decimal: what people can type back.
impl fmt::Display for FunctionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.module().0, self.symbol_index())
    }
}

macro_rules! display_as_number {
    ($($id:ty),*) => {$(
        impl fmt::Display for $id {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }
    )*};
}

display_as_number!(ModuleId, ThreadId, EventSeq, DetailSeq);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_function_id_holds_module_and_symbol() {
        let id = FunctionId::new(ModuleId(7), 0xffff_fffe);
        assert_eq!(id.0, 0x0000_0007_ffff_fffe);
        assert_eq!((id.module(), id.symbol_index()), (ModuleId(7), 0xffff_fffe));
    }

    #[test]
    fn the_largest_detail_position_means_none() {
        assert_eq!(DetailSeq::default().get(), None);
        assert_eq!(DetailSeq(0).get(), Some(0));
        assert_eq!(DetailSeq(u32::MAX - 1).get(), Some(u32::MAX - 1));
    }
}
