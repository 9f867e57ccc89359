//! What the stubs of unwinders, `longjmp` and the `ucontext` functions report to the agent.

/// Calls after which the stack is not what it was, as the stubs report them to the agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum StackChange {
    /// Frames may be unwound, and are looked at by their return addresses.
    Unwind = 0,
    /// Frames are only looked at.
    Walk = 1,
    /// The stack goes back to where the first argument, a `jmp_buf`, says.
    LongJump = 2,
    /// Another stack takes over: the second argument, a `ucontext_t`, says which.
    SwapContext = 3,
    /// The same for the first argument.
    SetContext = 4,
}

impl StackChange {
    /// The change that a number stands for.
    pub const fn from_number(number: u64) -> Option<Self> {
        Some(match number {
            0 => Self::Unwind,
            1 => Self::Walk,
            2 => Self::LongJump,
            3 => Self::SwapContext,
            4 => Self::SetContext,
            _ => return None,
        })
    }
}
