//! Reads what the analysis needs from an ATF session.

mod content_key;
mod details;
mod function_lists;
mod process_trace;
mod replay_options;
mod runtime_names;

pub use content_key::content_key;
pub use function_lists::function_traits;
pub use process_trace::ProcessTrace;
pub use replay_options::{asks_to_end, is_fault, replay_options};
