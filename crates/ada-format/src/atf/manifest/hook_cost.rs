//! What a hook costs.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// Nanoseconds, as measured when the trace began, with what was captured in it; see `docs/overhead.md`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct HookCost {
    /// By how much a call and its return take longer when both are recorded.
    pub pair: f64,
    /// How far that may be off.
    #[serde(default)]
    pub pair_error: f64,
    /// How much of it lies between the two time stamps.
    pub inside: f64,
    /// How far that may be off.
    #[serde(default)]
    pub inside_error: f64,
    /// By how much a call takes longer when it is only counted.
    pub count: f64,
    /// How far that may be off.
    #[serde(default)]
    pub count_error: f64,
    /// Fields that this version does not know.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}
