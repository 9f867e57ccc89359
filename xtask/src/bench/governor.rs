//! Dense programs within a budget: processor time once the governor has settled, against untraced.

use std::ffi::OsString;
use std::path::Path;
use std::process::Command;

use anyhow::Context;
use serde_json::{Value, json};

use super::Bench;
use super::child;
use super::goal::Goal;
use super::inputs::Inputs;
use super::programs::command;
use super::report::Section;
use super::statistics::Spread;
use super::table::Table;

const BUDGET: &str = "10%";
/// How much longer than untraced a program may take for this budget: what is promised.
const PROMISED: f64 = 1.15;

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

/// Processor seconds of the short and of the long run.
#[derive(Default)]
struct Times {
    short: Vec<f64>,
    long: Vec<f64>,
}

impl Times {
    /// What the long run takes beyond the short one: the time before a governor has settled is in both.
    fn beyond(&self) -> anyhow::Result<f64> {
        let median = |times: &[f64]| Spread::of(times.iter().copied()).context("no round was measured");
        Ok(median(&self.long)?.median - median(&self.short)?.median)
    }
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
        "functions counted",
        "left alone",
        "M calls counted",
        "M events recorded",
    ]);
    let (mut goals, mut data) = (Vec::new(), Vec::new());
    for program in programs(&inputs) {
        eprintln!("xtask:   {}", program.name);
        let what = format!("{} with --max-overhead {BUDGET}, settled / untraced", program.name);
        match measure_one(bench, &program) {
            Ok((row, settled, value)) => {
                table.row(row);
                data.push(value);
                goals.push(Goal::at_most(what, PROMISED, " x", Some(settled)));
            }
            Err(error) => {
                table.sentence(program.name, &format!("NOT MEASURED: {error:#}"));
                goals.push(Goal::at_most(what, PROMISED, " x", None));
            }
        }
    }
    let notes = vec![
        "settled: (median of long runs − median of short ones, traced) / (the same, untraced), in user and system \
         time of the program; traced and untraced, short and long runs take turns"
            .to_owned(),
        "full coverage: a run of a fraction of a second without a budget against an untraced one".to_owned(),
    ];
    Ok(Section { title: "Within a budget", tables: vec![table], notes, goals, data: Value::Array(data) })
}

fn measure_one(bench: &Bench, program: &Dense) -> anyhow::Result<(Vec<String>, f64, Value)> {
    let [tiny, short, long] = [program.tiny, program.short, program.long].map(|amount| (program.command)(amount));
    anyhow::ensure!(Path::new(&tiny[0]).exists(), "{} is not here", Path::new(&tiny[0]).display());
    let full = bench.ada.trace(&[], &tiny, false)?.program_cpu()?.as_secs_f64() / untraced(bench, &tiny)?;
    let budget = ["--max-overhead".to_owned(), BUDGET.to_owned()];
    let (mut plain, mut governed, mut done) = (Times::default(), Times::default(), Done::default());
    for _ in 0..bench.rounds(7, 1) {
        plain.short.push(untraced(bench, &short)?);
        governed.short.push(bench.ada.trace(&budget, &short, false)?.program_cpu()?.as_secs_f64());
        plain.long.push(untraced(bench, &long)?);
        let trace = bench.ada.trace(&budget, &long, false)?;
        governed.long.push(trace.program_cpu()?.as_secs_f64());
        done = Done::of(&trace.manifest, trace.summary.events);
    }
    let settled = governed.beyond()? / plain.beyond()?;
    let spread = |times: &[f64]| Spread::of(times.iter().copied()).context("no round was measured");
    let (plain_long, governed_long) = (spread(&plain.long)?, spread(&governed.long)?);
    let whole = governed_long.median / plain_long.median;
    let row = vec![
        program.name.into(),
        format!("{full:.1}"),
        format!("{plain_long:.2}"),
        format!("{whole:.2}"),
        format!("{settled:.3}"),
        done.counted.to_string(),
        done.left_alone.to_string(),
        format!("{:.1}", done.calls as f64 / 1e6),
        format!("{:.1}", done.recorded as f64 / 1e6),
    ];
    let value = json!({
        "program": program.name,
        "full_coverage": full,
        "untraced_short_s": plain.short, "untraced_long_s": plain.long,
        "governed_short_s": governed.short, "governed_long_s": governed.long,
        "whole_run": whole,
        "settled": settled,
        "functions_counted": done.counted,
        "functions_left_alone": done.left_alone,
        "calls_counted": done.calls,
        "events_recorded": done.recorded,
    });
    Ok((row, settled, value))
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
        let plain = Times { short: vec![1.0, 1.0, 9.0], long: vec![5.0, 5.0, 0.1] };
        let governed = Times { short: vec![3.0], long: vec![7.4] };
        assert!((governed.beyond().unwrap() / plain.beyond().unwrap() - 1.1).abs() < 1e-9);
        assert!(Times::default().beyond().is_err());
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
