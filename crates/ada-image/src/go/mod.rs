//! What Go's linker leaves in a program for its own runtime: functions, names, lines, frame sizes and the version of Go. It is
//! all there in stripped programs too.

mod build_info;
mod go_table;
mod pc_values;
mod search;

pub use go_table::{GoFunction, GoTable};
