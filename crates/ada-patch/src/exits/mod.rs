//! Where functions are left: their returns and tail calls, and how each of them is caught.
//!
//! Decoding an image finds the instructions that [leave](crate::leave); [`extent`] says which code belongs to a function,
//! and [`planner`] finds room for a jump at each way out of it. A jump there leads to a stub that runs the displaced end of
//! the function, records, and leaves as the function would have. Nothing of that is on the program's stack.

mod body;
mod displaced_exit;
mod exit_plan;
mod extent;
mod occupied;
mod planner;

pub use displaced_exit::DisplacedExit;
pub use exit_plan::ExitPlan;
pub use planner::{ExitPlanner, Exits};
