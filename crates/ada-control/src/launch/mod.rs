//! Starts programs, and hooks them before any of their own code has run.

pub(crate) mod gate;
pub(crate) mod program_file;
pub(crate) mod workshop;
