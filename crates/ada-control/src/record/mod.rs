//! Records a program from its start to its end.

pub(crate) mod descriptors;
pub(crate) mod drain_loop;
pub(crate) mod manifest;
pub(crate) mod recorder;
pub(crate) mod report;
pub(crate) mod terminal_signals;
