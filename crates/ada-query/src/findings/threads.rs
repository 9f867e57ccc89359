//! Threads that nobody waited for.

use std::collections::BTreeMap;

use serde_json::json;

use super::{About, Finding};
use crate::trace::Target;

pub(super) fn find(about: &About<'_>) -> Vec<Finding> {
    let mut by_name: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for span in &about.process.tables.meta().pthreads {
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
