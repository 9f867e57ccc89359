//! Whether the recording itself held the program up: what took long then need not take long without it.

use serde_json::json;

use super::{About, Finding, nanoseconds};

/// A share of the process's life in percent that is worth a word.
const SHARE: u64 = 5;

pub(super) fn find(about: &About<'_>) -> Option<Finding> {
    let gaps = &about.trace.manifest(about.process)?.gaps;
    let waited = gaps.iter().fold(0_u64, |sum, gap| sum.saturating_add(gap.waited_ns));
    let life = about.lifetime().max(1);
    if waited.saturating_mul(100) / life < SHARE {
        return None;
    }
    let title = format!("the recording held the program up: its threads waited {} to be recorded", nanoseconds(waited));
    let rationale = "More was called than could be written meanwhile. What was slow then need not be slow without ada.";
    let mut finding = about.finding("disturbed", 88.0, title, rationale);
    finding.facts = json!({ "waited_ns": waited, "life_ns": life });
    Some(finding)
}
