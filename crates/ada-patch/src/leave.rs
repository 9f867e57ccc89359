//! Instructions after which the next one does not run: returns, jumps, traps. Every way out of a function is one of them.

/// How many instructions before a leaving one are remembered.
pub(crate) const REMEMBERED: usize = 6;

/// What a leaving instruction does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LeaveKind {
    /// Returns, and pops so many bytes of arguments.
    Return(u16),
    /// Jumps to an address.
    Jump(u64),
    /// Jumps through a word at a fixed address.
    JumpThroughWord(u64),
    /// The same where the loader has written the address of a function there, by its name.
    JumpThroughLinker,
    /// Jumps through a pointer in an object: a method, or the next word of an interpreter's program.
    JumpThroughPointer,
    /// Jumps to an address in a register.
    JumpToRegister,
    /// The same, with an address that was just taken off the stack.
    JumpToPopped,
    /// Jumps through a table of cases.
    Switch,
    /// Ends the program.
    Trap,
}

/// An instruction before a leaving one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Before {
    pub(crate) length: u8,
    /// It takes words off the stack: behind it, the stack is lower than wherever else the frame jumps from.
    pub(crate) raises_stack: bool,
    /// It may be run elsewhere, and comes back from nowhere else.
    pub(crate) is_plain: bool,
}

/// A leaving instruction, and what was before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Leave {
    pub(crate) at: u64,
    pub(crate) length: u8,
    pub(crate) kind: LeaveKind,
    /// The newest first, up to another leaving instruction or the start of the code; a length of 0 is none.
    pub(crate) before: [Before; REMEMBERED],
}

impl Leave {
    /// Whether it may lead to another instruction of the same function that no branch names.
    pub(crate) fn may_stay(&self) -> bool {
        match self.kind {
            LeaveKind::Switch | LeaveKind::JumpToPopped => true,
            LeaveKind::JumpThroughWord(_) | LeaveKind::JumpThroughPointer | LeaveKind::JumpToRegister => {
                !self.is_behind_epilogue()
            }
            _ => false,
        }
    }

    /// Whether the function has just taken its frame off the stack: with that it is over.
    pub(crate) fn is_behind_epilogue(&self) -> bool {
        self.before[0].raises_stack
    }

    pub(crate) fn end(&self) -> u64 {
        self.at + u64::from(self.length)
    }
}

/// A jump or conditional jump out of its piece of code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Outgoing {
    pub(crate) at: u64,
    pub(crate) length: u8,
    pub(crate) target: u64,
}

/// An instruction of a function that is looked at closely.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Listed {
    pub(crate) at: u64,
    pub(crate) length: u8,
    /// As in [`Before`].
    pub(crate) is_plain: bool,
    /// What is behind it may run next.
    pub(crate) falls_through: bool,
    /// A `ret` that pops nothing.
    pub(crate) is_return: bool,
    /// Where it jumps.
    pub(crate) target: Option<u64>,
}

impl Listed {
    pub(crate) fn end(&self) -> u64 {
        self.at + u64::from(self.length)
    }
}

/// How an indirect jump finds its target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Through {
    /// By an address that somebody has stored.
    Pointer,
    /// By one that is computed, as with a table of distances.
    Sum,
    /// It is not known.
    Unknown,
}

/// A function's instructions.
#[derive(Debug, Default)]
pub(crate) struct Listing {
    /// Sorted by address.
    pub(crate) instructions: Vec<Listed>,
    /// Addresses and constants in the code, of which some may be addresses of tables and labels; each once.
    pub(crate) addresses: Vec<u64>,
    /// The indirect jumps, sorted by address.
    pub(crate) jumps: Vec<(u64, Through)>,
}
