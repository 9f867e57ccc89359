//! The programs that a session traces, and their states.

mod exec_times;
mod hooked_programs;
mod in_charge;
mod module_list;
mod process_facts;
mod programs;
mod recording_phase;

pub use exec_times::HookedExecs;
pub(crate) use hooked_programs::HookedPrograms;
pub(crate) use process_facts::{Attached, ProcessFacts};
pub(crate) use programs::Programs;
