//! The derived tables: frame spans in blocks of columns, and the sums beside them, cached beside the session.

mod block;
mod block_code;
mod block_writer;
mod column;
mod derived_folder;
mod file_names;
mod function_index;
mod late;
mod meta;
mod row;
mod shard_sink;
mod tables;
#[doc(hidden)]
pub mod unchecked;

pub use block::{BlockEntry, Column, Columns};
pub(crate) use block_writer::BlockWriter;
pub use derived_folder::{Cached, DERIVED_FOLDER, DerivedFolder};
pub(crate) use file_names::{anomalies_file, late_file, meta_file, spans_file};
pub use function_index::FunctionIndex;
pub(crate) use meta::ShardEntry;
pub use meta::{AnomalyCount, Meta, ThreadEntry};
pub(crate) use shard_sink::{ShardSink, ShardSummary};
pub use tables::Tables;
