//! Processes that are stopped by ptrace.

mod halted;
mod request;
mod seized;
mod tracee;

pub use halted::{Halted, HaltedThread};
pub use seized::{ExecOutcome, Seized};
pub use tracee::Tracee;
