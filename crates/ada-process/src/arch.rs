//! What depends on the processor: registers, the system call instruction, and the counter that clocks events. A second
//! architecture is a folder beside `x86_64` with the same names.

#[cfg(target_arch = "x86_64")]
pub(crate) use crate::x86_64::{RegisterSlot, SAMPLED_INSTRUCTION_POINTER, SYSTEM_CALL, SYSTEM_CALLS};
#[cfg(target_arch = "x86_64")]
pub use crate::x86_64::{Registers, time_stamp};
