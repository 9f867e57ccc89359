//! Processes under ptrace: stopped at an exec ([`Tracee`]), traced while they run ([`Seized`]), or brought to a halt
//! ([`Halted`]). The kernel takes requests only from the thread that began to trace.

mod halted;
mod seized;
mod system_call_site;
mod traced_thread;
mod tracee;

pub use halted::{Halted, HaltedThread};
pub use seized::{ExecOutcome, Seized};
pub use tracee::{TRACING_REFUSED, Tracee, stop_at_exec};
