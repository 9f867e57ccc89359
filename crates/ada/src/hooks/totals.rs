//! How many functions of each module were hooked.

use std::collections::HashSet;

use ada_event::FunctionId;
use ada_format::atf::{Module, Process};
use serde_json::json;

use super::{List, Row, pid};
use crate::analysis::thousands;

pub(super) fn list(processes: &[Process]) -> List {
    let modules = processes.iter().flat_map(|process| {
        process.manifest.iter().flat_map(|manifest| &manifest.modules).map(move |module| row(process, module))
    });
    List {
        name: "modules",
        fields: &["pid", "found", "hooked", "entry_only", "skipped", "share", "module", "reasons"],
        titles: &[">pid", ">found", ">hooked", ">entry-only", ">skipped", ">share", "module"],
        rows: modules.collect(),
        notes: processes.iter().filter_map(not_always).collect(),
    }
}

fn row(process: &Process, module: &Module) -> Row {
    let coverage = module.coverage.clone().unwrap_or_default();
    // A manifest can claim anything.
    let skipped = coverage.skipped.values().fold(0, |sum: u64, count| sum.saturating_add(*count));
    let share = coverage.found.saturating_sub(skipped) as f64 / coverage.found.max(1) as f64;
    let pid = pid(process);
    let counts = [coverage.found, coverage.hooked, coverage.entry_only, skipped].map(thousands);
    let cells =
        [pid.to_string()].into_iter().chain(counts).chain([format!("{:.2}%", share * 100.0), module.path.clone()]);
    Row {
        cells: cells.collect(),
        json: json!({
            "pid": pid, "found": coverage.found, "hooked": coverage.hooked, "entry_only": coverage.entry_only,
            "skipped": skipped, "share": share, "module": module.path, "reasons": coverage.skipped,
        }),
    }
}

/// That functions of a process were not recorded all the time, if any.
fn not_always(process: &Process) -> Option<String> {
    let switches = process.manifest.iter().flat_map(|manifest| &manifest.switches);
    match switches.map(|switch| switch.function_id).collect::<HashSet<FunctionId>>().len() {
        0 => None,
        1 => Some("1 function was not recorded all the time: see --switched".into()),
        count => Some(format!("{} functions were not recorded all the time: see --switched", thousands(count as u64))),
    }
}
