//! A call and its return: what each tracer makes of it, in multiples of two clock reads in the same process.

use std::ffi::OsString;

use anyhow::Context;
use serde_json::json;

use super::Bench;
use super::child;
use super::goal::Goal;
use super::peers::{Frida, Uftrace};
use super::programs::{command, compile};
use super::report::Section;
use super::statistics::Spread;
use super::table::Table;

const CALLS_PER_BURST: usize = 20_000;
/// A tracer that costs less than this many times the plain call has not hooked it.
const LEAST_FACTOR: f64 = 3.0;

/// What one burst of `bench/calls.c` cost, in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Burst {
    floor: f64,
    leaf: f64,
    nested: f64,
}

fn parse_bursts(stdout: &str) -> anyhow::Result<Vec<Burst>> {
    let parse = |line: &str| {
        let figures: Result<Vec<f64>, _> = line.split_whitespace().map(str::parse).collect();
        match figures.ok().as_deref() {
            Some(&[floor, leaf, nested]) if floor > 0.0 => Ok(Burst { floor, leaf, nested }),
            _ => Err(anyhow::anyhow!("cannot read the line `burst{line}`")),
        }
    };
    let bursts: Vec<Burst> =
        stdout.lines().filter_map(|line| line.strip_prefix("burst")).map(parse).collect::<Result<_, _>>()?;
    anyhow::ensure!(!bursts.is_empty(), "the program printed no figures");
    Ok(bursts)
}

/// One way to run the program.
struct Variant<'a> {
    name: String,
    /// Frida's driver hooks the leaf alone.
    traces_nested: bool,
    run: Runner<'a>,
    bursts: Vec<Burst>,
    failure: Option<String>,
}

/// Runs the program once; gives what it printed, and adds notes.
type Runner<'a> = Box<dyn Fn(&mut Vec<String>) -> anyhow::Result<String> + 'a>;

impl<'a> Variant<'a> {
    fn new(name: impl Into<String>, run: Runner<'a>) -> Self {
        Self { name: name.into(), traces_nested: true, run, bursts: Vec::new(), failure: None }
    }

    fn missing(name: &str, error: &anyhow::Error) -> Self {
        let failure = Some(format!("{error:#}"));
        Self { failure, ..Self::new(name, Box::new(|_| anyhow::bail!("it is missing"))) }
    }

    fn spread(&self, figure: impl Fn(&Burst) -> f64) -> Option<Spread> {
        Spread::of(self.bursts.iter().map(figure)).filter(|_| self.failure.is_none())
    }

    fn ratio(&self) -> Option<Spread> {
        self.spread(|burst| burst.leaf / burst.floor)
    }
}

fn ada_variant<'a>(
    bench: &'a Bench,
    name: &str,
    detail: &'static str,
    calls: &'a [OsString],
    expected: u64,
) -> Variant<'a> {
    let label = name.to_owned();
    let run = move |notes: &mut Vec<String>| {
        let trace = bench.ada.trace(&command_options(detail), calls, true)?;
        let recorded = trace.profile()?.calls_of("leaf");
        if recorded != expected {
            notes.push(format!("{label}: {recorded} calls of `leaf` are in the trace, {expected} were made"));
        }
        if trace.summary.waited_s > 0.0 {
            notes.push(format!(
                "{label}: the program waited {} s for ada, and its figures with it",
                trace.summary.waited_s
            ));
        }
        for (reason, count) in &trace.summary.lost {
            notes.push(format!("{label}: {count} records lost: {reason}"));
        }
        Ok(trace.finished.stdout.clone())
    };
    Variant::new(name, Box::new(run))
}

fn command_options(detail: &str) -> Vec<String> {
    vec!["--detail".into(), detail.into()]
}

pub(super) fn measure(bench: &Bench) -> anyhow::Result<Section> {
    let bursts = bench.rounds(100, 20);
    let program = compile(bench, "calls")?;
    let calls = command([program.into_os_string(), bursts.to_string().into(), CALLS_PER_BURST.to_string().into()]);
    let expected = (bursts * CALLS_PER_BURST) as u64;
    let untraced = |_: &mut Vec<String>| {
        let mut program = std::process::Command::new(&calls[0]);
        Ok(child::run(program.args(&calls[1..]), &bench.scratch, true)?.succeeded("calls")?.stdout)
    };
    let mut variants = vec![
        Variant::new("untraced", Box::new(untraced)),
        ada_variant(bench, "ada --detail off", "off", &calls, expected),
        ada_variant(bench, "ada (--detail windows)", "windows", &calls, expected),
        ada_variant(bench, "ada --detail all", "all", &calls, expected),
        match Uftrace::find(bench) {
            Ok(uftrace) => {
                let name = format!("uftrace {} -P .", uftrace.version);
                let calls = &calls;
                Variant::new(name, Box::new(move |_| Ok(uftrace.trace(bench, calls)?.stdout)))
            }
            Err(error) => Variant::missing("uftrace -P .", &error),
        },
        match Frida::find(bench) {
            Ok(frida) => {
                let name = format!("Frida {} Interceptor", frida.version);
                let calls = &calls;
                let run = Variant::new(name, Box::new(move |_| Ok(frida.trace(bench, calls)?.stdout)));
                Variant { traces_nested: false, ..run }
            }
            Err(error) => Variant::missing("Frida Interceptor", &error),
        },
    ];
    let mut notes = Vec::new();
    for round in 1..=bench.rounds(5, 2) {
        eprintln!("xtask:   round {round}");
        for variant in variants.iter_mut().filter(|variant| variant.failure.is_none()) {
            match (variant.run)(&mut notes).and_then(|stdout| parse_bursts(&stdout)) {
                Ok(bursts) => variant.bursts.extend(bursts),
                Err(error) => variant.failure = Some(format!("{error:#}")),
            }
        }
    }
    notes.dedup();
    check_that_all_traced(&mut variants)?;
    notes.push(format!(
        "bursts of {CALLS_PER_BURST} calls with rests of 10 ms between: the cost of the hook, without the disk; \
         the floor is measured right before and after each burst, in the same process"
    ));
    notes.push("Frida's callbacks are empty and record nothing; uftrace records time and function".into());
    Ok(Section {
        title: "A call with its return",
        tables: vec![table(&variants)],
        notes,
        goals: goals(&variants),
        data: variants.iter().map(to_json).collect(),
    })
}

/// A tracer that has not hooked the function would win.
fn check_that_all_traced(variants: &mut [Variant<'_>]) -> anyhow::Result<()> {
    let plain = variants[0].spread(|burst| burst.leaf).context("the untraced program failed")?.median;
    for variant in &mut variants[1..] {
        if variant.spread(|burst| burst.leaf).is_some_and(|leaf| leaf.median < plain * LEAST_FACTOR) {
            variant.failure = Some("it has not hooked the function".into());
        }
    }
    Ok(())
}

fn table(variants: &[Variant<'_>]) -> Table {
    let mut table = Table::new(&[
        "<tracer",
        "two rdtsc, ns",
        "leaf pair, ns",
        "leaf / two rdtsc",
        "nested pair, ns",
        "/ uftrace",
        "/ Frida",
    ]);
    let peers = [variants[4].ratio(), variants[5].ratio()];
    for variant in variants {
        let (Some(floor), Some(leaf), Some(ratio), Some(nested)) = (
            variant.spread(|burst| burst.floor),
            variant.spread(|burst| burst.leaf),
            variant.ratio(),
            variant.spread(|burst| burst.nested),
        ) else {
            let reason = variant.failure.as_deref().unwrap_or("no figures");
            table.sentence(&variant.name, &format!("NOT MEASURED: {reason}"));
            continue;
        };
        let against = peers.map(|peer| peer.map_or("-".into(), |peer| format!("{:.2}", ratio.median / peer.median)));
        let nested = if variant.traces_nested { format!("{nested:.1}") } else { "not hooked".into() };
        let [uftrace, frida] = against;
        table.row(vec![
            variant.name.clone(),
            format!("{floor:.1}"),
            format!("{leaf:.1}"),
            format!("{ratio:.2}"),
            nested,
            uftrace,
            frida,
        ]);
    }
    table
}

fn goals(variants: &[Variant<'_>]) -> Vec<Goal> {
    let median = |number: usize| variants[number].ratio().map(|ratio| ratio.median);
    let against = |peer: usize| median(2).zip(median(peer)).map(|(ada, peer)| ada / peer);
    vec![
        Goal::at_most("call pair, index lane / two rdtsc", 1.5, "", median(1)),
        Goal::at_most("call pair, registers and 128 stack bytes / two rdtsc", 2.0, "", median(2)),
        Goal::at_most("call pair, ada's default / uftrace", 0.333, "", against(4)),
        Goal::at_most("call pair, ada's default / Frida", 0.333, "", against(5)),
    ]
}

fn to_json(variant: &Variant<'_>) -> serde_json::Value {
    json!({
        "tracer": variant.name,
        "failure": variant.failure,
        "floor_ns": variant.spread(|burst| burst.floor).map(Spread::to_json),
        "leaf_ns": variant.spread(|burst| burst.leaf).map(Spread::to_json),
        "leaf_to_floor": variant.ratio().map(Spread::to_json),
        "nested_ns": variant.spread(|burst| burst.nested).filter(|_| variant.traces_nested).map(Spread::to_json),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn variant(leaf: f64) -> Variant<'static> {
        let bursts = vec![Burst { floor: 40.0, leaf, nested: leaf }];
        Variant { bursts, ..Variant::new("x", Box::new(|_| Ok(String::new()))) }
    }

    #[test]
    fn bursts_are_three_figures() {
        let bursts = parse_bursts("burst 40.5 2.0 1.5\nmemory self\nburst 41 3 4\n").unwrap();
        assert_eq!(bursts[0], Burst { floor: 40.5, leaf: 2.0, nested: 1.5 });
        assert_eq!(bursts.len(), 2);
        for wrong in ["", "memory self", "burst 1 2", "burst 0 1 2", "burst a b c", "burst 1 2 3 4"] {
            assert!(parse_bursts(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_tracer_that_hooked_nothing_is_not_measured() {
        let mut variants =
            vec![variant(2.0), variant(50.0), variant(60.0), variant(90.0), variant(2.1), variant(400.0)];
        check_that_all_traced(&mut variants).unwrap();
        assert!(variants[4].failure.is_some() && variants[5].failure.is_none());
        let text = table(&variants).text();
        assert!(text.contains("NOT MEASURED: it has not hooked the function"), "{text}");
        let verdicts: Vec<String> = goals(&variants).iter().map(|goal| goal.row()[3].clone()).collect();
        assert_eq!(verdicts, ["met", "met", "NOT MEASURED", "met"]);
    }
}
