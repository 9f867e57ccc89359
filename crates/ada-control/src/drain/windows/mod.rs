//! Windows of detail around triggers: what opens one, how far it reaches, and what is said of it.

mod batch_events;
mod tested_calls;
mod thread_window;
mod trigger_list;
mod watch;
mod window_log;

pub(crate) use batch_events::{BatchEvents, event_times, learn_handlers, triggers_among};
pub(crate) use thread_window::{Events, Fired, ThreadWindow};
pub(crate) use trigger_list::TriggerList;
pub(crate) use watch::Watch;
pub(crate) use window_log::WindowLog;
