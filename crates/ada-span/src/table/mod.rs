//! The derived tables: frame spans in blocks of columns, and the sums beside them, cached beside the session.

mod block;
mod block_code;
mod block_writer;
mod bytes;
mod column;
mod late;
mod meta;
mod reader;
mod row;
mod store;
#[doc(hidden)]
pub mod unchecked;
mod words;
mod writer;

pub use block::{BlockEntry, Column, Columns};
pub(crate) use block_writer::BlockWriter;
pub(crate) use bytes::{Decoder, Encoder};
pub(crate) use meta::ShardEntry;
pub use meta::{AnomalyCount, Meta, ThreadEntry};
pub use reader::Tables;
pub use store::{Cached, DERIVED_FOLDER, DerivedFolder};
pub(crate) use store::{anomalies_file, late_file, meta_file, spans_file};
pub(crate) use words::word_struct;
pub(crate) use writer::{ShardSink, ShardSummary};
