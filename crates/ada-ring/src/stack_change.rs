//! What the stubs of `longjmp` and the `ucontext` functions report to the agent.

/// Calls after which the stack is not what it was, as the stubs report them to the agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum StackChange {
    /// The stack goes back to where the first argument, a `jmp_buf`, says.
    LongJump = 0,
    /// Another stack takes over: the second argument, a `ucontext_t`, says which.
    SwapContext = 1,
    /// The same for the first argument.
    SetContext = 2,
}

impl StackChange {
    /// The change that a number stands for.
    pub const fn from_number(number: u64) -> Option<Self> {
        Some(match number {
            0 => Self::LongJump,
            1 => Self::SwapContext,
            2 => Self::SetContext,
            _ => return None,
        })
    }
}
