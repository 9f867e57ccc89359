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
    /// A pair has taken between so many times as long as that in the program, and …
    #[serde(default = "at_least")]
    pub at_least: f64,
    /// … so many times.
    #[serde(default = "at_most")]
    pub at_most: f64,
    /// Fields that this version does not know.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

impl HookCost {
    /// [`Self::at_least`] and [`Self::at_most`] where nothing else runs: seventeen programs of Debian took 1.07 to 1.81 times as long as
    /// calibrated for each call, by their processor time alone and traced; two more took about 0.95 and 2.1 times as long, and some take
    /// less still, where the calibration itself was slow.
    pub const ON_A_QUIET_MACHINE: [f64; 2] = [0.8, 2.5];
    /// The same where others use the caches too, also while the cost is measured: 0.6 to 2.8 in 13 programs beside builds.
    pub const BESIDE_OTHERS: [f64; 2] = [0.5, 3.0];
}

fn at_least() -> f64 {
    HookCost::ON_A_QUIET_MACHINE[0]
}

fn at_most() -> f64 {
    HookCost::ON_A_QUIET_MACHINE[1]
}
