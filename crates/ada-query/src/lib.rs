//! Questions to a trace.
//!
//! [`Engine`] answers SQL over [`Trace`]s: SQLite with virtual tables over the derived tables and the session's own
//! files, read-only, with limits on rows, time and memory. [`findings`] names what may be wrong with a program, and
//! [`called`] says whether a function was called, as far as the trace shows. [`export`] writes the tables as
//! Parquet files or as one SQLite file.
//!
//! `docs/query.md` describes tables and functions.
#![deny(unsafe_code)]

mod batch;
pub mod called;
mod cancel;
mod captured_calls;
mod doc;
mod engine;
mod error;
pub mod export;
mod exported;
pub mod findings;
mod fleet;
mod function_pattern;
mod grouping;
#[allow(unsafe_code, reason = "one call of SQLite's")]
mod heap;
mod hive;
pub mod lens;
mod limits;
mod mistake;
mod nearest;
pub mod output;
mod ownership;
mod pattern;
mod predicate;
mod relation;
mod rows;
mod scan;
mod shared;
mod signal_name;
mod span;
mod span_cursor;
mod sql_functions;
mod stats;
mod tables;
mod trace;
#[allow(unsafe_code, reason = "SQLite's interface to virtual tables; every block says why it holds")]
mod virtual_table;
pub mod waits;
mod walk;
pub mod why_slow;
mod written_name;

pub use cancel::Cancel;
pub use doc::{ColumnDoc, Kind, TableDoc};
pub use engine::Engine;
pub use error::QueryError;
pub use exported::ParquetFolder;
pub use function_pattern::FunctionPattern;
pub use limits::Limits;
pub use mistake::Mistake;
pub use nearest::nearest;
pub use rows::Rows;
pub use rusqlite::types::Value;
pub use signal_name::signal_name;
pub use span::{Frame, FrameSpan, Span, SpanKind};
pub use sql_functions::documented_functions;
pub use tables::documented;
pub use trace::{
    CallValues, CausalEnd, CausalLink, Code, FunctionLabel, Life, NamedValue, Names, Reference, RemoteHolder,
    RemoteLink, RemoteWaker, Switched, Target, Trace, TraceProcess, TraceSession, Unrecorded, Wanted, causal_links,
    remote_links,
};
pub use written_name::written_name;
