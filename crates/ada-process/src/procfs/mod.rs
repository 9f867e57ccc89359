//! What `/proc` tells of processes.

mod process_dir;

pub use process_dir::{all_processes, auxiliary, command_line_of, has_ended, id_count, is_gone, is_zombie, parent_of};
pub(crate) use process_dir::{age, is_of_another_user, is_older, zombie_status};
