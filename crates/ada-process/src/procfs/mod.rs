//! `/proc`: which processes there are, and what the kernel says of each. Paths below it are made here and nowhere else.

use ada_event::ProcessId;

mod listeners;
mod open_descriptor;
mod process_dir;
mod process_memory;
mod stat;
mod status;

pub use listeners::listeners;
pub use open_descriptor::{Access, OpenDescriptor};
pub use process_dir::ProcessDir;
pub use process_memory::ProcessMemory;
pub use stat::{Priority, Stat};
pub use status::Status;

/// The ids of all processes.
pub fn all_processes() -> impl Iterator<Item = ProcessId> {
    let entries = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok())
}
