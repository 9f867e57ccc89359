//! Talking to a running trace.
//!
//! A recording listens on a Unix socket named for the process it traces, in a folder that only its user can enter. A
//! request is one line of JSON, and so is each answer. All of this is between two processes of ada: the traced program
//! has no part in it.
//!
//! A feature that can be asked for something adds a variant to [`Request`], and a [`Handler`] that answers it.

mod client;
mod error;
pub(crate) mod handlers;
mod message;
mod runtime_folder;
mod server;

pub use client::{ask, running};
pub use error::LiveError;
pub use message::{Answer, Request, Status};
pub(crate) use server::{Handler, LiveServer};
