//! Recursion, and tiny functions that are called all the time.

use ada_event::EventSeq;
use ada_span::table::FunctionIndex;
use ada_span::{AnomalyKind, FunctionStats, ThreadIndex};
use serde_json::json;

use super::survey::Survey;
use super::{About, Finding, nanoseconds};

/// Open calls of one function from which on recursion is worth a look.
const DEEP: u32 = 1000;
/// Calls of a function, and their share of all, from which on it is hot.
const MANY_CALLS: u64 = 10_000;
const HOT_SHARE: f64 = 0.1;
/// A function whose calls take less than this is tiny, in nanoseconds.
const TINY: u64 = 250;

pub(super) fn find(about: &About<'_>, survey: &Survey) -> Vec<Finding> {
    let mut found = recursion(about, survey);
    found.extend(hot_tiny(about, &survey.is_own));
    found
}

fn recursion(about: &About<'_>, survey: &Survey) -> Vec<Finding> {
    let mut deep: Vec<(FunctionIndex, u32, (ThreadIndex, EventSeq))> = survey
        .nested
        .iter()
        .zip((0..).map(FunctionIndex))
        .filter(|((count, _), index)| *count >= DEEP && survey.is_own.get(index.as_usize()).is_some_and(|own| *own))
        .map(|(&(count, at), index)| (index, count, at))
        .collect();
    deep.sort_by_key(|(index, count, _)| (std::cmp::Reverse(*count), *index));
    let anomalies = &about.process.tables.meta().anomalies;
    let is_cut =
        |thread: ThreadIndex| anomalies.iter().any(|it| it.thread == thread && it.kind == AnomalyKind::TooDeep as u32);
    let finding = |(index, count, (thread, seq)): (FunctionIndex, u32, (ThreadIndex, EventSeq))| {
        let name = about.name(index);
        // Calls that were too deep to follow are no levels that are known.
        let least = if is_cut(thread) { "at least " } else { "" };
        let title = format!("{name} calls itself {least}{count} levels deep");
        let rationale =
            "Directly, or through others. A stack of 8 MB ends at some 100 000 levels, and earlier with large frames.";
        let score = 10.0 + f64::from(count).log10() * 8.0;
        let mut finding = about.finding("recursion", score, title, rationale);
        finding.function = Some(name);
        finding.evidence = vec![about.frame(thread, seq)];
        finding.facts = json!({ "levels": count, "at_least": is_cut(thread) });
        finding
    };
    deep.into_iter().take(3).map(finding).collect()
}

fn hot_tiny(about: &About<'_>, is_own: &[bool]) -> Vec<Finding> {
    let meta = about.process.tables.meta();
    let (_, unrecorded) = about.process.switched.sums();
    // Of how many calls these are a share is not known.
    if unrecorded.is_inexact {
        return Vec::new();
    }
    let counted = |it: &FunctionStats| about.process.switched.of_function(it.function).map_or(0, |it| it.counted);
    let calls = |it: &FunctionStats| it.spans.saturating_add(counted(it));
    let all = meta.functions.iter().map(|it| it.spans).fold(unrecorded.counted, u64::saturating_add);
    let cost = about.trace.manifest(about.process).and_then(|it| it.hook_cost_ns.as_ref()).map(|it| it.pair);
    let mut hot: Vec<_> = meta
        .functions
        .iter()
        .zip((0..).map(FunctionIndex))
        .filter(|(it, index)| {
            is_own[index.as_usize()]
                && calls(it) >= MANY_CALLS
                && calls(it) as f64 / all.max(1) as f64 >= HOT_SHARE
                && it.quantile(0.5).is_some_and(|usual| usual < TINY)
        })
        .collect();
    hot.sort_by_key(|(it, index)| (std::cmp::Reverse(calls(it)), *index));
    let finding = |(it, index): (&FunctionStats, FunctionIndex)| {
        let name = about.name(index);
        let calls = calls(it);
        let share = calls as f64 / all.max(1) as f64;
        let usual = nanoseconds(it.quantile(0.5).unwrap_or(0));
        let title = format!("{name} makes {:.0} % of all calls ({}), {usual} each", share * 100.0, calls);
        let hooks = cost.map_or_else(String::new, |pair| {
            format!(
                " Hooks alone took about {} of the traced program's time for it.",
                nanoseconds((it.spans as f64 * pair) as u64)
            )
        });
        let rationale = format!("So short a call costs as much as what it does.{hooks}");
        let mut finding = about.finding("hot_tiny_function", 8.0 + 20.0 * share, title, rationale);
        finding.function = Some(name);
        finding.evidence = vec![about.process.refer(crate::Target::Function(it.function))];
        finding.facts = json!({ "calls": calls, "share": share, "p50_ns": it.quantile(0.5) });
        finding
    };
    hot.into_iter().take(5).map(finding).collect()
}
