//! The handlers, one for each kind of request.

mod filter;
mod snapshot;
mod status;
mod stop;
mod triggers;

pub(crate) use filter::FilterHandler;
pub(crate) use snapshot::SnapshotHandler;
pub(crate) use status::StatusHandler;
pub use stop::{StopSwitch, stop_on_signals};
pub(crate) use triggers::TriggerHandler;
