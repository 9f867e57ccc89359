//! The detail file: registers and stack of some of a thread's events, in records of varying length.

mod check;
mod header;
mod record;
mod shape;
mod table;
mod view;

pub(crate) use check::DetailCheck;
pub use header::{DetailFooter, DetailHeader};
pub use record::DetailRecord;
pub(crate) use record::{Hop, encode_header, header_words, hop};
pub(crate) use shape::DetailShape;
pub use view::{DetailView, Records};
