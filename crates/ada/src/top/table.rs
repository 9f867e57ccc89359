//! Functions as a table: names first, then shares as bars, then times.

use ada_query::Unrecorded;
use ada_span::Status;

use super::uses::{OutsideModule, Use, Uses, program_of};
use super::{Sort, longest};
use crate::analysis::{
    Ink, OpenedSession, Out, Target, bar, brief_name, corrected_text, nanoseconds, short_name, source_text, thousands,
};

/// Columns of a bar that is whole.
const BAR: usize = 10;
/// Columns that a name has at least.
const SHORTEST_NAME: usize = 18;
/// What functions outside have to take of all time to get a line, and of who called them.
const WORTH_A_LINE: f64 = 0.005;

/// Prints functions, each with where its time went outside.
pub(crate) fn print(
    opened: &OpenedSession,
    out: &mut Out,
    uses: &Uses<'_>,
    page: &[Use<'_>],
    sort: Sort,
    with_lines: bool,
) -> anyhow::Result<()> {
    let terminal = out.terminal();
    let is_corrected = page.iter().any(|it| it.corrected.is_some());
    let has_programs = uses.busy_ns.len() > 1;
    // What there is room for beside the name.
    let is_roomy = terminal.width >= 120;
    let mut titles = vec!["share", "", "self", "total", "calls"];
    match sort {
        _ if is_roomy => titles.extend(["p50", "p95", "p99", "max"]),
        Sort::P99 => titles.push("p99"),
        Sort::Max => titles.push("max"),
        _ => (),
    }
    if is_corrected {
        titles.splice(4..4, ["corrected self", "corrected total"]);
    }
    if let Some(state) = sort.state() {
        titles.splice(2..2, [state.word()]);
    }
    if terminal.width >= 180 {
        titles.extend(["module", "reference", "longest call"]);
    }
    let all = uses.all_ns.max(1) as f64;
    let mut rows: Vec<(Line<'_>, Vec<String>)> = Vec::new();
    for it in page {
        let names = &opened.processes()[it.process].names;
        let stats = &it.stats;
        let mut name = names.name(stats.function);
        if has_programs {
            name = format!("{name} [{}]", program_of(opened, it));
        }
        let cell = |title: &&str| match *title {
            "share" => bar(it.self_ns() as f64 / all, BAR),
            "" => percent(it.self_ns() as f64 / all),
            // Nobody knows when its calls ended.
            "self" | "total" if is_untimed(it) => "?".to_owned(),
            "self" => nanoseconds(stats.self_ns.saturating_add(it.outside_ns())),
            // What a function goes on in by a jump is in its self time here, and its call has ended by then.
            "total" => nanoseconds(stats.total_ns.max(stats.self_ns.saturating_add(it.outside_ns()))),
            "calls" => calls(opened, it),
            "running" | "ready" | "blocked" => {
                it.states.zip(sort.state()).map(|(states, state)| nanoseconds(states.of(state))).unwrap_or_default()
            }
            "corrected self" => corrected_text(it.corrected_self()),
            "corrected total" => corrected_text(it.corrected.map(|it| it.total)),
            "module" => names.module(stats.function),
            "reference" => opened.processes()[it.process].refer(Target::Function(stats.function)),
            "longest call" => longest(opened, it).unwrap_or_default(),
            "max" if stats.timed > 0 => nanoseconds(stats.max_ns),
            "max" => "-".to_owned(),
            quantile => {
                let share = if quantile == "p50" {
                    0.5
                } else if quantile == "p95" {
                    0.95
                } else {
                    0.99
                };
                stats.quantile(share).map_or_else(|| "-".to_owned(), nanoseconds)
            }
        };
        let mut cells: Vec<String> = titles.iter().map(cell).collect();
        if with_lines {
            cells.push(source_text(opened.source(it.process, stats.function)));
        }
        rows.push((Line::Function(name), cells));
        rows.extend(outside_rows(&it.outside, all, &titles));
    }
    let mut widths: Vec<usize> = titles.iter().map(|title| title.chars().count()).collect();
    for (_, cells) in &rows {
        widths.iter_mut().zip(cells).for_each(|(width, cell)| *width = (*width).max(cell.chars().count()));
    }
    let used: usize = widths.iter().map(|width| width + 2).sum();
    let room = terminal.width.saturating_sub(used).max(SHORTEST_NAME);
    let longest = rows.iter().map(|(line, _)| line.length()).max().unwrap_or(0).max("function".len());
    let room = room.min(longest);
    let mut head = format!("{:<room$}", "function");
    for (title, width) in titles.iter().zip(&widths) {
        let is_left = matches!(*title, "share" | "module" | "reference");
        head.push_str(&if is_left { format!("  {title:<width$}") } else { format!("  {title:>width$}") });
    }
    let head = if with_lines { format!("{head}  source") } else { head };
    out.line(&terminal.ink(Ink::Faint, head.trim_end()))?;
    let mut is_cut = false;
    for (line, cells) in rows {
        is_cut |= !line.is_outside() && line.length() > room;
        let mut text = format!("{:<room$}", line.text(room));
        for (at, cell) in cells.iter().enumerate() {
            let width = widths.get(at).copied().unwrap_or(0);
            let is_left = titles.get(at).is_none_or(|title| matches!(*title, "module" | "reference"));
            text.push_str(&if is_left { format!("  {cell:<width$}") } else { format!("  {cell:>width$}") });
        }
        let text = text.trim_end();
        out.line(&if line.is_outside() { terminal.ink(Ink::Faint, text) } else { text.to_owned() })?;
    }
    if is_cut { out.cut_note() } else { Ok(()) }
}

/// Whether a function is hooked at its entry only: its time is in that of its callers.
fn is_untimed(it: &Use<'_>) -> bool {
    it.stats.by_status[Status::EntryOnly as usize] == it.stats.spans && it.outside_ns() == 0
}

/// How many calls were recorded, and of how many, where others were only counted.
fn calls(opened: &OpenedSession, it: &Use<'_>) -> String {
    let recorded = it.stats.spans;
    match opened.processes()[it.process].switched.of_function(it.stats.function) {
        Some(Unrecorded { counted, is_inexact }) if counted > 0 || is_inexact => {
            let more = if is_inexact { "+" } else { "" };
            format!("{} of {}{more}", thousands(recorded), thousands(recorded.saturating_add(counted)))
        }
        _ => thousands(recorded),
    }
}

/// What is in the first column.
enum Line<'a> {
    Function(String),
    Outside(&'a OutsideModule),
}

impl Line<'_> {
    fn length(&self) -> usize {
        match self {
            Self::Function(name) => name.chars().count(),
            Self::Outside(module) => outside_name(module, usize::MAX).chars().count(),
        }
    }

    fn text(&self, room: usize) -> String {
        match self {
            Self::Function(name) => short_name(name, room),
            Self::Outside(module) => outside_name(module, room),
        }
    }

    fn is_outside(&self) -> bool {
        matches!(self, Self::Outside(_))
    }
}

fn outside_rows<'a>(outside: &'a [OutsideModule], all: f64, titles: &[&str]) -> Vec<(Line<'a>, Vec<String>)> {
    let worth = outside.iter().filter(|it| it.charged_ns() as f64 / all >= WORTH_A_LINE);
    let row = |it: &'a OutsideModule| {
        let cell = |title: &&str| match *title {
            "" => percent(it.charged_ns() as f64 / all),
            "self" => nanoseconds(it.ns()),
            "corrected self" => corrected_text(it.corrected()),
            "calls" => thousands(it.calls()),
            _ => String::new(),
        };
        (Line::Outside(it), titles.iter().map(cell).collect())
    };
    worth.map(row).collect()
}

/// `… in libc (read, memcpy)`, with as many names as there is room for.
pub(crate) fn outside_name(outside: &OutsideModule, room: usize) -> String {
    /// Names beyond these tell nothing.
    const MOST: usize = 4;
    let begin = format!("  … in {}", outside.module);
    let mut names = String::new();
    for (at, (name, _)) in outside.functions.iter().enumerate() {
        let name = brief_name(name);
        let separator = if at == 0 { "" } else { ", " };
        let rest = if at + 1 < outside.functions.len() { 3 } else { 0 };
        let length = begin.chars().count() + names.chars().count() + separator.len() + name.chars().count() + 3 + rest;
        if at >= MOST || length > room {
            if at > 0 {
                names.push_str(", …");
            }
            break;
        }
        names.push_str(separator);
        names.push_str(&name);
    }
    short_name(&if names.is_empty() { begin } else { format!("{begin} ({names})") }, room)
}

/// `12.3 %`
pub(crate) fn percent(share: f64) -> String {
    format!("{:.1} %", share * 100.0)
}

#[cfg(test)]
mod tests {
    use super::super::uses::OutsideCalls;
    use super::*;

    #[test]
    fn names_outside_fill_the_room() {
        let functions = ["read", "memcpy", "pthread_mutex_lock", "a", "b", "c"];
        let functions =
            functions.map(|it| (it.to_owned(), OutsideCalls { calls: 1, ns: 1, ..OutsideCalls::default() })).to_vec();
        let outside = OutsideModule { module: "libc".into(), functions };
        assert_eq!(outside_name(&outside, 99), "  … in libc (read, memcpy, pthread_mutex_lock, a, …)");
        assert_eq!(outside_name(&outside, 30), "  … in libc (read, memcpy, …)");
        assert_eq!(outside_name(&outside, 12), "  … in libc");
        for room in 11..60 {
            assert!(outside_name(&outside, room).chars().count() <= room, "{room}");
        }
    }
}
