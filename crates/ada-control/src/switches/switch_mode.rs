//! What happens at the calls of a function.

use serde::{Deserialize, Serialize};

/// What happens at the calls of a function.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SwitchMode {
    /// They are recorded, and so are the returns.
    Full,
    /// Nothing.
    Off,
    /// They are recorded without their values, of functions that have some.
    WithoutValues,
    /// They are counted.
    Count,
    /// Nothing: the hook is gone, and does not come back.
    #[serde(skip)]
    Unhooked,
}

impl SwitchMode {
    /// The mode's name in manifests.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Full => "full",
            Self::Off => "off",
            Self::WithoutValues => "without_values",
            Self::Count => "count",
            Self::Unhooked => "unhooked",
        }
    }
}
