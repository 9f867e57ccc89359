//! Dense programs within a budget: processor time once the governor has settled, against untraced.

use std::ffi::OsString;
use std::path::Path;
use std::process::Command;

use anyhow::Context;
use serde_json::{Value, json};

use super::Bench;
use super::ada::Trace;
use super::child;
use super::goal::Goal;
use super::inputs::Inputs;
use super::programs::command;
use super::report::Section;
use super::statistics::Spread;
use super::table::Table;

const BUDGET: &str = "10%";
/// How long the governor may take to get there, in seconds of the program's processor time.
const SETTLES_WITHIN: f64 = 1.0;
/// How much longer than untraced a program may take for this budget: what is promised.
const PROMISED: f64 = 1.15;

/// In how many rounds counts are kept exact too: these runs are long, and there is no goal to meet.
const EXACT_ROUNDS: usize = 3;

/// A program that calls all the time, by the amount of its work.
struct Dense {
    name: &'static str,
    command: Box<dyn Fn(u32) -> Vec<OsString>>,
    /// Amounts: for a look at full coverage; that is over soon; that goes on for seconds.
    tiny: u32,
    short: u32,
    long: u32,
}

fn programs(inputs: &Inputs) -> Vec<Dense> {
    let python = |amount: u32| {
        let script = format!(
            "for r in range({amount}):\n d = {{}}\n for i in range(40000): d[str(i)] = i * 2\nprint(sum(d.values()))"
        );
        command(["/usr/bin/python3", "-c", &script])
    };
    let sqlite = |amount: u32| {
        let rows = amount * 20_000;
        let sql = format!(
            "create table t(a, b);\
             with recursive c(x) as (select 1 union all select x + 1 from c where x < {rows}) \
             insert into t select x, x * 7919 % 100003 from c;\
             create index i on t(b);\
             select count(*) from t x join t y on x.b = y.a where y.b > 50000;"
        );
        command(["/usr/bin/sqlite3", ":memory:", &sql])
    };
    let (text, short_text) = (inputs.text.clone(), inputs.short_text.clone());
    let sort = move |amount: u32| {
        let mut line = command(["/usr/bin/sort", "--parallel=1", "--buffer-size=4G"]);
        let file = if amount == 0 { &short_text } else { &text };
        line.extend((0..amount.max(1)).map(|_| file.clone().into_os_string()));
        line
    };
    vec![
        Dense { name: "python3", command: Box::new(python), tiny: 10, short: 150, long: 600 },
        Dense { name: "sqlite3", command: Box::new(sqlite), tiny: 6, short: 60, long: 240 },
        Dense { name: "sort", command: Box::new(sort), tiny: 0, short: 1, long: 4 },
    ]
}

/// Processor seconds of the same work, untraced and within a budget, at the same time on the same processor.
#[derive(Clone, Copy)]
struct Pair {
    plain: f64,
    governed: f64,
}

/// A short and a long run.
#[derive(Clone, Copy)]
struct Round {
    short: Pair,
    long: Pair,
}

impl Round {
    /// What the long run takes beyond the short one: the time before a governor has settled is in both.
    fn settled(&self) -> f64 {
        (self.long.governed - self.short.governed) / (self.long.plain - self.short.plain)
    }
}

fn spread(rounds: &[Round], value: impl Fn(&Round) -> f64) -> anyhow::Result<Spread> {
    Spread::of(rounds.iter().map(value)).context("no round was measured")
}

/// What the governor did in the last round of the long run.
#[derive(Default)]
struct Done {
    counted: usize,
    left_alone: usize,
    calls: u64,
    recorded: u64,
}

pub(super) fn measure(bench: &Bench) -> anyhow::Result<Section> {
    let inputs = Inputs::make(&bench.scratch.join("inputs"))?;
    let mut table = Table::new(&[
        "<program",
        "full coverage, x",
        "untraced CPU, s",
        "whole run, x",
        "settled, x",
        "settling, s",
        "beyond, s",
        "exact counts, x",
        "functions counted",
        "left alone",
        "M calls counted",
        "M events recorded",
    ]);
    let (mut goals, mut data) = (Vec::new(), Vec::new());
    for program in programs(&inputs) {
        eprintln!("xtask:   {}", program.name);
        let what = format!("{} with --max-overhead {BUDGET}, settled / untraced", program.name);
        let settles = format!("{} clearly over its budget until then, the worst run", program.name);
        match measure_one(bench, &program) {
            Ok(Measured { row, settled, settling, value }) => {
                table.row(row);
                data.push(value);
                goals.push(Goal::at_most(what, PROMISED, " x", Some(settled)));
                goals.push(Goal::at_most(settles, SETTLES_WITHIN, " s", Some(settling)));
            }
            Err(error) => {
                table.sentence(program.name, &format!("NOT MEASURED: {error:#}"));
                goals.push(Goal::at_most(what, PROMISED, " x", None));
                goals.push(Goal::at_most(settles, SETTLES_WITHIN, " s", None));
            }
        }
    }
    let notes = vec![
        "settled: (long run − short run, traced) / (the same, untraced), in user and system time of the program; traced \
         and untraced run at the same time on the same processor, so that both have it at the same speed"
            .to_owned(),
        "settling: processor time clearly over the budget by the governor's own estimate, the worst run; beyond: what the \
         short run took in excess of the settled rate, measured"
            .to_owned(),
        "exact counts: settled, with --exact-counts, which removes no hook".to_owned(),
        "full coverage: a run of a fraction of a second without a budget against an untraced one".to_owned(),
    ];
    Ok(Section { title: "Within a budget", tables: vec![table], notes, goals, data: Value::Array(data) })
}

struct Measured {
    row: Vec<String>,
    settled: f64,
    settling: f64,
    value: Value,
}

fn measure_one(bench: &Bench, program: &Dense) -> anyhow::Result<Measured> {
    let [tiny, short, long] = [program.tiny, program.short, program.long].map(|amount| (program.command)(amount));
    anyhow::ensure!(Path::new(&tiny[0]).exists(), "{} is not here", Path::new(&tiny[0]).display());
    let full = run_pair(bench, &[], &tiny)?.0;
    let budget = ["--max-overhead".to_owned(), BUDGET.to_owned()];
    let exactly = [&budget[..], &["--exact-counts".to_owned()]].concat();
    let (mut rounds, mut exact) = (Vec::new(), Vec::new());
    let (mut done, mut settling) = (Done::default(), 0.0f64);
    for number in 0..bench.rounds(7, 1) {
        let (short_pair, _) = run_pair(bench, &budget, &short)?;
        let (long_pair, trace) = run_pair(bench, &budget, &long)?;
        rounds.push(Round { short: short_pair, long: long_pair });
        done = Done::of(&trace.manifest, trace.summary.events);
        let over_ns = trace.manifest["over_budget_ns"].as_u64().context("the session has no `over_budget_ns`")?;
        settling = settling.max(over_ns as f64 / 1e9);
        if number < EXACT_ROUNDS {
            let (short, long) = (run_pair(bench, &exactly, &short)?.0, run_pair(bench, &exactly, &long)?.0);
            exact.push(Round { short, long });
        }
    }
    let settled = spread(&rounds, Round::settled)?;
    let exact_settled = spread(&exact, Round::settled)?;
    let beyond = spread(&rounds, |round| round.short.governed - round.settled() * round.short.plain)?;
    let whole = spread(&rounds, |round| round.long.governed / round.long.plain)?;
    let row = vec![
        program.name.into(),
        format!("{:.1}", full.governed / full.plain),
        format!("{:.2}", spread(&rounds, |round| round.long.plain)?),
        format!("{whole:.2}"),
        format!("{settled:.2}"),
        format!("{settling:.2}"),
        format!("{beyond:.2}"),
        format!("{exact_settled:.2}"),
        done.counted.to_string(),
        done.left_alone.to_string(),
        format!("{:.1}", done.calls as f64 / 1e6),
        format!("{:.1}", done.recorded as f64 / 1e6),
    ];
    let seconds = |rounds: &[Round]| -> Vec<Value> {
        let pair = |pair: Pair| json!({"untraced_s": pair.plain, "governed_s": pair.governed});
        rounds.iter().map(|round| json!({"short": pair(round.short), "long": pair(round.long)})).collect()
    };
    let value = json!({
        "program": program.name,
        "full_coverage": full.governed / full.plain,
        "rounds": seconds(&rounds),
        "rounds_with_exact_counts": seconds(&exact),
        "whole_run": whole.median,
        "settled": settled.median,
        "settling_s": settling,
        "beyond_s": beyond.median,
        "exact_settled": exact_settled.median,
        "functions_counted": done.counted,
        "functions_left_alone": done.left_alone,
        "calls_counted": done.calls,
        "events_recorded": done.recorded,
    });
    Ok(Measured { row, settled: settled.median, settling, value })
}

/// Runs a command untraced and traced at the same time, both programs on the last processor.
///
/// A shared machine's speed changes from second to second by more than a budget is; the scheduler has the two take turns
/// every few milliseconds, so that it changes for both.
fn run_pair(bench: &Bench, options: &[String], line: &[OsString]) -> anyhow::Result<(Pair, Trace)> {
    std::thread::scope(|scope| {
        let (pinned, traced) = (pinned_to_last(line), pinned_to_last(line));
        let plain = scope.spawn(move || untraced(bench, &pinned));
        let trace = bench.ada.trace(options, &traced, false)?;
        let plain = plain.join().expect("running a program does not panic")?;
        Ok((Pair { plain, governed: trace.program_cpu()?.as_secs_f64() }, trace))
    })
}

/// The command on the last processor alone.
fn pinned_to_last(line: &[OsString]) -> Vec<OsString> {
    let last = std::thread::available_parallelism().map_or(1, usize::from) - 1;
    let mut pinned = command(["/usr/bin/taskset", "-c", &last.to_string()]);
    pinned.extend_from_slice(line);
    pinned
}

impl Done {
    fn of(manifest: &Value, recorded: u64) -> Self {
        let switches = || manifest["switches"].as_array().into_iter().flatten();
        let functions = |mode: &str| {
            let ids =
                switches().filter(|switch| switch["mode"] == mode).filter_map(|switch| switch["function_id"].as_u64());
            ids.collect::<std::collections::HashSet<u64>>().len()
        };
        let calls = switches().filter_map(|switch| switch["count"].as_u64()).sum();
        Self { counted: functions("count"), left_alone: functions("unhooked"), calls, recorded }
    }
}

fn untraced(bench: &Bench, line: &[OsString]) -> anyhow::Result<f64> {
    let mut program = Command::new(&line[0]);
    Ok(child::run(program.args(&line[1..]), &bench.scratch, false)?.succeeded("the program")?.cpu.as_secs_f64())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_in_both_runs_does_not_count() {
        let round = Round { short: Pair { plain: 1.0, governed: 3.0 }, long: Pair { plain: 5.0, governed: 7.4 } };
        assert!((round.settled() - 1.1).abs() < 1e-9);
        assert!(spread(&[], Round::settled).is_err());
    }

    #[test]
    fn functions_are_counted_once() {
        let manifest = json!({"switches": [
            {"function_id": 1, "mode": "count", "count": 5},
            {"function_id": 1, "mode": "count", "count": 7},
            {"function_id": 1, "mode": "unhooked"},
            {"function_id": 2, "mode": "count", "count": 1},
        ]});
        let done = Done::of(&manifest, 9);
        assert_eq!((done.counted, done.left_alone, done.calls, done.recorded), (2, 1, 13, 9));
    }
}
