//! The 16 bytes that a stub writes for an event. The drain makes the 32-byte event of them: thread and detail are
//! known from the chunk, the clock is scaled there, and the depth follows from the shadow stack's top.

use core::mem::offset_of;
use core::sync::atomic::{AtomicU64, Ordering};

use crate::shadow_stack;

/// A record as the stubs write it: the time stamp last, which publishes it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct RawRecord {
    /// The time-stamp counter; 0 means that the record is reserved and not written yet.
    pub tsc: u64,
    /// The function's number in its process.
    pub function: u32,
    /// The low half of the shadow stack's top, with the record's kind in the bits that its alignment leaves free.
    pub top_and_kind: u32,
}

/// What a record is about, in the low bits of [`RawRecord::top_and_kind`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum RecordKind {
    /// A function was entered, and its return is caught too.
    Call = 0,
    /// A function returned.
    Return = 1,
    /// A frame was found dead: an exception or a longjmp went over it.
    Unwound = 2,
    /// A function was entered whose return is not caught.
    EntryOnly = 3,
    /// The thread goes on with another stack. No stub writes it: the drain does, where records name another shadow stack; and the
    /// agent, where there are so many stacks that the low half of an address does not tell them apart.
    Stack = 18,
}

/// Set beside the kind where a [`crate::RawDetail`] with the same time stamp was written.
pub const HAS_DETAIL: u32 = 4;

/// Set beside the kind where a [`crate::probe::RawProbe`] with the same time stamp was written.
pub const IS_PROBED: u32 = 8;

/// Set beside [`RecordKind::EntryOnly`] where the function's returns are caught, but not to this caller.
pub const IS_UNCAUGHT: u32 = 16;

/// Set beside [`RecordKind::Return`] where the function went on in another one.
pub const IS_TAIL: u32 = 16;

/// Set in the function of a [`RecordKind::Stack`] beside the stack's number, where the agent has written it.
const NAMES_STACK: u32 = 1 << 31;

/// The bits of [`RawRecord::top_and_kind`] that are not the address.
const BITS: u32 = 31;

impl RawRecord {
    /// Bytes of a record.
    pub const SIZE: usize = 16;

    /// Writes a reserved record, the time stamp last: it publishes the record.
    ///
    /// # Safety
    /// `record` is one that the calling thread has reserved.
    pub unsafe fn publish(record: *mut Self, function: u32, top_and_kind: u32, tsc: u64) {
        // SAFETY: the caller's promise. Release pairs with Acquire in `ChunkReader`.
        unsafe {
            record.cast::<u64>().add(1).write_volatile(u64::from(top_and_kind) << 32 | u64::from(function));
            AtomicU64::from_ptr(&raw mut (*record).tsc).store(tsc, Ordering::Release);
        }
    }

    /// The record that is these two words in memory.
    #[inline(always)]
    pub(crate) const fn from_words([tsc, rest]: [u64; 2]) -> Self {
        Self { tsc, function: rest as u32, top_and_kind: (rest >> 32) as u32 }
    }

    /// Whether registers were captured too.
    pub const fn has_detail(self) -> bool {
        self.top_and_kind & HAS_DETAIL != 0
    }

    /// Whether a runtime probe kept what it saw.
    pub const fn is_probed(self) -> bool {
        self.top_and_kind & IS_PROBED != 0
    }

    /// Whether it is only because of the caller that the return of this call is not caught.
    pub const fn is_uncaught(self) -> bool {
        matches!(self.kind(), RecordKind::EntryOnly) && self.top_and_kind & IS_UNCAUGHT != 0
    }

    /// Whether the function ended by going on in another one.
    pub const fn is_tail(self) -> bool {
        matches!(self.kind(), RecordKind::Return) && self.top_and_kind & IS_TAIL != 0
    }

    /// The kind, which no bit pattern can make invalid.
    pub const fn kind(self) -> RecordKind {
        match self.top_and_kind & 3 {
            0 => RecordKind::Call,
            1 => RecordKind::Return,
            2 if self.top_and_kind & BITS == RecordKind::Stack as u32 => RecordKind::Stack,
            2 => RecordKind::Unwound,
            _ => RecordKind::EntryOnly,
        }
    }

    /// How many frames were open below the one that the record is about. A call is recorded before its frame is pushed, an
    /// end before its frame is popped.
    pub const fn depth(self) -> u32 {
        let frames = shadow_stack::frames(self.top_and_kind & !BITS);
        match self.kind() {
            RecordKind::Call | RecordKind::EntryOnly | RecordKind::Stack => frames,
            RecordKind::Return | RecordKind::Unwound => frames.saturating_sub(1),
        }
    }

    /// Which shadow stack it is about: see [`shadow_stack::number`].
    pub const fn stack(self) -> u32 {
        shadow_stack::number(self.top_and_kind)
    }

    /// What the agent writes where a thread goes on with a stack: its function, for a stack with this number, 0 for the
    /// thread's own.
    pub const fn naming_stack(number: u32) -> u32 {
        NAMES_STACK | number
    }

    /// The number of the stack that the agent has named.
    pub const fn named_stack(self) -> Option<u32> {
        let is_named = matches!(self.kind(), RecordKind::Stack) && self.function & NAMES_STACK != 0;
        if is_named { Some(self.function & !NAMES_STACK) } else { None }
    }

    /// The record that says that a thread is on another stack before this one.
    pub const fn stack_before(self) -> Self {
        let top_and_kind = self.top_and_kind & !BITS | RecordKind::Stack as u32;
        Self { tsc: self.tsc, function: 0, top_and_kind }
    }
}

const _: () = {
    assert!(size_of::<RawRecord>() == RawRecord::SIZE);
    // As `publish` and `from_words` have it.
    assert!(offset_of!(RawRecord, tsc) == 0 && offset_of!(RawRecord, function) == 8);
    assert!(offset_of!(RawRecord, top_and_kind) == 12);
};

#[cfg(test)]
mod tests {
    use super::*;

    const BASE: u32 = 0x4000_0000;

    #[test]
    fn call_and_return_of_one_frame_have_one_depth() {
        let call = RawRecord { tsc: 1, function: 7, top_and_kind: BASE + 64 };
        let back = RawRecord { tsc: 2, function: 7, top_and_kind: (BASE + 96) | RecordKind::Return as u32 };
        assert_eq!((call.kind(), call.depth()), (RecordKind::Call, 2));
        assert_eq!((back.kind(), back.depth()), (RecordKind::Return, 2));
    }

    #[test]
    fn a_stack_that_the_agent_names_has_its_number() {
        let function = RawRecord::naming_stack(9000);
        let record = RawRecord { tsc: 1, function, top_and_kind: (BASE + 64) | RecordKind::Stack as u32 };
        assert_eq!((record.named_stack(), record.depth()), (Some(9000), 2));
        assert_eq!(record.stack_before().named_stack(), None);
        assert_eq!(RawRecord { top_and_kind: BASE + 64, ..record }.named_stack(), None, "a call");
    }

    #[test]
    fn only_calls_can_be_uncaught_and_their_depth_does_not_change() {
        let entry =
            RawRecord { tsc: 1, function: 7, top_and_kind: (BASE + 64) | RecordKind::EntryOnly as u32 | IS_UNCAUGHT };
        assert!(entry.is_uncaught());
        assert_eq!((entry.kind(), entry.depth()), (RecordKind::EntryOnly, 2));
        let call = RawRecord { top_and_kind: BASE + 64, ..entry };
        assert!(!call.is_uncaught());
    }

    #[test]
    fn another_stack_has_as_many_frames_as_the_record_behind_says() {
        for (bits, frames) in [(RecordKind::Call as u32 | HAS_DETAIL, 2), (RecordKind::Return as u32 | IS_TAIL, 2)] {
            let record = RawRecord { tsc: 5, function: 7, top_and_kind: (BASE + 64) | bits };
            let before = record.stack_before();
            assert_eq!((before.kind(), before.depth(), before.tsc), (RecordKind::Stack, frames, 5));
            assert_eq!(before.stack(), BASE >> 20);
            assert!(!before.has_detail() && !before.is_probed());
        }
    }
}
