//! What a trace's events meant: spans.
//!
//! [`Replay`] turns a thread's events into frame spans, one pass, in memory that depends on the deepest stack and not
//! on the number of events. [`analyze`] does so for all threads of a process, in parallel, correlates threads and
//! callbacks, and writes [`table`]s that are kept beside the session. Odd events never are an error: they become spans
//! that say what is known of them, and [`Anomaly`]s.
//!
//! `docs/spans.md` describes the records.
#![forbid(unsafe_code)]

mod analysis;
mod anomaly;
mod bytes;
pub mod callback;
mod callers;
mod code_map;
pub mod concurrency;
mod correction;
mod costs;
mod detail;
mod error;
mod function_stats;
mod function_traits;
pub mod gcd;
mod go;
mod histogram;
pub mod io;
mod io_call_span;
mod io_calls;
mod observer;
mod open_chains;
mod outcome;
pub mod pthread;
mod replay;
mod ring;
mod role;
mod session;
pub mod shared;
mod socket_address;
mod source;
pub mod state;
mod swift;
pub mod table;
pub mod task;
mod text_table;
mod thread_index;
pub mod wait;
mod word_enum;
mod word_struct;

pub use analysis::{ANALYSIS_VERSION, analyze};
pub use anomaly::{Anomaly, AnomalyKind};
pub use callers::Callers;
pub use correction::{Corrected, Correction, ThreadWaits};
pub use costs::{Costs, SelfCosts, SpanEnds};
pub use detail::{DetailSource, EventDetail};
pub use error::SpanError;
pub use function_stats::{EVENT_KINDS, EventCounts, FunctionStats};
pub use function_traits::{FunctionTrait, FunctionTraits};
pub use histogram::Histogram;
pub use io_call_span::IoCallSpan;
pub use io_calls::{CallAddress, IoCalls, ReadyDescriptor};
pub use open_chains::{OpenCall, OpenChains};
pub use outcome::{Outcome, Reason, Status};
pub use replay::{
    Closed, FunctionNumber, KnownFunction, Opened, ProcessEnd, Replay, ReplayOptions, SpanHandle, SpanSink, ThreadFacts,
};
pub use ring::{RingEnd, RingEnding, RingLook};
pub use role::{GcdCall, GoCall, GoPart, IoCall, OnceCall, Role, SpinCall, Submit, SwiftCall, SyncCall};
pub use session::{ProcessTrace, asks_to_end, content_key, function_traits, is_fault, replay_options};
pub use source::{ProcessSource, ThreadInfo};
pub use thread_index::ThreadIndex;

/// What is not known, in records of plain numbers.
pub const NONE: u64 = u64::MAX;
