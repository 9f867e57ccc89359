//! What a session says of functions that were not recorded all the time, or not with their values.

use std::collections::{HashMap, HashSet};
use std::io::{self, Write};
use std::path::Path;

use ada_event::{FunctionId, TraceNanos};
use ada_format::atf::{Manifest, Process, Switch, functions_file, read_functions};

use crate::exit::Blame;

/// One line that says how many there are, if any.
pub(crate) fn print_total(process: &Process, out: &mut impl Write) -> io::Result<()> {
    let switches = process.manifest.iter().flat_map(|manifest| &manifest.switches);
    let count = switches.map(|switch| switch.function_id).collect::<HashSet<FunctionId>>().len();
    match count {
        0 => Ok(()),
        1 => writeln!(out, "1 function was not recorded all the time: see --switched"),
        _ => writeln!(out, "{count} functions were not recorded all the time: see --switched"),
    }
}

/// All of them, one line for each time.
pub(crate) fn print_all(process: &Process, out: &mut impl Write) -> anyhow::Result<()> {
    let Some(manifest) = &process.manifest else { return Ok(()) };
    print_list(manifest, &names(process), out).output_failed(|| "cannot write to stdout".into())
}

fn print_list(manifest: &Manifest, names: &HashMap<FunctionId, String>, out: &mut impl Write) -> io::Result<()> {
    let mut row = |[id, mode, from, to, calls, why, name]: [&str; 7]| {
        writeln!(out, "{id:<12} {mode:<14} {from:>12} {to:>12} {calls:>14} {why:<8} {name}")
    };
    row(["function", "mode", "from, s", "to, s", "calls", "why", "name"])?;
    let second = |time: TraceNanos| format!("{:.6}", time.since(manifest.time_start_ns) as f64 / 1e9);
    for switch in manifest.switches.iter().chain(&manifest.value_switches) {
        row([
            &switch.function_id.to_string(),
            &switch.mode,
            &second(switch.from_ns),
            &switch.to_ns.map_or("the end".into(), second),
            &calls(switch),
            &switch.why,
            names.get(&switch.function_id).map_or("", String::as_str),
        ])?;
    }
    Ok(())
}

fn calls(switch: &Switch) -> String {
    match switch.count {
        Some(count) if switch.is_exact => count.to_string(),
        Some(count) => format!("{count} or more"),
        None if switch.mode == "without_values" => "recorded".into(),
        None => "?".into(),
    }
}

/// The names of the functions that were switched. A list that cannot be read costs names.
fn names(process: &Process) -> HashMap<FunctionId, String> {
    let mut names = HashMap::new();
    let Some(manifest) = &process.manifest else { return names };
    let switches = manifest.switches.iter().chain(&manifest.value_switches);
    let wanted: HashSet<FunctionId> = switches.map(|switch| switch.function_id).collect();
    for module in &manifest.modules {
        if !wanted.iter().any(|id| id.module() == module.module_id) {
            continue;
        }
        let text = std::fs::read_to_string(process.path.join(functions_file(module.module_id))).unwrap_or_default();
        let file = Path::new(&module.path).file_name().map(|name| name.to_string_lossy()).unwrap_or_default();
        for (index, row) in read_functions(&text).unwrap_or_default().into_iter().enumerate() {
            let id = FunctionId::new(module.module_id, index as u32);
            if wanted.contains(&id) {
                let module_and_offset = || format!("{file}+{:#x}", row.offset);
                let name =
                    if row.name.is_empty() { module_and_offset() } else { ada_image::demangle(&row.name).into_owned() };
                names.insert(id, name);
            }
        }
    }
    names
}
