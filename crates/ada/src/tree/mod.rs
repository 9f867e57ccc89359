//! `ada tree [SESSION]`.

mod fold;
mod logical;

use std::collections::{BTreeMap, HashMap, HashSet};

use ada_event::TraceNanos;
use ada_query::FunctionPattern;
use ada_span::state::ThreadState;
use ada_span::table::FunctionIndex;
use ada_span::{Corrected, ThreadIndex};
use serde_json::{Value, json};

use crate::analysis::Wanted as ValuesWanted;
use crate::analysis::{
    CallValues, FrameSpan, Ink, LensArgs, ListFormat, Moment, OpenedSession, Out, SHORTEST_CALL, SessionArgs, Span,
    Target, TraceProcess, check_correctable, check_known, chosen_threads, corrected_text, csv, list_page, nanoseconds,
    parse_nanos, put_corrected, put_source, short_name, thousands, with_tables,
};
use crate::exit::Outcome;
use crate::threads::check_states;
use crate::top::{OutsideModule, outside_json, outside_modules, outside_name, program, put_states};

use fold::{Folded, Node, Wanted};

const EXAMPLES: &str = "\
Examples:
  ada tree                               the program's own functions, from main on, all threads
  ada tree --all --depth 4               with the loader, libc and other libraries
  ada tree --sort total --hide 'log_*'   what takes most time first, without some functions
  ada tree --sort on-cpu                 what used the processors most; also ready and blocked
  ada tree --thread 4711 --depth 5
  ada tree --function handle_request     what happens below one function
  ada tree --logical                     threads, Swift tasks and blocks below their creators
  ada tree --since 1.5s --until 1.6s     calls that began in this stretch of time

Calls of the same function by the same caller are one line, with their number; a single call is shown with its \
values, where these were captured. `… in libc (read)` is time in functions that are not shown. All threads are \
folded together, and so are processes that run the same program; --thread and --pid choose one.";

#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    #[command(flatten)]
    session: SessionArgs,
    /// Print the tree of threads, tasks, blocks and callbacks instead of calls
    #[arg(long, conflicts_with_all = ["function", "lines"])]
    logical: bool,
    /// Only calls of this thread, by its id or name; may be given several times
    #[arg(long, value_name = "THREAD")]
    thread: Vec<String>,
    #[command(flatten)]
    lens: LensArgs,
    /// Print at most N levels
    #[arg(long, value_name = "N", default_value_t = 8)]
    depth: usize,
    /// Start the tree at functions with this name, such as flush_line or Stats::flush_line (wildcards `*`, `?`)
    #[arg(long, value_name = "PATTERN")]
    function: Option<String>,
    /// Only calls that began at MOMENT or later: a time after the first event (1.5s), or a start_ns (@12050214209794)
    #[arg(long, value_name = "MOMENT")]
    since: Option<Moment>,
    /// Only calls that began before MOMENT
    #[arg(long, value_name = "MOMENT")]
    until: Option<Moment>,
    /// Leave out lines with less time than DURATION
    #[arg(long, value_name = "DURATION", value_parser = parse_nanos, default_value = "0ns")]
    min_duration: u64,
    /// Print at most N lines; 0 prints all
    #[arg(long, value_name = "N", default_value_t = 200)]
    limit: usize,
    /// Skip the first N lines, as the previous page said
    #[arg(long, value_name = "N", default_value_t = 0)]
    cursor: usize,
    /// Print file and line of functions in tables too
    #[arg(long)]
    lines: bool,
    /// Also print times without the time that recording took, and their possible error
    #[arg(long)]
    corrected: bool,
    /// Sort order of the calls of one caller
    #[arg(long, value_enum, default_value_t = Order::First)]
    sort: Order,
    /// Print names and values in full
    #[arg(long)]
    wide: bool,
    /// Output format
    #[arg(long, value_enum, default_value_t = ListFormat::Table)]
    format: ListFormat,
}

/// How siblings are sorted.
#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Order {
    /// First called first, with main at the top
    First,
    /// Most time first
    Total,
    /// Most calls first
    Calls,
    /// Most time on a processor first
    OnCpu,
    /// Most time ready to run, while others had the processors, first
    Ready,
    /// Most time waiting first
    Blocked,
}

impl Order {
    /// The state of threads by whose time is sorted.
    const fn state(self) -> Option<ThreadState> {
        match self {
            Self::OnCpu => Some(ThreadState::Running),
            Self::Ready => Some(ThreadState::Ready),
            Self::Blocked => Some(ThreadState::Blocked),
            Self::First | Self::Total | Self::Calls => None,
        }
    }
}

/// The tree of a program, and its functions.
struct Tree {
    folded: Folded,
    /// By the tree's indexes: the process that has it, and its index there.
    functions: Vec<(usize, FunctionIndex)>,
}

/// A line of the tree.
struct Line {
    tree: usize,
    level: usize,
    node: usize,
}

pub(crate) fn run(args: &Args) -> anyhow::Result<Outcome> {
    let mut out = Out::for_people(args.format, args.wide);
    let outcome = with_tables(&args.session, &mut out, |opened, out| {
        if args.logical {
            return logical::print(args, opened, &chosen_threads(opened, &args.thread)?, out);
        }
        if args.corrected {
            check_correctable(opened)?;
        }
        let trees = fold_all(args, opened, args.format == ListFormat::Table)?;
        if args.function.is_some() && trees.iter().all(|tree| tree.folded.is_empty()) {
            anyhow::bail!("no call of {} is in the tree", args.function.as_deref().unwrap_or_default());
        }
        print(args, opened, &trees, out)
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
    let trees = fold_all(&args, opened, false)?;
    Ok(all_lines(&args, &trees).iter().map(|line| to_json(&args, opened, &trees, line)).collect())
}

fn all_lines(args: &Args, trees: &[Tree]) -> Vec<Line> {
    let mut lines: Vec<Line> = Vec::new();
    for (tree, it) in trees.iter().enumerate() {
        it.folded.walk(args.min_duration, |level, node| lines.push(Line { tree, level, node }));
    }
    lines
}

/// One tree for each program; for each process where times are corrected, which each process has its own costs for.
fn fold_all(args: &Args, opened: &OpenedSession, is_own: bool) -> anyhow::Result<Vec<Tree>> {
    if args.sort.state().is_some() {
        check_states(opened)?;
    }
    let since = args.since.map_or(TraceNanos(0), |it| it.on_clock(opened.start()));
    let until = args.until.map_or(TraceNanos::MAX, |it| it.on_clock(opened.start()));
    let threads = chosen_threads(opened, &args.thread)?;
    if let Some(typed) = &args.function {
        check_known(opened, typed)?;
    }
    let root = args.function.as_ref().map(|typed| FunctionPattern::new(typed));
    let is_root = |process: &TraceProcess| -> Option<Vec<bool>> {
        let pattern = root.as_ref()?;
        let functions = process.tables.meta().functions.iter();
        Some(functions.map(|stats| pattern.matches_function(process, stats.function)).collect())
    };
    let lens = args.lens.lens(is_own);
    let mut shown = args.lens.shown(opened, &lens)?;
    // What is not the program's own is shown where it is asked for by name, with all below.
    let roots: Vec<Option<Vec<bool>>> = opened.processes().iter().map(is_root).collect();
    let is_hidden = |(roots, shown): (&Option<Vec<bool>>, &Vec<bool>)| {
        roots.iter().flatten().zip(shown).any(|(is_root, is_shown)| *is_root && *is_shown)
    };
    if root.is_some() && !args.lens.own && !roots.iter().zip(&shown).any(is_hidden) {
        shown = args.lens.shown(opened, &args.lens.lens(false))?;
    }
    let mut groups: BTreeMap<String, Vec<usize>> = BTreeMap::new();
    for (number, process) in opened.processes().iter().enumerate().filter(|(_, it)| args.lens.wants(it.pid)) {
        let program = program(opened, number);
        groups
            .entry(if args.corrected { format!("{program} {}", process.pid) } else { program })
            .or_default()
            .push(number);
    }
    let mut trees = Vec::new();
    for processes in groups.into_values() {
        let mut tree = Tree { folded: Folded::default(), functions: Vec::new() };
        let mut known: HashMap<(String, String), FunctionIndex> = HashMap::new();
        let mut is_main = HashSet::new();
        for number in processes {
            let process = &opened.processes()[number];
            let mut functions = Vec::new();
            for (index, label) in (0..).map(FunctionIndex).zip(process.labels()) {
                let named = *known.entry((label.module.clone(), label.name.clone())).or_insert_with(|| {
                    tree.functions.push((number, index));
                    FunctionIndex(tree.functions.len() as u32 - 1)
                });
                if process.names.raw(process.function(index)) == Some("main") {
                    is_main.insert(named);
                }
                functions.push(named);
            }
            let wanted = Wanted {
                process: number,
                functions: &functions,
                shown: &shown[number],
                correction: process.correction.as_ref().filter(|_| args.corrected),
                states_of: args.sort.state().map(|_| process),
                since,
                until,
                is_root: roots[number].clone(),
                depth: args.depth.max(1),
            };
            let entries = &process.tables.meta().threads;
            for (thread, entry) in ThreadIndex::all(entries.len()).zip(entries) {
                if args.thread.is_empty() || threads.contains(&entry.id) {
                    tree.folded.add_thread(&process.tables, thread, &wanted)?;
                }
            }
        }
        match args.sort {
            Order::First => (),
            Order::Total => tree.folded.sort_by_key(|node| node.total_ns),
            Order::Calls => tree.folded.sort_by_key(|node| node.count),
            Order::OnCpu | Order::Ready | Order::Blocked => {
                tree.folded.sort_by_key(|node| args.sort.state().map_or(0, |state| node.states.of(state)));
            }
        }
        tree.folded.begin_with(|function| is_main.contains(&function));
        trees.push(tree);
    }
    // The program that did most comes first, and the shell around it later.
    trees.sort_by_key(|tree| std::cmp::Reverse(tree.folded.nodes().iter().map(|it| it.self_ns).sum::<u64>()));
    Ok(trees)
}

fn print(args: &Args, opened: &OpenedSession, trees: &[Tree], out: &mut Out) -> anyhow::Result<()> {
    let lines = all_lines(args, trees);
    let (page, next) = list_page(&lines, args.cursor, args.limit);
    match args.format {
        ListFormat::Table => {
            let titles = if args.corrected {
                format!(" {:>22} {:>22}", "corrected total", "corrected self")
            } else {
                String::new()
            };
            let state = args.sort.state();
            let title = state.map(|state| format!(" {:>9}", state.word())).unwrap_or_default();
            out.line(&format!("{:>9} {:>9}{title}{titles} {:>8}  call", "total", "self", "count"))?;
            let mut is_cut = false;
            for line in page {
                let tree = &trees[line.tree];
                let node = &tree.folded.nodes()[line.node];
                let (process, index) = tree.functions[node.function.as_usize()];
                let function = opened.processes()[process].function(index);
                let call = (node.count == 1).then(|| call_of(opened, node)).flatten();
                let name = opened.processes()[process].names.name(function);
                let source = args.lines.then(|| opened.source(process, function)).flatten();
                let source = source.map_or_else(String::new, |place| format!("  {place}"));
                let more =
                    if node.hidden > 0 { format!("  … {} below", thousands(node.hidden)) } else { String::new() };
                let corrected = match corrected(args, opened, process, node) {
                    Some(times) => times.map(|it| format!(" {:>22}", corrected_text(Some(it)))).concat(),
                    None => String::new(),
                };
                let indent = 2 * line.level.min(60);
                let in_state = state.map(|state| format!(" {:>9}", nanoseconds(node.states.of(state))));
                let in_state = in_state.unwrap_or_default();
                let before = format!(
                    "{:>9} {:>9}{in_state}{corrected} {:>8}  {:indent$}",
                    nanoseconds(node.total_ns),
                    nanoseconds(node.self_ns),
                    thousands(node.count),
                    "",
                );
                let width = out.terminal().width;
                let room = |taken: &str| width.saturating_sub(taken.chars().count()).max(SHORTEST_NAME);
                let after = format!("{source}{more}");
                let room_for_name = room(&format!("{before}{after}"));
                let (shown, whole) = match call {
                    Some(call) => (call.line_within(room_for_name.max(SHORTEST_CALL), &short_name), call.line()),
                    None => (short_name(&name, room_for_name), name),
                };
                is_cut |= shown != whole;
                out.line(&format!("{before}{shown}{after}"))?;
                for it in outside(opened, node) {
                    let empty = title.len();
                    let before = format!(
                        "{:>9} {:>9}{:empty$} {:>8}  {:indent$}",
                        nanoseconds(it.ns()),
                        "",
                        "",
                        thousands(it.calls()),
                        ""
                    );
                    let text = format!("{before}{}", outside_name(&it, room(&before)));
                    let text = out.terminal().ink(Ink::Faint, &text);
                    out.line(&text)?;
                }
            }
            if is_cut {
                out.cut_note()?;
            }
            let sum = |of: fn(&Folded) -> u64| trees.iter().map(|tree| of(&tree.folded)).sum::<u64>();
            let (left_out, not_shown) = (sum(Folded::left_out), sum(Folded::outside));
            if left_out > 0 {
                out.line(&format!("{} calls on further paths are left out", thousands(left_out)))?;
            }
            if not_shown > 0 && next.is_none() {
                let words =
                    format!("{} calls outside the program's own functions; --all shows them", thousands(not_shown));
                out.line(&out.terminal().ink(Ink::Faint, &words))?;
            }
            next.map_or(Ok(()), |next| {
                out.line(&format!("{} more lines; go on with --cursor {next}", lines.len() - next))
            })
        }
        ListFormat::Json => {
            let nodes: Vec<Value> = page.iter().map(|line| to_json(args, opened, trees, line)).collect();
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
            csv(out, fields, &page.iter().map(|line| to_json(args, opened, trees, line)).collect::<Vec<_>>())
        }
    }
}

/// Columns that a name keeps, however narrow the terminal is.
const SHORTEST_NAME: usize = 16;

/// What a line's function called that is not shown.
fn outside(opened: &OpenedSession, node: &Node) -> Vec<OutsideModule> {
    outside_modules(node.outside.iter().map(|((process, index), sum)| (&opened.processes()[*process], *index, *sum)))
}

/// The first of a line's calls, with its values where these were captured.
fn call_of(opened: &OpenedSession, node: &Node) -> Option<CallValues> {
    let (process, thread, seq) = node.first;
    let tables = &opened.processes()[process].tables;
    let frame = FrameSpan::read(tables, thread, seq).ok()??;
    Span::frame(process, frame).call_values(opened, ValuesWanted::Captured)
}

/// Total and self time without what recording took.
fn corrected(args: &Args, opened: &OpenedSession, process: usize, node: &Node) -> Option<[Corrected; 2]> {
    let correction = opened.processes()[process].correction.as_ref().filter(|_| args.corrected)?;
    Some([correction.total(node.total_ns, &node.costs), correction.of_self(node.self_ns, &node.self_costs)])
}

fn to_json(args: &Args, opened: &OpenedSession, trees: &[Tree], line: &Line) -> Value {
    let tree = &trees[line.tree];
    let node = &tree.folded.nodes()[line.node];
    let (number, index) = tree.functions[node.function.as_usize()];
    let process = &opened.processes()[number];
    let function = process.function(index);
    let (first, thread, seq) = node.first;
    let first = &opened.processes()[first];
    let outside: Vec<Value> = outside(opened, node).iter().map(outside_json).collect();
    let mut record = json!({
        "level": line.level,
        "function_id": function.to_string(),
        "name": process.names.name(function),
        "pid": process.pid.0,
        "count": node.count,
        "total_ns": node.total_ns,
        "self_ns": node.self_ns,
        "outside": outside,
        "first_span_id": first.refer(Target::Frame(first.thread_id(thread), seq)),
    });
    if let Some(call) = call_of(opened, node) {
        record["first_call"] = call.line().into();
    }
    put_source(&mut record, opened.source(number, function));
    if args.sort.state().is_some() {
        put_states(&mut record, node.states);
    }
    if let Some([total, own]) = corrected(args, opened, number, node) {
        put_corrected(&mut record, "corrected_total", Some(total));
        put_corrected(&mut record, "corrected_self", Some(own));
    }
    record
}
