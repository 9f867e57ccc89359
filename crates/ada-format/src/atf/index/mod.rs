//! The index file: every event of one thread, 32 bytes each, found by position.

mod check;
mod header;
mod shape;
mod view;
mod writer;

pub(crate) use check::IndexCheck;
pub use header::{IndexFooter, IndexHeader};
pub(crate) use shape::IndexShape;
pub use view::IndexView;
pub use writer::IndexWriter;
