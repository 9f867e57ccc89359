//! Answers as texts and files.

mod cell;
mod csv;
mod json;
mod parquet_file;
mod table;

pub use csv::write_csv;
pub use json::{write_json, write_ndjson};
pub(crate) use parquet_file::ParquetFile;
pub use parquet_file::write_parquet;
pub use table::write_table;

pub use cell::to_json;
