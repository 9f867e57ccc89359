//! Switching functions between being recorded, being counted and being left alone, while the program runs.
//!
//! A switch is a word in the shared memory that a function's stub looks at; changing it is one store from here, and
//! nothing is stopped for it. A call is recorded or counted as the word stands when it begins: what was begun before goes
//! on as it was begun, so that the return of a recorded call is recorded. What runtime probes are about, and what tells which
//! goroutine runs, is never switched: the analysis and the following of children live on it.

mod call_counts;
mod switch_mode;
mod switchboard;

pub use switch_mode::SwitchMode;
pub(crate) use switchboard::Switchboard;
pub use switchboard::SwitchedFunction;
