//! Processes, seen from outside: what the kernel tells of them, and what can be done to them.
//!
//! `/proc`, pidfds and the proc connector tell which processes there are and how they ended. ptrace stops them, reads and
//! changes them, and makes system calls in them. Nothing here knows of hooks, traces or files of ada's.

pub mod futex;
pub mod maps;
pub mod memory_users;
pub mod pidfd;
pub mod procfs;
pub mod ptrace;

mod clock;
mod end;
mod live_processes;
mod proc_connector;
mod realtime_priority;
mod remote;
mod wait;

pub use clock::{Calibration, Clock};
pub use end::End;
pub use live_processes::LiveProcesses;
pub use proc_connector::{Child, ProcConnector};
pub use realtime_priority::RealtimePriority;
pub use remote::Remote;
pub use wait::{CpuTime, Halt, wait, wait_with_time};
