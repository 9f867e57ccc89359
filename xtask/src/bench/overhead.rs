//! Processor time of real programs, traced against untraced.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use anyhow::Context;
use serde_json::{Value, json};

use super::Bench;
use super::call_profile::CallProfile;
use super::child;
use super::goal::Goal;
use super::programs::command;
use super::report::Section;
use super::statistics::Spread;
use super::table::Table;
use super::workload::{self, Workload};

/// Calls per second of processor time from which on a program is dense.
const DENSE: f64 = 1e6;
/// How many of a dense program's functions are left alone, to see what that brings.
const EXCLUDED: usize = 10;

/// A program with few calls is measured until the median's standard error is no more percentage points than this …
const DOUBT: f64 = 2.0;
/// … or so often.
const MOST_ROUNDS: usize = 60;

/// What was measured of one program.
struct Measured {
    untraced_s: Spread,
    calls_per_second: f64,
    /// Percent on top of the untraced time.
    default: Spread,
    without_detail: Spread,
    /// The same of the fastest runs of both kinds: what remains when nothing disturbs.
    best: f64,
    waited_s: f64,
    lost: u64,
    dense: Option<Dense>,
}

/// What more there is to say of a program with many calls.
struct Dense {
    profile: CallProfile,
    share_left: f64,
    calls_per_second: f64,
    overhead: Spread,
}

pub(super) fn measure(bench: &Bench) -> anyhow::Result<Section> {
    let mut table = Table::new(&[
        "<program",
        "untraced CPU, s",
        "M calls/s",
        "overhead, %",
        "of best, %",
        "--detail off, %",
        "ns/call",
        "waited, s",
        "lost",
    ]);
    let mut excluded =
        Table::new(&["<dense program", "overhead, %", "without the hottest, %", "calls left", "M calls/s", "<hottest"]);
    let (mut worst, mut dearest, mut data): (Option<f64>, String, Vec<Value>) = (None, String::new(), Vec::new());
    let mut count = 0;
    let workloads = workload::all(&bench.scratch)?;
    let start = start_up(bench)?;
    for workload in &workloads {
        eprintln!("xtask:   {}", workload.name);
        let measured = match measure_one(bench, workload) {
            Ok(measured) => measured,
            Err(error) => {
                table.sentence(workload.name, &format!("NOT MEASURED: {error:#}"));
                continue;
            }
        };
        count += 1;
        table.row(row(workload.name, &measured));
        if let Some(dense) = &measured.dense {
            excluded.row(dense_row(workload.name, &measured, dense));
        } else if worst.is_none_or(|worst| measured.default.median > worst) {
            worst = Some(measured.default.median);
            dearest = workload.name.to_owned();
        }
        data.push(to_json(workload.name, &measured));
    }
    let notes = vec![
        "user and system time of the program itself, as the kernel charges it, start-up included; ada's own time is \
         not in it; calls per second of untraced processor time"
            .to_owned(),
        "overhead: each traced run against the untraced ones before and after it; of best: the fastest traced run \
         against the fastest untraced one"
            .to_owned(),
        format!(
            "starting alone: `true` takes {:.1} ms of processor time untraced and {:.1} ms traced",
            start.0.median * 1e3,
            start.1.median * 1e3
        ),
        format!("without the hottest: the {EXCLUDED} most called functions given to --exclude"),
    ];
    let bound = format!("CPU overhead below 1 M calls/s, the dearest ({dearest})");
    let goals = vec![
        Goal::at_most(bound, 10.0, " %", worst),
        Goal::at_least("real programs measured", 8.0, "", Some(f64::from(count))),
    ];
    Ok(Section { title: "Real programs", tables: vec![table, excluded], notes, goals, data: Value::Array(data) })
}

fn measure_one(bench: &Bench, workload: &Workload) -> anyhow::Result<Measured> {
    let program = Path::new(&workload.command[0]);
    anyhow::ensure!(program.exists(), "{} is not here; apt-get install {}", program.display(), workload.package);
    let first = bench.ada.trace(&[], &workload.command, false)?;
    let profile = first.profile()?;
    drop(first);
    let off = ["--detail".to_owned(), "off".to_owned()];
    let mut untraced = Alternating::begin(bench, workload)?;
    let is_dense = profile.calls() as f64 / untraced.before.as_secs_f64() >= DENSE;
    let (mut default, mut without_detail) = (Vec::new(), Vec::new());
    // A few percent are harder to see than a few hundred.
    let (rounds, most) =
        if is_dense { (bench.rounds(7, 2), 0) } else { (bench.rounds(15, 3), bench.rounds(MOST_ROUNDS, 3)) };
    while default.len() < rounds || default.len() < most && doubt(&default) > DOUBT {
        default.push(untraced.against(&[])?);
        without_detail.push(untraced.against(&off)?);
    }
    let untraced_s = untraced.spread()?;
    let calls_per_second = profile.calls() as f64 / untraced_s.median;
    let dense = (calls_per_second >= DENSE).then(|| without_hottest(bench, workload, profile)).transpose()?;
    Ok(Measured {
        untraced_s,
        calls_per_second,
        default: spread(default.iter().map(|round| round.overhead))?,
        without_detail: spread(without_detail.iter().map(|round| round.overhead))?,
        best: best(&default).map_or(f64::NAN, |traced| percent_more(traced, untraced.best())),
        waited_s: default.iter().map(|round| round.waited_s).fold(0.0, f64::max),
        lost: default.iter().map(|round| round.lost).sum(),
        dense,
    })
}

/// A traced run between two untraced ones.
struct Round {
    cpu: Duration,
    /// Percent more than the mean of the two.
    overhead: f64,
    waited_s: f64,
    lost: u64,
}

/// Runs a program traced and untraced in turn, so that each traced run has an untraced one before and after it: a machine
/// that changes its speed changes all three.
struct Alternating<'a> {
    bench: &'a Bench,
    workload: &'a Workload,
    before: Duration,
    all: Vec<Duration>,
}

impl<'a> Alternating<'a> {
    fn begin(bench: &'a Bench, workload: &'a Workload) -> anyhow::Result<Self> {
        let before = untraced_cpu(bench, workload)?;
        Ok(Self { bench, workload, before, all: vec![before] })
    }

    fn against(&mut self, options: &[String]) -> anyhow::Result<Round> {
        let trace = self.bench.ada.trace(options, &self.workload.command, false)?;
        let code = trace.finished.code;
        anyhow::ensure!(code == Some(0), "it ended with code {code:?} when traced");
        let cpu = trace.program_cpu()?;
        let (waited_s, lost) = (trace.summary.waited_s, trace.summary.lost_in_all());
        drop(trace);
        let after = untraced_cpu(self.bench, self.workload)?;
        let overhead = percent_more(cpu, (self.before + after) / 2);
        self.before = after;
        self.all.push(after);
        Ok(Round { cpu, overhead, waited_s, lost })
    }

    fn best(&self) -> Duration {
        self.all.iter().min().copied().unwrap_or(self.before)
    }

    fn spread(&self) -> anyhow::Result<Spread> {
        spread(self.all.iter().map(Duration::as_secs_f64))
    }
}

fn doubt(rounds: &[Round]) -> f64 {
    Spread::of(rounds.iter().map(|round| round.overhead)).map_or(f64::INFINITY, |spread| spread.doubt())
}

fn best(rounds: &[Round]) -> Option<Duration> {
    rounds.iter().map(|round| round.cpu).min()
}

fn spread(figures: impl Iterator<Item = f64>) -> anyhow::Result<Spread> {
    Spread::of(figures).context("no round was measured")
}

fn without_hottest(bench: &Bench, workload: &Workload, profile: CallProfile) -> anyhow::Result<Dense> {
    let options: Vec<String> = profile
        .hottest(EXCLUDED)
        .iter()
        .flat_map(|function| ["--exclude".to_owned(), function.pattern.clone()])
        .collect();
    let left = bench.ada.trace(&options, &workload.command, false)?.profile()?.calls() as f64;
    let mut untraced = Alternating::begin(bench, workload)?;
    let rounds: Vec<Round> =
        (0..bench.rounds(5, 2)).map(|_| untraced.against(&options)).collect::<anyhow::Result<_>>()?;
    Ok(Dense {
        share_left: left / profile.calls().max(1) as f64,
        calls_per_second: left / untraced.spread()?.median,
        overhead: spread(rounds.iter().map(|round| round.overhead))?,
        profile,
    })
}

/// Processor seconds of a program that only starts, untraced and traced: what every program pays once.
fn start_up(bench: &Bench) -> anyhow::Result<(Spread, Spread)> {
    let nothing = Workload { name: "true", package: "coreutils", command: command(["/bin/true"]) };
    let mut untraced = Alternating::begin(bench, &nothing)?;
    let traced: Vec<Round> = (0..bench.rounds(15, 3)).map(|_| untraced.against(&[])).collect::<anyhow::Result<_>>()?;
    Ok((untraced.spread()?, spread(traced.iter().map(|round| round.cpu.as_secs_f64()))?))
}

fn untraced_cpu(bench: &Bench, workload: &Workload) -> anyhow::Result<Duration> {
    let mut program = Command::new(&workload.command[0]);
    Ok(child::run(program.args(&workload.command[1..]), &bench.scratch, false)?.succeeded(workload.name)?.cpu)
}

fn percent_more(traced: Duration, untraced: Duration) -> f64 {
    (traced.as_secs_f64() / untraced.as_secs_f64() - 1.0) * 100.0
}

/// What a call costs the program.
fn ns_per_call(measured: &Measured) -> f64 {
    measured.default.median / 100.0 / measured.calls_per_second * 1e9
}

fn row(name: &str, measured: &Measured) -> Vec<String> {
    vec![
        name.into(),
        format!("{:.2}", measured.untraced_s),
        format!("{:.3}", measured.calls_per_second / 1e6),
        format!("{:.1}", measured.default),
        format!("{:.1}", measured.best),
        format!("{:.1}", measured.without_detail),
        // Below, it is the start and the machine's noise that are divided.
        if measured.dense.is_some() { format!("{:.0}", ns_per_call(measured)) } else { "-".into() },
        format!("{:.1}", measured.waited_s),
        measured.lost.to_string(),
    ]
}

fn dense_row(name: &str, measured: &Measured, dense: &Dense) -> Vec<String> {
    vec![
        name.into(),
        format!("{:.0}", measured.default.median),
        format!("{:.0}", dense.overhead),
        format!("{:.0} %", dense.share_left * 100.0),
        format!("{:.2}", dense.calls_per_second / 1e6),
        dense.profile.words(4),
    ]
}

fn to_json(name: &str, measured: &Measured) -> Value {
    let dense = measured.dense.as_ref().map(|dense| {
        json!({
            "hottest": dense.profile.to_json(EXCLUDED),
            "overhead_percent_without_hottest": dense.overhead.to_json(),
            "share_of_calls_left": dense.share_left,
        })
    });
    json!({
        "program": name,
        "untraced_cpu_s": measured.untraced_s.to_json(),
        "calls_per_cpu_second": measured.calls_per_second,
        "overhead_percent": measured.default.to_json(),
        "overhead_percent_of_best": measured.best,
        "overhead_percent_detail_off": measured.without_detail.to_json(),
        "waited_s": measured.waited_s,
        "lost": measured.lost,
        "dense": dense,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn exactly(value: f64) -> Spread {
        Spread::of([value]).unwrap()
    }

    #[test]
    fn overhead_is_what_comes_on_top() {
        let seconds = Duration::from_secs;
        assert_eq!(percent_more(seconds(3), seconds(2)), 50.0);
        assert_eq!(percent_more(seconds(1), seconds(2)), -50.0);
    }

    #[test]
    fn a_call_costs_the_added_time_by_the_number_of_calls() {
        let measured = Measured {
            untraced_s: exactly(2.0),
            calls_per_second: 10e6,
            default: exactly(50.0),
            without_detail: exactly(40.0),
            best: 45.0,
            waited_s: 0.0,
            lost: 0,
            dense: None,
        };
        // Half a second more per second, for ten million calls.
        assert_eq!(ns_per_call(&measured), 50.0);
        assert_eq!(row("x", &measured)[6], "-");
    }
}
