//! Where an arena's code comes from: a table behind the arena, by which the agent shows signal handlers the state that the
//! program would have without hooks, and not that of its displaced instructions and stubs.
//!
//! ```text
//! 0    how many there are of each, in this order
//! 24   the origins, in the order of the arena's code
//! …    how much of the stack the kinds of stubs use
//! …    which registers they save there
//! …    the functions that share exits, in the order of the exits' stubs
//! …    the numbers of displaced instructions' origins, and of those functions, in the order of the program's code
//! …    the relays, in the order of the program's code
//! ```

/// A stretch of an arena's code. Addresses are distances from the arena's start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct Origin {
    /// Where it begins.
    pub at: u32,
    /// What it stands for: where its first instruction was, or the first instruction of a stub's function.
    pub original: i32,
    /// An [`OriginKind`].
    pub kind: u32,
}

/// What a stretch of an arena's code is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OriginKind {
    /// Displaced instructions of so many bytes, each as far from the first as it was.
    Displaced(u32),
    /// The stub of a function. As all that follow, it has a list that says how much is on the stack.
    Stub(u32),
    /// Code that stubs call. It stands for what the stub does, whose address is on the stack.
    Called(u32),
    /// Code that is jumped to in place of a `ret`. It stands for what comes next.
    Returns(u32),
    /// Code that reports a tail call from below the red zone. It stands for the jump.
    BelowRedZone,
    /// Instructions that were displaced from the exits of several functions, or report a tail call before one. Their stub begins
    /// at `original`.
    SharedExit {
        /// How far behind the exit's first instruction they were.
        behind: u8,
        /// How long they were.
        bytes: u8,
        /// As [`Self::BelowRedZone`].
        is_below: bool,
    },
}

impl OriginKind {
    const BITS: u32 = 28;

    /// As [`Origin::kind`] has it.
    pub const fn encode(self) -> u32 {
        let (kind, number) = match self {
            Self::Displaced(bytes) => (0, bytes),
            Self::Stub(list) => (1, list),
            Self::Called(list) => (2, list),
            Self::Returns(list) => (3, list),
            Self::BelowRedZone => (4, 0),
            Self::SharedExit { behind, bytes, is_below } => {
                (5, (is_below as u32) << 16 | (bytes as u32) << 8 | behind as u32)
            }
        };
        kind << Self::BITS | number
    }

    /// The kind that was encoded so.
    pub const fn decode(encoded: u32) -> Option<Self> {
        let number = encoded & ((1 << Self::BITS) - 1);
        Some(match encoded >> Self::BITS {
            0 => Self::Displaced(number),
            1 => Self::Stub(number),
            2 => Self::Called(number),
            3 => Self::Returns(number),
            4 => Self::BelowRedZone,
            5 => {
                let (behind, bytes) = (number as u8, (number >> 8) as u8);
                Self::SharedExit { behind, bytes, is_below: number >> 16 & 1 != 0 }
            }
            _ => return None,
        })
    }
}

/// From some distance on, a stub has so many bytes more on the stack than the function would have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct StubDepth {
    /// Which list it belongs to.
    pub list: u16,
    /// The distance from the start of the stub's part.
    pub from: u16,
    /// The bytes; [`Self::UNKNOWN`] where nothing is known.
    pub depth: u32,
}

impl StubDepth {
    /// Nothing is known of the stack.
    pub const UNKNOWN: u32 = u32::MAX;
    /// In `depth`: counted from the frame pointer.
    pub const FROM_FRAME_POINTER: u32 = 1 << 31;
    /// In `depth`: rax has the flags.
    pub const FLAGS_IN_RAX: u32 = 1 << 30;
}

/// A register that a stub keeps on the stack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct SavedRegister {
    /// Which list it belongs to.
    pub list: u16,
    /// How far below the function's own part of the stack it is. It is there as long as the stub has so much on the stack.
    pub depth: u16,
    /// Its number in the kernel's signal frame: see [`crate::arch::CRASH_REGISTER_NAMES`].
    pub register: u32,
}

/// A function that has one of its exits in common with others.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(C)]
pub struct ExitUser {
    /// Where the exit's stub begins.
    pub stub: u32,
    /// The function's number in the process.
    pub function: u32,
    /// Where the exit's first instruction was.
    pub original: i32,
}

/// A jump to a stub that lies in padding, or in place of other instructions, where the program itself never is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(C)]
pub struct RelayOrigin {
    /// Where it is.
    pub at: i32,
    /// The instruction that the short jump to it has replaced.
    pub original: i32,
}

/// Bytes before the first origin.
pub const HEADER: usize = 24;

/// An arena of a process that has such a table.
#[derive(Debug, Default)]
#[repr(C)]
pub struct ListedArena {
    /// Where the arena starts; 0 for none.
    pub start: core::sync::atomic::AtomicU64,
    /// Where its code ends, and its table begins.
    pub table: core::sync::atomic::AtomicU64,
    /// The number of the function that its first switch belongs to.
    pub first_function: core::sync::atomic::AtomicU64,
}

/// How many arenas of a process are listed, one for each image. Handlers see the addresses of others as they are.
pub const ARENAS: usize = 512;
