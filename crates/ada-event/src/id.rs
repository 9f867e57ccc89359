//! Ids: modules, functions, threads, and positions in the files of a thread.

use core::fmt;
use core::num::ParseIntError;
use core::ops::{Add, AddAssign, Sub};
use core::str::FromStr;

/// A loaded image, numbered within one process of one session.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(transparent)]
pub struct ModuleId(pub u32);

/// A function: the module in the upper half, its ordinal in that module's function table in the lower.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(transparent)]
pub struct FunctionId(pub u64);

/// The operating system's id of a process.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(transparent)]
pub struct ProcessId(pub u32);

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

impl ProcessId {
    /// As system calls take it.
    #[inline]
    pub const fn to_raw(self) -> i32 {
        self.0.cast_signed()
    }

    /// As system calls give it.
    #[inline]
    pub const fn from_raw(raw: i32) -> Self {
        Self(raw.cast_unsigned())
    }

    /// The thread that the process began with: it has the process's id.
    #[inline]
    pub const fn first_thread(self) -> ThreadId {
        ThreadId(self.0)
    }
}

impl ThreadId {
    /// As system calls take it.
    #[inline]
    pub const fn to_raw(self) -> i32 {
        self.0.cast_signed()
    }

    /// As system calls give it.
    #[inline]
    pub const fn from_raw(raw: i32) -> Self {
        Self(raw.cast_unsigned())
    }
}

impl EventSeq {
    /// The position after this one.
    #[inline]
    pub const fn next(self) -> Self {
        Self(self.0.saturating_add(1))
    }

    /// How many events it is after another; 0 where it is before.
    #[inline]
    pub const fn since(self, earlier: Self) -> u64 {
        self.0.saturating_sub(earlier.0)
    }

    /// The position so many events later; the last one there is where that would be later still.
    #[inline]
    pub const fn saturating_add(self, events: u64) -> Self {
        Self(self.0.saturating_add(events))
    }

    /// The position so many events earlier. Damaged files can state a distance that leads before the first event.
    #[inline]
    pub const fn wrapping_sub(self, events: u64) -> Self {
        Self(self.0.wrapping_sub(events))
    }
}

impl Add<u64> for EventSeq {
    type Output = Self;

    #[inline]
    fn add(self, events: u64) -> Self {
        Self(self.0 + events)
    }
}

/// How many events one position is after another.
impl Sub for EventSeq {
    type Output = u64;

    #[inline]
    fn sub(self, earlier: Self) -> u64 {
        self.0 - earlier.0
    }
}

impl AddAssign<u64> for EventSeq {
    #[inline]
    fn add_assign(&mut self, events: u64) {
        self.0 += events;
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

display_as_number!(ModuleId, ProcessId, ThreadId, EventSeq, DetailSeq);

macro_rules! parse_as_number {
    ($($id:ident),*) => {$(
        impl FromStr for $id {
            type Err = ParseIntError;

            fn from_str(text: &str) -> Result<Self, ParseIntError> {
                text.parse().map(Self)
            }
        }
    )*};
}

parse_as_number!(ProcessId, ThreadId, EventSeq);

/// For columns and records, which have numbers.
macro_rules! into_number {
    ($($id:ident),*) => {$(
        impl From<$id> for u64 {
            #[inline]
            fn from(id: $id) -> Self {
                id.0.into()
            }
        }
    )*};
}

into_number!(ModuleId, ProcessId, ThreadId, EventSeq);

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
    fn positions_count_events() {
        assert_eq!(EventSeq(7).next(), EventSeq(7) + 1);
        assert_eq!((EventSeq(7).since(EventSeq(5)), EventSeq(5).since(EventSeq(7))), (2, 0));
        assert_eq!("12".parse(), Ok(EventSeq(12)));
    }

    #[test]
    fn the_largest_detail_position_means_none() {
        assert_eq!(DetailSeq::default().get(), None);
        assert_eq!(DetailSeq(0).get(), Some(0));
        assert_eq!(DetailSeq(u32::MAX - 1).get(), Some(u32::MAX - 1));
    }
}
