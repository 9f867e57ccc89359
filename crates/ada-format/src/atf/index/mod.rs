//! The index file: every event of one thread, 32 bytes each, found by position.

mod check;
mod header;
mod shape;
mod view;

pub(crate) use check::IndexCheck;
pub(crate) use header::saturated;
pub use header::{IndexFooter, IndexHeader};
pub(crate) use shape::IndexShape;
pub use view::IndexView;
