//! Functions whose calls take longer the later they come: what goes through all that came before, each time.

use std::ops::Range;

use ada_span::ThreadIndex;
use ada_span::table::{Column, Columns, FunctionIndex};
use serde_json::json;

use super::survey::Survey;
use super::{About, Finding, nanoseconds};
use crate::error::QueryError;

/// Parts of a function's calls that are compared.
const PARTS: usize = 8;
/// Calls in each part, at least; fewer have no usual duration.
const ENOUGH_CALLS: usize = 30;
/// How much longer the last part's calls have to take than the first part's.
const GROWTH: u64 = 4;
/// How much shorter a part's calls may be than those of a part before, in percent: times vary.
const SLACK: u64 = 10;
/// Pairs of parts, of all 28, of which the later one may be shorter still: a machine that has other things to do slows a part down.
const MOST_EXCEPTIONS: usize = 4;
/// A function's share of the process's life, in percent, from which on it matters.
const SHARE: u64 = 20;
/// Functions that are looked at, and blocks of a thread that are read: a long trace is sampled.
const MOST_FUNCTIONS: usize = 8;
const MOST_BLOCKS: usize = 256;

pub(super) fn find(about: &About<'_>, survey: &Survey) -> Result<Option<Finding>, QueryError> {
    let meta = about.process.tables.meta();
    let life = about.lifetime().max(1);
    let is_candidate = |index: FunctionIndex| {
        let (it, at) = (&meta.functions[index.as_usize()], index.as_usize());
        // Calls of a recursive function hold each other.
        survey.is_own[at]
            && survey.nested[at].0 == 1
            && it.timed >= (PARTS * ENOUGH_CALLS) as u64
            && it.total_ns.saturating_mul(100) / life >= SHARE
    };
    let mut candidates: Vec<FunctionIndex> =
        (0..meta.functions.len() as u32).map(FunctionIndex).filter(|it| is_candidate(*it)).collect();
    // Whoever calls a growing function grows too: the one that is called most is nearest to the cause.
    candidates.sort_by_key(|it| (std::cmp::Reverse(meta.functions[it.as_usize()].spans), *it));
    candidates.truncate(MOST_FUNCTIONS);
    for index in candidates {
        // Threads have an order of calls each; the one with the longest call of the function stands for it.
        let thread = meta.functions[index.as_usize()].longest.0;
        if let Some(medians) = medians(about, thread, index)?.filter(grows) {
            return Ok(Some(finding(about, index, &medians, life)));
        }
    }
    Ok(None)
}

fn finding(about: &About<'_>, index: FunctionIndex, medians: &[u64; PARTS], life: u64) -> Finding {
    let it = &about.process.tables.meta().functions[index.as_usize()];
    let (name, first, last) = (about.name(index), medians[0], medians[PARTS - 1]);
    let title = format!(
        "{name} takes longer the more often it was called: {} at first, {} at last",
        nanoseconds(first),
        nanoseconds(last)
    );
    let rationale = format!(
        "The medians of {PARTS} parts of its calls, in their order, grow steadily. So do calls that go through all that came before; \
         their time in all grows with the square of their number. {} calls took {}.",
        it.spans,
        nanoseconds(it.total_ns)
    );
    let share = (it.total_ns as f64 / life as f64).min(1.0);
    let mut finding = about.finding("growing_cost", 52.0 + 20.0 * share, title, rationale);
    finding.function = Some(name);
    finding.evidence = vec![about.frame(it.longest.0, it.longest.1)];
    finding.facts = json!({ "medians_ns": medians, "calls": it.spans, "total_ns": it.total_ns });
    finding
}

/// The median duration of each part of a function's calls on a thread, in their order, if there are enough of them.
fn medians(
    about: &About<'_>,
    thread: ThreadIndex,
    function: FunctionIndex,
) -> Result<Option<[u64; PARTS]>, QueryError> {
    let tables = &about.process.tables;
    let blocks: Range<usize> = tables.blocks_of(thread);
    let mut durations: Vec<u64> = Vec::new();
    let mut columns = Columns::new();
    for block in blocks.clone().step_by(blocks.len().div_ceil(MOST_BLOCKS).max(1)) {
        about.cancel.check()?;
        tables.read(block, |column| matches!(column, Column::Function | Column::Duration), &mut columns)?;
        let rows = (0..columns.rows()).filter(|row| columns.function(*row) == function);
        durations.extend(rows.map(|row| columns.at(Column::Duration, row)));
    }
    if durations.len() < PARTS * ENOUGH_CALLS {
        return Ok(None);
    }
    let end_of = |part: usize| part * durations.len() / PARTS;
    let bounds: [(usize, usize); PARTS] = std::array::from_fn(|part| (end_of(part), end_of(part + 1)));
    Ok(Some(bounds.map(|(from, until)| {
        let part = &mut durations[from..until];
        let middle = part.len() / 2;
        *part.select_nth_unstable(middle).1
    })))
}

fn grows(medians: &[u64; PARTS]) -> bool {
    let shorter_than = |part: usize| {
        let least = medians[part] - medians[part].saturating_mul(SLACK) / 100;
        medians[part + 1..].iter().filter(|later| **later < least).count()
    };
    medians[PARTS - 1] >= medians[0].max(1).saturating_mul(GROWTH)
        && (0..PARTS).map(shorter_than).sum::<usize>() <= MOST_EXCEPTIONS
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_grows_steadily_is_told_from_what_varies_or_jumps_back() {
        assert!(grows(&[100, 200, 300, 400, 500, 600, 700, 800]));
        assert!(grows(&[100, 200, 300, 290, 500, 600, 700, 800]));
        assert!(grows(&[100, 200, 300, 700, 500, 600, 700, 800]), "one part was slowed down");
        assert!(!grows(&[100, 110, 120, 130, 140, 150, 160, 170]));
        assert!(!grows(&[100, 900, 300, 400, 500, 600, 700, 800]));
        assert!(!grows(&[0, 0, 0, 0, 0, 0, 0, 0]));
    }
}
