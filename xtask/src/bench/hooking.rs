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
    coverage: Vec<(String, f64)>,
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
    let mut table =
        Table::new(&["<program", "found", "hooked", "uncached, ms", "us/function", "cached plans, ms", "/ uncached"]);
    let mut coverage = Table::new(&["<program", "<module", "hooked"]);
    let (mut goals, mut data, mut lowest) = (Vec::new(), Vec::new(), None::<f64>);
    for target in &targets {
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
            goals.push(Goal::at_most(
                format!("hooking {name}, {count} functions, nothing cached"),
                bound,
                " s",
                uncached,
            ));
            goals.push(Goal::at_most(format!("hooking {name}, second start"), bound / 2.0, " s", cached));
        }
        let Some(measured) = measured else { continue };
        table.row(row(name, &measured));
        for (module, share) in &measured.coverage {
            coverage.row(vec![name.into(), module.clone(), format!("{share:.2} %")]);
            lowest = Some(lowest.map_or(*share, |lowest| lowest.min(*share)));
        }
        data.push(to_json(name, &measured));
    }
    goals.push(Goal::at_least("functions hooked in each main binary, libc and ld.so", 98.0, " %", lowest));
    let mut notes = vec![
        "from the start of ada's work to the program's first instruction, as `ada trace` says it; files are in the \
         page cache"
            .to_owned(),
    ];
    if !bench.ada.has_plan_cache {
        notes.push("CACHED PLANS NOT MEASURED: this ada has no --no-plan-cache, and so no plan cache".into());
    }
    Ok(Section { title: "Hooking", tables: vec![table, coverage], notes, goals, data: Value::Array(data) })
}

fn measure_one(bench: &Bench, target: &Target) -> anyhow::Result<Measured> {
    let rounds = bench.rounds(9, 3);
    let cache = bench.scratch.join("plans");
    let _ = fs::remove_dir_all(&cache);
    // Not counted: it brings the program's files into memory, and its plans into the cache.
    let first = bench.ada.trace_with_cache(&[], &target.command, false, Some(&cache))?;
    let (found, hooked) = (first.summary.found, first.summary.hooked);
    let coverage = coverage(&first.manifest);
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
    Ok(Measured { found, hooked, uncached_ms, cached_ms: Spread::of(cached), coverage })
}

/// The share of functions that are hooked, entry-only ones included, of the main binary, libc and the loader.
fn coverage(manifest: &Value) -> Vec<(String, f64)> {
    let modules = manifest["modules"].as_array().map_or(&[][..], Vec::as_slice);
    let wanted = |(number, module): (usize, &Value)| {
        let path = module["path"].as_str()?;
        let name = Path::new(path).file_name()?.to_str()?;
        (number == 0 || name.starts_with("libc.so") || name.starts_with("ld-linux")).then(|| name.to_owned())
    };
    let share = |module: &Value| {
        let coverage = &module["coverage"];
        let skipped: u64 = coverage["skipped"].as_object()?.values().filter_map(Value::as_u64).sum();
        let found = coverage["found"].as_u64().filter(|&found| found > 0)?;
        Some(found.saturating_sub(skipped) as f64 / found as f64 * 100.0)
    };
    modules
        .iter()
        .enumerate()
        .filter_map(|(number, module)| Some((wanted((number, module))?, share(module)?)))
        .collect()
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
    ]
}

fn to_json(name: &str, measured: &Measured) -> Value {
    json!({
        "program": name,
        "found": measured.found,
        "hooked": measured.hooked,
        "uncached_ms": measured.uncached_ms.to_json(),
        "cached_ms": measured.cached_ms.map(Spread::to_json),
        "hooked_percent": measured.coverage.iter().cloned().collect::<std::collections::BTreeMap<_, _>>(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn coverage_is_of_the_main_binary_libc_and_the_loader() {
        let module = |path: &str, found: u64, skipped: Value| json!({"path": path, "coverage": {"found": found, "skipped": skipped}});
        let manifest = json!({"modules": [
            module("/usr/bin/git", 100, json!({"too_short": 1})),
            module("/lib/libz.so.1", 100, json!({"too_short": 50})),
            module("/lib/libc.so.6", 200, json!({"too_short": 2, "branch": 1})),
            module("/lib64/ld-linux-x86-64.so.2", 50, json!({})),
            module("/lib/empty/libc.so.6", 0, json!({})),
        ]});
        let expected = [("git", 99.0), ("libc.so.6", 98.5), ("ld-linux-x86-64.so.2", 100.0)];
        assert_eq!(coverage(&manifest), expected.map(|(name, share)| (name.to_owned(), share)));
        assert!(coverage(&json!({})).is_empty());
    }
}
