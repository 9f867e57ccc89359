//! How long a program waits for its hooks, by number of functions, and how many functions get one.

use std::ffi::OsString;
use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};

use super::Bench;
use super::goal::Goal;
use super::programs::{command, compile};
use super::report::Section;
use super::statistics::Spread;
use super::table::Table;

/// A program that ends at once, and what is promised of it.
struct Target {
    name: &'static str,
    command: Vec<OsString>,
    /// Seconds with nothing cached; with cached plans it is half of that.
    goal: Option<f64>,
}

/// What was measured of a program.
struct Measured {
    found: u64,
    hooked: u64,
    uncached_ms: Spread,
    cached_ms: Option<Spread>,
    main: Coverage,
    libc: Coverage,
    loader: Coverage,
}

/// How many of a module's functions there are, and how many have no hook at all.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Coverage {
    found: u64,
    skipped: u64,
}

impl Coverage {
    /// Of the first module in a manifest whose number and file name are wanted.
    fn of(manifest: &Value, is_wanted: impl Fn(usize, &str) -> bool) -> Self {
        let modules = manifest["modules"].as_array().map_or(&[][..], Vec::as_slice);
        let wanted = modules.iter().enumerate().find(|(number, module)| {
            let path = Path::new(module["path"].as_str().unwrap_or_default());
            is_wanted(*number, &path.file_name().unwrap_or_default().to_string_lossy())
        });
        let Some((_, module)) = wanted else { return Self::default() };
        let skipped = module["coverage"]["skipped"].as_object();
        Self {
            found: module["coverage"]["found"].as_u64().unwrap_or(0),
            skipped: skipped.map_or(0, |reasons| reasons.values().filter_map(Value::as_u64).sum()),
        }
    }

    fn add(&mut self, other: Self) {
        self.found += other.found;
        self.skipped += other.skipped;
    }

    /// Percent with a hook, entry-only ones included.
    fn share(self) -> Option<f64> {
        (self.found > 0).then(|| self.found.saturating_sub(self.skipped) as f64 / self.found as f64 * 100.0)
    }
}

pub(super) fn measure(bench: &Bench) -> anyhow::Result<Section> {
    let targets = [
        Target {
            name: "calls (C, libc)",
            command: command([compile(bench, "calls")?, "1".into(), "1".into()]),
            goal: None,
        },
        Target { name: "cp", command: command(["/bin/cp", "--version"]), goal: Some(0.15) },
        Target { name: "bash", command: command(["/bin/bash", "-c", ":"]), goal: None },
        Target { name: "git (stripped)", command: command(["/usr/bin/git", "--version"]), goal: Some(0.25) },
        Target { name: "python3", command: command(["/usr/bin/python3", "-c", "pass"]), goal: None },
        Target { name: "openssl", command: command(["/usr/bin/openssl", "version"]), goal: None },
        Target { name: "curl", command: command(["/usr/bin/curl", "--version"]), goal: None },
        Target { name: "cc1", command: command([cc1(), "--version".into()]), goal: None },
        Target { name: "node", command: command(["/usr/bin/node", "--version"]), goal: Some(1.5) },
    ];
    let mut table = Table::new(&[
        "<program",
        "found",
        "hooked",
        "uncached, ms",
        "us/function",
        "cached plans, ms",
        "/ uncached",
        "of main binary",
    ]);
    let mut modules = Table::new(&["<functions of", "found", "skipped", "hooked"]);
    let (mut goals, mut data) = (Vec::new(), Vec::new());
    let mut totals: [(&str, Coverage); 3] =
        ["the main binaries", "libc", "ld.so"].map(|name| (name, Coverage::default()));
    for target in &targets {
        eprintln!("xtask:   {}", target.name);
        let (name, goal) = (target.name, target.goal);
        let measured = match measure_one(bench, target) {
            Ok(measured) => Some(measured),
            Err(error) => {
                table.sentence(name, &format!("NOT MEASURED: {error:#}"));
                None
            }
        };
        if let Some(bound) = goal {
            let count = measured.as_ref().map_or(0, |measured| measured.found);
            let uncached = measured.as_ref().map(|measured| measured.uncached_ms.median / 1e3);
            let cached = measured.as_ref().and_then(|measured| Some(measured.cached_ms?.median / 1e3));
            let what = format!("hooking {name}, {count} functions");
            goals.push(Goal::at_most(format!("{what}, nothing cached"), bound, " s", uncached));
            goals.push(Goal::at_most(format!("{what}, second start"), bound / 2.0, " s", cached));
        }
        let Some(measured) = measured else { continue };
        table.row(row(name, &measured));
        totals[0].1.add(measured.main);
        // Every program has the same ones.
        totals[1].1 = measured.libc;
        totals[2].1 = measured.loader;
        data.push(to_json(name, &measured));
    }
    for (name, coverage) in totals {
        let share = coverage.share().map_or("-".into(), |share| format!("{share:.2} %"));
        modules.row(vec![name.into(), coverage.found.to_string(), coverage.skipped.to_string(), share]);
        goals.push(Goal::at_least(format!("functions of {name} hooked"), 98.0, " %", coverage.share()));
    }
    let mut notes = vec![
        "from the start of ada's work to the program's first instruction, as `ada trace` says it; files are in the \
         page cache"
            .to_owned(),
    ];
    if !bench.ada.has_plan_cache {
        notes.push("CACHED PLANS NOT MEASURED: this ada has no --no-plan-cache, and so no plan cache".into());
    }
    Ok(Section { title: "Hooking", tables: vec![table, modules], notes, goals, data: Value::Array(data) })
}

fn measure_one(bench: &Bench, target: &Target) -> anyhow::Result<Measured> {
    let rounds = bench.rounds(9, 3);
    let cache = bench.scratch.join("plans");
    let _ = fs::remove_dir_all(&cache);
    // Not counted: it brings the program's files into memory, and its plans into the cache.
    let first = bench.ada.trace_with_cache(&[], &target.command, false, Some(&cache))?;
    let (found, hooked) = (first.summary.found, first.summary.hooked);
    let main = Coverage::of(&first.manifest, |number, _| number == 0);
    let libc = Coverage::of(&first.manifest, |_, name| name.starts_with("libc.so"));
    let loader = Coverage::of(&first.manifest, |_, name| name.starts_with("ld-linux"));
    drop(first);
    let (mut uncached, mut cached) = (Vec::new(), Vec::new());
    for _ in 0..rounds {
        uncached.push(bench.ada.trace(&[], &target.command, false)?.summary.hooking_ms);
        if bench.ada.has_plan_cache {
            let trace = bench.ada.trace_with_cache(&[], &target.command, false, Some(&cache))?;
            cached.push(trace.summary.hooking_ms);
        }
    }
    let _ = fs::remove_dir_all(&cache);
    let uncached_ms = Spread::of(uncached).ok_or_else(|| anyhow::anyhow!("no round was measured"))?;
    Ok(Measured { found, hooked, uncached_ms, cached_ms: Spread::of(cached), main, libc, loader })
}

/// The compiler proper, which `gcc` starts.
fn cc1() -> OsString {
    let output = Command::new("gcc").arg("-print-prog-name=cc1").output();
    output.map_or_else(|_| "cc1".into(), |output| String::from_utf8_lossy(&output.stdout).trim().into())
}

fn row(name: &str, measured: &Measured) -> Vec<String> {
    let Measured { found, hooked, uncached_ms, cached_ms, .. } = measured;
    vec![
        name.into(),
        found.to_string(),
        hooked.to_string(),
        format!("{uncached_ms:.0}"),
        format!("{:.1}", uncached_ms.median * 1e3 / *found as f64),
        cached_ms.map_or("-".into(), |cached| format!("{cached:.0}")),
        cached_ms.map_or("-".into(), |cached| format!("{:.2}", cached.median / uncached_ms.median)),
        measured.main.share().map_or("-".into(), |share| format!("{share:.2} %")),
    ]
}

fn to_json(name: &str, measured: &Measured) -> Value {
    json!({
        "program": name,
        "found": measured.found,
        "hooked": measured.hooked,
        "uncached_ms": measured.uncached_ms.to_json(),
        "cached_ms": measured.cached_ms.map(Spread::to_json),
        "main_binary_hooked_percent": measured.main.share(),
        "libc_hooked_percent": measured.libc.share(),
        "loader_hooked_percent": measured.loader.share(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn coverage_is_of_one_module() {
        let module = |path: &str, skipped: Value| json!({"path": path, "coverage": {"found": 200, "skipped": skipped}});
        let manifest = json!({"modules": [
            module("/usr/bin/git", json!({"too_short": 1})),
            module("/lib/libz.so.1", json!({"too_short": 50})),
            module("/lib/libc.so.6", json!({"too_short": 2, "branch": 1})),
        ]});
        let mut main = Coverage::of(&manifest, |number, _| number == 0);
        let libc = Coverage::of(&manifest, |_, name| name.starts_with("libc.so"));
        assert_eq!((main.share(), libc.share()), (Some(99.5), Some(98.5)));
        main.add(libc);
        assert_eq!(main, Coverage { found: 400, skipped: 4 });
        assert_eq!(Coverage::of(&manifest, |_, name| name == "libm.so").share(), None);
        assert_eq!(Coverage::of(&json!({}), |_, _| true), Coverage::default());
    }
}
