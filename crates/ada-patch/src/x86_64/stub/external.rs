//! What stubs refer to outside of themselves.

/// Code and data of the arena that a stub refers to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum External {
    Thread,
    Chunk,
    Fix,
    StackChange,
    Loader,
    RecordEntryOnly,
    /// Records a call that is caught at its exits, of a function whose number is on the stack.
    RecordCall,
    /// Captures registers and stack, and publishes the record.
    DetailCall,
    /// The same for a runtime probe.
    ProbeCall,
    /// Keeps a call's registers for a probe that reads no memory, and publishes the record.
    RegistersCall,
    /// The same for a probe whose reads the stub makes.
    ReadsCall,
    /// The same for one whose reads at the return begin at arguments.
    ArgumentsCall,
    /// The same for a probe that reads nothing but words behind the first argument.
    WordsCall,
    /// Keeps a return's registers for a probe, makes its reads, and publishes the record.
    ReadsReturn,
    /// Jumped to in place of a `ret`.
    Returns,
    /// Called before a `ret n`.
    BeforeReturn,
    /// Called before a jump into another function.
    BeforeTail,
    /// Puts right what a signal handler sees.
    Handles,
    /// What exits call where they need the agent: by a `ret`, …
    Exited,
    /// … by another one, …
    Exiting,
    /// … by a tail jump.
    GoesOn,
    /// The same as `DetailCall` for a call whose return is not caught.
    DetailUncaught,
    /// The word that switches the function: see `Arena`.
    Switch,
    /// In the function's recorder: what is done where the thread has no state yet.
    NoState,
    /// In the function's recorder: what is done where the call is to be recorded.
    Recording,
    /// The function's displaced instructions.
    Displaced,
}

impl External {
    pub(super) const ALL: [Self; 26] = [
        Self::Thread,
        Self::Chunk,
        Self::Fix,
        Self::StackChange,
        Self::Loader,
        Self::RecordEntryOnly,
        Self::RecordCall,
        Self::DetailCall,
        Self::ProbeCall,
        Self::RegistersCall,
        Self::ReadsCall,
        Self::ArgumentsCall,
        Self::WordsCall,
        Self::ReadsReturn,
        Self::Returns,
        Self::BeforeReturn,
        Self::BeforeTail,
        Self::Handles,
        Self::Exited,
        Self::Exiting,
        Self::GoesOn,
        Self::DetailUncaught,
        Self::Switch,
        Self::NoState,
        Self::Recording,
        Self::Displaced,
    ];

    /// A made-up address by which the external is found again in the assembled template.
    pub(super) fn placeholder(self) -> u64 {
        TEMPLATE_IP + 0x0100_0000 * (self as u64 + 1)
    }
}

/// The address that templates are assembled for.
pub(super) const TEMPLATE_IP: u64 = 0x1000_0000;
