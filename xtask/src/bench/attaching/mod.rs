//! Attaching to busy servers and detaching again and again: how long they stand still, and whether anyone notices.

mod asker;
mod server;

use std::process::Command;

use anyhow::Context;
use serde_json::{Value, json};

use super::Bench;
use super::child;
use super::goal::Goal;
use super::report::Section;
use super::statistics::Spread;
use super::table::Table;
use asker::Asker;
use server::{Server, Stand};

/// How long each attachment lasts.
const DURATION: &str = "50ms";
/// Milliseconds for which threads may be stopped: what is promised.
const PROMISED: f64 = 50.0;
/// Threads that the process must have for the figure to count.
const THREADS: usize = 8;

/// What was measured of one server.
struct Measured {
    attach_ms: Vec<f64>,
    detach_ms: Vec<f64>,
    events: u64,
    threads: usize,
    answers: u64,
    /// What the load generator or the checks complained of.
    complaints: Vec<String>,
}

pub(super) fn measure(bench: &Bench) -> anyhow::Result<Section> {
    let mut table = Table::new(&[
        "<server",
        "threads",
        "attached",
        "hooking, ms",
        "longest",
        "unhooking, ms",
        "longest",
        "answers checked",
        "M events",
        "complaints",
    ]);
    let (mut goals, mut data, mut notes) = (
        Vec::new(),
        Vec::new(),
        vec![format!(
            "milliseconds for which all threads stood still, with plans cached; each attachment lasts {DURATION}; a client of \
         its own checks every answer of the server, besides the load generator"
        )],
    );
    for stand in Stand::ALL {
        let name = stand.name();
        eprintln!("xtask:   {name}");
        let longest = format!("{name}: longest stand-still of 100 attachments");
        let unharmed = format!("{name}: failed or wrong answers, and things left behind");
        match measure_one(bench, stand) {
            Ok(measured) => {
                let most = |times: &[f64]| times.iter().copied().fold(0.0, f64::max);
                let spread = |times: &[f64]| Spread::of(times.iter().copied()).context("nothing was attached to");
                let (attach, detach) = (spread(&measured.attach_ms)?, spread(&measured.detach_ms)?);
                table.row(vec![
                    name.into(),
                    measured.threads.to_string(),
                    attach.count.to_string(),
                    format!("{attach:.1}"),
                    format!("{:.1}", most(&measured.attach_ms)),
                    format!("{detach:.1}"),
                    format!("{:.1}", most(&measured.detach_ms)),
                    measured.answers.to_string(),
                    format!("{:.1}", measured.events as f64 / 1e6),
                    measured.complaints.len().to_string(),
                ]);
                let worst = most(&measured.attach_ms).max(most(&measured.detach_ms));
                goals.push(Goal::at_most(longest, PROMISED, " ms", Some(worst)));
                goals.push(Goal::at_most(unharmed, 0.0, "", Some(measured.complaints.len() as f64)));
                data.push(json!({
                    "server": name,
                    "threads": measured.threads,
                    "attach_ms": measured.attach_ms,
                    "detach_ms": measured.detach_ms,
                    "events": measured.events,
                    "answers_checked": measured.answers,
                    "complaints": measured.complaints,
                }));
                notes.extend(measured.complaints.iter().map(|complaint| format!("{name}: {complaint}")));
            }
            Err(error) => {
                table.sentence(name, &format!("NOT MEASURED: {error:#}"));
                goals.push(Goal::at_most(longest, PROMISED, " ms", None));
                goals.push(Goal::at_most(unharmed, 0.0, "", None));
            }
        }
    }
    Ok(Section { title: "Attaching", tables: vec![table], notes, goals, data: Value::Array(data) })
}

fn measure_one(bench: &Bench, stand: Stand) -> anyhow::Result<Measured> {
    let server = Server::start(bench, stand)?;
    let plain = server.leftovers()?;
    let asker = Asker::start(server.question(), server.port())?;
    // The first one makes the plans that the others have cached.
    attach(bench, &server)?;
    let threads = server.thread_count()?;
    anyhow::ensure!(threads >= THREADS, "it has {threads} threads only");
    let mut measured = Measured {
        attach_ms: Vec::new(),
        detach_ms: Vec::new(),
        events: 0,
        threads,
        answers: 0,
        complaints: Vec::new(),
    };
    for _ in 0..bench.rounds(100, 5) {
        let attached = attach(bench, &server)?;
        measured.attach_ms.push(attached.attach_ms);
        measured.detach_ms.push(attached.detach_ms);
        measured.events += attached.events;
    }
    match asker.stop() {
        Ok(answers) => measured.answers = answers,
        Err(error) => measured.complaints.push(format!("{error:#}")),
    }
    if server.thread_count()? != threads {
        measured.complaints.push(format!("it had {threads} threads and has {} now", server.thread_count()?));
    }
    let after = server.leftovers()?;
    if after != plain {
        measured.complaints.push(format!("not as before: {after:?}, not {plain:?}"));
    }
    measured.complaints.extend(server.stop()?);
    Ok(measured)
}

/// One attachment.
struct Attached {
    attach_ms: f64,
    detach_ms: f64,
    events: u64,
}

fn attach(bench: &Bench, server: &Server) -> anyhow::Result<Attached> {
    let traces = bench.scratch.join("attached");
    let mut ada = Command::new(bench.ada.path());
    ada.args(["attach", &server.pid().to_string(), "--max-overhead", "none", "--duration", DURATION, "--output"])
        .arg(&traces);
    // Not shared with other runs, so that the first attachment finds no plan.
    ada.env("ADA_CACHE_DIR", bench.scratch.join("attach-plans"));
    let finished = child::run(&mut ada, &bench.scratch, false)?;
    let _ = std::fs::remove_dir_all(&traces);
    let finished = finished.succeeded("ada attach")?;
    Attached::parse(&finished.stderr).with_context(|| format!("ada attach said: {}", finished.stderr.trim()))
}

impl Attached {
    /// `ada: the process stood still for 19.0 ms while hooks were written, 26.4 ms while they were removed`
    fn parse(stderr: &str) -> Option<Self> {
        let lines = || stderr.lines().filter_map(|line| line.strip_prefix("ada: "));
        let still = lines().find_map(|line| line.strip_prefix("the process stood still for "))?;
        let (attach_ms, rest) = still.split_once(" ms while hooks were written, ")?;
        let (detach_ms, _) = rest.split_once(" ms ")?;
        let (events, _) = lines().find_map(|line| line.split_once(" events on "))?;
        Some(Self {
            attach_ms: attach_ms.parse().ok()?,
            detach_ms: detach_ms.parse().ok()?,
            events: events.parse().ok()?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_attach_says_is_understood() {
        let attached = Attached::parse(
            "ada: 34887 events on 10 threads; 6395 of 6513 functions hooked in 113 ms; detached\n\
             ada: the process stood still for 19.0 ms while hooks were written, 26.4 ms while they were removed\n",
        )
        .unwrap();
        assert_eq!((attached.attach_ms, attached.detach_ms, attached.events), (19.0, 26.4, 34887));
        assert!(Attached::parse("ada: there is no process 4711\n").is_none());
    }
}
