//! Launches a program with every function hooked, or attaches to one, and drains what it records to files.
//!
//! The brain is outside: images are read, planned and laid out here, in ordinary code, and the target only receives
//! generated code and shared memory. Once it runs, nothing is attached to it: signals, job control and its exit are its
//! own. A thread that loads a library waits, in the agent, until the new code is hooked.
//!
//! The folders follow a trace's way. Each uses only those before it, and the files at the root, which use no folder:
//!
//! 1. `plan`: reads images, decides what is hooked and how, and keeps plans between starts.
//! 2. `install`: puts shared memory, agent, stubs and jumps into a process.
//! 3. `launch`: starts a program and stops it before any of its own code has run. `switches`: has functions recorded, counted
//!    or left alone.
//! 4. `tracked`: the programs and processes of a session, and how far the recording has come.
//! 5. `drain`: makes events of what threads have recorded, in the files of a session. `follow`: children, their programs, and
//!    libraries that are loaded late.
//! 6. `overhead`: what hooks cost, and keeping that within a budget. `live`: requests to a running trace.
//! 7. `detach`: ends a recording whose processes go on, and leaves them as they were.
//! 8. `users`: gives processes that become another user's rings of their own.
//! 9. `record`: runs all of this for one program, and reports.
//! 10. `attach`: the same for a process that runs already, which is left as it was.
//!
//! What depends on the processor is in `x86_64`, which everybody calls `arch`.

mod attach;
mod cache_folder;
mod deadline;
mod debuginfod;
mod detach;
mod drain;
mod error;
mod file_id;
mod follow;
pub mod function_pattern;
#[cfg(any(test, fuzzing))]
pub mod fuzzed;
mod install;
mod launch;
pub mod live;
mod machine;
mod options;
mod overhead;
mod pattern_set;
mod plan;
mod program_id;
mod progress;
mod quarantine;
mod record;
mod roll;
mod switches;
mod tracked;
mod trigger;
mod users;
#[cfg(target_arch = "x86_64")]
mod x86_64;

#[cfg(target_arch = "x86_64")]
use x86_64 as arch;

pub use ada_process::End;
pub use ada_ring::{DetailMode, OnFull};
pub use attach::{HookRemoval, OrphanedProcess, attach, orphaned_processes, remove_orphaned_hooks};
pub use debuginfod::Debuginfod;
pub use drain::session::save_orphaned_ring;
pub use error::ControlError;
pub use file_id::FileId;
pub use live::handlers::{StopSwitch, stop_on_signals};
pub use machine::{Check, check_machine};
pub use options::{CapturedValues, Exclusion, LeftAlone, PrintedFunctions, TraceOptions};
pub use overhead::{Advice, Governed};
pub use pattern_set::PatternSet;
pub use plan::debug_files::is_own;
pub use plan::module::Module;
pub use plan::plan_cache::plan_folder;
pub use plan::relied_on::relied_on;
pub use plan::suspicion::suspicions;
pub use progress::Progress;
pub use quarantine::{Quarantine, QuarantineEntry, QuarantineFolder, QuarantinedFile, QuarantinedFunction};
pub use record::{CrashSummary, StoodStill, TraceReport, die_by, outlive_terminal_signals, trace, wait_for_program};
pub use roll::Roll;
pub use switches::{SwitchMode, SwitchedFunction};
pub use tracked::HookedExecs;
pub use trigger::{Trigger, TriggerError};
