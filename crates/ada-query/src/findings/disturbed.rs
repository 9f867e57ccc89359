//! Whether the recording itself held the program up: what took long then need not take long without it.

use ada_format::atf::Manifest;
use serde_json::json;

use super::{About, Finding, nanoseconds};

/// A share of the process's life in percent that is worth a word.
const SHARE: u64 = 5;

pub(super) fn find(about: &About<'_>) -> Option<Finding> {
    let waited = waited_to_be_recorded(about.trace.manifest(about.process)?);
    let life = about.lifetime().max(1);
    if waited.saturating_mul(100) / life < SHARE {
        return None;
    }
    let rationale = "More was called than could be written meanwhile. What was slow then need not be slow without ada.";
    let mut finding = about.finding("disturbed", 88.0, title(waited), rationale);
    finding.facts = json!({ "waited_ns": waited, "life_ns": life });
    Some(finding)
}

/// For how long the threads of a process waited to be recorded, in all.
pub fn waited_to_be_recorded(manifest: &Manifest) -> u64 {
    manifest.gaps.iter().fold(0_u64, |sum, gap| sum.saturating_add(gap.waited_ns))
}

fn title(waited: u64) -> String {
    format!("the recording held the program up: its threads waited {} to be recorded", nanoseconds(waited))
}

/// Of the processes of a session that were held up, one finding tells: that of the one which waited longest, with the time of all.
pub(super) fn merge(found: &[Finding]) -> impl Iterator<Item = Finding> {
    found.chunk_by(|left, right| left.session == right.session).filter_map(|of_session| {
        let waited = |it: &Finding| it.facts["waited_ns"].as_u64().unwrap_or(0);
        let all = of_session.iter().map(waited).fold(0, u64::saturating_add);
        let mut finding = of_session.iter().max_by_key(|it| waited(it))?.clone();
        if of_session.len() > 1 {
            finding.title = format!("{} in {} processes, most of it in this one", title(all), of_session.len());
            finding.facts["all_waited_ns"] = json!(all);
            finding.facts["processes"] = json!(of_session.len());
        }
        Some(finding)
    })
}
