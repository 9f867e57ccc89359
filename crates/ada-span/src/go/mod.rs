//! Goroutines: what the calls of Go's scheduler say of them.
//!
//! `docs/go.md` lists the runtime's functions that each of this is taken from.

mod goroutines;
mod head;
mod wait_reasons;

pub(crate) use goroutines::Goroutines;
