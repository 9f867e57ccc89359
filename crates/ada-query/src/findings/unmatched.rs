//! Calls that did not simply return, by reason.

use std::collections::BTreeMap;

use ada_span::table::{Column, Columns};
use ada_span::{Outcome, Reason, Status};
use serde_json::json;

use super::{About, Finding};
use crate::error::QueryError;
use crate::predicate::Ready;
use crate::scan::Matching;

pub(super) fn find(about: &About<'_>) -> Result<Vec<Finding>, QueryError> {
    let mut counts: BTreeMap<(Status, Reason), u64> = BTreeMap::new();
    for &(byte, count) in about.process.tables.meta().threads.iter().flat_map(|it| &it.outcomes) {
        if let Some(outcome) = Outcome::from_byte(byte) {
            *counts.entry((outcome.status, outcome.reason)).or_default() += count;
        }
    }
    let mut found = Vec::new();
    for ((status, reason), count) in counts {
        let Some((score, rationale)) = worth(status, reason) else { continue };
        let words =
            if reason == Reason::None { String::new() } else { format!(": {}", reason.word().replace('_', " ")) };
        let calls = if count == 1 { "1 call is".to_owned() } else { format!("{count} calls are") };
        let title = format!("{calls} {status}{words}");
        let mut finding = about.finding("unmatched", score, title, rationale);
        finding.evidence = example(about, status, reason)?;
        finding.facts = json!({ "status": status.word(), "reason": reason.word(), "count": count });
        found.push(finding);
    }
    Ok(found)
}

/// What is not just how programs are (tail calls, calls that are open when a program exits, and calls that return after long), or
/// recordings: calls that began before an attach, before what a ring has kept, or before the fork that made the process.
fn worth(status: Status, reason: Reason) -> Option<(f64, &'static str)> {
    match (status, reason) {
        (Status::Completed, Reason::Timeout) => None,
        (_, Reason::Timeout) => Some((35.0, "They took longer than the analysis's timeout.")),
        (Status::Unmatched, Reason::Exception) => {
            Some((18.0, "An exception or a panic went through them; context is the throw."))
        }
        (Status::Unmatched, Reason::Unwind) => {
            Some((12.0, "They were gone without a return: by longjmp, pthread_exit, or in a way that is not known."))
        }
        (Status::Unmatched, Reason::Dropped) => {
            Some((30.0, "Their other half was lost to counted drops: times around them are not to be trusted."))
        }
        (Status::Unmatched, Reason::None) => Some((8.0, "One of their two ends is missing, and nothing explains it.")),
        (Status::Canceled, _) => Some((12.0, "Their thread was cancelled.")),
        _ => None,
    }
}

fn example(about: &About<'_>, status: Status, reason: Reason) -> Result<Vec<String>, QueryError> {
    let tables = &about.process.tables;
    let holds =
        |byte: usize| Outcome::from_byte(byte as u8).is_some_and(|it| it.status == status && it.reason == reason);
    let ready = Ready::Outcome((0..Outcome::BYTES).map(holds).collect());
    let mut matching = Matching::new(tables, ready, 0..tables.meta().blocks.len());
    let Some((block, rows)) = matching.next(tables, about.cancel)? else { return Ok(Vec::new()) };
    let mut columns = Columns::new();
    tables.read(block, |column| column == Column::OpenSeq, &mut columns)?;
    let thread = tables.block(block).thread;
    let rows = rows.unwrap_or_else(|| vec![0]);
    Ok(rows.iter().take(3).map(|row| about.frame(thread, columns.seq(usize::from(*row)))).collect())
}
