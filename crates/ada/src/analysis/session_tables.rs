//! The derived tables of a session, which are made or made anew where need be.

use std::io;
use std::path::Path;

use ada_format::atf::{Problem, Process, Session};
use ada_span::table::{Cached, DerivedFolder, Tables};
use ada_span::{AnomalyKind, ProcessTrace, SpanError, analyze, content_key, function_traits, replay_options};
use anyhow::bail;

use super::progress::Progress;
use crate::exit::{Blame, Outcome, say};

/// Findings of a damaged session that are printed one by one.
const FINDINGS_SHOWN: usize = 5;

/// Opens a session that has something to analyse.
pub(super) fn open_session(path: &Path) -> anyhow::Result<Session> {
    let session = Session::open(path)?;
    if session.threads().next().is_none()
        && let Some(finding) = session.findings().iter().find(|finding| !matches!(finding.problem, Problem::Damage(_)))
    {
        bail!("{finding}");
    }
    Ok(session)
}

/// Prints what is wrong with a session on stderr, and that events could not be read when its tables were made, which tables that are kept
/// know too.
pub(super) fn show_findings<'a>(session: &Session, tables: impl Iterator<Item = &'a Tables>) -> Outcome {
    let findings = session.findings();
    tell_if_live(session);
    for finding in findings.iter().take(FINDINGS_SHOWN) {
        say(format_args!("ada: {finding}\n"));
    }
    if findings.len() > FINDINGS_SHOWN {
        say(format_args!("ada: {} more findings; `ada atf verify` lists them\n", findings.len() - FINDINGS_SHOWN));
    }
    let anomalies = tables.flat_map(|tables| &tables.meta().anomalies);
    let unreadable = anomalies.filter(|it| it.kind == AnomalyKind::Unreadable as u32);
    let parts: u64 = unreadable.map(|it| it.count).sum();
    if parts > 0 {
        let parts = if parts == 1 { "a part".to_owned() } else { format!("{parts} parts") };
        say(format_args!("ada: {parts} of the events cannot be read; `ada atf verify` says where\n"));
    }
    if findings.is_empty() && parts == 0 { Outcome::Clean } else { Outcome::Findings }
}

/// Says that there will be more of a session, if there will.
pub(crate) fn tell_if_live(session: &Session) {
    if session.is_live() {
        say(format_args!("ada: {} is still being recorded; this is what there is so far\n", session.path().display()));
    }
}

/// The tables of a session's processes, in their order.
pub(super) fn tables_of(session: &Session, timeout_ns: u64) -> anyhow::Result<Vec<Tables>> {
    let progress = Progress::new(session.threads().map(|thread| thread.event_count()).sum());
    let processes = session.processes();
    let mut elsewhere = Elsewhere::default();
    let of_process = |process: &Process| {
        find_or_make(process, processes, timeout_ns, &progress, &mut elsewhere)
            .output_failed(|| format!("cannot write the derived tables of {}", process.path.display()))
    };
    let tables = processes.iter().map(of_process).collect();
    elsewhere.tell();
    tables
}

/// Processes whose tables are kept elsewhere: of a server with many workers, the first stands for all.
#[derive(Default)]
struct Elsewhere {
    first: Option<String>,
    more: usize,
}

impl Elsewhere {
    fn add(&mut self, error: SpanError, folder: &DerivedFolder) {
        match &self.first {
            None => {
                let error = anyhow::Error::from(error);
                self.first = Some(format!("{error:#}; keeping tables in {}", folder.path().display()));
            }
            Some(_) => self.more += 1,
        }
    }

    fn tell(&self) {
        let Some(first) = &self.first else { return };
        let more = match self.more {
            0 => String::new(),
            more => format!(", and those of {more} more processes beside it"),
        };
        say(format_args!("ada: {first}{more}\n"));
    }
}

fn find_or_make(
    process: &Process,
    beside: &[Process],
    timeout_ns: u64,
    progress: &Progress,
    kept_elsewhere: &mut Elsewhere,
) -> Result<Tables, SpanError> {
    let own = DerivedFolder::new(&process.path, content_key(process, timeout_ns));
    match own.find() {
        Cached::Good(tables) => return Ok(*tables),
        Cached::Damaged => {
            say(format_args!("ada: {} is damaged; making it anew\n", own.path().display()));
        }
        Cached::Missing | Cached::Stale => (),
    }
    let is_full = |error: &SpanError| {
        matches!(error, SpanError::Io { source, .. }
            if matches!(source.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded))
    };
    let error = match own.begin() {
        Ok(unfinished) => match build(process, beside, timeout_ns, progress, &own, &unfinished) {
            Err(error) if is_full(&error) => error,
            made => return made,
        },
        // A session on a medium that cannot be written, or of another user.
        Err(error) => error,
    };
    let elsewhere = own.elsewhere()?;
    if let Cached::Good(tables) = elsewhere.find() {
        return Ok(*tables);
    }
    let unfinished = elsewhere.begin()?;
    kept_elsewhere.add(error, &elsewhere);
    build(process, beside, timeout_ns, progress, &elsewhere, &unfinished)
}

fn build(
    process: &Process,
    beside: &[Process],
    timeout_ns: u64,
    progress: &Progress,
    folder: &DerivedFolder,
    unfinished: &Path,
) -> Result<Tables, SpanError> {
    let traits = function_traits(process, beside);
    let options = replay_options(process, &traits, timeout_ns);
    let made = analyze(&ProcessTrace(process), &traits, &options, folder.key(), unfinished, &|events| {
        progress.advance(events);
    });
    match made {
        Ok(_) => folder.finish(unfinished),
        Err(error) => {
            let _ = std::fs::remove_dir_all(unfinished);
            Err(error)
        }
    }
}
