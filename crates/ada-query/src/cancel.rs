//! Ends a question that nobody waits for any more, or that takes too long.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use crate::error::QueryError;

/// Shared by whoever asks and whoever works on the answer.
#[derive(Clone, Debug)]
pub struct Cancel(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    is_cancelled: Arc<AtomicBool>,
    begun: Instant,
    /// Nanoseconds after `begun`; `u64::MAX` for none.
    deadline: AtomicU64,
}

impl Default for Cancel {
    fn default() -> Self {
        Self::watching(Arc::default())
    }
}

impl Cancel {
    /// One that is cancelled when somebody sets the flag, such as a signal handler.
    pub fn watching(flag: Arc<AtomicBool>) -> Self {
        Self(Arc::new(Inner { is_cancelled: flag, begun: Instant::now(), deadline: AtomicU64::new(u64::MAX) }))
    }

    /// Cancels what is under way.
    pub fn cancel(&self) {
        self.0.is_cancelled.store(true, Ordering::Relaxed);
    }

    /// Begins a new question, which may take so long.
    pub fn begin(&self, time: Option<Duration>) {
        self.0.is_cancelled.store(false, Ordering::Relaxed);
        let nanos = |duration: Duration| u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX);
        let deadline = time.map_or(u64::MAX, |time| nanos(self.0.begun.elapsed()).saturating_add(nanos(time)));
        self.0.deadline.store(deadline, Ordering::Relaxed);
    }

    /// Whether to stop, and why.
    pub(crate) fn check(&self) -> Result<(), QueryError> {
        if self.0.is_cancelled.load(Ordering::Relaxed) {
            return Err(QueryError::Cancelled);
        }
        let deadline = self.0.deadline.load(Ordering::Relaxed);
        let is_late = deadline != u64::MAX && self.0.begun.elapsed().as_nanos() > u128::from(deadline);
        if is_late { Err(QueryError::TooLong) } else { Ok(()) }
    }
}
