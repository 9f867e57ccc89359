//! What stubs do, and what they have in common.

use ada_ring::{DetailShape, StackChange};

use crate::{AgentPart, Guard};

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
    /// As `ProbedFull`, for a probe that is not interested in the return.
    ProbedCall,
    /// The same where the stub keeps the registers of the call itself.
    RegistersCall,
    /// The same with words that the first argument points at.
    WordsCall,
    /// As `RegistersCall` if the probe's guard says that it is of interest, else as `Full`.
    GuardedFull,
    /// The same as `WordsCall`.
    GuardedWords,
    /// The same for a guard that looks at mutexes.
    MutexWords,
    /// As `RegistersFull` if the first argument is the one that the guard names, else as `ProbedFull`.
    NumberedFull,
    /// As `ProbedFull`, for a probe that reads memory at the call only: the exit keeps the registers of the return.
    ReadsAtCall,
    /// The same for a probe that reads no memory: the stub keeps the registers of the call.
    RegistersFull,
    /// The same while that is seldom, else as `Full`.
    SeldomRegisters,
    /// As `RegistersFull`, for a probe whose reads the stub and the exit make.
    ReadsFull,
    /// The same where reads at the return begin at arguments.
    ArgumentsFull,
}

impl StubKind {
    pub(crate) const ALL: [Self; 20] = [
        Self::Full,
        Self::EntryOnly,
        Self::LongJump,
        Self::SwapContext,
        Self::SetContext,
        Self::ProbedFull,
        Self::ProbedEntry,
        Self::Loader,
        Self::ProbedCall,
        Self::RegistersCall,
        Self::WordsCall,
        Self::GuardedFull,
        Self::GuardedWords,
        Self::MutexWords,
        Self::NumberedFull,
        Self::ReadsAtCall,
        Self::RegistersFull,
        Self::SeldomRegisters,
        Self::ReadsFull,
        Self::ArgumentsFull,
    ];

    /// The kind for a function that a runtime probe is about.
    pub(crate) const fn probed(self, part: AgentPart) -> Self {
        match (self, part) {
            (Self::Full, AgentPart::BothEnds) => Self::ProbedFull,
            (Self::Full, AgentPart::CallOnly) => Self::ProbedCall,
            (Self::Full, AgentPart::CallRegisters) => Self::RegistersCall,
            (Self::Full, AgentPart::CallWords) => Self::WordsCall,
            (Self::Full, AgentPart::Call) => Self::ReadsAtCall,
            (Self::Full, AgentPart::Nothing) => Self::RegistersFull,
            (Self::Full, AgentPart::Seldom) => Self::SeldomRegisters,
            (Self::Full, AgentPart::Reads { keeps_arguments: false, .. }) => Self::ReadsFull,
            (Self::Full, AgentPart::Reads { keeps_arguments: true, .. }) => Self::ArgumentsFull,
            (Self::EntryOnly, _) => Self::ProbedEntry,
            (other, _) => other,
        }
    }

    /// The same where a guard says when the probe is of interest.
    pub(crate) const fn guarded(self, guard: Guard, part: AgentPart) -> Self {
        match (self, guard, part) {
            (Self::Full, Guard::Unlike { .. }, AgentPart::CallWords) => Self::GuardedWords,
            (Self::Full, Guard::Unlike { .. }, _) => Self::GuardedFull,
            (Self::Full, Guard::OwnedMutex { .. }, AgentPart::CallWords) => Self::MutexWords,
            (Self::Full, Guard::FirstArgument(_), _) => Self::NumberedFull,
            (other, ..) => other.probed(AgentPart::CallOnly),
        }
    }

    pub(crate) const fn catches_return(self) -> bool {
        matches!(self, Self::Full | Self::NumberedFull)
            || self.is_probed_if_guarded()
            || self.is_probed_at_call()
            || self.is_probed_at_return()
    }

    pub(crate) const fn is_probed(self) -> bool {
        matches!(self, Self::ProbedEntry) || self.is_probed_at_call() || self.is_probed_at_return()
    }

    /// Whether the stub looks at memory first, and the call is as any other if there is nothing of interest.
    pub(crate) const fn is_probed_if_guarded(self) -> bool {
        matches!(self, Self::GuardedFull | Self::GuardedWords | Self::MutexWords)
    }

    /// Whether the probe is about the call, and the return is as any other.
    const fn is_probed_at_call(self) -> bool {
        matches!(self, Self::ProbedCall | Self::RegistersCall | Self::WordsCall)
    }

    pub(crate) const fn is_probed_at_return(self) -> bool {
        matches!(self, Self::ProbedFull) || self.keeps_result()
    }

    /// Whether the exit keeps what there is to keep of the return.
    pub(crate) const fn keeps_result(self) -> bool {
        matches!(
            self,
            Self::ReadsAtCall | Self::RegistersFull | Self::SeldomRegisters | Self::ReadsFull | Self::ArgumentsFull
        )
    }

    /// What the agent has to know of the call, if anything.
    pub(crate) const fn stack_change(self) -> Option<StackChange> {
        match self {
            Self::LongJump => Some(StackChange::LongJump),
            Self::SwapContext => Some(StackChange::SwapContext),
            Self::SetContext => Some(StackChange::SetContext),
            _ => None,
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
