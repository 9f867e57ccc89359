//! Locks, conditions and semaphores that processes share.
//!
//! Such an object is known by the file that its memory is mapped from and where it lies there: processes may have it at different
//! addresses, and different ones at the same. What is mapped was seen from outside while the process ran; it counts for as long as the
//! process's own calls say that nothing else came to be there (`memory.rs`). All processes of a session are needed to find who ended a
//! wait (`correlate.rs`), so that this is done when a session is opened, and not kept.

mod correlate;
mod memory;

pub use correlate::{ProcessShared, SessionShared, SharedFound, SharedHolder, SharedWaker, ThreadsEnd, correlate};
