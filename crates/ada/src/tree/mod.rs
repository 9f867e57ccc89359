//! `ada tree [SESSION]`.

mod fold;
mod logical;

use ada_event::{FunctionId, ThreadId, TraceNanos};
use ada_image::glob;
use ada_span::{Corrected, ThreadIndex};
use serde_json::{Value, json};

use crate::analysis::{
    ListFormat, Moment, OpenedSession, Out, SessionArgs, Target, check_correctable, corrected_text, csv, list_page,
    nanoseconds, parse_nanos, put_corrected, put_source, thousands, with_tables,
};
use crate::exit::Outcome;

use fold::{Folded, Node, Wanted};

const EXAMPLES: &str = "\
Examples:
  ada tree                                   the whole program, calls of all threads folded together
  ada tree --thread 4711 --depth 5
  ada tree --function handle_request         what happens below one function
  ada tree --logical                         threads, Swift's tasks and dispatched blocks below what made them
  ada tree --since 1.5s --until 1.6s         calls that began in a stretch of time

Calls of the same function by the same caller are one line, with how many there were.";

#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    #[command(flatten)]
    session: SessionArgs,
    /// The tree of threads, tasks, blocks and callbacks instead of calls
    #[arg(long, conflicts_with_all = ["function", "lines"])]
    logical: bool,
    /// Calls of this thread; may be given several times
    #[arg(long, value_name = "ID")]
    thread: Vec<u32>,
    /// How many levels to print
    #[arg(long, value_name = "N", default_value_t = 8)]
    depth: usize,
    /// Begin at functions whose name matches (wildcards `*`, `?`)
    #[arg(long, value_name = "PATTERN")]
    function: Option<String>,
    /// Calls that began at or after this: so long after the first event, or a start_ns behind @
    #[arg(long, value_name = "MOMENT")]
    since: Option<Moment>,
    /// Calls that began before this
    #[arg(long, value_name = "MOMENT")]
    until: Option<Moment>,
    /// Leave out lines with less time than this
    #[arg(long, value_name = "DURATION", value_parser = parse_nanos, default_value = "0ns")]
    min_duration: u64,
    /// Print at most N lines; 0 prints all
    #[arg(long, value_name = "N", default_value_t = 200)]
    limit: usize,
    /// Skip the first N lines: the number that the page before printed
    #[arg(long, value_name = "N", default_value_t = 0)]
    cursor: usize,
    /// Print file and line of functions in tables too
    #[arg(long)]
    lines: bool,
    /// Print times without what recording took too, and how far these may be off
    #[arg(long)]
    corrected: bool,
    /// How to print
    #[arg(long, value_enum, default_value_t = ListFormat::Table)]
    format: ListFormat,
}

/// A line of the tree.
struct Line {
    process: usize,
    level: usize,
    node: usize,
}

pub(crate) fn run(args: &Args) -> anyhow::Result<Outcome> {
    let mut out = Out::new();
    let outcome = with_tables(&args.session, &mut out, |opened, out| {
        for id in &args.thread {
            if !opened.processes().iter().any(|it| it.tables.meta().thread_index(ThreadId(*id)).is_some()) {
                anyhow::bail!("thread {id} is not in the session; `ada threads` lists them");
            }
        }
        if args.logical {
            return logical::print(args, opened, out);
        }
        if args.corrected {
            check_correctable(opened)?;
        }
        let folded = fold_all(args, opened)?;
        if args.function.is_some() && folded.iter().all(Folded::is_empty) {
            anyhow::bail!("no call of {} is in the tree", args.function.as_deref().unwrap_or_default());
        }
        print(args, opened, &folded, out)
    })?;
    out.finish()?;
    Ok(outcome)
}

/// The lines of a tree as JSON, by the command's own options.
pub(crate) fn lines(opened: &OpenedSession, options: &[String]) -> anyhow::Result<Vec<Value>> {
    #[derive(clap::Parser)]
    #[command(no_binary_name = true)]
    struct Options {
        #[command(flatten)]
        args: Args,
    }
    let args = <Options as clap::Parser>::try_parse_from(options)?.args;
    let folded = fold_all(&args, opened)?;
    let mut lines: Vec<Line> = Vec::new();
    for (process, tree) in folded.iter().enumerate() {
        tree.walk(args.min_duration, |level, node| lines.push(Line { process, level, node }));
    }
    Ok(lines.iter().map(|line| to_json(&args, opened, &folded, line)).collect())
}

fn fold_all(args: &Args, opened: &OpenedSession) -> anyhow::Result<Vec<Folded>> {
    let since = args.since.map_or(TraceNanos(0), |it| it.on_clock(opened.start()));
    let until = args.until.map_or(TraceNanos::MAX, |it| it.on_clock(opened.start()));
    let mut folded = Vec::new();
    for process in opened.processes() {
        let is_root = args.function.as_ref().map(|pattern| {
            let functions = process.tables.meta().functions.iter();
            let is_wanted = |function: FunctionId| {
                let name = process.names.name(function);
                glob(pattern, &name) || glob(pattern, name.split('(').next().unwrap_or_default())
            };
            functions.map(|stats| is_wanted(stats.function)).collect::<Vec<bool>>()
        });
        let correction = process.correction.as_ref().filter(|_| args.corrected);
        let wanted = Wanted { correction, since, until, is_root, depth: args.depth.max(1) };
        let mut tree = Folded::default();
        let threads = &process.tables.meta().threads;
        for (thread, entry) in ThreadIndex::all(threads.len()).zip(threads) {
            if args.thread.is_empty() || args.thread.contains(&entry.id.0) {
                tree.add_thread(&process.tables, thread, &wanted)?;
            }
        }
        folded.push(tree);
    }
    Ok(folded)
}

fn print(args: &Args, opened: &OpenedSession, folded: &[Folded], out: &mut Out) -> anyhow::Result<()> {
    let mut lines: Vec<Line> = Vec::new();
    for (process, tree) in folded.iter().enumerate() {
        tree.walk(args.min_duration, |level, node| lines.push(Line { process, level, node }));
    }
    let (page, next) = list_page(&lines, args.cursor, args.limit);
    match args.format {
        ListFormat::Table => {
            let titles = if args.corrected {
                format!(" {:>22} {:>22}", "corrected total", "corrected self")
            } else {
                String::new()
            };
            out.line(&format!("{:>11} {:>11}{titles} {:>10}  call", "total", "self", "count"))?;
            for line in page {
                let node = &folded[line.process].nodes()[line.node];
                let function = opened.processes()[line.process].function(node.function);
                let name = opened.processes()[line.process].names.name(function);
                let source = args.lines.then(|| opened.source(line.process, function)).flatten();
                let source = source.map_or_else(String::new, |place| format!("  {place}"));
                let more = if node.hidden > 0 {
                    format!("  … {} calls below", thousands(node.hidden))
                } else {
                    String::new()
                };
                let corrected = match corrected(args, opened, line, node) {
                    Some(times) => times.map(|it| format!(" {:>22}", corrected_text(Some(it)))).concat(),
                    None => String::new(),
                };
                out.line(&format!(
                    "{:>11} {:>11}{corrected} {:>10}  {:indent$}{name}{}{source}{more}",
                    nanoseconds(node.total_ns),
                    nanoseconds(node.self_ns),
                    thousands(node.count),
                    "",
                    if node.count > 1 { format!(" ×{}", node.count) } else { String::new() },
                    indent = 2 * line.level.min(60),
                ))?;
            }
            if folded.iter().any(|tree| tree.left_out() > 0) {
                let left_out: u64 = folded.iter().map(Folded::left_out).sum();
                out.line(&format!("{} calls on further paths are left out", thousands(left_out)))?;
            }
            next.map_or(Ok(()), |next| {
                out.line(&format!("{} more lines; go on with --cursor {next}", lines.len() - next))
            })
        }
        ListFormat::Json => {
            let nodes: Vec<Value> = page.iter().map(|line| to_json(args, opened, folded, line)).collect();
            out.json(&json!({ "nodes": nodes, "next_cursor": next }))
        }
        ListFormat::Csv => {
            let fields = [
                "level",
                "function_id",
                "name",
                "file",
                "line",
                "pid",
                "count",
                "total_ns",
                "self_ns",
                "first_span_id",
                "corrected_total_ns",
                "corrected_total_error_ns",
                "corrected_self_ns",
                "corrected_self_error_ns",
            ];
            let fields = &fields[..fields.len() - if args.corrected { 0 } else { 4 }];
            csv(out, fields, &page.iter().map(|line| to_json(args, opened, folded, line)).collect::<Vec<_>>())
        }
    }
}

/// Total and self time without what recording took.
fn corrected(args: &Args, opened: &OpenedSession, line: &Line, node: &Node) -> Option<[Corrected; 2]> {
    let correction = opened.processes()[line.process].correction.as_ref().filter(|_| args.corrected)?;
    Some([correction.total(node.total_ns, &node.costs), correction.of_self(node.self_ns, &node.self_costs)])
}

fn to_json(args: &Args, opened: &OpenedSession, folded: &[Folded], line: &Line) -> Value {
    let node = &folded[line.process].nodes()[line.node];
    let process = &opened.processes()[line.process];
    let function = process.function(node.function);
    let thread = process.thread_id(node.first.0);
    let mut record = json!({
        "level": line.level,
        "function_id": function.to_string(),
        "name": process.names.name(function),
        "pid": process.pid.0,
        "count": node.count,
        "total_ns": node.total_ns,
        "self_ns": node.self_ns,
        "first_span_id": opened.processes()[line.process].refer(Target::Frame(thread, node.first.1)),
    });
    put_source(&mut record, opened.source(line.process, function));
    if let Some([total, own]) = corrected(args, opened, line, node) {
        put_corrected(&mut record, "corrected_total", Some(total));
        put_corrected(&mut record, "corrected_self", Some(own));
    }
    record
}
