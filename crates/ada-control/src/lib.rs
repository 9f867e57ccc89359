//! Launches a program with every function hooked, and drains what it records to files.
//!
//! The brain is outside: images are read, planned and laid out here, in ordinary code, and the target only receives
//! generated code and shared memory. Once it runs, nothing is attached to it: signals, job control and its exit are its
//! own. A thread that loads a library waits, in the agent, until the new code is hooked.

mod agent_image;
mod attach;
mod clock;
mod covered_pages;
mod crash_handlers;
mod crash_lane;
mod deadline;
mod descriptors;
mod detail_lane;
mod drain;
mod drain_loop;
mod error;
mod follow;
mod function_numbers;
pub mod function_pattern;
mod futex;
mod gaps;
mod gate;
mod heartbeat;
mod hooking;
mod image_file;
mod image_plan;
mod installer;
mod kin;
mod late_libraries;
mod latency;
pub mod live;
mod living;
mod loader_call;
mod machine;
mod maps;
mod module;
mod order;
mod overhead;
mod plan_cache;
mod planned_image;
mod probes;
mod program_file;
mod programs;
mod recorder;
mod remote;
mod report;
mod retirement;
mod ring;
mod session;
mod shared_memory;
mod site_table;
mod sites;
mod summary;
mod switches;
mod target_memory;
mod terminal_signals;
mod tracee;
mod windows;

pub use ada_ring::{DetailMode, OnFull};
pub use attach::{RemovedHooks, StoodStill, StopSwitch, attach, remove_left_hooks, stop_on_signals};
pub use error::ControlError;
pub use machine::{Check, check_machine};
pub use module::Module;
pub use overhead::{Advice, Governed};
pub use plan_cache::plan_folder;
pub use recorder::{Exclusion, TraceOptions, trace};
pub use report::{CrashSummary, End, Progress, TraceReport};
pub use ring::save_left_behind;
pub use switches::SwitchedFunction;
pub use terminal_signals::outlive_terminal_signals;
pub use windows::{Roll, Trigger, TriggerError};
