//! `cargo xtask bench`: every figure that ada claims, measured in one run. `docs/benchmark.md` explains them.

mod ada;
mod attaching;
mod call_profile;
mod child;
mod footprint;
mod goal;
mod governor;
mod hooking;
mod inputs;
mod machine;
mod memory_line;
mod overhead;
mod packed;
mod pair;
mod peers;
mod programs;
mod query;
mod report;
mod statistics;
mod summary;
mod table;
mod throughput;
mod workload;

use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::Context;
use clap::ValueEnum;

use ada::Ada;
use report::{Report, Section};

const EXAMPLES: &str = "\
Examples:
  cargo xtask bench                      everything, about a quarter of an hour, kept in bench/runs/
  cargo xtask bench --quick              everything, fewer rounds and shorter; shown, not kept
  cargo xtask bench pair hooking         two sections
  cargo xtask bench --ada /usr/bin/ada overhead

uftrace is installed with apt-get and Frida with pip into a folder of its own, where they are missing;
--no-install leaves the machine alone, and the table says what was not measured.
Leave the machine alone meanwhile: figures of a busy one mislead. docs/benchmark.md explains the figures.";

/// What to measure, and how long.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// What to measure [default: everything]
    #[arg(value_enum, value_name = "SECTION")]
    sections: Vec<Part>,
    /// Fewer and shorter rounds: to see that it works, not for figures to quote
    #[arg(long)]
    quick: bool,
    /// Use this ada instead of building one
    #[arg(long, value_name = "FILE")]
    ada: Option<PathBuf>,
    /// Where traces and inputs go meanwhile, up to 20 GB [default: in cargo's target folder]
    #[arg(long, value_name = "DIR")]
    scratch: Option<PathBuf>,
    /// Install nothing: peers that are missing are not measured
    #[arg(long)]
    no_install: bool,
    /// Keep the run in bench/runs/ [default: unless --quick]
    #[arg(long)]
    save: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Part {
    /// A call and its return: the clock's floor, ada, uftrace, Frida
    Pair,
    /// Time until a program runs, by number of functions
    Hooking,
    /// Events per second to disk, and how late they get there
    Throughput,
    /// Processor time of real programs
    Overhead,
    /// Dense programs with a budget: --max-overhead 10%
    Governor,
    /// Attaching to busy servers and detaching, a hundred times
    Attaching,
    /// Questions in SQL to a session of a hundred million events
    Query,
    /// Bytes per event, memory of ada and of the program
    Footprint,
    /// The packed form: bytes per event, how fast it is written and read
    Packed,
}

/// What all sections share.
struct Bench {
    ada: Ada,
    root: PathBuf,
    /// The sources of the programs, `bench/` of the repository.
    sources: PathBuf,
    scratch: PathBuf,
    quick: bool,
    may_install: bool,
}

impl Bench {
    /// One number for the real run, another for the quick one.
    fn rounds(&self, full: usize, quick: usize) -> usize {
        if self.quick { quick } else { full }
    }
}

/// Measures, prints and keeps the figures. Gives whether no goal was missed.
pub(crate) fn run(args: &Args) -> anyhow::Result<bool> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().context("xtask has no folder above it")?;
    let (ada, target) = match &args.ada {
        Some(path) => (path.clone(), std::env::temp_dir()),
        None => ada::build(root)?,
    };
    let scratch = args.scratch.clone().unwrap_or_else(|| target.join("bench"));
    std::fs::create_dir_all(&scratch).with_context(|| format!("cannot make {}", scratch.display()))?;
    let bench = Bench {
        ada: Ada::new(ada, scratch.join("traces"))?,
        root: root.to_owned(),
        sources: root.join("bench"),
        scratch,
        quick: args.quick,
        may_install: !args.no_install,
    };
    let mut report = Report::begin(machine::describe(root, &bench.ada.version), args.quick);
    let all = Part::value_variants();
    for part in all.iter().filter(|part| args.sections.is_empty() || args.sections.contains(part)) {
        let name = part.to_possible_value().map(|value| value.get_name().to_owned()).unwrap_or_default();
        let started = Instant::now();
        eprintln!("xtask: measuring: {name}");
        let section = match part {
            Part::Pair => pair::measure(&bench),
            Part::Hooking => hooking::measure(&bench),
            Part::Throughput => throughput::measure(&bench),
            Part::Overhead => overhead::measure(&bench),
            Part::Governor => governor::measure(&bench),
            Part::Attaching => attaching::measure(&bench),
            Part::Query => query::measure(&bench),
            Part::Footprint => footprint::measure(&bench),
            Part::Packed => packed::measure(&bench),
        };
        let section: Section = section.with_context(|| format!("the section {name} failed"))?;
        eprintln!("xtask: {name} took {:.0} s", started.elapsed().as_secs_f64());
        report.add(name, section);
    }
    report.end();
    print!("{}", report.text());
    if args.save || !args.quick {
        let path = report.save(&root.join("bench/runs"))?;
        eprintln!("xtask: kept in {} and .json beside it", path.display());
    }
    let missed = report.missed();
    if missed > 0 {
        eprintln!("xtask: goals missed: {missed}");
    }
    Ok(missed == 0)
}
