//! Rings that programs share with the kernel (`io_uring`): which operations there were, and which one a wait ended with.
//!
//! What a ring is asked to do lies in memory. The agent looks there at both ends of the calls that hand it to the kernel (`look.rs`), and
//! counts, so that it shows when something was missed (`follower.rs`). Operations become calls of input and output like any other,
//! from when they were asked for until they were seen to be done (`operation.rs`).

mod ending;
mod follower;
mod look;
mod operation;

pub use ending::{RingEnd, RingEnding};
pub(crate) use follower::follow;
pub use look::RingLook;
