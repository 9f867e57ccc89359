//! Timelines as other tools read them.
//!
//! A [`TimelineWriter`] is given a trace in one pass: thread after thread, each call when it opens and when it closes,
//! then logical spans by their start. It writes as they come, so that memory depends on the number of functions and
//! links and on the deepest stack, not on the number of calls. [`writer`] makes the one for a [`Format`].
//!
//! `docs/export.md` says what each format can hold.
#![forbid(unsafe_code)]

mod call_times;
mod chrome;
mod firefox;
mod folded;
mod format;
mod heph;
mod json_text;
mod lanes;
mod message;
mod model;
mod otlp;
mod paths;
mod perfetto;
mod pprof;
mod speedscope;
mod timeline_writer;

pub use format::{Format, writer};
pub use lanes::Lanes;
pub use model::{
    Argument, ArgumentValue, Call, Ending, FunctionIndex, FunctionInfo, Link, LinkEnd, Logical, Part, ProcessInfo, Run,
    RunEnd, ThreadInfo, TraceInfo, TraceThread,
};
pub use otlp::rejected_spans;
pub use timeline_writer::{ArgumentsAt, TimelineWriter};
