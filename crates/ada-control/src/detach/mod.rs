//! Ends recordings whose processes go on: every hook is removed, and nothing of ada remains.

mod code_in_use;
mod goroutine_stack;
mod limits;
mod unhook;

pub(crate) use code_in_use::{CodeInUse, ThreadStack, is_any_within};
pub(crate) use limits::Limits;
pub(crate) use unhook::{Unhooked, unhook};
