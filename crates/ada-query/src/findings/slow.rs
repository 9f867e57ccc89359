//! Calls that took much longer than others of the same function, and functions that take most of the time.

use ada_span::FunctionStats;
use ada_span::table::{Column, Columns};
use serde_json::json;

use super::ownership::own_functions;
use super::{About, Finding, nanoseconds};
use crate::error::QueryError;
use crate::scan::read_frame;
use crate::walk::find;

/// A call this much longer than half of its function's is worth a look.
const OUTLIER: u64 = 10;
/// Functions with fewer calls have no usual duration to speak of.
const ENOUGH_CALLS: u64 = 10;
/// Shorter calls are not worth a look, whatever their function's others are like.
const SHORTEST_OUTLIER: u64 = 100_000;
/// Outliers that are looked into.
const MOST_LOOKED_INTO: usize = 8;
/// A function that takes this share of all time in itself is hot.
const HOT_SHARE: f64 = 0.25;

pub(super) fn find(about: &About<'_>) -> Result<Vec<Finding>, QueryError> {
    let meta = about.process.tables.meta();
    let is_own = own_functions(about.trace, about.process);
    let life = about.lifetime().max(1) as f64;
    let mut found = Vec::new();
    let is_outlier = |it: &FunctionStats| {
        it.timed >= ENOUGH_CALLS
            && it.max_ns >= SHORTEST_OUTLIER
            && it.quantile(0.5).is_some_and(|usual| it.max_ns / OUTLIER >= usual.max(1))
    };
    let outliers = meta.functions.iter().enumerate().filter(|(_, it)| is_outlier(it));
    let mut outliers: Vec<(usize, &FunctionStats)> = outliers.collect();
    // The program's own first: a slow read or malloc shows in whoever called it.
    outliers.sort_by_key(|(place, it)| (!is_own[*place], std::cmp::Reverse(it.max_ns), *place));
    for (place, it) in outliers.into_iter().take(MOST_LOOKED_INTO) {
        let name = about.name(place);
        let usual = it.quantile(0.5).unwrap_or(0);
        let (thread, seq) = (it.longest.0 as usize, it.longest.1);
        let inside = hottest_inside(about, thread, seq, &is_own)?;
        let mut title =
            format!("{name} took {} once, where half of its calls take {}", nanoseconds(it.max_ns), nanoseconds(usual));
        let mut function = name.clone();
        if let Some((hottest, own_ns)) = inside.filter(|(hottest, _)| *hottest != place) {
            let culprit = about.name(hottest);
            title.push_str(&format!("; {} of it in {culprit}", nanoseconds(own_ns)));
            if is_own[hottest] && own_ns * 2 > it.max_ns {
                function = culprit;
            }
        }
        let slow = (it.max_ns as f64 / life).min(1.0);
        let score = if is_own[place] { 45.0 } else { 20.0 } + 25.0 * slow.sqrt();
        let rationale = format!(
            "Of {} calls, 99 % took {} at most. `ada ask why-slow {}` looks into the slowest.",
            it.timed,
            nanoseconds(it.quantile(0.99).unwrap_or(0)),
            about.frame(thread, seq),
        );
        let mut finding = about.finding("slow_outlier", score, title, rationale);
        finding.function = Some(function);
        finding.evidence = vec![about.frame(thread, seq)];
        finding.facts = json!({
            "outlier": name, "max_ns": it.max_ns, "p50_ns": usual, "p99_ns": it.quantile(0.99), "calls": it.spans,
        });
        found.push(finding);
    }
    found.extend(hot(about, &is_own));
    Ok(found)
}

/// The function with the most time in itself inside a call, and how much.
fn hottest_inside(
    about: &About<'_>,
    thread: usize,
    seq: u64,
    is_own: &[bool],
) -> Result<Option<(usize, u64)>, QueryError> {
    let tables = &about.process.tables;
    let Some(values) = read_frame(tables, thread, seq)? else { return Ok(None) };
    let number = about.trace.processes().iter().position(|it| std::ptr::eq(it, about.process)).unwrap_or(0);
    let extent = find::below(about.trace, number, thread, &values)?;
    let mut sums = vec![0_u64; is_own.len()];
    let mut columns = Columns::new();
    // Time that a library takes is put down to the program's function that called it.
    let root = values[Column::Function as usize] as usize;
    sums[root] = values[Column::SelfTime as usize];
    let mut open: Vec<(u64, usize)> = vec![(seq, root)];
    for block in tables.blocks_of(thread) {
        let entry = tables.block(block);
        if entry.last_seq < *extent.seqs.start() || entry.first_seq > *extent.seqs.end() {
            continue;
        }
        about.cancel.check()?;
        tables.read(block, |_| true, &mut columns)?;
        for row in 0..columns.rows() {
            let row_seq = columns.at(Column::OpenSeq, row);
            if !extent.seqs.contains(&row_seq) {
                continue;
            }
            let parent = row_seq.wrapping_sub(columns.at(Column::ParentDelta, row));
            while open.last().is_some_and(|(top, _)| *top != parent) && open.len() > 1 {
                open.pop();
            }
            let function = columns.at(Column::Function, row) as usize;
            let blamed = if is_own[function] { function } else { open.last().map_or(function, |(_, it)| *it) };
            sums[blamed] = sums[blamed].saturating_add(columns.at(Column::SelfTime, row));
            open.push((row_seq, blamed));
        }
    }
    Ok(sums.into_iter().enumerate().max_by_key(|(_, sum)| *sum))
}

/// The program's own functions that take a large share of the time in themselves.
fn hot(about: &About<'_>, is_own: &[bool]) -> Vec<Finding> {
    let meta = about.process.tables.meta();
    let all: u64 = meta.functions.iter().map(|it| it.self_ns).fold(0, u64::saturating_add);
    let mut found = Vec::new();
    for (place, it) in meta.functions.iter().enumerate().filter(|(place, _)| is_own[*place]) {
        let share = it.self_ns as f64 / all.max(1) as f64;
        if share >= HOT_SHARE && it.self_ns >= SHORTEST_OUTLIER {
            let name = about.name(place);
            let title = format!("{name} takes {:.0} % of all time in itself", share * 100.0);
            let rationale = format!("{} in {} calls.", nanoseconds(it.self_ns), it.spans);
            let mut finding = about.finding("hot_function", 20.0 + 30.0 * share, title, rationale);
            finding.function = Some(name);
            finding.evidence = vec![about.frame(it.longest.0 as usize, it.longest.1)];
            finding.facts = json!({ "self_ns": it.self_ns, "calls": it.spans, "share": share });
            found.push(finding);
        }
    }
    found
}
