//! Keeping only the newest part of a long recording on disk.
//!
//! While it runs, a recording is a row of *segments*: folders in the session's `ring` folder, each an ordinary session of
//! its own that holds what all threads did in a stretch of time. The oldest is deleted when there is no room for another.
//! In the end the segments are joined into the session, and are gone. A killed ada leaves them: each can be read, and
//! `ada snapshot` joins them.

mod desk;
mod join;
mod segments;

pub(crate) use desk::{SnapshotDesk, SnapshotHandler};
pub use join::save_left_behind;
pub(crate) use join::{join, store_of};
pub(crate) use segments::Segments;
