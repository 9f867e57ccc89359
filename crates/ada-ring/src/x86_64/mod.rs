//! Layouts of x86-64.

mod captured_registers;
mod crash_registers;
mod saved_registers;

pub use captured_registers::{CallRegisters, ReturnRegisters, VECTOR_BYTES};
pub use crash_registers::{
    CRASH_REGISTER_NAMES, CRASH_REGISTERS, FLAGS, FRAME_POINTER, INSTRUCTION_POINTER, RAX, STACK_POINTER, kept_flags,
    restored_flags,
};
pub use saved_registers::{SAVED_VECTORS, SIGNAL_MASKS, SavedRegisters, StubFrame, WAIT_BYTES};

/// Where a `ucontext_t` has the stack pointer.
pub const CONTEXT_STACK_POINTER: usize = 160;
/// Bits of the addresses that a program can use.
pub const ADDRESS_BITS: u32 = 47;
/// What a function may keep below its stack pointer, by the System V ABI.
pub const RED_ZONE: u64 = 128;
/// What a return adds to the stack pointer: it pops the return address.
pub const RETURN_POPS: u64 = 8;
