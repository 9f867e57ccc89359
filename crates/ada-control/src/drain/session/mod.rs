//! The files of a session, all of them or the newest part.
//!
//! If only the newest part is kept, a recording is, while it runs, a row of *segments*: folders in the session's `ring` folder, each an ordinary session of
//! its own that holds what all threads did in a stretch of time. The oldest is deleted when there is no room for another.
//! In the end the segments are joined into the session, and are gone. A killed ada leaves them: each can be read, and
//! `ada snapshot` joins them.

mod closed_segment;
mod disk_room;
mod orphaned_ring;
mod segments;
mod session_files;
mod snapshot_requests;
mod sweeper;

pub(crate) use closed_segment::store_of;
pub use orphaned_ring::save_orphaned_ring;
pub(crate) use segments::Gone;
pub(crate) use session_files::SessionFiles;
pub(crate) use snapshot_requests::{Parts, SnapshotRequests};
