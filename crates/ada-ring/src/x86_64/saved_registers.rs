//! What lies below a function's return slot while its stub runs.
//!
//! ```text
//!         return slot
//! -8      rax               StubFrame, pushed by the stub
//! -16     rcx
//! -24     rdx
//! -32     flags
//! -40     way back          SavedRegisters go on: the stub has called the way into the agent, …
//! -48     rdx of the stub   … which pushes these
//! -56     rsi
//! …
//! -144    rbx
//! ```

/// What a stub saves. The return slot follows.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct StubFrame {
    /// The arithmetic flags, as `lahf` and `seto` leave them in rax.
    pub flags: u64,
    /// The third argument, or the second half of a result.
    pub rdx: u64,
    /// The fourth argument.
    pub rcx: u64,
    /// The result.
    pub rax: u64,
}

/// What is saved when the agent runs. The return slot follows.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct SavedRegisters {
    /// The function's own.
    pub rbx: u64,
    /// The function's own.
    pub r15: u64,
    /// Swift's asynchronous context.
    pub r14: u64,
    /// The function's own.
    pub r13: u64,
    /// The function's own.
    pub r12: u64,
    /// The frame pointer.
    pub rbp: u64,
    /// The function's own.
    pub r11: u64,
    /// The function's own.
    pub r10: u64,
    /// The sixth argument.
    pub r9: u64,
    /// The fifth argument.
    pub r8: u64,
    /// The first argument.
    pub rdi: u64,
    /// The second argument.
    pub rsi: u64,
    /// What rdx holds in the stub. The function's is in `stub`.
    pub stub_rdx: u64,
    /// Where the stub goes on.
    pub way_back: u64,
    /// What the stub has saved.
    pub stub: StubFrame,
}

/// Bytes below them where signals are blocked: all signals, and those that were blocked before.
pub const SIGNAL_MASKS: u64 = 16;
/// Bytes below these that the agent takes of the program's stack while it waits there, at most; handlers come on top of it.
pub const WAIT_BYTES: u64 = 256;
/// Bytes of the vector registers that are saved on the agent's own stack. The way back from the agent lies below them.
pub const SAVED_VECTORS: u64 = 16 * 16;

impl SavedRegisters {
    /// What lies below a return slot.
    ///
    /// # Safety
    /// `slot` is the return slot that a stub passed to the agent, and the stub called the way in directly.
    pub unsafe fn below<'a>(slot: *const u64) -> &'a Self {
        // SAFETY: the caller's promise.
        unsafe { &*slot.cast::<Self>().sub(1) }
    }

    /// The frame pointer of the caller.
    pub const fn frame_pointer(&self) -> u64 {
        self.rbp
    }
}

const _: () = {
    assert!(size_of::<StubFrame>() == 4 * 8);
    assert!(size_of::<SavedRegisters>() == 18 * 8);
};
