//! `ada hooks SESSION`: the verdict on every function.

mod functions;
mod switches;
mod totals;

use std::path::PathBuf;

use ada_format::atf::{Process, Session};
use serde_json::{Value, json};

use crate::analysis::{ListFormat, Listing, Out, csv, find_session};
use crate::exit::Outcome;

const EXAMPLES: &str = "\
Examples:
  ada hooks                                         totals per module, of the newest session
  ada hooks SESSION --module 'libc.so*' --skipped   what was not hooked, and why
  ada hooks SESSION --module main_program           every function of a module
  ada hooks SESSION --switched                      what was not recorded all the time
  ada hooks SESSION --skipped --format json";

#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// The folder of a session, of one of its processes, or of several sessions (the newest is taken) [default: the
    /// newest in ada_traces]
    session: Option<PathBuf>,
    /// List the functions of modules whose file name matches (wildcards `*`, `?`)
    #[arg(long, value_name = "PATTERN")]
    module: Option<String>,
    /// List only functions that are not fully hooked
    #[arg(long)]
    skipped: bool,
    /// List functions that were not recorded all the time: when, why, and how often they were called
    #[arg(long, conflicts_with_all = ["module", "skipped"])]
    switched: bool,
    /// Output format
    #[arg(long, value_enum, default_value_t = ListFormat::Table)]
    format: ListFormat,
}

/// One of the lists.
struct List {
    /// What JSON calls it.
    name: &'static str,
    /// The fields of its rows.
    fields: &'static [&'static str],
    /// The same as titles of columns; those that begin with `>` are for numbers.
    titles: &'static [&'static str],
    rows: Vec<Row>,
    /// What else is to be said where the list is read.
    notes: Vec<String>,
}

/// A line of a list, for programs and for people.
struct Row {
    json: Value,
    cells: Vec<String>,
}

pub(crate) fn run(args: &Args) -> anyhow::Result<Outcome> {
    let session = Session::open(&find_session(args.session.as_deref())?)?;
    let processes = session.processes();
    let list = if args.switched {
        switches::list(processes)
    } else if args.module.is_none() && !args.skipped {
        totals::list(processes)
    } else {
        functions::list(processes, args)?
    };
    let mut out = Out::for_people(args.format, true);
    print(args, list, processes.len() > 1, &mut out)?;
    out.finish()?;
    Ok(Outcome::Clean)
}

fn print(args: &Args, list: List, has_processes: bool, out: &mut Out) -> anyhow::Result<()> {
    let List { name, fields, titles, rows, notes } = list;
    match args.format {
        ListFormat::Json => {
            let rows: Vec<Value> = rows.into_iter().map(|it| it.json).collect();
            out.json(&json!({ name: rows }))
        }
        ListFormat::Csv => csv(out, fields, &rows.into_iter().map(|it| it.json).collect::<Vec<_>>()),
        ListFormat::Table => {
            if rows.is_empty() {
                out.line(&format!("no {name} to list"))?;
            } else {
                let mut listing = Listing::new(titles);
                rows.into_iter().for_each(|it| listing.row(it.cells));
                // The first column says which process it is.
                let listing = if has_processes { listing } else { listing.without(titles[0]) };
                listing.print(out)?;
            }
            notes.iter().try_for_each(|note| out.line(note))
        }
    }
}

/// The pid of a process, as far as its manifest or its folder's name knows it.
fn pid(process: &Process) -> Value {
    process.pid.map_or(Value::Null, |pid| pid.0.into())
}
