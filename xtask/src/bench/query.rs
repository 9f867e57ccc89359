//! Questions in SQL to a large session, each asked by a process of its own.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use anyhow::Context;
use serde_json::{Value, json};

use super::Bench;
use super::ada::build_executable;
use super::child;
use super::goal::Goal;
use super::report::Section;
use super::statistics::Spread;
use super::table::Table;

/// What is promised of a question.
enum Promise {
    /// The answer is there after so many seconds.
    Within(f64),
    /// Its first rows are.
    FirstRowsWithin(f64),
    /// So many million rows a second are looked at.
    Rate(f64),
}

struct Question {
    name: &'static str,
    sql: &'static str,
    promise: Promise,
}

/// Names and times are those of `synthetic_session`.
const QUESTIONS: [Question; 8] = [
    Question {
        name: "top 20 functions by self time",
        sql: "SELECT name, module, calls, self_ns FROM functions ORDER BY self_ns DESC LIMIT 20",
        promise: Promise::Within(0.1),
    },
    Question {
        name: "spans of a function",
        sql: "SELECT span_id, start_ns, duration_ns FROM spans \
              WHERE name = (SELECT name FROM functions WHERE calls < 5000 ORDER BY calls DESC LIMIT 1)",
        promise: Promise::Within(0.5),
    },
    Question {
        name: "spans of a millisecond",
        sql: "SELECT span_id, name, duration_ns FROM spans WHERE start_ns BETWEEN 1000000000 AND 1001000000",
        promise: Promise::Within(0.5),
    },
    Question {
        name: "spans of 5 ms and more",
        sql: "SELECT span_id, name, duration_ns FROM spans WHERE duration_ns >= 5000000",
        promise: Promise::Within(0.5),
    },
    Question { name: "all spans, first rows", sql: "SELECT * FROM spans", promise: Promise::FirstRowsWithin(0.2) },
    Question {
        name: "count and sum of all spans",
        sql: "SELECT count(*), sum(duration_ns) FROM spans",
        promise: Promise::Rate(15.0),
    },
    Question { name: "stats() of all spans by name", sql: "SELECT * FROM stats('name')", promise: Promise::Rate(50.0) },
    Question { name: "stats() of all spans", sql: "SELECT * FROM stats('')", promise: Promise::Rate(50.0) },
];

/// Bytes that no answer may need: what is promised.
const MOST_MEMORY: f64 = 2e9;
/// Rows that count as the first.
const FIRST_ROWS: usize = 100;

pub(super) fn measure(bench: &Bench) -> anyhow::Result<Section> {
    let (folder, events) = (bench.scratch.join("large"), bench.rounds(100_000_000, 1_000_000));
    let session = make_session(bench, &folder, events)?;
    let started = Instant::now();
    let spans: f64 = answer(bench, &session, "SELECT count(*) FROM spans")?.trim().parse().context("a count")?;
    let indexed_s = started.elapsed().as_secs_f64();
    let mut table = Table::new(&["<question", "seconds", "M rows/s", "peak memory, MB"]);
    let (mut goals, mut data, mut peak) = (Vec::new(), Vec::new(), 0);
    for question in QUESTIONS {
        eprintln!("xtask:   {}", question.name);
        let mut seconds = Vec::new();
        for _ in 0..bench.rounds(9, 2) {
            let (time, memory) = ask(bench, &session, &question)?;
            seconds.push(time);
            peak = peak.max(memory);
        }
        let spread = Spread::of(seconds).context("nothing was asked")?;
        let (rate, is_scan) = (spans / spread.median / 1e6, matches!(question.promise, Promise::Rate(_)));
        goals.push(match question.promise {
            Promise::Within(bound) | Promise::FirstRowsWithin(bound) => {
                Goal::at_most(question.name, bound, " s", Some(spread.median))
            }
            Promise::Rate(bound) => Goal::at_least(question.name, bound, " M rows/s", Some(rate)),
        });
        table.row(vec![
            question.name.into(),
            format!("{spread:.3}"),
            if is_scan { format!("{rate:.1}") } else { "-".into() },
            format!("{:.0}", peak as f64 / 1e6),
        ]);
        data.push(json!({"question": question.name, "sql": question.sql, "seconds": spread.to_json()}));
    }
    goals.push(Goal::at_most("memory of any question", MOST_MEMORY / 1e9, " GB", Some(peak as f64 / 1e9)));
    let _ = fs::remove_dir_all(&folder);
    let notes = vec![
        format!("{events} events, {spans} spans; `ada query` from its start to its end, files in the page cache"),
        format!("the first question makes the span tables, once: {indexed_s:.1} s"),
        "memory: the most that any question so far had at once".to_owned(),
    ];
    Ok(Section { title: "Questions", tables: vec![table], notes, goals, data: Value::Array(data) })
}

fn make_session(bench: &Bench, folder: &Path, events: usize) -> anyhow::Result<PathBuf> {
    let program = build_executable(&bench.root, &["--package", "ada-span", "--example", "synthetic_session"])?;
    let _ = fs::remove_dir_all(folder);
    let mut command = Command::new(program);
    let made = child::run(command.arg(folder).arg(events.to_string()), &bench.scratch, true)?;
    let made = made.succeeded("synthetic_session")?;
    Ok(PathBuf::from(made.stdout.trim()))
}

fn query(bench: &Bench, session: &Path, sql: &str) -> Command {
    let mut command = Command::new(bench.ada.path());
    command.arg("query").arg(session).args([sql, "--format", "csv"]);
    command
}

/// The last line of an answer.
fn answer(bench: &Bench, session: &Path, sql: &str) -> anyhow::Result<String> {
    let finished = child::run(&mut query(bench, session, sql), &bench.scratch, true)?.succeeded("ada query")?;
    Ok(finished.stdout.lines().last().unwrap_or_default().to_owned())
}

/// Seconds, and bytes of memory.
fn ask(bench: &Bench, session: &Path, question: &Question) -> anyhow::Result<(f64, u64)> {
    let mut command = query(bench, session, question.sql);
    if let Promise::FirstRowsWithin(_) = question.promise {
        let started = Instant::now();
        let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn()?;
        let rows = BufReader::new(child.stdout.take().context("it has no output")?);
        let count = rows.lines().take(FIRST_ROWS).map_while(Result::ok).count();
        let seconds = started.elapsed().as_secs_f64();
        // Nobody reads on.
        child.kill()?;
        child.wait()?;
        anyhow::ensure!(count == FIRST_ROWS, "it gave {count} rows only");
        return Ok((seconds, 0));
    }
    let finished = child::run(&mut command, &bench.scratch, true)?.succeeded("ada query")?;
    anyhow::ensure!(finished.stdout.lines().count() > 1, "{} has no answer", question.name);
    Ok((finished.wall.as_secs_f64(), finished.peak))
}
