//! What Swift's tasks and dispatched blocks have in common: the calls that tell of them, and on whose behalf a thread
//! runs. A task can submit a block that resumes another task, so that both are told in one pass over all calls.

mod call;
mod context;
mod found;
mod story;

pub use context::Context;

pub(crate) use call::{Label, LogicalCall, LogicalCalls, Words};
pub(crate) use context::Contexts;
pub(crate) use found::with_found_functions;
pub(crate) use story::tell;
