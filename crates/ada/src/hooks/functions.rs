//! What became of each function.

use std::io;
use std::path::Path;

use ada_event::FunctionId;
use ada_format::atf::{FunctionRow, Process, functions_file, read_functions};
use ada_format::private::open_regular;
use ada_image::glob;
use anyhow::{Context, bail};
use serde_json::json;

use super::{Args, List, Row, pid};

pub(super) fn list(processes: &[Process], args: &Args) -> anyhow::Result<List> {
    let mut rows = Vec::new();
    let mut is_known = args.module.is_none();
    for process in processes {
        for module in process.manifest.iter().flat_map(|manifest| &manifest.modules) {
            let file = file_name(&module.path);
            if args.module.as_deref().is_some_and(|pattern| !glob(pattern, &file)) {
                continue;
            }
            is_known = true;
            let path = process.path.join(functions_file(module.module_id));
            let text = open_regular(&path).and_then(io::read_to_string);
            let text = text.with_context(|| format!("cannot read {}", path.display()))?;
            let listed = read_functions(&text).with_context(|| format!("{} is damaged", path.display()))?;
            let functions = listed.iter().enumerate().filter(|(_, it)| !args.skipped || it.verdict != "hooked");
            rows.extend(functions.map(|(index, it)| {
                let id = FunctionId::new(module.module_id, index as u32);
                row(process, &file, id, it)
            }));
        }
    }
    if !is_known {
        bail!("no module's file name matches '{}'; ada hooks lists the modules", args.module.as_deref().unwrap_or(""));
    }
    Ok(List {
        name: "functions",
        fields: &["pid", "function_id", "offset", "verdict", "reason", "module", "name"],
        titles: &[">pid", "function", ">offset", "verdict", "module", "name"],
        rows,
        notes: Vec::new(),
    })
}

fn row(process: &Process, module: &str, id: FunctionId, row: &FunctionRow) -> Row {
    let FunctionRow { verdict, reason, .. } = row;
    let shown = if reason.is_empty() { verdict.clone() } else { format!("{verdict} ({reason})") };
    let (pid, offset, name) = (pid(process), format!("{:#x}", row.offset), name(module, row));
    Row {
        json: json!({
            "pid": pid, "function_id": id.to_string(), "offset": offset, "verdict": verdict,
            "reason": (!reason.is_empty()).then_some(reason), "module": module, "name": name,
        }),
        cells: vec![pid.to_string(), id.to_string(), offset, shown, module.to_owned(), name],
    }
}

/// How a module's file is called.
pub(super) fn file_name(path: &str) -> String {
    Path::new(path).file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
}

/// A function's name, or where it is.
pub(super) fn name(module: &str, row: &FunctionRow) -> String {
    if row.name.is_empty() {
        return format!("{module}+{:#x}", row.offset);
    }
    ada_image::demangle(&row.name).into_owned()
}
