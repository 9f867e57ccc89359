//! `ada trace` on one tiny program per behaviour: `tests/programs/` at the root of the repository.
//!
//! Each program runs alone and traced, has to print the same and to end alike, and its session has to be sound, well
//! nested, and exact about the program's own functions.

mod builds;
mod calls;
mod detached;
mod ends;
mod exits;
mod followed;
mod full_disk;
mod harmless;
mod loading;
mod namespaces;
mod nesting;
mod options;
mod plan_cache;
mod private;
mod process;
pub(crate) mod program;
pub(crate) mod recorded;
mod refusals;
mod registers;
mod signals;
mod stored;
mod survival;
mod symbols;
mod terminal;
mod threads;
pub(crate) mod tracing;
mod unwinding;
