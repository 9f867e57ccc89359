//! The 32-byte record: one call, return or exception.

use core::fmt;

use crate::{DetailSeq, FunctionId, ThreadId, TraceNanos};

/// What happened, as the file's number for it. Files may hold numbers that are not defined yet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(transparent)]
pub struct EventKind(pub u32);

impl EventKind {
    /// A function was entered.
    pub const CALL: Self = Self(1);
    /// A function returned.
    pub const RETURN: Self = Self(2);
    /// A frame was unwound without returning.
    pub const EXCEPTION: Self = Self(3);
    /// A function was entered whose returns are recorded otherwise, but not to this caller: no end belongs to it.
    pub const ENTRY: Self = Self(4);
    /// A RETURN, with a bit that says how: the function went on in another one, whose call is the next event at its depth.
    pub const TAIL: Self = Self(1 << 16 | 2);
    /// The thread goes on with another of its stacks. The function id is the stack's number, 0 for the thread's own, and the
    /// depth says how many frames are open there.
    pub const STACK: Self = Self(5);

    /// Whether a function was entered.
    #[inline]
    pub const fn is_call(self) -> bool {
        matches!(self, Self::CALL | Self::ENTRY)
    }

    /// Whether a frame ended.
    #[inline]
    pub const fn is_end(self) -> bool {
        matches!(self, Self::RETURN | Self::EXCEPTION | Self::TAIL)
    }

    /// The kind's name, if it is a defined one.
    pub const fn name(self) -> Option<&'static str> {
        match self {
            Self::CALL => Some("call"),
            Self::RETURN => Some("return"),
            Self::EXCEPTION => Some("exception"),
            Self::ENTRY => Some("entry"),
            Self::TAIL => Some("tail"),
            Self::STACK => Some("stack"),
            _ => None,
        }
    }
}

impl fmt::Display for EventKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.name() {
            Some(name) => f.pad(name),
            None => write!(f, "kind-{}", self.0),
        }
    }
}

/// One event of one thread. In memory it is laid out as in an ATF V2 index file on a little-endian machine, so that
/// the code in the target can write it with plain stores.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[repr(C)]
pub struct Event {
    /// When.
    pub timestamp: TraceNanos,
    /// In which function.
    pub function: FunctionId,
    /// On which thread.
    pub thread: ThreadId,
    /// Call, return or exception.
    pub kind: EventKind,
    /// How many traced frames were open below this one.
    pub depth: u32,
    /// Where the thread's detail file has more, if it has.
    pub detail: DetailSeq,
}

impl Event {
    /// Bytes of a record, in memory and in a file.
    pub const SIZE: usize = 32;

    /// Reads a record as files store it: little-endian, at any alignment.
    #[inline]
    pub const fn from_le_bytes(bytes: &[u8; Self::SIZE]) -> Self {
        Self {
            timestamp: TraceNanos(u64_at(bytes, 0)),
            function: FunctionId(u64_at(bytes, 8)),
            thread: ThreadId(u32_at(bytes, 16)),
            kind: EventKind(u32_at(bytes, 20)),
            depth: u32_at(bytes, 24),
            detail: DetailSeq(u32_at(bytes, 28)),
        }
    }

    /// The record as files store it.
    #[inline]
    pub fn to_le_bytes(self) -> [u8; Self::SIZE] {
        let mut bytes = [0; Self::SIZE];
        bytes[0..8].copy_from_slice(&self.timestamp.0.to_le_bytes());
        bytes[8..16].copy_from_slice(&self.function.0.to_le_bytes());
        bytes[16..20].copy_from_slice(&self.thread.0.to_le_bytes());
        bytes[20..24].copy_from_slice(&self.kind.0.to_le_bytes());
        bytes[24..28].copy_from_slice(&self.depth.to_le_bytes());
        bytes[28..32].copy_from_slice(&self.detail.0.to_le_bytes());
        bytes
    }
}

#[inline]
const fn u64_at(bytes: &[u8; Event::SIZE], at: usize) -> u64 {
    u32_at(bytes, at) as u64 | (u32_at(bytes, at + 4) as u64) << 32
}

#[inline]
const fn u32_at(bytes: &[u8; Event::SIZE], at: usize) -> u32 {
    u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
}

const _: () = {
    use core::mem::{align_of, offset_of, size_of};
    assert!(size_of::<Event>() == Event::SIZE && align_of::<Event>() == 8);
    assert!(offset_of!(Event, function) == 8 && offset_of!(Event, thread) == 16);
    assert!(offset_of!(Event, kind) == 20 && offset_of!(Event, depth) == 24 && offset_of!(Event, detail) == 28);
};

#[cfg(test)]
mod tests {
    extern crate std;
    use super::*;
    use std::format;

    #[test]
    fn the_bytes_are_little_endian_and_in_order() {
        let bytes: [u8; 32] = core::array::from_fn(|at| at as u8);
        let event = Event::from_le_bytes(&bytes);
        assert_eq!(event.timestamp, TraceNanos(0x0706_0504_0302_0100));
        assert_eq!(event.function, FunctionId(0x0f0e_0d0c_0b0a_0908));
        assert_eq!(event.thread, ThreadId(0x1312_1110));
        assert_eq!(event.kind, EventKind(0x1716_1514));
        assert_eq!(event.depth, 0x1b1a_1918);
        assert_eq!(event.detail, DetailSeq(0x1f1e_1d1c));
        assert_eq!(event.to_le_bytes(), bytes);
    }

    #[test]
    fn an_unknown_kind_has_a_readable_form() {
        assert_eq!(format!("{} {}", EventKind::CALL, EventKind(9)), "call kind-9");
    }
}
