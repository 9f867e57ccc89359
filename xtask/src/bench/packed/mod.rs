//! The packed form of traces: how small it is, and how fast it is written and read.

mod dense;
mod spans;

use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{Cursor, Read};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use ada_format::atf::Session;
use ada_format::atf::packed::{EventDecoder, PackedShape, pack_detail, pack_index, unpack_detail, unpack_index};
use anyhow::{Context, ensure};
use serde_json::{Value, json};

use dense::{Dense, LONG, SHORT};

use super::Bench;
use super::child;
use super::goal::Goal;
use super::programs::command;
use super::report::Section;
use super::statistics::Spread;
use super::summary::Summary;
use super::table::Table;
use super::workload;

/// A server with four threads for its connections, and somebody who asks it.
const REDIS: &str = "\
set -e
redis-server --port 0 --unixsocket $1/redis.sock --save '' --io-threads 4 --io-threads-do-reads yes --daemonize no \
  >$1/redis.log &
until redis-cli -s $1/redis.sock ping >/dev/null 2>&1; do sleep 0.05; done
redis-benchmark -s $1/redis.sock -c 50 -n $2 -t set,get,lpush -q >/dev/null
redis-cli -s $1/redis.sock shutdown nosave
wait";
const NODE: &str = "\
const m = new Map();
for (let i = 0; i < 200000; i++) m.set('k' + i, JSON.parse(JSON.stringify({ i, s: 'x'.repeat(i % 50) })));
console.log([...m.keys()].sort().length);";
/// Seconds that a file is encoded and decoded again and again.
const LONG_ENOUGH_S: f64 = 0.25;

/// How a trace is made.
enum Subject {
    Command(Vec<OsString>),
    /// A program of `tests/swift/`, where `scripts/swift-env` makes and runs it.
    Swift(&'static str),
}

/// What was measured of one trace.
#[derive(Default)]
struct Measured {
    events: u64,
    packed: u64,
    encode_s: f64,
    decode_s: f64,
    detail: u64,
    packed_detail: u64,
}

pub(super) fn measure(bench: &Bench) -> anyhow::Result<Section> {
    let mut sizes = Table::new(&[
        "<trace",
        "M events",
        "bytes/event",
        "encoded, M events/s",
        "decoded, M events/s",
        "MB detail",
        "packed, %",
    ]);
    let (mut all, mut data) = (Vec::new(), Vec::new());
    for (name, subject) in subjects(bench)? {
        eprintln!("xtask:   {name}");
        match measure_one(bench, &subject) {
            Ok(it) => {
                sizes.row(it.row(name));
                data.push(it.to_json(name));
                all.push(it);
            }
            Err(error) => sizes.sentence(name, &format!("NOT MEASURED: {error:#}")),
        }
    }
    let [known, on_disk] = spans::measure(bench)?;
    let short = dense::measure(bench, SHORT, bench.rounds(7, 1));
    let long = dense::measure(bench, bench.rounds(LONG, SHORT), bench.rounds(3, 1));
    let mut times = Table::new(&["<what", "raw, s", "packed, s", "nothing written, s"]);
    for (what, spans) in [("spans of python3, its files in memory", &known), ("- the same, on the disk only", &on_disk)]
    {
        times.row(vec![what.into(), format!("{:.2}", spans.raw), format!("{:.2}", spans.packed), "-".into()]);
        times.row(vec![
            "- by raw, of each round".into(),
            "1".into(),
            format!("{:.2}", spans.packed_by_raw),
            "-".into(),
        ]);
    }
    for (name, dense) in [("short", &short), ("long", &long)] {
        let what = format!("ada trace --on-full wait -- python3, {name} work");
        let dense = match dense {
            Ok(dense) => dense,
            // The disk may have no room for it; the rest is worth knowing all the same.
            Err(error) => {
                times.sentence(&what, &format!("NOT MEASURED: {error:#}"));
                continue;
            }
        };
        let mut row = |what: &str, seconds: &[Spread; 3]| {
            let cells = seconds.iter().map(|spread| format!("{spread:.2}"));
            times.row(std::iter::once(what.to_owned()).chain(cells).collect());
        };
        row(&what, &dense.wall);
        row("- the same until all is on the disk", &dense.synced);
        row("- ada's processor time", &dense.ada_cpu);
    }
    let [short, long] = [short.ok(), long.ok()];
    let against = |dense: &Option<Dense>, other| dense.as_ref().map(|dense| dense.packed_against(other));
    let worst = |figure: &dyn Fn(&Measured) -> f64| all.iter().map(figure).reduce(f64::max);
    let least = |figure: &dyn Fn(&Measured) -> f64| all.iter().map(figure).reduce(f64::min);
    let mean = (!all.is_empty()).then(|| all.iter().map(Measured::per_event).sum::<f64>() / all.len() as f64);
    let goals = vec![
        Goal::at_most("bytes per event, mean of the traces", 4.0, "", mean),
        Goal::at_most("bytes per event, the worst", 6.0, "", worst(&Measured::per_event)),
        Goal::at_most("detail, share of raw, the worst", 40.0, " %", worst(&Measured::detail_percent)),
        Goal::at_least("M events/s encoded on one core, the slowest", 40.0, "", least(&|it| it.rate(it.encode_s))),
        Goal::at_least("M events/s decoded on one core, the slowest", 100.0, "", least(&|it| it.rate(it.decode_s))),
        Goal::at_most("spans from packed against raw, in memory", 1.0, "", Some(known.packed_by_raw.median)),
        Goal::at_most("spans from packed against raw, on the disk", 1.0, "", Some(on_disk.packed_by_raw.median)),
        Goal::at_most("dense python3, long, packed against raw", 1.0, "", against(&long, 0)),
        Goal::at_most("dense python3, short, packed against raw", 1.0, "", against(&short, 0)),
        Goal::at_most("dense python3, long, packed against nothing written", 2.0, "", against(&long, 2)),
        Goal::at_most("dense python3, short, packed against nothing written", 2.0, "", against(&short, 2)),
        Goal::at_least("traces measured", 6.0, "", Some(all.len() as f64)),
    ];
    let notes = vec![
        "encoded and decoded in memory, on one core, the best of three rounds, or of as many as take a quarter of a \
         second; every file is unpacked and compared".to_owned(),
        "of each thread the first GB of events; detail: a second trace of the same with --detail all, about 256 MB of it"
            .to_owned(),
        "seconds of the clock on the wall".to_owned(),
        "spans: the same session raw and packed in turn, tables made anew; packed / raw is by the round".to_owned(),
        "dense python3: raw, packed and nothing in turn, each with all earlier writes on the disk and its session deleted \
         at once; what counts is how long ada trace takes"
            .to_owned(),
    ];
    let data = json!({
        "traces": data,
        "spans": known.to_json(),
        "spans_from_disk": on_disk.to_json(),
        "dense_short": short.as_ref().map(Dense::to_json),
        "dense_long": long.as_ref().map(Dense::to_json),
    });
    Ok(Section { title: "Packed traces", tables: vec![sizes, times], notes, goals, data })
}

fn subjects(bench: &Bench) -> anyhow::Result<Vec<(&'static str, Subject)>> {
    let folder = bench.scratch.join("redis");
    fs::create_dir_all(&folder)?;
    let folder = folder.to_string_lossy().into_owned();
    let requests = bench.rounds(10_000, 2000).to_string();
    let redis = command(["/bin/sh", "-c", REDIS, "sh", &folder, &requests]);
    let known = ["git log -p", "python3", "sqlite3"];
    let mut subjects: Vec<_> = workload::all(&bench.scratch)?
        .into_iter()
        .filter(|it| known.contains(&it.name))
        .map(|it| (it.name, Subject::Command(it.command)))
        .collect();
    subjects.push(("node", Subject::Command(command(["/usr/bin/node", "-e", NODE]))));
    subjects.push(("redis", Subject::Command(redis)));
    subjects.push(("swift", Subject::Swift("group")));
    Ok(subjects)
}

fn measure_one(bench: &Bench, subject: &Subject) -> anyhow::Result<Measured> {
    let mut measured = Measured::default();
    let session = record(bench, subject, &["--detail", "off"])?;
    for thread in Session::open(session.path())?.threads() {
        let index = thread.files().next().context("a thread without a file")?;
        measured.add_index(&beginning(index, MOST_INDEX)?)?;
    }
    drop(session);
    let session = record(bench, subject, &["--detail", "all"])?;
    for thread in Session::open(session.path())?.threads() {
        if let Some(detail) = thread.files().nth(1).filter(|_| measured.detail < MOST_DETAIL) {
            measured.add_detail(&beginning(detail, MOST_DETAIL)?)?;
        }
    }
    Ok(measured)
}

/// Bytes of a thread's events, and of all detail, that are enough to know.
const MOST_INDEX: u64 = 1 << 30;
const MOST_DETAIL: u64 = 256 << 20;

/// A file's beginning; what is cut off is not missed by whoever packs it.
fn beginning(path: &Path, most: u64) -> anyhow::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    File::open(path)?.take(most).read_to_end(&mut bytes)?;
    Ok(bytes)
}

impl Measured {
    fn add_index(&mut self, raw: &[u8]) -> anyhow::Result<()> {
        let mut packed = Vec::new();
        self.encode_s += best(|| {
            let file = Cursor::new(Vec::with_capacity(raw.len() / 4));
            packed = pack_index(raw, file, |_| ())?.into_inner();
            Ok(())
        })?;
        ensure!(unpack_index(&packed, Vec::new())? == raw, "an index file reads back differently");
        let shape = PackedShape::of_index(&packed)?;
        let (mut decoder, mut events) = (EventDecoder::default(), Vec::new());
        self.decode_s += best(|| {
            for block in 0..shape.block_count() {
                let read = shape.read_events(&packed, block, &mut decoder, &mut events);
                read.map_err(|damage| anyhow::anyhow!("{damage}"))?;
            }
            Ok(())
        })?;
        self.events += shape.len();
        self.packed += packed.len() as u64;
        Ok(())
    }

    fn add_detail(&mut self, raw: &[u8]) -> anyhow::Result<()> {
        let packed = pack_detail(raw, Cursor::new(Vec::new()), |_| ())?.into_inner();
        ensure!(unpack_detail(&packed, Vec::new())? == raw, "a detail file reads back differently");
        self.detail += raw.len() as u64;
        self.packed_detail += packed.len() as u64;
        Ok(())
    }

    fn per_event(&self) -> f64 {
        self.packed as f64 / self.events.max(1) as f64
    }

    fn detail_percent(&self) -> f64 {
        100.0 * self.packed_detail as f64 / self.detail.max(1) as f64
    }

    /// Millions of events in a second.
    fn rate(&self, seconds: f64) -> f64 {
        self.events as f64 / seconds.max(1e-9) / 1e6
    }

    fn row(&self, name: &str) -> Vec<String> {
        vec![
            name.into(),
            format!("{:.2}", self.events as f64 / 1e6),
            format!("{:.2}", self.per_event()),
            format!("{:.0}", self.rate(self.encode_s)),
            format!("{:.0}", self.rate(self.decode_s)),
            format!("{:.1}", self.detail as f64 / 1e6),
            format!("{:.1}", self.detail_percent()),
        ]
    }

    fn to_json(&self, name: &str) -> Value {
        json!({
            "trace": name,
            "events": self.events,
            "packed_bytes": self.packed,
            "encode_s": self.encode_s,
            "decode_s": self.decode_s,
            "detail_bytes": self.detail,
            "packed_detail_bytes": self.packed_detail,
        })
    }
}

/// The best of three rounds, or of as many as there is time for: what takes a millisecond is hardly ever undisturbed.
fn best(mut work: impl FnMut() -> anyhow::Result<()>) -> anyhow::Result<f64> {
    let mut rounds = Vec::new();
    while rounds.len() < 3 || rounds.iter().sum::<f64>() < LONG_ENOUGH_S {
        let started = Instant::now();
        work()?;
        rounds.push(started.elapsed().as_secs_f64());
    }
    rounds.into_iter().reduce(f64::min).context("three rounds at least")
}

/// A recorded session, whose files go when it does.
struct Recorded(PathBuf);

impl Recorded {
    fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Recorded {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Records a raw session, whatever ada does by itself.
fn record(bench: &Bench, subject: &Subject, options: &[&str]) -> anyhow::Result<Recorded> {
    let mut ada = match subject {
        Subject::Command(_) => Command::new(bench.ada.path()),
        Subject::Swift(_) => {
            let mut ada = swift_env(bench)?;
            ada.env("ADA_BINARY", bench.ada.path()).arg("ada");
            ada
        }
    };
    ada.args(["trace", "--store", "raw", "--output"]).arg(bench.ada.traces()).args(options).arg("--");
    match subject {
        Subject::Command(command) => ada.args(command),
        Subject::Swift(name) => ada.arg(swift_program(bench, name)?),
    };
    let finished = child::run(&mut ada, &bench.scratch, false)?;
    let summary = Summary::parse(&finished.stderr).with_context(|| {
        format!("nothing was traced: {}", finished.stderr.trim().lines().last().unwrap_or("no word"))
    })?;
    Ok(Recorded(summary.session))
}

fn swift_env(bench: &Bench) -> anyhow::Result<Command> {
    let root = bench.sources.parent().context("bench/ has no folder above it")?;
    Ok(Command::new(root.join("scripts/swift-env")))
}

fn swift_program(bench: &Bench, name: &str) -> anyhow::Result<PathBuf> {
    let root = bench.sources.parent().context("bench/ has no folder above it")?;
    let program = bench.scratch.join(format!("swift_{name}"));
    let mut compiler = swift_env(bench)?;
    compiler
        .args(["swiftc", "-parse-as-library", "-suppress-warnings", "-module-name", name, "-O", "-o"])
        .arg(&program)
        .arg(root.join("tests/swift").join(name).with_extension("swift"));
    child::run(&mut compiler, &bench.scratch, false)?.succeeded("swiftc")?;
    Ok(program)
}

fn spreads<const N: usize>(seconds: [Vec<f64>; N]) -> anyhow::Result<[Spread; N]> {
    let spreads = seconds.map(Spread::of);
    ensure!(spreads.iter().all(Option::is_some), "no round was measured");
    Ok(spreads.map(Option::unwrap_or_default))
}
