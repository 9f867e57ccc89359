//! Records a program from its start to its end.

mod descriptor_recorder;
mod descriptors;
mod drain_loop;
mod ending;
mod final_manifests;
mod finish;
mod job_control;
mod known_clock;
mod manifest;
mod memory_recorder;
mod priority_recorder;
mod recording;
mod recording_threads;
mod report;
mod schedule_recorder;
mod terminal_signals;
mod trace;

pub(crate) use ending::Ending;
pub(crate) use recording::{Beginning, Subject, record};
pub use report::{CrashSummary, StoodStill, TraceReport};
pub use terminal_signals::{die_by, outlive_terminal_signals};
pub use trace::{trace, wait_for_program};
