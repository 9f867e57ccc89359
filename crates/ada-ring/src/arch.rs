//! The seam to the processor: the layouts that depend on its registers. Each architecture has a folder with the same file
//! names and the same items.

#[cfg(target_arch = "x86_64")]
pub use crate::x86_64::{
    ADDRESS_BITS, CONTEXT_STACK_POINTER, CRASH_REGISTER_NAMES, CRASH_REGISTERS, CallRegisters, FLAGS, FRAME_POINTER,
    INSTRUCTION_POINTER, RAX, RED_ZONE, RETURN_POPS, ReturnRegisters, SAVED_VECTORS, SIGNAL_MASKS, STACK_POINTER,
    SavedRegisters, StubFrame, VECTOR_BYTES, WAIT_BYTES, kept_flags, restored_flags,
};
