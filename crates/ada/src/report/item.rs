//! A line of the report.

use serde_json::Value;

/// What, how much, and where to look.
pub(super) struct Item {
    pub(super) section: &'static str,
    pub(super) name: String,
    pub(super) value: String,
    /// What commands accept.
    pub(super) reference: Option<String>,
    /// The same for programs.
    pub(super) json: Value,
}

impl Item {
    /// Something about the run.
    pub(super) fn fact(name: &str, value: String, json: Value) -> Self {
        Self { section: "run", name: name.into(), value, reference: None, json }
    }

    /// Something that may be wrong.
    pub(super) fn oddity(name: String, value: String, reference: Option<String>, json: Value) -> Self {
        Self { section: "anomalies", name, value, reference, json }
    }
}
