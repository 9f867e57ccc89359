//! Ways from one span to others.

mod critical_path;
mod relatives;

pub(crate) use critical_path::{CriticalPath, critical_path};
pub(crate) use relatives::{Ancestors, Descendants, Overlaps};
