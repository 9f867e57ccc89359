//! All that depends on the processor: x86-64.
//!
//! The crate's root names this folder `arch`, and everybody else uses that name. Another architecture is a folder with
//! the same files.

pub(crate) mod breakpoint;
pub(crate) mod calls;
pub(crate) mod captured;
pub(crate) mod code_stores;
pub(crate) mod platform;
pub(crate) mod signal_frame;
