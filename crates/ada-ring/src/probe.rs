//! Runtime probes: functions of which the trace always keeps registers, and some memory that they point at.
//!
//! The recorder writes a table of [`Probe`]s into the control block; a stub passes the agent the number of its own.

use core::sync::atomic::{AtomicU64, Ordering};

use crate::RawDetail;

/// Where a memory read starts: an argument as it was when the function was entered, or what it returned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Base {
    /// The first argument.
    Argument1 = 0,
    /// The second.
    Argument2 = 1,
    /// The third.
    Argument3 = 2,
    /// The fourth.
    Argument4 = 3,
    /// The fifth.
    Argument5 = 4,
    /// The sixth.
    Argument6 = 5,
    /// Swift's asynchronous context.
    AsyncContext = 6,
    /// What the function returned.
    Result = 7,
    /// The second half of that.
    SecondResult = 8,
    /// Where the thread has its `errno`, as far as is known.
    Errno = 9,
    /// The return slot: arguments that have no register lie behind it.
    Slot = 10,
    /// The first argument of a function of Go.
    GoArgument1 = 11,
    /// The second.
    GoArgument2 = 12,
    /// The caller's frame pointer.
    FramePointer = 13,
    /// Where Swift's functions have their `self`, and those that go on after an `await` the error that it threw.
    SwiftSelf = 14,
    /// The integer registers in which functions of Go take their arguments, and give their results, in their order.
    GoWord1 = 15,
    /// The second of them.
    GoWord2 = 16,
    /// The third.
    GoWord3 = 17,
    /// The fourth.
    GoWord4 = 18,
    /// The fifth.
    GoWord5 = 19,
    /// The sixth.
    GoWord6 = 20,
    /// The seventh.
    GoWord7 = 21,
    /// The eighth.
    GoWord8 = 22,
    /// The ninth, and last.
    GoWord9 = 23,
}

/// How many bases there are.
pub const BASES: usize = Base::GoWord9 as usize + 1;
/// How many registers functions of Go have for integers.
pub const GO_WORDS: usize = BASES - Base::GoWord1 as usize;
/// How many of them are known at the call already: all before the result.
pub const BASES_AT_CALL: usize = Base::Result as usize;

/// How much a read takes of what it is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extent {
    /// All of its words, or none.
    Words,
    /// Bytes up to the first zero, as far as there is room: see [`Read::text`].
    Text,
    /// As many bytes as a base says, as far as there is room: see [`Read::bytes`].
    Bytes(usize),
    /// The base itself, and those after it: see [`Read::values`].
    Value,
    /// Return addresses: see [`Read::callers`].
    Callers,
    /// The low half of the vector register of this number: see [`Read::vector`].
    Vector(usize),
    /// The number that x87 has newest: see [`Read::extended`].
    Extended,
    /// The names of an object's type: see [`Read::swift_type`].
    SwiftType,
    /// More bytes up to the first zero than a record has room for: see [`Read::long_text`].
    LongText,
    /// Elements of so many bytes each, as many as a base says: see [`Read::elements`].
    Elements {
        /// The number of that base.
        count: usize,
        /// The bytes of an element.
        each: u16,
    },
    /// Elements that memory has the place and the end of: see [`Read::elements_behind`].
    ElementsBehind(ElementsEnd, u8),
}

/// What says where the last of some elements is, so many bytes behind a base.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ElementsEnd {
    /// Their number.
    Count(i16),
    /// A pointer behind it.
    Pointer(i16),
}

/// How a function says that it has failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Failed {
    /// By -1 in 32 bits.
    MinusOne32 = 1,
    /// By -1 in 64 bits.
    MinusOne64 = 2,
    /// By a null pointer, or one whose bits are all set.
    NoPointer = 3,
}

/// One read: follow pointers from a base, then take words. Packed into 64 bits; 0 for none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Read(u64);

const NO_STEP: i16 = i16::MIN;
const IS_READ: u64 = 1 << 63;
const IS_TEXT: u64 = 1 << 62;
const IS_BYTES: u64 = 1 << 61;
const IS_VALUE: u64 = 1 << 60;
const IS_CALLERS: u64 = 1 << 59;
const IS_VECTOR: u64 = 1 << 58;
const IS_SWIFT_TYPE: u64 = 1 << 57;
const IS_LONG: u64 = 1 << 56;
/// Two bits that nothing else has together.
const IS_ELEMENTS: u64 = IS_BYTES | IS_VALUE;
const IS_ELEMENTS_BEHIND: u64 = IS_BYTES | IS_CALLERS;
const IS_EXTENDED: u64 = IS_VECTOR | IS_VALUE;
/// Of elements in memory: the second offset is that of a pointer behind the last.
const HAS_END: u64 = IS_LONG;
/// Where the number of the base is that has the length, or the bytes of an element.
const LENGTH_SHIFT: u32 = 48;

/// Where stubs find the parts of a read, in bytes from its start.
pub mod packed {
    /// The number of its base, or of its vector register.
    pub const BASE: i32 = 0;
    /// How many words it takes.
    pub const COUNT: i32 = 1;
    /// The first offset, which has two bytes …
    pub const FIRST: i32 = 2;
    /// … and the second, which is [`NO_STEP`] where there is none.
    pub const SECOND: i32 = 4;
    /// The number of the base that has the length.
    pub const LENGTH: i32 = super::LENGTH_SHIFT as i32 / 8;
    /// What kind of read it is, one of the following bits; none for plain words.
    pub const KIND: i32 = 7;
    /// A text.
    pub const TEXT: i32 = (super::IS_TEXT >> 56) as i32;
    /// Bytes.
    pub const BYTES: i32 = (super::IS_BYTES >> 56) as i32;
    /// A vector register.
    pub const VECTOR: i32 = (super::IS_VECTOR >> 56) as i32;
    /// No second offset.
    pub const NO_STEP: i32 = super::NO_STEP as i32;
    /// A read of plain words where the base of number 0 points, without their count.
    pub const WORDS_AT_BASE: u64 = super::Read::words(super::Base::Argument1, 0, 1).0 & !(0xff << (8 * COUNT));
}

/// In a number of a probe that is passed to [`crate::AgentEntries::reads`]: its reads at the return, and not those at the call.
pub const AT_RETURN: u32 = 1 << 31;

/// In the first word of a text or of bytes: they go on behind what was read.
pub const GOES_ON: u64 = 1 << 32;

impl Base {
    /// The base with a number.
    pub const fn from_number(number: usize) -> Option<Self> {
        const ALL: [Base; BASES] = [
            Base::Argument1,
            Base::Argument2,
            Base::Argument3,
            Base::Argument4,
            Base::Argument5,
            Base::Argument6,
            Base::AsyncContext,
            Base::Result,
            Base::SecondResult,
            Base::Errno,
            Base::Slot,
            Base::GoArgument1,
            Base::GoArgument2,
            Base::FramePointer,
            Base::SwiftSelf,
            Base::GoWord1,
            Base::GoWord2,
            Base::GoWord3,
            Base::GoWord4,
            Base::GoWord5,
            Base::GoWord6,
            Base::GoWord7,
            Base::GoWord8,
            Base::GoWord9,
        ];
        if number < BASES { Some(ALL[number]) } else { None }
    }
}

impl Read {
    /// `words` words at `[base + offset]`.
    pub const fn words(base: Base, offset: i16, words: u8) -> Self {
        Self::through(base, offset, NO_STEP, words)
    }

    /// `words` words at `[[base + first] + second]`.
    pub const fn through(base: Base, first: i16, second: i16, words: u8) -> Self {
        assert!(words > 0 && (words as usize) < PROBE_WORDS);
        let (first, second) = (first as u16 as u64, second as u16 as u64);
        Self(IS_READ | base as u64 | (words as u64) << 8 | first << 16 | second << 32)
    }

    /// The text at `base`, up to a zero. The first of the words is how many bytes were read, with [`GOES_ON`] where none of them
    /// was a zero; the rest are these bytes.
    pub const fn text(base: Base, words: u8) -> Self {
        assert!(words > 1);
        Self(Self::words(base, 0, words).0 | IS_TEXT)
    }

    /// The text that the word at `base` points at.
    pub const fn text_behind(base: Base, words: u8) -> Self {
        Self::text_behind_at(base, 0, words)
    }

    /// The text that the word at `[base + offset]` points at.
    pub const fn text_behind_at(base: Base, offset: i16, words: u8) -> Self {
        assert!(words > 1);
        Self(Self::through(base, offset, 0, words).0 | IS_TEXT)
    }

    /// The bytes at `base`, as many as `length` says if taken for a number with a sign. The words are as those of a text.
    pub const fn bytes(base: Base, length: Base, words: u8) -> Self {
        assert!(words > 1);
        Self(Self::words(base, 0, words).0 | IS_BYTES | (length as u64) << LENGTH_SHIFT)
    }

    /// Elements of `each` bytes at `base`, as many as `count` says. The words are as those of a text.
    pub const fn elements(base: Base, count: Base, each: u8, words: u8) -> Self {
        assert!(words > 1 && each > 0);
        Self(Self::through(base, 0, each as i16, words).0 | IS_ELEMENTS | (count as u64) << LENGTH_SHIFT)
    }

    /// Elements of `each` bytes, where the word at `[base + start]` points; `end` says behind which the last is. The words are
    /// as those of a text.
    pub const fn elements_behind(base: Base, start: i16, end: ElementsEnd, each: u8, words: u8) -> Self {
        assert!(words > 1 && each > 0);
        let (at, kind) = match end {
            ElementsEnd::Count(at) => (at, IS_ELEMENTS_BEHIND),
            ElementsEnd::Pointer(at) => (at, IS_ELEMENTS_BEHIND | HAS_END),
        };
        Self(Self::through(base, start, at, words).0 | kind | (each as u64) << LENGTH_SHIFT)
    }

    /// The base itself, as one word.
    pub const fn value(base: Base) -> Self {
        Self::values(base, 1)
    }

    /// The base itself, and those after it, as so many words.
    pub const fn values(first: Base, words: u8) -> Self {
        assert!(first as usize + words as usize <= BASES);
        Self(Self::words(first, 0, words).0 | IS_VALUE)
    }

    /// Where the callers go on, by the chain of frame pointers that the base begins: the caller's caller first. Zero where the
    /// chain ends, or leaves what is read of the stack.
    pub const fn callers(base: Base, words: u8) -> Self {
        Self(Self::words(base, 0, words).0 | IS_CALLERS)
    }

    /// The word at `errno`, as long as what the function returned says that it has failed.
    pub const fn errno(failed: Failed) -> Self {
        Self(Self::words(Base::Errno, 0, 1).0 | (failed as u64) << LENGTH_SHIFT)
    }

    /// Whether it is to be made, by what the function returned.
    pub const fn is_due(self, result: u64) -> bool {
        let condition = (self.0 >> LENGTH_SHIFT) as u8;
        if self.base() != Base::Errno as usize || !matches!(self.extent(), Extent::Words) {
            return true;
        }
        if condition == Failed::MinusOne32 as u8 {
            result as u32 == u32::MAX
        } else if condition == Failed::MinusOne64 as u8 {
            result == u64::MAX
        } else if condition == Failed::NoPointer as u8 {
            result == 0 || result == u64::MAX
        } else {
            true
        }
    }

    /// The low half of a vector register that has an argument or a result. Nothing is read from memory.
    pub const fn vector(number: usize) -> Self {
        assert!(number < VECTORS);
        Self(IS_READ | IS_VECTOR | number as u64 | 1 << 8)
    }

    /// The number of 80 bits on top of x87's stack, where functions give a `long double` back: its mantissa, then its sign and exponent.
    /// Nothing is read from memory.
    pub const fn extended() -> Self {
        Self(IS_READ | IS_EXTENDED | 2 << 8)
    }

    /// The type of a Swift object at `base`, whose metadata is the word at `metadata`. The first of the words is the metadata's
    /// address, the second how many bytes follow, with [`GOES_ON`] where a name had no room. The rest are texts with zeros
    /// behind them: the case of the enum at `value`, empty where it is none or not known; the type's name; and the names of
    /// what it is declared in, from the inside out, of which the last is its module.
    pub const fn swift_type(base: Base, metadata: i16, value: Option<i16>, words: u8) -> Self {
        assert!(words > 2);
        let value = match value {
            Some(value) => value,
            None => NO_STEP,
        };
        Self(Self::through(base, metadata, value, words).0 | IS_SWIFT_TYPE)
    }

    /// The text at `base`, up to a zero or [`LONG_TEXT`] bytes. The word is its length, as that of a text; the bytes follow the
    /// words of all reads, so that it has to be the last.
    pub const fn long_text(base: Base) -> Self {
        Self(Self::words(base, 0, 1).0 | IS_LONG)
    }

    /// A read that was packed before; none where the number is not one.
    pub const fn from_packed(packed: u64) -> Option<Self> {
        let read = Self(packed);
        if read.is_some() && read.count() > 0 && read.count() < PROBE_WORDS { Some(read) } else { None }
    }

    /// How much it takes.
    pub const fn extent(self) -> Extent {
        let (second, length) = ((self.0 >> 32) as u16, (self.0 >> LENGTH_SHIFT) as u8);
        if self.0 & IS_ELEMENTS == IS_ELEMENTS {
            Extent::Elements { count: length as usize, each: second }
        } else if self.0 & IS_ELEMENTS_BEHIND == IS_ELEMENTS_BEHIND {
            let at = second as i16;
            let end = if self.0 & HAS_END != 0 { ElementsEnd::Pointer(at) } else { ElementsEnd::Count(at) };
            Extent::ElementsBehind(end, length)
        } else if self.0 & IS_EXTENDED == IS_EXTENDED {
            Extent::Extended
        } else if self.0 & IS_TEXT != 0 {
            Extent::Text
        } else if self.0 & IS_BYTES != 0 {
            Extent::Bytes(length as usize)
        } else if self.0 & IS_VALUE != 0 {
            Extent::Value
        } else if self.0 & IS_CALLERS != 0 {
            Extent::Callers
        } else if self.0 & IS_VECTOR != 0 {
            Extent::Vector(self.base())
        } else if self.0 & IS_SWIFT_TYPE != 0 {
            Extent::SwiftType
        } else if self.0 & IS_LONG != 0 {
            Extent::LongText
        } else {
            Extent::Words
        }
    }

    /// Whether it is one.
    pub const fn is_some(self) -> bool {
        self.0 & IS_READ != 0
    }

    /// The number of its [`Base`].
    pub const fn base(self) -> usize {
        self.0 as u8 as usize
    }

    /// How many words it takes.
    pub const fn count(self) -> usize {
        (self.0 >> 8) as u8 as usize
    }

    /// From where: an offset, and another behind a pointer.
    pub const fn steps(self) -> (i64, Option<i64>) {
        let second = (self.0 >> 32) as u16 as i16;
        ((self.0 >> 16) as u16 as i16 as i64, if second == NO_STEP { None } else { Some(second as i64) })
    }

    /// As it lies in the table.
    pub const fn packed(self) -> u64 {
        self.0
    }
}

/// How many vector registers have arguments.
pub const VECTORS: usize = 8;
/// How many reads a probe makes, at most, at each end of a call.
pub const READS: usize = 6;
/// How many probes there can be.
pub const MAX_PROBES: usize = 2048;
/// How many words a probe keeps, at most, at each end of a call.
pub const PROBE_WORDS: usize = 24;
/// How many bytes a long text has at most.
pub const LONG_TEXT: usize = 1024;
/// How many words a look at a ring of the kernel's has at most: as many as a record with a long text.
pub const RING_WORDS: usize = PROBE_WORDS + LONG_TEXT / 8;
/// What a word reads as that is not mapped.
pub const UNREADABLE: u64 = u64::MAX;

/// A probe as the agent sees it.
#[repr(C)]
pub struct Probe {
    /// Reads on entry.
    pub call: [AtomicU64; READS],
    /// Reads on return.
    pub back: [AtomicU64; READS],
    /// What else the agent does: [`Role`] as a number.
    pub role: AtomicU64,
}

/// What the agent does for a probed function beside keeping what it sees.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[repr(u64)]
pub enum Role {
    /// Nothing.
    #[default]
    None = 0,
    /// The function changes or asks for the action of the signal in its first argument: while it runs, the agent's
    /// own handler is out of its sight.
    SignalAction = 1,
    /// The call runs another program: the agent notifies the recorder first.
    Exec = 2,
    /// The call ends the process, with the status in its first argument.
    Exit = 3,
    /// The call may forbid the program system calls: `prctl`. Nothing is kept of it.
    Filter = 4,
    /// The call may do anything that a system call can: `syscall`. Nothing is kept of it, but of futexes.
    SystemCall = 5,
    /// The call may make a thread that shares its creator's thread pointer: `clone`. Nothing is kept of it.
    Clone = 6,
    /// The call's values are captured though nobody has asked for them: only while that is seldom.
    Usual = 7,
    /// Only the call is of interest: its return, which may come late, on another thread or never, is recorded as any other.
    CallOnly = 8,
    /// The calling thread ends: what it ends with is kept, and nothing of the call.
    ThreadEnd = 9,
    /// The call is about a ring of the kernel's, which liburing's structure in its first argument describes: what it was asked to do is
    /// kept at the call, and what is done at both ends. The probe's one read is for how many completions the call waits.
    Ring = 10,
    /// The call ends the process by SIGABRT.
    Abort = 11,
    /// The function is Go's, and its values are captured: it may return on another thread, and its stack may have moved by then.
    GoValues = 12,
}

impl Probe {
    /// Whether the agent has a part to play.
    pub fn has_role(&self, role: Role) -> bool {
        self.role.load(Ordering::Relaxed) == role as u64
    }

    /// The reads of one end.
    pub fn reads(&self, is_return: bool) -> impl Iterator<Item = Read> + '_ {
        let reads = if is_return { &self.back } else { &self.call };
        reads.iter().map(|read| Read(read.load(Ordering::Relaxed))).take_while(|read| read.is_some())
    }
}

/// What is written of a probed event, in a lane of its own. A stack window and vector registers may follow
/// ([`crate::DetailShape::probe_layout`]).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct RawProbe {
    /// Registers; its mark is written last.
    pub detail: RawDetail,
    /// On a call r10, r12, r13, r14; on a return rcx, r8, r12, r13.
    pub context: [u64; 4],
    /// How many words there are: what is more than [`PROBE_WORDS`] is in records of the same time behind this one, which are
    /// marked as [`crate::detail::MORE`].
    pub count: u64,
    /// What was read, read by read; the words of a read that failed are [`UNREADABLE`].
    pub words: [u64; PROBE_WORDS],
}

impl RawProbe {
    /// Bytes of a record.
    pub const SIZE: usize = size_of::<Self>();
}

const _: () = {
    assert!(RawProbe::SIZE == 336);
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_come_back_as_they_were_packed() {
        let plain = Read::words(Base::AsyncContext, -24, 3);
        assert_eq!((plain.base(), plain.count(), plain.steps()), (6, 3, (-24, None)));
        let deep = Read::through(Base::Argument1, 0x40, -0x18, 1);
        assert_eq!((deep.base(), deep.count(), deep.steps()), (0, 1, (0x40, Some(-0x18))));
        assert!(!Read::default().is_some());
        let text = Read::text(Base::Argument2, 9);
        assert_eq!((text.base(), text.count(), text.extent()), (1, 9, Extent::Text));
        let bytes = Read::bytes(Base::Argument2, Base::Result, 5);
        assert_eq!((bytes.base(), bytes.count(), bytes.extent()), (1, 5, Extent::Bytes(Base::Result as usize)));
        assert_eq!(plain.extent(), Extent::Words);
        assert_eq!(Read::value(Base::GoArgument2).extent(), Extent::Value);
        assert_eq!(Read::callers(Base::FramePointer, 8).extent(), Extent::Callers);
        let errno = Read::errno(Failed::MinusOne32);
        assert_eq!((errno.count(), errno.extent(), errno.base()), (1, Extent::Words, Base::Errno as usize));
        assert_eq!(
            [0, 3, u64::from(u32::MAX), u64::MAX].map(|result| errno.is_due(result)),
            [false, false, true, true]
        );
        assert!(Read::errno(Failed::NoPointer).is_due(0) && !Read::errno(Failed::MinusOne64).is_due(0));
        assert!(plain.is_due(0) && bytes.is_due(0));
        let error = Read::swift_type(Base::SwiftSelf, 0x10, Some(0x20), 21);
        assert_eq!((error.steps(), error.extent()), ((0x10, Some(0x20)), Extent::SwiftType));
        assert_eq!(Read::swift_type(Base::Argument1, 0, None, 21).steps(), (0, None));
        assert_eq!(Read::long_text(Base::Argument1).extent(), Extent::LongText);
        assert_eq!((Read::extended().count(), Read::extended().extent()), (2, Extent::Extended));
        assert_eq!(Read::from_packed(Read::extended().packed()), Some(Read::extended()));
        let vector = Read::vector(7);
        assert_eq!(
            (vector.count(), vector.extent(), Read::from_packed(vector.packed())),
            (1, Extent::Vector(7), Some(vector))
        );
        assert_eq!(Read::from_packed(bytes.packed()), Some(bytes));
        assert!([0, u64::MAX, IS_READ].into_iter().all(|packed| Read::from_packed(packed).is_none()));
    }
}
