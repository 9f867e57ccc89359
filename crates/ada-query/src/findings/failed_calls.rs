//! Calls that failed, as far as values were captured.

use std::collections::{BTreeMap, HashMap};

use ada_event::FunctionId;
use serde_json::json;

use super::leaks::KEPT_BY_ALL;
use super::pairs::PAIRS;
use super::{About, Finding};
use crate::captured_calls::CapturedCalls;
use crate::error::QueryError;
use crate::ownership::own_functions;
use crate::predicate::Ready;
use crate::span::{FrameSpan, Span};

/// Of what fails this often, and not less than every other time, a program may want to know.
const OFTEN: u64 = 10;
/// Failures that come so often cost time.
const VERY_OFTEN: u64 = 500;
/// Errors that are seldom meant.
const GRAVE: [&str; 9] = ["ENOSPC", "EMFILE", "ENFILE", "ENOMEM", "EIO", "EROFS", "EDQUOT", "EFBIG", "ENOBUFS"];
/// Errors that say that an argument is wrong.
const MISTAKES: [&str; 4] = ["EINVAL", "EBADF", "EFAULT", "ENOTSOCK"];
/// Errors that a user can do something about.
const REFUSED: [&str; 8] =
    ["EACCES", "EPERM", "ECONNREFUSED", "ETIMEDOUT", "EHOSTUNREACH", "ENETUNREACH", "EADDRINUSE", "ECONNRESET"];

#[derive(Default)]
struct Failures {
    count: u64,
    evidence: Vec<String>,
    /// One of them, and who made it.
    example: Option<(String, Option<String>)>,
}

pub(super) fn find(about: &About<'_>) -> Result<Vec<Finding>, QueryError> {
    let is_own = own_functions(about.trace, about.process);
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
            // Of many, one from the second half: programs begin with files that they can do without.
            if found.count.is_power_of_two() {
                found.example = Some((values.line(), caller(about, &span, &is_own)?));
                found.evidence.insert(0, span.reference(about.trace).to_string());
                found.evidence.truncate(5);
            }
        }
    }
    let finding = |((function, error), failures): ((FunctionId, String), Failures)| {
        let all = calls.get(&function).copied().unwrap_or(0);
        let name = about.process.names.name(function);
        let is_half = 2 * failures.count >= all;
        if is_an_answer(&name, &error) {
            return None;
        }
        let is_mistake = is_half && MISTAKES.contains(&error.as_str());
        let score = match error.as_str() {
            error if GRAVE.contains(&error) => 60.0,
            _ if is_mistake => 50.0,
            error if REFUSED.contains(&error) => 45.0,
            _ if is_half && failures.count >= VERY_OFTEN => 55.0,
            _ if is_half && failures.count >= OFTEN => 15.0,
            _ => return None,
        };
        let (example, caller) = failures.example.unwrap_or_default();
        let title = match failures.count {
            1 => example.clone(),
            count => format!("{name} failed {count} times with {error}: {example}"),
        };
        let by = caller.map_or_else(String::new, |it| format!(", this one in {it}"));
        let rationale = format!("{} of {all} calls of {name} failed with {error}{by}.", failures.count);
        let mut finding = about.finding("failed_calls", score, title, rationale);
        finding.function = Some(name);
        finding.facts = json!({ "error": error, "failed": failures.count, "calls": all, "example": example });
        finding.evidence = failures.evidence;
        Some(finding)
    };
    Ok(failures.into_iter().filter_map(finding).collect())
}

/// Whether an error is an answer to what was asked: what is no link, no terminal, or has no place to go to.
fn is_an_answer(name: &str, error: &str) -> bool {
    match error {
        "EINVAL" => name.starts_with("readlink"),
        "ENOTTY" => matches!(name, "ioctl" | "isatty") || name.starts_with("tc"),
        "ESPIPE" => name.contains("seek"),
        _ => false,
    }
}

/// The nearest function of the program's own above a call.
fn caller(about: &About<'_>, span: &Span, is_own: &[bool]) -> Result<Option<String>, QueryError> {
    let mut at = span.as_frame().cloned();
    while let Some(frame) = at {
        if is_own[frame.function_index().as_usize()] {
            return Ok(Some(about.name(frame.function_index())));
        }
        at = match frame.parent_seq() {
            Some(parent) => FrameSpan::read(&about.process.tables, span.thread(about.trace), parent)?,
            None => None,
        };
    }
    Ok(None)
}

/// What was not given was not kept: leaks that failed calls explain are none. Where not all calls were captured, the others are
/// taken for the same.
pub(super) fn without_failed(mut leaks: Vec<Finding>, failed_calls: &[Finding]) -> Vec<Finding> {
    leaks.retain(|leak| {
        let Some(pair) = PAIRS.iter().find(|pair| leak.facts["what"] == pair.what) else { return true };
        let is_taker = |it: &&Finding| it.function.as_deref().is_some_and(|name| pair.takers.contains(&name));
        let number = |finding: &Finding, name: &str| finding.facts[name].as_u64().unwrap_or(0);
        let (taken, given) = (number(leak, "taken_in_all"), number(leak, "given_in_all"));
        !failed_calls.iter().filter(is_taker).any(|it| {
            let (calls, failed) = (number(it, "calls"), number(it, "failed"));
            let is_most = calls.saturating_mul(10) >= taken.saturating_mul(9);
            is_most && calls.saturating_sub(failed) <= given + given / 10 + KEPT_BY_ALL
        })
    });
    leaks
}
