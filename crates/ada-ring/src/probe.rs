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
}

/// How many bases there are.
pub const BASES: usize = Base::SecondResult as usize + 1;
/// How many of them are known at the call already: all before the result.
pub const BASES_AT_CALL: usize = Base::Result as usize;

/// One read: follow pointers from a base, then take words. Packed into 64 bits; 0 for none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Read(u64);

const NO_STEP: i16 = i16::MIN;
const IS_READ: u64 = 1 << 63;

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

/// How many reads a probe makes, at most, at each end of a call.
pub const READS: usize = 6;
/// How many probes there can be.
pub const MAX_PROBES: usize = 256;
/// How many words a probe keeps, at most, at each end of a call.
pub const PROBE_WORDS: usize = 24;
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
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
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

/// What the agent writes for a probed event, in a lane of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct RawProbe {
    /// Registers; its mark is written last.
    pub detail: RawDetail,
    /// On a call r10, r12, r13, r14; on a return rcx, r8, r12, r13.
    pub context: [u64; 4],
    /// How many words follow.
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
    assert!(crate::chunk::RECORDS_END + RawProbe::SIZE <= crate::chunk::HEADER_OFFSET);
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
    }
}
