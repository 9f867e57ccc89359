//! Windows of detail around triggers: what opens one, how far it reaches, and what is said of it.

mod batch;
mod log;
mod plan;
mod watch;

pub(crate) use batch::{BatchEvents, event_times, learn_handlers, triggers_among};
pub(crate) use log::WindowLog;
pub(crate) use plan::{Events, Fired, ThreadWindow};
pub(crate) use watch::{TriggerList, Watch};
