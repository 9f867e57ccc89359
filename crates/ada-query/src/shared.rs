//! What all virtual tables share.

use std::sync::Arc;

use crate::cancel::Cancel;
use crate::trace::Trace;

/// The trace, and how to stop. Cheap to clone.
#[derive(Clone)]
pub(crate) struct Shared {
    pub(crate) trace: Arc<Trace>,
    pub(crate) cancel: Cancel,
}
