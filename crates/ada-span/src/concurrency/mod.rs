//! What Swift's tasks and dispatched blocks have in common: the calls that report them, and on whose behalf a thread
//! runs. A task can submit a block that resumes another task, so that one pass over all calls follows both.

mod context;
mod logical_call;
mod losses;
mod text;

pub use context::Context;

pub(crate) use context::{Contexts, HasContext};
pub(crate) use logical_call::{Head, LogicalCall, LogicalCalls, Words};
pub(crate) use losses::{Loss, Losses};
pub(crate) use text::Text;
