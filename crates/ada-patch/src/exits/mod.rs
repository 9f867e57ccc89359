//! Where functions are left: their returns and tail calls, and how each of them is caught.
//!
//! Decoding an image finds the instructions that [leave](crate::leave); [`extent`] says which code belongs to a function,
//! [`body`] where its own jumps lead, and [`ways`] how it is left. [`planner`] finds [`room`] for a jump at each way out. A
//! jump there leads to a stub that runs the displaced end of the function, records, and leaves as the function would have.
//! Nothing of that is on the program's stack.

mod body;
mod close_look;
mod eviction;
mod exit_plan;
mod extent;
mod function_code;
mod function_exits;
mod neighbours;
mod occupied;
mod patience;
mod planner;
mod room;
mod run;
mod ways;

pub use exit_plan::ExitPlan;
pub(crate) use extent::Follower;
pub(crate) use function_exits::FunctionExits;
pub(crate) use neighbours::Neighbours;
pub(crate) use patience::Patience;
pub(crate) use planner::ExitPlanner;
