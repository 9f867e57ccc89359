//! A function that was switched while the program ran.

use ada_event::{FunctionId, TraceNanos};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// A time in which a function's calls were not recorded.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Switch {
    /// The function, as events have it.
    pub function_id: FunctionId,
    /// `count` where calls were counted, `off` where not even that, or a newer mode.
    pub mode: String,
    /// From when.
    pub from_ns: TraceNanos,
    /// Until when; absent where it was so to the end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to_ns: Option<TraceNanos>,
    /// Why: `filter`, `budget`, or a newer reason.
    #[serde(default)]
    pub why: String,
    /// Calls in that time, where they were counted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub count: Option<u64>,
    /// Whether that is every one of them. Calls at the very moment of a switch back may be in the next time's count.
    #[serde(default)]
    pub is_exact: bool,
    /// Fields that this version does not know.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}
