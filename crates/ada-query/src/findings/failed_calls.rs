//! Calls that failed, as far as values were captured.

use std::collections::{BTreeMap, HashMap};

use ada_event::FunctionId;
use serde_json::json;

use super::{About, Finding};
use crate::captured_calls::CapturedCalls;
use crate::error::QueryError;
use crate::predicate::Ready;

/// Of what fails this often, and not less than every other time, a program may want to know.
const OFTEN: u64 = 10;
/// Errors that are seldom meant.
const GRAVE: [&str; 9] = ["ENOSPC", "EMFILE", "ENFILE", "ENOMEM", "EIO", "EROFS", "EDQUOT", "EFBIG", "ENOBUFS"];
/// Errors that a user can do something about.
const REFUSED: [&str; 8] =
    ["EACCES", "EPERM", "ECONNREFUSED", "ETIMEDOUT", "EHOSTUNREACH", "ENETUNREACH", "EADDRINUSE", "ECONNRESET"];

#[derive(Default)]
struct Failures {
    count: u64,
    evidence: Vec<String>,
    /// The first call.
    example: Option<String>,
}

pub(super) fn find(about: &About<'_>) -> Result<Vec<Finding>, QueryError> {
    let mut calls: HashMap<FunctionId, u64> = HashMap::new();
    let mut failures: BTreeMap<(FunctionId, String), Failures> = BTreeMap::new();
    let mut captured = CapturedCalls::new(about.trace, about.number, Ready::Always(true));
    while let Some(found) = captured.next(about.trace, about.cancel)? {
        for (span, values) in found {
            let Some(function) = span.function(about.trace) else { continue };
            *calls.entry(function).or_default() += 1;
            let Some((_, error)) = values.error() else { continue };
            let found = failures.entry((function, error.to_owned())).or_default();
            found.count += 1;
            if found.evidence.len() < 5 {
                found.evidence.push(span.reference(about.trace).to_string());
            }
            found.example.get_or_insert_with(|| values.line());
        }
    }
    let finding = |((function, error), failures): ((FunctionId, String), Failures)| {
        let all = calls.get(&function).copied().unwrap_or(0);
        let is_often = failures.count >= OFTEN && 2 * failures.count >= all;
        let score = match error.as_str() {
            error if GRAVE.contains(&error) => 60.0,
            error if REFUSED.contains(&error) => 45.0,
            _ if is_often => 15.0,
            _ => return None,
        };
        let name = about.process.names.name(function);
        let example = failures.example.unwrap_or_default();
        let title = match failures.count {
            1 => example.clone(),
            count => format!("{name} failed {count} times with {error}: {example}"),
        };
        let rationale = format!("{} of {all} calls of {name} failed with {error}.", failures.count);
        let mut finding = about.finding("failed_calls", score, title, rationale);
        finding.function = Some(name);
        finding.facts = json!({ "error": error, "failed": failures.count, "calls": all, "example": example });
        finding.evidence = failures.evidence;
        Some(finding)
    };
    Ok(failures.into_iter().filter_map(finding).collect())
}
