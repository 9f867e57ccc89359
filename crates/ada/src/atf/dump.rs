//! `ada atf dump SESSION`.

use std::collections::HashMap;
use std::io::{self, BufWriter, Write};
use std::path::PathBuf;

use ada_event::{DetailSeq, FunctionId, ProcessId};
use ada_format::atf::{Problem, Session, ThreadDetail, ThreadTrace};
use anyhow::{Context, bail};

use super::event_line::EventLine;
use super::{event_json, event_text, report};
use crate::analysis::find_session;
use crate::exit::{Blame, Outcome, say};
use crate::format::Format;
use ada_query::Names;

/// Events between two releases of the pages that detail has touched.
const RELEASE_EVERY: u64 = 1 << 14;

const EXAMPLES: &str = "\
Examples:
  ada atf dump ada_traces/session_20250131_120000
  ada atf dump SESSION --thread 4711 --limit 100 --detail
  ada atf dump SESSION --format json | jq 'select(.kind == \"exception\")'

Damage is listed on stderr, and the exit code is then 1.";

#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// The folder of a session, of one of its processes, or of several sessions (the newest is taken) [default: the
    /// newest in ada_traces]
    session: Option<PathBuf>,
    /// Text for people, or one JSON object per line
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
    /// Print only this thread; may be given several times
    #[arg(long, value_name = "ID")]
    thread: Vec<u32>,
    /// Print at most N events
    #[arg(long, value_name = "N")]
    limit: Option<u64>,
    /// Print registers and stack too, where they were recorded
    #[arg(long)]
    detail: bool,
}

/// A thread as the merge numbers it.
struct Lane<'a> {
    /// Its process's number in the session.
    process: usize,
    pid: Option<ProcessId>,
    thread: &'a ThreadTrace,
    detail: Option<ThreadDetail<'a>>,
}

pub(crate) fn run(args: &Args) -> anyhow::Result<Outcome> {
    let session = Session::open(&find_session(args.session.as_deref())?)?;
    check_threads(&session, &args.thread)?;
    for finding in session.findings() {
        say(format_args!("ada: {}\n", report::line(finding, &session)));
    }
    let bad_details = print(args, &session, BufWriter::with_capacity(1 << 16, io::stdout().lock()))?;
    if bad_details > 0 {
        say(format_args!("ada: {bad_details} detail records could not be read; `ada atf verify` says why\n"));
    }
    let is_damaged = bad_details > 0 || !session.findings().is_empty();
    Ok(if is_damaged { Outcome::Findings } else { Outcome::Clean })
}

/// Fails if there is nothing to print.
fn check_threads(session: &Session, wanted: &[u32]) -> anyhow::Result<()> {
    if session.threads().next().is_none()
        && let Some(finding) = session.findings().iter().find(|finding| !matches!(finding.problem, Problem::Damage(_)))
    {
        bail!("{finding}");
    }
    for id in wanted {
        if !session.threads().any(|thread| thread.id().0 == *id) {
            let mut there: Vec<String> = session.threads().take(20).map(|thread| thread.id().to_string()).collect();
            if session.threads().count() > there.len() {
                there.push("…".into());
            }
            bail!("thread {id} is not in the session; it has {}", there.join(", "));
        }
    }
    Ok(())
}

fn print(args: &Args, session: &Session, mut out: impl Write) -> anyhow::Result<u64> {
    let lanes: Vec<Lane<'_>> = session
        .processes()
        .iter()
        .enumerate()
        .flat_map(|(number, process)| process.threads.iter().map(move |thread| (number, process.pid, thread)))
        .map(|(process, pid, thread)| {
            let detail = if args.detail { thread.detail() } else { None };
            Lane { process, pid, thread, detail }
        })
        .collect();
    let names: Vec<Names> = session.processes().iter().map(Names::of).collect();
    // Most functions are called often, and to demangle a name takes longer than to print it.
    let mut shown_names: HashMap<(usize, FunctionId), Option<String>> = HashMap::new();
    let start = lanes.iter().filter_map(|lane| lane.thread.index().events().next()).map(|event| event.timestamp).min();
    let events = session.merge_some(|thread| args.thread.is_empty() || args.thread.contains(&thread.id().0));
    let mut bad_details = 0;
    for (merged, number) in events.take(usize_limit(args.limit)).zip(1_u64..) {
        let lane = lanes.get(merged.lane as usize).context("the merge has more threads than the session")?;
        let link = Some(merged.event.detail).filter(|link| args.detail && *link != DetailSeq::NONE);
        let held = link.and_then(|link| lane.detail.as_ref()?.record(link));
        let detail = held.as_ref().and_then(|held| {
            let record = held.get();
            Some((record, record.payload().ok()?))
        });
        bad_details += u64::from(link.is_some() && detail.is_none());
        let function = merged.event.function;
        let name =
            shown_names.entry((lane.process, function)).or_insert_with(|| names[lane.process].known_name(function));
        let (start, name) = (start.unwrap_or_default(), name.as_deref());
        let line = EventLine { merged, pid: lane.pid, thread: lane.thread, start, name, detail };
        match args.format {
            Format::Text => event_text::write(&mut out, &line),
            Format::Json => event_json::write(&mut out, &line),
        }
        .output_failed(|| "cannot write to stdout".into())?;
        if args.detail && number.is_multiple_of(RELEASE_EVERY) {
            lanes.iter().for_each(|lane| lane.thread.release());
        }
    }
    out.flush().output_failed(|| "cannot write to stdout".into())?;
    Ok(bad_details)
}

fn usize_limit(limit: Option<u64>) -> usize {
    limit.map_or(usize::MAX, |limit| usize::try_from(limit).unwrap_or(usize::MAX))
}
