//! A difference for people.

use super::change::{Change, Kind};
use super::parting::Call;
use super::telling::{p_text, signed};
use super::{Args, Difference, tally};
use crate::analysis::{Ink, Listing, Out, brief_name, nanoseconds, short_name, thousands};
use crate::top::percent;

pub(super) fn print(args: &Args, it: &Difference, out: &mut Out) -> anyhow::Result<()> {
    let terminal = out.terminal();
    if let Some(words) = it.standings.0.parting(&it.standings.1) {
        out.line(&terminal.ink(Ink::Bad, &words))?;
    }
    match &it.cause {
        Some(cause) => {
            let mut words = cause.words.clone();
            for name in &cause.names {
                words = words.replace(name.as_str(), &short_name(name, terminal.width / 2));
            }
            let ink = if it.all_ns.1 >= it.all_ns.0 { Ink::Bad } else { Ink::Good };
            for line in terminal.wrap(&words, 0) {
                out.line(&terminal.ink(ink, &line))?;
            }
        }
        None if it.partings.is_empty() => out.line("No difference: the same calls, and times that are alike.")?,
        None => out.line("Times are alike; the calls are not the same.")?,
    }
    let runs = |count: usize| if count == 1 { "1 run".to_owned() } else { format!("{count} runs") };
    let time = |ns: f64| nanoseconds(ns.round() as u64);
    out.line("")?;
    let sides = [
        ("A", &args.a, it.runs.0, it.all_ns.0, &it.standings.0),
        ("B", &args.b, it.runs.1, it.all_ns.1, &it.standings.1),
    ];
    for (side, path, count, ns, standing) in sides {
        let end = standing.words();
        out.line(&format!("{side}  {}, {}, {} in all threads{end}", path.display(), runs(count), time(ns)))?;
    }
    for (side, _, _, _, standing) in sides {
        if let Some(doubts) = standing.doubts() {
            let words = format!("In {side} {doubts}: what differs may not have been recorded, and nothing more.");
            terminal.wrap(&words, 0).iter().try_for_each(|line| out.line(&terminal.ink(Ink::Doubtful, line)))?;
        }
    }
    let kinds: Vec<String> =
        tally(&it.changes).iter().map(|(kind, count)| format!("{count} {}", kind.word())).collect();
    let changed: Vec<&Change> = it.changes.iter().filter(|it| it.kind != Kind::Same).collect();
    if !changed.is_empty() {
        out.line("")?;
        out.title(&format!("Functions: {}", kinds.join(", ")))?;
        let has_p = it.changes.iter().any(|it| it.p.is_some());
        let mut titles = vec!["function", ">difference", ">share A", ">share B", ">calls A", ">calls B"];
        if has_p {
            titles.push(">p");
        }
        titles.push("change");
        let mut listing = Listing::new(&titles);
        for change in changed.iter().take(args.limit) {
            let share = |ns: f64, all: f64| percent(if all > 0.0 { ns / all } else { 0.0 });
            let mut cells = vec![
                change.name.clone(),
                signed(change.delta_ns()),
                share(change.ns.0, it.all_ns.0),
                share(change.ns.1, it.all_ns.1),
                thousands(change.calls.0.round() as u64),
                thousands(change.calls.1.round() as u64),
            ];
            if has_p {
                cells.push(change.p.map(p_text).unwrap_or_default());
            }
            cells.push(change.word().to_owned());
            listing.row(cells);
        }
        listing.shorten(0, terminal.width).print(out)?;
        if changed.len() > args.limit {
            out.line(&format!("and {} more; --limit lists them", changed.len() - args.limit))?;
            one_sided(&changed[args.limit..], out)?;
        }
    }
    paths(args, it, out)?;
    order(it, out)?;
    if let Some(cause) = &it.cause {
        let name = brief_name(&cause.function).replace('\'', "?");
        out.line("")?;
        let next = format!("ada tree --function '{name}' {}", args.b.display());
        out.line(&format!("next: {}", terminal.ink(Ink::Typed, &next)))?;
    }
    Ok(())
}

/// Names functions that only one side has: however little time they take, they may be the cause.
fn one_sided(changed: &[&Change], out: &mut Out) -> anyhow::Result<()> {
    /// Names that are told.
    const MOST: usize = 8;
    for kind in [Kind::New, Kind::Gone] {
        let names: Vec<String> = changed.iter().filter(|it| it.kind == kind).map(|it| brief_name(&it.name)).collect();
        if !names.is_empty() {
            let more = if names.len() > MOST { ", …" } else { "" };
            let words = format!("{}: {}{more}", kind.word(), names[..names.len().min(MOST)].join(", "));
            out.terminal().wrap(&words, 2).iter().try_for_each(|line| out.line(line))?;
        }
    }
    Ok(())
}

/// Call paths that only one side has, or whose counts are not the same.
fn paths(args: &Args, it: &Difference, out: &mut Out) -> anyhow::Result<()> {
    let changed: Vec<_> = it.paths.iter().filter(|it| it.calls.0 != it.calls.1).collect();
    // What is below a path that is new is new as well.
    let is_new = |path: &str| it.paths.iter().any(|it| it.path == path && (it.calls.0 == 0.0 || it.calls.1 == 0.0));
    let tops: Vec<_> =
        changed.iter().filter(|it| it.path.rsplit_once(';').is_none_or(|(above, _)| !is_new(above))).collect();
    if tops.is_empty() {
        return Ok(());
    }
    out.line("")?;
    out.title("Paths of calls that changed")?;
    let terminal = out.terminal();
    for it in tops.iter().take(args.limit) {
        let (sign, ink) = match it.calls {
            (0.0, _) => ("+", Ink::Bad),
            (_, 0.0) => ("-", Ink::Good),
            _ => ("~", Ink::Doubtful),
        };
        let count = |calls: f64| thousands(calls.round() as u64);
        let numbers =
            format!("{} → {} calls, {}", count(it.calls.0), count(it.calls.1), signed(it.total_ns.1 - it.total_ns.0));
        let path: Vec<String> = it.path.split(';').map(brief_name).collect();
        let room = terminal.width.saturating_sub(numbers.chars().count() + 5).max(20);
        let line = format!("{sign} {}   {numbers}", ending(&path.join(" > "), room));
        out.line(&terminal.ink(ink, &line))?;
    }
    if tops.len() > args.limit {
        out.line(&format!("and {} more; --limit lists them", tops.len() - args.limit))?;
    }
    Ok(())
}

/// The end of a path says most.
fn ending(text: &str, room: usize) -> String {
    let length = text.chars().count();
    if length <= room {
        return text.to_owned();
    }
    format!("…{}", text.chars().skip(length - room + 1).collect::<String>())
}

fn order(it: &Difference, out: &mut Out) -> anyhow::Result<()> {
    out.line("")?;
    out.title("Where the order of calls parts")?;
    if it.partings.is_empty() {
        let threads = match it.same_threads {
            0 => return out.line("Not compared: no thread of A has a counterpart in B."),
            1 => "1 thread makes".to_owned(),
            more => format!("{} threads make", thousands(more as u64)),
        };
        return out.line(&format!("Nowhere: {threads} the same calls in the same order."));
    }
    /// Threads that are told of.
    const MOST: usize = 4;
    for parting in it.partings.iter().take(MOST) {
        let around: Vec<String> = parting.around.iter().map(|it| brief_name(it)).collect();
        let within =
            if around.is_empty() { String::new() } else { format!(", in {}", ending(&around.join(" > "), 60)) };
        let common = thousands(parting.common);
        let terminal = out.terminal();
        for line in terminal.wrap(&format!("thread {}: after {common} equal calls{within}", parting.thread), 0) {
            out.line(&line)?;
        }
        for (side, call) in [("last", &parting.last), ("A", &parting.a), ("B", &parting.b)] {
            match call {
                Some(call) => one_call(side, call, out)?,
                None if side == "last" => (),
                None => out.line(&format!("  {side:<5} makes no more calls"))?,
            }
        }
    }
    match it.partings.len().saturating_sub(MOST) {
        0 => Ok(()),
        1 => out.line("and 1 more thread"),
        more => out.line(&format!("and {more} more threads")),
    }
}

fn one_call(side: &str, call: &Call, out: &mut Out) -> anyhow::Result<()> {
    let terminal = out.terminal();
    let room = terminal.width.saturating_sub(call.reference.len() + 11).max(16);
    let reference = terminal.ink(Ink::Typed, &call.reference);
    out.line(&format!("  {side:<5} {}   {reference}", short_name(&call.name, room)))?;
    if !call.values.is_empty() {
        let values: Vec<String> = call.values.iter().map(|(name, value)| format!("{name} {value}")).collect();
        for line in terminal.wrap(&values.join(", "), 8) {
            out.line(&format!("        {line}"))?;
        }
    }
    Ok(())
}
