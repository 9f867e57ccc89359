//! A point in a thread's events where some are missing, or where the thread had to wait to record one.

use ada_event::{ThreadId, TraceNanos};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// What happened between two neighbouring events of a thread.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Gap {
    /// The thread, as in `threads`.
    pub thread: ThreadId,
    /// The time of the first event behind the gap, or when it began where there is none.
    pub time_ns: TraceNanos,
    /// How many events of the thread were lost there; it may be off by those that were being recorded.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub lost: u64,
    /// How long the thread waited there for room to record into.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub waited_ns: u64,
    /// Fields that this version does not know.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

fn is_zero(number: &u64) -> bool {
    *number == 0
}
