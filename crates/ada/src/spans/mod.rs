//! `ada spans [SESSION]`.

mod filter;
mod order;
mod scan;

use serde_json::{Value, json};

use crate::analysis::OpenedSession;
use crate::analysis::{
    ListFormat, Listing, Out, Row, SessionArgs, csv_row, csv_titles, nanoseconds, source_text, with_tables,
};
use crate::exit::{Outcome, say};

use filter::FilterArgs;
use order::{Cursor, Sort};

/// The fields of a record that CSV has, in its order.
const FIELDS: [&str; 23] = [
    "span_id",
    "pid",
    "type",
    "runtime",
    "function_id",
    "name",
    "module",
    "file",
    "line",
    "parent_span_id",
    "start_ns",
    "end_ns",
    "duration_ns",
    "self_ns",
    "depth",
    "thread_id",
    "end_thread_id",
    "thread_ids",
    "status",
    "reason",
    "correlation_key",
    "evidence",
    "attributes",
];

const EXAMPLES: &str = "\
Examples:
  ada spans --sort duration --limit 20                     the longest calls
  ada spans --status unmatched --reason exception          what exceptions went through
  ada spans --runtime pthread --format json                threads, with who made and who joined them
  ada spans --function 'parse_*' --min-duration 1ms
  ada spans --since 1.5s --until 1.6s --thread 4711
  ada spans --limit 0 --format csv > spans.csv             everything

A call that is also the start routine of a thread or a callback is listed as such; --type frame lists all calls.
References in the first column are what `ada show` takes.";

#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    #[command(flatten)]
    session: SessionArgs,
    #[command(flatten)]
    filter: FilterArgs,
    /// In which order
    #[arg(long, value_enum, default_value_t = Sort::Start)]
    sort: Sort,
    /// Print so many; 0 prints all
    #[arg(long, value_name = "N", default_value_t = 50)]
    limit: usize,
    /// Go on where the list before ended, with the words that it gave
    #[arg(long, value_name = "CURSOR")]
    cursor: Option<Cursor>,
    /// Print file and line of functions in tables too
    #[arg(long)]
    lines: bool,
    /// How to print
    #[arg(long, value_enum, default_value_t = ListFormat::Table)]
    format: ListFormat,
}

pub(crate) fn run(args: &Args) -> anyhow::Result<Outcome> {
    if args.limit == 0 && args.sort != Sort::Start {
        anyhow::bail!("--sort {} needs a --limit; all spans are printed in the order of their start", args.sort.word());
    }
    if args.cursor.is_some_and(|cursor| cursor.sort != args.sort) {
        anyhow::bail!("the cursor is of another --sort");
    }
    let mut out = Out::new();
    let outcome = with_tables(&args.session, &mut out, |opened, out| {
        let filter = args.filter.prepare(opened)?;
        if args.limit == 0 {
            return print_all(args, opened, &filter, out);
        }
        let rows = scan::first(opened, &filter, args.sort, args.cursor, args.limit + 1)?;
        let next = (rows.len() > args.limit).then(|| Cursor::after(args.sort, opened, &rows[args.limit - 1]));
        print(args, opened, &rows[..rows.len().min(args.limit)], next, out)
    })?;
    out.finish()?;
    Ok(outcome)
}

fn print(args: &Args, opened: &OpenedSession, rows: &[Row], next: Option<Cursor>, out: &mut Out) -> anyhow::Result<()> {
    match args.format {
        ListFormat::Json => {
            let spans: Vec<Value> = rows.iter().map(|row| row.json(opened)).collect();
            out.json(&json!({ "spans": spans, "next_cursor": next.map(|it| it.to_string()) }))
        }
        ListFormat::Csv => {
            csv_titles(out, &FIELDS)?;
            rows.iter().try_for_each(|row| csv_row(out, &FIELDS, &row.json(opened)))?;
            if let Some(next) = next {
                say(format_args!("more with --cursor {next}\n"));
            }
            Ok(())
        }
        ListFormat::Table => {
            if rows.is_empty() {
                return out.line("no span is like that");
            }
            let titles = ["span", ">start", ">duration", ">self", ">thread", "status", "name", "source"];
            let mut listing = Listing::new(&titles[..titles.len() - usize::from(!args.lines)]);
            rows.iter().for_each(|row| listing.row(cells(args, opened, row)));
            listing.print(out)?;
            match next {
                Some(next) => out.line(&format!("more with --cursor {next}")),
                None => Ok(()),
            }
        }
    }
}

/// Everything, in the order of start, as it is found.
fn print_all(args: &Args, opened: &OpenedSession, filter: &filter::Filter, out: &mut Out) -> anyhow::Result<()> {
    let mut is_first = true;
    match args.format {
        ListFormat::Csv => csv_titles(out, &FIELDS)?,
        ListFormat::Json => out.print(|to| write!(to, "{{\"spans\":["))?,
        ListFormat::Table => (),
    }
    scan::each_by_start(opened, filter, args.cursor, |row| {
        match args.format {
            ListFormat::Csv => csv_row(out, &FIELDS, &row.json(opened))?,
            ListFormat::Json => {
                let separator = if is_first { "\n" } else { ",\n" };
                out.print(|to| write!(to, "{separator}{}", row.json(opened)))?;
            }
            ListFormat::Table => out.line(&cells(args, opened, &row).join("  "))?,
        }
        is_first = false;
        Ok(true)
    })?;
    match args.format {
        ListFormat::Json => out.line("\n],\"next_cursor\":null}"),
        _ => Ok(()),
    }
}

fn cells(args: &Args, opened: &OpenedSession, row: &Row) -> Vec<String> {
    let outcome = row.outcome();
    let mut status = outcome.status.word().to_owned();
    if outcome.reason != ada_span::Reason::None {
        status.push_str(&format!(" ({})", outcome.reason.word()));
    }
    if outcome.is_uncertain {
        status.push('?');
    }
    let start = row.start().saturating_sub(opened.start);
    let name = match row {
        Row::Frame(_) => row.name(opened),
        _ => format!("{} {}", row.runtime(), row.name(opened)),
    };
    let mut cells = vec![
        row.reference(opened).to_string(),
        format!("{}.{:09}", start / 1_000_000_000, start % 1_000_000_000),
        nanoseconds(row.duration()),
        row.self_ns().map_or_else(String::new, nanoseconds),
        opened.processes[row.process()].tables.meta().threads[row.thread()].id.to_string(),
        status,
        name,
    ];
    if args.lines {
        cells.push(source_text(row.source(opened)));
    }
    cells
}
