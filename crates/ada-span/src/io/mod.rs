//! Input and output: what descriptors stood for, and whose call ended a wait for one.
//!
//! A process's own calls tell when a descriptor was made and closed; what it stood for meanwhile was seen from outside, or follows
//! from the call that made it (`tables.rs`). What goes through a pipe or a socket is a row of bytes: the call that wrote
//! the first byte that a wait was for has ended it (`streams.rs`). All processes of a session are needed for it, so that this is done
//! when a session is opened, and not kept.

mod correlate;
mod finder;
mod let_in;
mod letters;
mod objects;
mod process_io;
mod queues;
mod readiness;
mod received;
mod rings;
mod room;
mod several;
mod signals;
mod streams;
mod tables;

pub use correlate::{SessionIo, correlate};
pub use finder::{IoWait, IoWaker};
pub use process_io::ProcessIo;
