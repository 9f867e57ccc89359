//! Threads that nobody waited for.

use std::collections::BTreeMap;

use ada_span::ThreadIndex;
use ada_span::wait::WaitKind;
use serde_json::json;

use super::{About, Finding};
use crate::trace::Target;

pub(super) fn find(about: &About<'_>) -> Vec<Finding> {
    let mut by_name: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let meta = about.process.tables.meta();
    // Somebody was about to when the process ended, or the recording.
    let is_joined_at_the_end = |thread: ThreadIndex| {
        let mut waits = meta.waits.iter().filter(|wait| wait.kind() == WaitKind::Join && wait.is_open());
        waits.any(|wait| wait.holder == Some(thread))
    };
    for span in &meta.pthreads {
        if is_joined_at_the_end(span.thread) {
            continue;
        }
        // One whose creation was not seen may be joined by who was not seen either.
        if span.joiner.is_none() && span.is_detached != 1 && span.create_seq.is_some() {
            let target = Target::Thread(about.process.thread_id(span.thread), span.begin_seq);
            let reference = about.process.refer(target);
            by_name.entry(about.process.thread_name(span)).or_default().push(reference);
        }
    }
    let finding = |(name, threads): (String, Vec<String>)| {
        let count = threads.len();
        let title = match count {
            1 => format!("a thread of {name} was neither joined nor detached"),
            _ => format!("{count} threads of {name} were neither joined nor detached"),
        };
        let rationale = "Its stack and descriptor stay until the process ends; whoever creates many leaks them.";
        let mut finding = about.finding("never_joined", (10.0 + count as f64).min(40.0), title, rationale);
        finding.function = Some(name);
        finding.facts = json!({ "threads": count });
        finding.evidence = threads.into_iter().take(5).collect();
        finding
    };
    by_name.into_iter().map(finding).collect()
}
