//! Functions that were not recorded all the time, or not with their values.

use std::collections::{HashMap, HashSet};

use ada_event::{FunctionId, TraceNanos};
use ada_format::atf::{Manifest, Process, Switch};
use serde_json::json;

use super::functions::{file_name, name};
use super::{List, Row, pid};
use crate::analysis::thousands;

/// All of them, one line for each time.
pub(super) fn list(processes: &[Process]) -> List {
    let mut rows = Vec::new();
    for process in processes {
        let Some(manifest) = &process.manifest else { continue };
        let names = names(process, manifest);
        let switches = manifest.switches.iter().chain(&manifest.value_switches);
        rows.extend(switches.map(|switch| row(process, manifest, switch, &names)));
    }
    List {
        name: "switches",
        fields: &["pid", "function_id", "mode", "from_ns", "to_ns", "calls", "is_exact", "why", "name"],
        titles: &[">pid", "function", "mode", ">from, s", ">to, s", ">calls", "why", "name"],
        rows,
        notes: Vec::new(),
    }
}

fn row(process: &Process, manifest: &Manifest, switch: &Switch, names: &HashMap<FunctionId, String>) -> Row {
    let second = |time: TraceNanos| format!("{:.6}", time.since(manifest.time_start_ns) as f64 / 1e9);
    let (pid, id, name) = (pid(process), switch.function_id.to_string(), names.get(&switch.function_id));
    Row {
        json: json!({
            "pid": pid, "function_id": id, "mode": switch.mode, "from_ns": switch.from_ns.0,
            "to_ns": switch.to_ns.map(|it| it.0), "calls": switch.count, "is_exact": switch.is_exact,
            "why": switch.why, "name": name,
        }),
        cells: vec![
            pid.to_string(),
            id,
            switch.mode.clone(),
            second(switch.from_ns),
            switch.to_ns.map_or_else(|| "the end".into(), second),
            calls(switch),
            switch.why.clone(),
            name.cloned().unwrap_or_default(),
        ],
    }
}

fn calls(switch: &Switch) -> String {
    match switch.count {
        Some(count) if switch.is_exact => thousands(count),
        Some(count) => format!("{} or more", thousands(count)),
        None if switch.mode == "without_values" => "recorded".into(),
        None => "?".into(),
    }
}

/// The names of the functions that were switched. A list that cannot be read costs names.
fn names(process: &Process, manifest: &Manifest) -> HashMap<FunctionId, String> {
    let switches = manifest.switches.iter().chain(&manifest.value_switches);
    let wanted: HashSet<FunctionId> = switches.map(|switch| switch.function_id).collect();
    let mut names = HashMap::new();
    for module in &manifest.modules {
        let here = wanted.iter().filter(|id| id.module() == module.module_id);
        let list = process.functions(module.module_id);
        for id in here {
            if let Some(row) = list.rows().get(id.symbol_index() as usize) {
                names.insert(*id, name(&file_name(&module.path), row));
            }
        }
    }
    names
}
