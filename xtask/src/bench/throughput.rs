//! Events per second to disk, how many are lost, and how late they get there.

use anyhow::Context;
use serde_json::{Value, json};

use super::Bench;
use super::ada::Trace;
use super::goal::Goal;
use super::programs::{command, compile};
use super::report::Section;
use super::table::Table;

/// Calls per second of the paced stream: a fifth more events than the goal asks for.
const PACE: u64 = 3_000_000;

/// What came of one stream.
struct Measured {
    name: &'static str,
    /// Calls that the program says it made.
    calls: u64,
    seconds: f64,
    events: u64,
    lost: u64,
    waited_s: f64,
    bytes: u64,
    ada_cores: f64,
    latency_ms: Option<[f64; 3]>,
}

pub(super) fn measure(bench: &Bench) -> anyhow::Result<Section> {
    let stream = compile(bench, "stream")?;
    let seconds = bench.rounds(30, 3).to_string();
    let run = |name, options: &[&str], pace: u64| {
        eprintln!("xtask:   {name}, {seconds} s");
        let options: Vec<String> = options.iter().map(|&option| option.to_owned()).collect();
        let stream = command([stream.clone().into_os_string(), seconds.clone().into(), pace.to_string().into()]);
        Measured::of(name, &bench.ada.trace(&options, &stream, true)?)
    };
    let paced = run("3 M calls/s, --on-full drop", &["--on-full", "drop"], PACE)?;
    let measured = [
        paced,
        run("as fast as it can, --on-full wait", &[], 0)?,
        run("as fast as it can, --detail off", &["--detail", "off"], 0)?,
        run("as fast as it can, --detail all", &["--detail", "all"], 0)?,
    ];
    let mut table = Table::new(&[
        "<stream",
        "M events/s",
        "MB/s",
        "lost",
        "waited, s",
        "ada's cores",
        "late p50, ms",
        "p95",
        "p99",
    ]);
    measured.iter().for_each(|measured| table.row(measured.row()));
    let paced = &measured[0];
    let mut notes = vec![
        format!(
            "{seconds} s each; events/s is the program's calls and returns by its own clock, all of which are in the trace unless lost"
        ),
        "waited: how long the program stood still because the rings were full, which is what --on-full wait is for"
            .into(),
    ];
    if measured.iter().any(|measured| measured.latency_ms.is_none()) {
        notes.push("LATENCY NOT RECORDED: the manifest has no lanes.index.latency_ns".into());
    }
    for measured in &measured {
        let missing = (2 * measured.calls).saturating_sub(measured.events + measured.lost);
        if missing > 0 {
            notes.push(format!("{}: {missing} events are neither in the trace nor counted as lost", measured.name));
        }
    }
    let without_loss = Some(paced.rate()).filter(|_| paced.lost == 0).or(Some(0.0));
    let late = |index: usize| paced.latency_ms.map(|latency| latency[index]);
    let goals = vec![
        Goal::at_least(format!("M events/s for {seconds} s with no drop (0 if any was lost)"), 5.0, "", without_loss),
        Goal::at_most("encode to disk, p50", 25.0, " ms", late(0)),
        Goal::at_most("encode to disk, p99", 250.0, " ms", late(2)),
    ];
    let data = measured.iter().map(Measured::to_json).collect();
    Ok(Section { title: "Throughput and latency", tables: vec![table], notes, goals, data })
}

/// `stream CALLS SECONDS`
fn parse_stream(stdout: &str) -> Option<(u64, f64)> {
    let (calls, seconds) = stdout.lines().find_map(|line| line.strip_prefix("stream "))?.split_once(' ')?;
    Some((calls.parse().ok()?, seconds.parse().ok().filter(|&seconds: &f64| seconds > 0.0)?))
}

fn latency_ms(manifest: &Value) -> Option<[f64; 3]> {
    let latency = manifest.pointer("/lanes/index/latency_ns")?;
    let figure = |name: &str| Some(latency[name].as_f64()? / 1e6);
    Some([figure("p50")?, figure("p95")?, figure("p99")?])
}

impl Measured {
    fn of(name: &'static str, trace: &Trace) -> anyhow::Result<Self> {
        let (calls, seconds) = parse_stream(&trace.finished.stdout).context("the program printed no figures")?;
        Ok(Self {
            name,
            calls,
            seconds,
            events: trace.summary.events,
            lost: trace.summary.lost_in_all(),
            waited_s: trace.summary.waited_s,
            bytes: trace.bytes_on_disk(),
            ada_cores: trace.ada_cpu()?.as_secs_f64() / trace.finished.wall.as_secs_f64(),
            latency_ms: latency_ms(&trace.manifest),
        })
    }

    /// Millions of events per second.
    fn rate(&self) -> f64 {
        2.0 * self.calls as f64 / self.seconds / 1e6
    }

    fn row(&self) -> Vec<String> {
        let late = |index: usize| self.latency_ms.map_or("-".into(), |latency| format!("{:.1}", latency[index]));
        vec![
            self.name.into(),
            format!("{:.2}", self.rate()),
            format!("{:.0}", self.bytes as f64 / self.seconds / 1e6),
            self.lost.to_string(),
            format!("{:.1}", self.waited_s),
            format!("{:.2}", self.ada_cores),
            late(0),
            late(1),
            late(2),
        ]
    }

    fn to_json(&self) -> Value {
        json!({
            "stream": self.name,
            "calls": self.calls,
            "seconds": self.seconds,
            "events": self.events,
            "events_per_second": self.rate() * 1e6,
            "lost": self.lost,
            "waited_s": self.waited_s,
            "bytes": self.bytes,
            "ada_cores": self.ada_cores,
            "latency_ms_p50_p95_p99": self.latency_ms,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_program_prints_calls_and_seconds() {
        assert_eq!(parse_stream("stream 5998464 1.999970\n"), Some((5998464, 1.99997)));
        for wrong in ["", "stream", "stream 5", "stream x 1", "stream 5 0"] {
            assert_eq!(parse_stream(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn latency_is_reported_or_not() {
        let manifest =
            json!({"lanes": {"index": {"latency_ns": {"p50": 2_000_000, "p95": 3_500_000, "p99": 9_000_000}}}});
        assert_eq!(latency_ms(&manifest), Some([2.0, 3.5, 9.0]));
        assert_eq!(latency_ms(&json!({"lanes": {"index": {"latency_ns": {"p50": 1}}}})), None);
    }
}
