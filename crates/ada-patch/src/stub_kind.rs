//! What stubs do, and what they have in common.

use ada_ring::{DetailShape, StackChange};

/// What a stub does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StubKind {
    /// Records the call, and the exit.
    Full,
    /// Records the call.
    EntryOnly,
    /// Records the call, and that the stack goes back to where a `jmp_buf` says.
    LongJump,
    /// Records the call, and that another stack takes over, as the `ucontext_t` in the second argument says.
    SwapContext,
    /// The same for the first argument.
    SetContext,
    /// As `Full`, for a runtime probe: the agent keeps what it sees.
    ProbedFull,
    /// As `EntryOnly`, for a runtime probe.
    ProbedEntry,
    /// Records nothing: notifies the recorder that the set of loaded libraries has changed.
    Loader,
}

impl StubKind {
    pub(crate) const ALL: [Self; 8] = [
        Self::Full,
        Self::EntryOnly,
        Self::LongJump,
        Self::SwapContext,
        Self::SetContext,
        Self::ProbedFull,
        Self::ProbedEntry,
        Self::Loader,
    ];

    /// The kind for a function that a runtime probe is about.
    pub(crate) const fn probed(self) -> Self {
        match self {
            Self::Full => Self::ProbedFull,
            Self::EntryOnly => Self::ProbedEntry,
            other => other,
        }
    }

    pub(crate) const fn catches_return(self) -> bool {
        matches!(self, Self::Full | Self::ProbedFull)
    }

    pub(crate) const fn is_probed(self) -> bool {
        matches!(self, Self::ProbedFull | Self::ProbedEntry)
    }

    /// What the agent has to know of the call, if anything.
    pub(crate) const fn stack_change(self) -> Option<StackChange> {
        match self {
            Self::LongJump => Some(StackChange::LongJump),
            Self::SwapContext => Some(StackChange::SwapContext),
            Self::SetContext => Some(StackChange::SetContext),
            Self::Full | Self::EntryOnly | Self::ProbedFull | Self::ProbedEntry | Self::Loader => None,
        }
    }
}

/// What all stubs of a target have in common.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StubOptions {
    /// A thread is known by the word at its FS base, which the C libraries make the base itself: eight times as fast to
    /// read as the base. Not before thread-local storage is set up, as at the start of a static program.
    pub owner_by_word: bool,
    /// What is captured with each call and return; `None` for nothing.
    pub detail: Option<DetailShape>,
}
