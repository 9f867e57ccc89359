//! Tracing a program that calls all the time, and waits where the trace cannot be written fast enough.

use std::ffi::OsString;
use std::process::Command;
use std::time::Instant;

use anyhow::ensure;
use serde_json::{Value, json};

use super::spreads;
use crate::bench::Bench;
use crate::bench::child;
use crate::bench::programs::command;
use crate::bench::statistics::Spread;

const DENSE_PYTHON: &str = "\
import sys
for r in range(int(sys.argv[1])):
    d = {}
    for i in range(40000): d[str(i)] = i * 2
print(sum(d.values()))";
/// How often it does that: about three seconds, whose raw trace of 2.3 GB the operating system keeps in memory, and about
/// ten, whose 8.7 GB it does not.
pub(super) const SHORT: usize = 40;
pub(super) const LONG: usize = 150;

pub(super) fn dense_python(times: usize) -> Vec<OsString> {
    command(["/usr/bin/python3", "-c", DENSE_PYTHON, &times.to_string()])
}

/// What tracing a dense program takes, in seconds: raw, packed, and with events thrown away.
pub(super) struct Dense {
    /// From ada's start to its end.
    pub(super) wall: [Spread; 3],
    /// The same, until its files are on the disk.
    pub(super) synced: [Spread; 3],
    pub(super) ada_cpu: [Spread; 3],
}

impl Dense {
    /// Seconds of a packed trace in those of another form.
    pub(super) fn packed_against(&self, other: usize) -> f64 {
        self.wall[1].median / self.wall[other].median
    }

    pub(super) fn to_json(&self) -> Value {
        let medians = |spreads: &[Spread; 3]| spreads.iter().map(|it| it.median).collect::<Vec<_>>();
        json!({
            "wall_s": medians(&self.wall),
            "synced_s": medians(&self.synced),
            "ada_cpu_s": medians(&self.ada_cpu),
        })
    }
}

pub(super) fn measure(bench: &Bench, times: usize, rounds: usize) -> anyhow::Result<Dense> {
    eprintln!("xtask:   dense python3, {times} times");
    let python = dense_python(times);
    let [mut wall, mut synced, mut ada_cpu] = [(); 3].map(|()| [Vec::new(), Vec::new(), Vec::new()]);
    for _ in 0..rounds {
        for (at, store) in ["raw", "packed", "nothing"].into_iter().enumerate() {
            sync(bench)?;
            let options = ["--store", store, "--on-full", "wait", "--detail", "off"].map(str::to_owned);
            let trace = bench.ada.trace(&options, &python, false)?;
            ensure!(trace.summary.lost_in_all() == 0, "events were lost though threads wait");
            let seconds = trace.finished.wall.as_secs_f64();
            let started = Instant::now();
            sync(bench)?;
            wall[at].push(seconds);
            synced[at].push(seconds + started.elapsed().as_secs_f64());
            ada_cpu[at].push(trace.ada_cpu()?.as_secs_f64());
        }
    }
    Ok(Dense { wall: spreads(wall)?, synced: spreads(synced)?, ada_cpu: spreads(ada_cpu)? })
}

/// Waits until everything is on the disk.
pub(super) fn sync(bench: &Bench) -> anyhow::Result<()> {
    child::run(&mut Command::new("sync"), &bench.scratch, false)?.succeeded("sync").map(drop)
}
