//! `hooks`.

use std::path::Path;

use ada_event::{FunctionId, ModuleId};
use rusqlite::types::Value;

use crate::doc::{Kind, TableDoc, plain, pushed};
use crate::error::QueryError;
use crate::relation::{Ask, Batched, Described, Op, Relation, maybe, number, text};
use crate::shared::Shared;

const SESSION: usize = 0;
const PID: usize = 1;
const NAME: usize = 3;
const MODULE: usize = 5;
const VERDICT: usize = 8;

/// The verdict on every function, called or not.
pub(super) struct Hooks;

impl Described for Hooks {
    const DOC: &'static TableDoc = &TableDoc {
        name: "hooks",
        about: "every function that was found, called or not, with the verdict on it and the times in which it was recorded",
        columns: &[
            pushed("session", Kind::Text, "the session's folder"),
            pushed("pid", Kind::Integer, "the process"),
            plain("function_id", Kind::Text, "the function as module:symbol"),
            pushed("name", Kind::Text, "the demangled name, or module+0xoffset"),
            plain("symbol", Kind::Text, "the name as the linker saw it"),
            pushed("module", Kind::Text, "the file name of its module"),
            plain("offset", Kind::Integer, "where it begins in the image"),
            plain("size", Kind::Integer, "its size in bytes; 0 where it is not known"),
            pushed("verdict", Kind::Text, "hooked, entry_only or skipped"),
            plain("reason", Kind::Text, "why it is not hooked fully; null where it is"),
            plain("since_ns", Kind::Integer, "since when it was hooked; null where it was not"),
            plain("until_ns", Kind::Integer, "until when: the end of the recording"),
            plain("calls", Kind::Integer, "how often it was called, as recorded"),
            plain("unrecorded_ns", Kind::Integer, "how long it was switched off or only counted meanwhile"),
            plain("counted_calls", Kind::Integer, "calls that were only counted in that time"),
        ],
        parameters: &[],
    };
}

impl Relation for Hooks {
    type Cursor = Batched;
    type Source = Shared;

    fn doc(_: &Shared) -> &'static TableDoc {
        Self::DOC
    }

    fn open(shared: &Shared, ask: &Ask) -> Result<Batched, QueryError> {
        let trace = &shared.trace;
        let mut modules = Vec::new();
        for (index, process) in trace.processes().iter().enumerate() {
            let is_wanted = ask.text(SESSION).is_none_or(|name| name == trace.session_of(process).name)
                && ask.number(PID).is_none_or(|pid| pid == i64::from(process.pid.0));
            for module in trace.manifest(process).iter().filter(|_| is_wanted).flat_map(|it| &it.modules) {
                let file = Path::new(&module.path).file_name().map(|it| it.to_string_lossy().into_owned());
                if ask.text(MODULE).is_none_or(|wanted| Some(wanted) == file.as_deref()) {
                    modules.push((index, module.module_id));
                }
            }
        }
        let (shared, ask, mut modules) = (shared.clone(), ask.clone(), modules.into_iter());
        Batched::new(Box::new(move || {
            shared.cancel.check()?;
            Ok(modules.next().map(|(process, module)| rows(&shared, &ask, process, module)))
        }))
    }

    fn expect(shared: &Shared, conditions: &[(usize, Op)]) -> f64 {
        let modules =
            shared.trace.processes().iter().filter_map(|it| shared.trace.manifest(it)).flat_map(|it| &it.modules);
        let found: u64 = modules.filter_map(|it| it.coverage.as_ref()).map(|it| it.found).sum();
        if conditions.contains(&(NAME, Op::Eq)) { 1.0 } else { found as f64 }
    }
}

fn rows(shared: &Shared, ask: &Ask, process: usize, module: ModuleId) -> Vec<(i64, Vec<Value>)> {
    let trace = &shared.trace;
    let index_of_process = process as i64;
    let process = &trace.processes()[process];
    let session = trace.session_of(process);
    let Some(manifest) = trace.manifest(process) else { return Vec::new() };
    let end = manifest.time_end_ns.max(session.end);
    let mut rows = Vec::new();
    for (index, function) in process.names.functions(module).iter().enumerate() {
        let id = FunctionId::new(module, index as u32);
        if ask.text(VERDICT).is_some_and(|wanted| wanted != function.verdict) {
            continue;
        }
        let name = process.names.name(id);
        if ask.text(NAME).is_some_and(|wanted| wanted != name) {
            continue;
        }
        let called = process.tables.meta().function_index(id);
        let switches = || manifest.switches.iter().filter(move |it| it.function_id == id);
        let off: u64 = switches().map(|it| it.to_ns.unwrap_or(end).since(it.from_ns)).sum();
        let counted: u64 = switches().filter_map(|it| it.count).sum();
        let is_hooked = function.verdict != "skipped";
        // Modules have 16 bits, functions 32: enough for ids that differ.
        let row_id = index_of_process << 48 | i64::from(module.0) << 32 | index as i64;
        let row = vec![
            text(&session.name),
            number(process.pid),
            text(id.to_string()),
            text(name),
            if function.name.is_empty() { Value::Null } else { text(&function.name) },
            text(process.names.module(id)),
            number(function.offset.0),
            number(function.size),
            text(&function.verdict),
            if function.reason.is_empty() { Value::Null } else { text(&function.reason) },
            if is_hooked { number(manifest.time_start_ns) } else { Value::Null },
            if is_hooked { number(end) } else { Value::Null },
            number(called.map_or(0, |index| process.tables.meta().functions[index.as_usize()].spans)),
            number(off),
            maybe((counted > 0).then_some(counted), number),
        ];
        rows.push((row_id, row));
    }
    rows
}
