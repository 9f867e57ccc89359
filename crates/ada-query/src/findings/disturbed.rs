//! Whether the recording itself held the program up: what took long then need not take long without it.

use std::collections::BTreeSet;

use ada_format::atf::Manifest;
use serde_json::json;

use super::{About, Finding, nanoseconds};

/// A share of the process's life in percent that is worth a word.
const SHARE: u64 = 5;

pub(super) fn find(about: &About<'_>) -> Option<Finding> {
    let manifest = about.trace.manifest(about.process)?;
    let (recorded, hooked) = (waited_to_be_recorded(manifest), manifest.waited_for_hooks_ns);
    let below = children_waited_for_hooks(about);
    let life = about.lifetime().max(1);
    // It did not live while it waited to be hooked, but those who waited for it did.
    let is_much = |time: u64, life: u64| time.saturating_mul(100) / life >= SHARE;
    if !is_much(recorded, life) && !is_much(hooked, life.saturating_add(hooked)) && !is_much(below, life) {
        return None;
    }
    let why = if recorded > 0 { "More was called than could be written meanwhile. " } else { "" };
    let rationale = format!("{why}What was slow then need not be slow without ada.");
    let mut finding = about.finding("disturbed", 88.0, title(recorded, hooked.saturating_add(below)), rationale);
    finding.facts = json!({
        "waited_ns": recorded, "waited_for_hooks_ns": hooked, "children_waited_for_hooks_ns": below, "life_ns": life,
    });
    Some(finding)
}

/// For how long the threads of a process waited to be recorded, in all.
pub fn waited_to_be_recorded(manifest: &Manifest) -> u64 {
    manifest.gaps.iter().fold(0_u64, |sum, gap| sum.saturating_add(gap.waited_ns))
}

/// For how long programs waited to be hooked in all processes that descend from this one, which may have waited for them.
pub(super) fn children_waited_for_hooks(about: &About<'_>) -> u64 {
    let mut ancestors = BTreeSet::from([about.process.pid]);
    let mut sum = 0_u64;
    // A process is made after its parent, but they need not be listed in this order.
    loop {
        let before = ancestors.len();
        for process in about.trace.processes().iter().filter(|it| it.session == about.process.session) {
            let Some(manifest) = about.trace.manifest(process) else { continue };
            if manifest.parent_pid.is_some_and(|parent| ancestors.contains(&parent)) && ancestors.insert(process.pid) {
                sum = sum.saturating_add(manifest.waited_for_hooks_ns);
            }
        }
        if ancestors.len() == before {
            return sum;
        }
    }
}

fn title(recorded: u64, hooked: u64) -> String {
    let recorded = (recorded > 0).then(|| format!("threads waited {} to be recorded", nanoseconds(recorded)));
    let hooked = (hooked > 0).then(|| format!("programs waited {} to be hooked", nanoseconds(hooked)));
    let words: Vec<String> = recorded.into_iter().chain(hooked).collect();
    format!("the recording held the program up: {}", words.join(", and "))
}

/// Of the processes of a session that were held up, one finding tells: that of the one which waited longest, with the time of all.
pub(super) fn merge(found: &[Finding]) -> impl Iterator<Item = Finding> {
    found.chunk_by(|left, right| left.session == right.session).filter_map(|of_session| {
        let fact = |it: &Finding, name: &str| it.facts[name].as_u64().unwrap_or(0);
        let sum = |name: &str| of_session.iter().map(|it| fact(it, name)).fold(0, u64::saturating_add);
        let with_children =
            |it: &Finding| fact(it, "waited_for_hooks_ns").saturating_add(fact(it, "children_waited_for_hooks_ns"));
        let most = of_session.iter().map(with_children).max().unwrap_or(0);
        let (recorded, hooked) = (sum("waited_ns"), sum("waited_for_hooks_ns").max(most));
        let mut finding = of_session.iter().max_by_key(|it| fact(it, "waited_ns"))?.clone();
        if of_session.len() > 1 {
            finding.title = format!("{}, in {} processes", title(recorded, hooked), of_session.len());
            finding.facts["all_waited_ns"] = json!(recorded);
            finding.facts["all_waited_for_hooks_ns"] = json!(hooked);
            finding.facts["processes"] = json!(of_session.len());
        }
        Some(finding)
    })
}
