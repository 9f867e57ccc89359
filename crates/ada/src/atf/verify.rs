//! `ada atf verify SESSION`.

use std::io::{self, IsTerminal, Write};
use std::path::PathBuf;
use std::time::{Duration, Instant};

use ada_format::atf::{Finding, Session, ThreadTrace};
use serde::Serialize;

use super::report::{self, FindingJson};
use crate::analysis::{find_session, tell_if_live};
use crate::exit::{Blame, Outcome, say};
use crate::format::Format;

const EXAMPLES: &str = "\
Example:
  ada atf verify ada_traces/session_20250131_120000

Exit codes: 0 no damage; 1 findings, one per line.";

#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// The folder of a session, of one of its processes, or of several sessions (the newest is taken) [default: the
    /// newest in ada_traces]
    session: Option<PathBuf>,
    /// Text for people, or one JSON object
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
}

#[derive(Serialize)]
struct Report<'a> {
    sound: bool,
    processes: usize,
    threads: usize,
    events: u64,
    detail_records: u64,
    findings: Vec<FindingJson<'a>>,
}

pub(crate) fn run(args: &Args) -> anyhow::Result<Outcome> {
    let session = Session::open(&find_session(args.session.as_deref())?)?;
    tell_if_live(&session);
    let mut progress = Progress::new(session.threads().map(ThreadTrace::byte_count).sum());
    let found = session.verify(|bytes| progress.advance(bytes));
    progress.clear();
    let findings: Vec<&Finding> = session.findings().iter().chain(&found).collect();
    print(args.format, &session, &findings).output_failed(|| "cannot write to stdout".into())?;
    Ok(if findings.is_empty() { Outcome::Clean } else { Outcome::Findings })
}

fn print(format: Format, session: &Session, findings: &[&Finding]) -> io::Result<()> {
    let mut out = io::stdout().lock();
    let report = Report {
        sound: findings.is_empty(),
        processes: session.processes().len(),
        threads: session.threads().count(),
        events: session.threads().map(ThreadTrace::event_count).sum(),
        detail_records: session.threads().filter_map(ThreadTrace::detail).map(|detail| detail.len()).sum(),
        findings: findings.iter().map(|finding| report::json(finding, session)).collect(),
    };
    if format == Format::Json {
        serde_json::to_writer(&mut out, &report)?;
        return writeln!(out);
    }
    for finding in findings {
        writeln!(out, "{}", report::line(finding, session))?;
    }
    let verdict = match findings.len() {
        0 => "sound".to_owned(),
        1 => "1 finding".to_owned(),
        many => format!("{many} findings"),
    };
    let Report { processes, threads, events, detail_records, .. } = report;
    writeln!(
        out,
        "{verdict}: {processes} process{}, {threads} thread{}, {events} events, {detail_records} detail records",
        if processes == 1 { "" } else { "es" },
        if threads == 1 { "" } else { "s" },
    )
}

/// A line on a terminal, for those who wait longer than a second.
struct Progress {
    total: u64,
    done: u64,
    shown: Option<Instant>,
    begun: Instant,
    is_terminal: bool,
}

impl Progress {
    fn new(total: u64) -> Self {
        Self { total, done: 0, shown: None, begun: Instant::now(), is_terminal: io::stderr().is_terminal() }
    }

    fn advance(&mut self, bytes: u64) {
        self.done += bytes;
        let is_due = self.shown.map_or(self.begun.elapsed() > Duration::from_secs(1), |shown| {
            shown.elapsed() > Duration::from_millis(100)
        });
        if self.is_terminal && is_due {
            say(format_args!("\rverifying: {} %\x1b[K", self.done * 100 / self.total.max(1)));
            self.shown = Some(Instant::now());
        }
    }

    fn clear(&self) {
        if self.shown.is_some() {
            say(format_args!("\r\x1b[K"));
        }
    }
}
