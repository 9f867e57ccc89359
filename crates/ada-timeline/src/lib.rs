//! What of a process's spans is drawn, at any zoom, in a time that does not depend on how many there are.
//!
//! [`Summary`] holds, for stretches of time of many lengths, the longest call of each depth that begins there and the
//! longest odd one; it is made once and kept beside the span tables. [`Scene`] takes what a view needs from the
//! summary, or from the spans themselves where the view is narrow enough, and [`fit`] makes at most so many shapes of
//! it. [`fold`] sums up a stretch of time: a merged tree of calls, functions, endings; [`relatives`] one function's calls.
//! With [`LensRows`], a scene has the calls of some functions only.
#![forbid(unsafe_code)]

mod blocks;
mod fit;
mod fold;
mod item;
mod lens_rows;
mod pixel_group;
mod range;
mod relatives;
mod scene;
mod shape;
mod strip;
mod summary;

pub use blocks::Blocks;
pub use fit::{Picture, fit};
pub use fold::{Folded, FoldedFunction, FoldedNode, fold};
pub use item::{Item, LAST_ROW, is_odd};
pub use lens_rows::{LensRows, ThreadRows};
pub use range::{Grid, Range};
pub use relatives::{Calls, Relatives, relatives};
pub use scene::{Row, Scene};
pub use shape::Shape;
pub use strip::{Longest, Strip, StripColumn};
pub use summary::{Summary, SummaryError, unchecked};
