//! Layouts of x86-64.

mod captured_registers;
mod crash_registers;
mod saved_registers;

pub use captured_registers::{CallRegisters, ReturnRegisters, VECTOR_BYTES};
pub use crash_registers::{CRASH_REGISTER_NAMES, CRASH_REGISTERS};
pub use saved_registers::{SavedRegisters, StubFrame};

/// Where a `ucontext_t` has the stack pointer.
pub const CONTEXT_STACK_POINTER: usize = 160;
/// Bits of the addresses that a program can use.
pub const ADDRESS_BITS: u32 = 47;
/// What a return adds to the stack pointer: it pops the return address.
pub const RETURN_POPS: u64 = 8;
