//! Launches a program with every function hooked, and drains what it records to files.
//!
//! The brain is outside: images are read, planned and laid out here, in ordinary code, and the target only receives
//! generated code and shared memory. Once it runs, nothing is attached to it: signals, job control and its exit are its
//! own. A thread that loads a library waits, in the agent, until the new code is hooked.

mod attach;
mod deadline;
mod drain;
mod duration_text;
mod error;
mod follow;
pub mod function_pattern;
mod install;
mod launch;
pub mod live;
mod machine;
mod options;
mod overhead;
mod plan;
mod program_id;
mod progress;
mod record;
mod roll;
mod switches;
mod tracked;
mod trigger;
#[cfg(target_arch = "x86_64")]
mod x86_64;

#[cfg(target_arch = "x86_64")]
use x86_64 as arch;

pub use ada_process::End;
pub use ada_ring::{DetailMode, OnFull};
pub use attach::{RemovedHooks, attach, remove_left_hooks};
pub use drain::session::save_left_behind;
pub use error::ControlError;
pub use live::handlers::{StopSwitch, stop_on_signals};
pub use machine::{Check, check_machine};
pub use options::{Exclusion, TraceOptions};
pub use overhead::{Advice, Governed};
pub use plan::module::Module;
pub use plan::plan_cache::plan_folder;
pub use progress::Progress;
pub use record::{CrashSummary, StoodStill, TraceReport, outlive_terminal_signals, trace};
pub use roll::Roll;
pub use switches::{SwitchMode, SwitchedFunction};
pub use trigger::{Trigger, TriggerError};
