//! What Go's linker leaves in a program for its own runtime: functions, names, lines, frame sizes and the version of Go. It is
//! all there in stripped programs too.

mod build_info;
mod containers;
mod function_types;
mod go_table;
mod kind;
mod library;
mod pc_values;
mod search;

pub use function_types::{GoFunctionType, GoParameter, GoPlace, GoType, go_function_types};
pub use go_table::{GoFunction, GoTable};
pub use library::is_of_go_library;
