//! The programs that a session traces, and their states.

pub(crate) mod programs;
