//! The vocabulary of ada: what an event is, and how the things it names are identified.
//!
//! Everything here is plain data, without a clock, a file or an allocation, so that the code inside a traced
//! program and the code that reads its trace years later can share it. Values come from untrusted bytes: each bit
//! pattern is a valid value of each type, and meaning is asked for (`EventKind::name`), not assumed.
#![no_std]
#![forbid(unsafe_code)]

mod address;
mod calendar;
mod duration;
mod event;
mod id;
mod schedule;
#[cfg(feature = "serde")]
mod stored_number;
mod time;

pub use address::{ImageOffset, RuntimeAddr};
pub use calendar::civil_from_days;
pub use duration::{parse_duration, write_duration};
pub use event::{Event, EventKind};
pub use id::{DetailSeq, EventSeq, FunctionId, ModuleId, ProcessId, ThreadId};
pub use schedule::{ScheduleChange, ScheduleRecord};
pub use time::TraceNanos;
