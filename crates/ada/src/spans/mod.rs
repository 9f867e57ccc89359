//! `ada spans [SESSION]`.

mod filter;
mod order;
mod scan;

use serde_json::{Value, json};

use crate::analysis::OpenedSession;
use crate::analysis::Wanted;
use crate::analysis::{
    ListFormat, Listing, Out, SHORTEST_CALL, SessionArgs, Span, SpanKind, check_correctable, corrected_text, csv_row,
    csv_titles, nanoseconds, put_corrected, short_name, source_text, with_tables,
};
use crate::exit::{Outcome, say};

pub(crate) use filter::{Filter, FilterArgs};
use order::{Cursor, Sort};
pub(crate) use scan::logical as logical_rows;

/// The fields of a record that CSV has, in its order.
const FIELDS: [&str; 25] = [
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
    "corrected_ns",
    "corrected_error_ns",
];

/// How many of them, the last, are only there where they are asked for.
const CORRECTED_FIELDS: usize = 2;

const EXAMPLES: &str = "\
Examples:
  ada spans --sort duration --limit 20              the longest calls of the program's own functions
  ada spans --sort duration --all                   including those of libraries
  ada spans --status unmatched --reason exception   calls that an exception left
  ada spans --runtime pthread --format json         threads: who created them, who joined them
  ada spans --function 'parse_*' --min-duration 1ms
  ada spans --since 1.5s --until 1.6s --thread 4711
  ada spans --function connect --where 'port == 8081 and result < 0'
  ada spans --limit 0 --format csv > spans.csv      everything

A call that is also the start routine of a thread or a callback is listed as such; --type frame lists all calls. \
`ada show` takes the references in the first column.";

#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    #[command(flatten)]
    session: SessionArgs,
    #[command(flatten)]
    filter: FilterArgs,
    /// Sort order
    #[arg(long, value_enum, default_value_t = Sort::Start)]
    sort: Sort,
    /// Print at most N; 0 prints all
    #[arg(long, value_name = "N", default_value_t = 50)]
    limit: usize,
    /// Continue where the previous page ended, with the CURSOR that it printed
    #[arg(long, value_name = "CURSOR")]
    cursor: Option<Cursor>,
    /// Print file and line of functions in tables too
    #[arg(long)]
    lines: bool,
    /// Also print durations without the time that recording took, and their possible error
    #[arg(long)]
    corrected: bool,
    /// Print names and values in full
    #[arg(long)]
    wide: bool,
    /// Output format
    #[arg(long, value_enum, default_value_t = ListFormat::Table)]
    format: ListFormat,
}

pub(crate) fn run(args: &Args) -> anyhow::Result<Outcome> {
    if args.limit == 0 && args.sort != Sort::Start {
        anyhow::bail!("--sort {} needs a --limit; all spans are printed in the order of their start", args.sort.word());
    }
    if args.cursor.is_some_and(|cursor| cursor.sort != args.sort) {
        anyhow::bail!("the cursor belongs to a list with another --sort");
    }
    let mut out = Out::for_people(args.format, args.wide);
    let outcome = with_tables(&args.session, &mut out, |opened, out| {
        if args.corrected {
            check_correctable(opened)?;
        }
        let filter = args.filter.prepare(opened, args.format == ListFormat::Table)?;
        if args.filter.asks_for_callbacks()
            && let Some(words) = opened.why_few_callbacks()
        {
            say(format_args!("ada: callbacks may be missing: {words}\n"));
        }
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

impl Args {
    fn fields(&self) -> &'static [&'static str] {
        &FIELDS[..FIELDS.len() - if self.corrected { 0 } else { CORRECTED_FIELDS }]
    }
}

fn to_json(args: &Args, opened: &OpenedSession, span: &Span) -> Value {
    let mut record = opened.record(span);
    if args.corrected {
        put_corrected(&mut record, "corrected", span.corrected(opened));
    }
    record
}

/// Spans by the command's own options, each with the cursor that goes on behind it, and whether there are more.
pub(crate) fn list(
    opened: &OpenedSession,
    options: &[String],
    limit: usize,
) -> anyhow::Result<(Vec<(Span, String)>, bool)> {
    #[derive(clap::Parser)]
    #[command(no_binary_name = true)]
    struct Options {
        #[command(flatten)]
        args: Args,
    }
    let args = <Options as clap::Parser>::try_parse_from(options)?.args;
    if args.cursor.is_some_and(|cursor| cursor.sort != args.sort) {
        anyhow::bail!("the cursor belongs to a list with another sort order");
    }
    let filter = args.filter.prepare(opened, false)?;
    let rows = scan::first(opened, &filter, args.sort, args.cursor, limit + 1)?;
    let has_more = rows.len() > limit;
    let with_cursor = |span: Span| (span, Cursor::after(args.sort, opened, &span).to_string());
    Ok((rows.into_iter().take(limit).map(with_cursor).collect(), has_more))
}

fn print(
    args: &Args,
    opened: &OpenedSession,
    rows: &[Span],
    next: Option<Cursor>,
    out: &mut Out,
) -> anyhow::Result<()> {
    match args.format {
        ListFormat::Json => {
            let spans: Vec<Value> = rows.iter().map(|row| to_json(args, opened, row)).collect();
            out.json(&json!({ "spans": spans, "next_cursor": next.map(|it| it.to_string()) }))
        }
        ListFormat::Csv => {
            csv_titles(out, args.fields())?;
            rows.iter().try_for_each(|row| csv_row(out, args.fields(), &to_json(args, opened, row)))?;
            if let Some(next) = next {
                say(format_args!("more with --cursor {next}\n"));
            }
            Ok(())
        }
        ListFormat::Table => {
            if rows.is_empty() {
                return out.line(args.filter.nothing());
            }
            let mut titles = vec!["span", ">start", ">duration", ">self", ">thread", "status", "name"];
            if args.corrected {
                titles.insert(3, ">corrected");
            }
            if args.lines {
                titles.push("source");
            }
            let mut listing = Listing::new(&titles);
            rows.iter().for_each(|row| listing.row(cells(args, opened, row)));
            if out.terminal().width < 100 {
                listing = listing.without(">self");
                // What all have in common says less than values do.
                let is_plain = |row: &Span| row.outcome(opened).status == ada_span::Status::Completed;
                if rows.iter().all(is_plain) {
                    listing = listing.without("status");
                }
            }
            let name = listing.len() - 1 - usize::from(args.lines);
            let short = |row: usize, name: &str, room: usize| match rows[row].call_values(opened, Wanted::Captured) {
                Some(call) => call.line_within(room.max(SHORTEST_CALL), &short_name),
                None => short_name(name, room),
            };
            let listing = listing.shorten_by(name, out.terminal().width, short);
            listing.print(out)?;
            if listing.is_cut() {
                out.cut_note()?;
            }
            match next {
                Some(next) => out.line(&format!("more with --cursor {next}")),
                None => Ok(()),
            }
        }
    }
}

/// Everything, in the order of start, as it is found.
fn print_all(args: &Args, opened: &OpenedSession, filter: &Filter, out: &mut Out) -> anyhow::Result<()> {
    let mut is_first = true;
    match args.format {
        ListFormat::Csv => csv_titles(out, args.fields())?,
        ListFormat::Json => out.print(|to| write!(to, "{{\"spans\":["))?,
        ListFormat::Table => (),
    }
    scan::each_by_start(opened, filter, args.cursor, |row| {
        match args.format {
            ListFormat::Csv => csv_row(out, args.fields(), &to_json(args, opened, &row))?,
            ListFormat::Json => {
                let separator = if is_first { "\n" } else { ",\n" };
                out.print(|to| write!(to, "{separator}{}", to_json(args, opened, &row)))?;
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

fn cells(args: &Args, opened: &OpenedSession, span: &Span) -> Vec<String> {
    let outcome = span.outcome(opened);
    let mut status = outcome.status.word().to_owned();
    if outcome.reason != ada_span::Reason::None {
        status.push_str(&format!(" ({})", outcome.reason.word()));
    }
    if outcome.is_uncertain {
        status.push('?');
    }
    let start = span.start(opened).since(opened.start());
    let name = match span.kind {
        SpanKind::Frame(_) => {
            span.call_values(opened, Wanted::Captured).map_or_else(|| span.name(opened), |call| call.line())
        }
        _ => format!("{} {}", span.runtime(opened), span.name(opened)),
    };
    let mut cells = vec![
        span.reference(opened).to_string(),
        format!("{}.{:09}", start / 1_000_000_000, start % 1_000_000_000),
        nanoseconds(span.duration(opened)),
        span.self_ns(opened).map_or_else(String::new, nanoseconds),
        opened.processes()[span.process].thread_id(span.thread(opened)).to_string(),
        status,
        name,
    ];
    if args.corrected {
        cells.insert(3, corrected_text(span.corrected(opened)));
    }
    if args.lines {
        cells.push(source_text(opened.source_of(span)));
    }
    cells
}
