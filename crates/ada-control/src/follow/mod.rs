//! Follows processes into the programs that they run, and the libraries that they load.

mod abandoned_calls;
mod execs;
mod gs_libraries;
mod late_libraries;
mod retirement;
mod waiting_thread;

pub(crate) use execs::ExecFollower;
pub(crate) use late_libraries::serve_loader;
