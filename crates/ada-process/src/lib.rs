//! Processes, seen from outside: what the kernel reports of them, and what can be done to them. Nothing here knows of hooks
//! or traces.
//!
//! - What there is to know of a process: [`procfs`], its mappings ([`maps`]), who shares a memfd ([`MemfdId`]).
//! - Which processes live and how they ended: [`Pidfd`], [`LiveProcesses`], [`End`], and the kernel's process events
//!   ([`ProcConnector`]).
//! - Stopping processes, changing them, and making system calls in them: [`ptrace`], [`Remote`].
//! - What descriptors stand for ([`procfs::OpenDescriptor`]), and what sockets are connected to ([`SocketPeers`]).
//! - When threads run and when they do not ([`ContextSwitches`]), and what they execute ([`InstructionSamples`]).
//! - The time of events ([`Clock`]), and sleeping on shared words ([`futex`]).
//!
//! What depends on the processor is in `x86_64`, behind [`arch`].

pub mod arch;
pub mod futex;
pub mod maps;
pub mod procfs;
pub mod ptrace;

mod address_space;
mod busy_time;
mod clock;
mod context_switches;
mod cpu_time;
mod descendants;
mod end;
mod existence;
mod handed_over;
mod instruction_samples;
mod live_processes;
mod memfd;
mod perf_events;
mod pidfd;
mod proc_connector;
mod realtime_priority;
mod remote;
mod socket_peers;
mod this_process;
mod wait;
#[cfg(target_arch = "x86_64")]
mod x86_64;

pub use address_space::share_memory;
pub use busy_time::busy_time;
pub use clock::{Calibration, Clock, ClockReading, boot_time, unix_epoch};
pub use context_switches::ContextSwitches;
pub use cpu_time::{CpuTime, cpu_time_of, thread_cpu_time};
pub use descendants::{adopt_orphans, below, end_all, kill_below};
pub use end::End;
pub use existence::{process_exists, thread_exists};
pub use handed_over::hand_over;
pub use instruction_samples::{InstructionSample, InstructionSamples};
pub use live_processes::LiveProcesses;
pub use memfd::MemfdId;
pub use pidfd::Pidfd;
pub use proc_connector::{Child, ProcConnector};
pub use remote::{Remote, SystemCall, system_call_result};
pub use socket_peers::{SocketFacts, SocketPeers};
pub use this_process::this_process;
pub use wait::{Halt, wait, wait_with_time};
