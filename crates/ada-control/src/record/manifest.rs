//! What a recording writes into its manifests.

use std::collections::{BTreeMap, HashSet};
use std::fs;
use std::io::BufWriter;
use std::path::Path;
use std::time::Duration;

use ada_event::{FunctionId, ModuleId, ProcessId};
use ada_format::atf::{
    self, BuildId, Coverage, Drops, Exit, FunctionRow, HexAddr, LaneFigures, PoolFigures, RingFigures, SessionWriter,
    Window,
};
use ada_format::private::create_file;
use ada_image::{Function, Image, Sources};
use ada_patch::{SkipReason, Verdict};
use ada_process::{End, unix_epoch};

use crate::plan::image_file::ImageFile;
use crate::plan::module::Module;
use crate::record::ending::KnownEnd;
use crate::switches::Switchboard;
use crate::tracked::HookedPrograms;

/// Completes a process's manifest. No end is given for one that lives on.
pub(crate) fn complete(
    end: Option<KnownEnd>,
    modules: &[(&Module, Option<&Path>)],
    drops: Vec<Drops>,
    (lanes, pool): &(BTreeMap<String, LaneFigures>, PoolFigures),
    writer: &mut SessionWriter,
) {
    add_modules(modules, writer);
    let manifest = writer.manifest_mut();
    manifest.lanes.clone_from(lanes);
    manifest.pool = Some(pool.clone());
    if let Some(KnownEnd { end, known_by, alive, cpu_time }) = end {
        let nanoseconds = |time: Duration| u64::try_from(time.as_nanos()).ok();
        manifest.cpu_user_ns = cpu_time.and_then(|time| nanoseconds(time.user));
        manifest.cpu_system_ns = cpu_time.and_then(|time| nanoseconds(time.system));
        let (code, signal) = match end {
            Some(End::Exited(code)) => (Some(code), None),
            Some(End::Killed(signal)) => (None, Some(signal)),
            Some(End::Unknown | End::Detached) | None => (None, None),
        };
        manifest.exit =
            Some(Exit { code, signal, known_by: Some(known_by.into()), alive_ns: alive, ..Exit::default() });
    }
    manifest.drops = drops;
}

/// Completes the manifest of a process in a snapshot.
pub(crate) fn complete_snapshot(
    hooked: &mut HookedPrograms,
    pid: ProcessId,
    first: ProcessId,
    figures: RingFigures,
    writer: &mut SessionWriter,
) {
    add_modules(&hooked.modules_by_program(pid), writer);
    add_facts(hooked, pid, first, writer);
    writer.manifest_mut().ring = Some(figures);
    let folder = writer.process_path().to_owned();
    write_lists(hooked, &folder, pid);
}

/// Adds the windows of detail, and of how many more there were.
pub(crate) fn add_windows((windows, more): (Vec<Window>, u64), writer: &mut SessionWriter) {
    let manifest = writer.manifest_mut();
    manifest.windows = windows;
    if more > 0 {
        manifest.limits.push(format!("{more} more windows of detail were written than are listed").into());
    }
}

/// Adds the images that are loaded.
pub(crate) fn add_modules(modules: &[(&Module, Option<&Path>)], writer: &mut SessionWriter) {
    writer.manifest_mut().modules = modules.iter().map(|(module, program)| describe(module, *program)).collect();
}

/// Adds the functions of a process that were not recorded all the time.
pub(crate) fn add_switches(
    switches: &Switchboard,
    hooked: &HookedPrograms,
    pid: ProcessId,
    writer: &mut SessionWriter,
) {
    let modules: HashSet<ModuleId> = hooked.modules_of(pid).iter().map(|module| module.id).collect();
    let is_its = |function: FunctionId| modules.contains(&function.module());
    let manifest = writer.manifest_mut();
    manifest.switches = switches.entries(pid, is_its);
    manifest.value_switches = switches.value_entries(is_its);
}

/// Adds what is known of a process beside its events; of the `first` one also what could not be traced.
pub(crate) fn add_facts(hooked: &HookedPrograms, pid: ProcessId, first: ProcessId, writer: &mut SessionWriter) {
    let manifest = writer.manifest_mut();
    manifest.extra.entry("epoch_unix_ns").or_insert_with(|| unix_epoch().into());
    if let Ok(host) = fs::read_to_string("/proc/sys/kernel/hostname") {
        manifest.extra.insert("host".into(), host.trim_end().into());
    }
    if let Some(reason) = &hooked.no_schedule {
        manifest.extra.insert("no_schedule".into(), reason.as_str().into());
    }
    if let Some(detached) = hooked.detached {
        manifest.extra.insert("detached_ns".into(), detached.0.into());
    }
    if let Some(process) = hooked.processes.get(&pid) {
        manifest.command_line.clone_from(&process.command_line);
        manifest.waited_for_hooks_ns = process.waited_for_hooks.as_nanos() as u64;
        manifest.unhooked_ns = process.unhooked;
        if let Some(attached) = &process.attached {
            manifest.attached = true;
            manifest.open_calls.clone_from(&attached.open_calls);
            if let Some(time) = attached.time {
                manifest.extra.insert("attached_ns".into(), time.0.into());
            }
            for thread in manifest.threads.iter_mut().filter(|thread| Some(thread.id) == thread.tid) {
                let before = attached.open_calls.iter().find(|calls| calls.tid == thread.id);
                thread.name = thread.name.take().or_else(|| before?.name.clone());
            }
        }
        manifest.parent_pid = process.parent.filter(|parent| hooked.processes.contains_key(parent));
    }
    if pid == first {
        manifest.limits = hooked.limits.iter().map(|limit| limit.as_str().into()).collect();
    }
}

/// Writes the lists of functions that a process's folder lacks. One that was written for another process already is
/// the same file.
pub(crate) fn write_lists(hooked: &mut HookedPrograms, folder: &Path, pid: ProcessId) {
    let mut written = Vec::new();
    for module in hooked.modules_of(pid) {
        let path = folder.join(atf::functions_file(module.id));
        if path.exists() {
            continue;
        }
        let linked = hooked.lists.get(&module.id).is_some_and(|first| fs::hard_link(first, &path).is_ok());
        if !linked {
            write_functions(folder, module);
            written.push((module.id, path));
        }
    }
    hooked.lists.extend(written);
}

/// Writes the list of an image's functions. A list that cannot be written costs names, not the trace.
fn write_functions(folder: &Path, module: &Module) {
    let path = folder.join(atf::functions_file(module.id));
    let rows = module.functions.functions().iter().zip(module.verdicts.iter()).enumerate().map(
        |(index, (function, verdict))| {
            let (verdict, reason) = match verdict {
                Verdict::Hooked => ("hooked", ""),
                Verdict::EntryOnly(reason) => ("entry_only", reason.name()),
                Verdict::Skipped(reason) => ("skipped", reason.name()),
            };
            FunctionRow {
                offset: function.start,
                size: function.size,
                verdict: verdict.to_owned(),
                reason: reason.to_owned(),
                name: module.functions.name(index).or(module.captured.given_name(index)).unwrap_or_default().to_owned(),
                values: module.captured.stored(index),
            }
        },
    );
    if let Ok(file) = create_file(&path) {
        let _ = atf::write_functions(BufWriter::new(file), rows);
    }
}

/// `program`: the one that had it, if that is not the last that the process has run.
fn describe(module: &Module, program: Option<&Path>) -> atf::Module {
    let build_id = module.build_id.clone().map(BuildId);
    atf::Module {
        module_id: module.id,
        path: module.file.path.to_string_lossy().into_owned(),
        uuid: build_id.as_ref().and_then(BuildId::uuid),
        build_id,
        program: program.map(|it| it.to_string_lossy().into_owned()),
        load_base: Some(HexAddr(module.bias)),
        other_load_bases: module.other_biases.iter().copied().map(HexAddr).collect(),
        symbol_count: Some(module.functions.len() as u32),
        function_table_hash: Some(format!("{:016x}", module.table_hash)),
        go_version: go_version(module),
        coverage: Some(coverage(module)),
        ..atf::Module::default()
    }
}

/// Which Go made a module, if one did.
fn go_version(module: &Module) -> Option<String> {
    let is_of_go = |function: &Function| function.sources.contains(Sources::GO);
    module.functions.functions().iter().find(|function| is_of_go(function))?;
    Image::parse(ImageFile::open(&module.file.path).ok()?.bytes()).ok()?.go_version()
}

/// How many of a module's functions are hooked.
pub(super) fn coverage(module: &Module) -> Coverage {
    let mut skipped: BTreeMap<String, u64> = BTreeMap::new();
    let mut entry_only = 0;
    for verdict in module.verdicts.iter() {
        match verdict {
            Verdict::Hooked => {}
            Verdict::EntryOnly(_) => entry_only += 1,
            Verdict::Skipped(reason) => *skipped.entry(reason.name().to_owned()).or_default() += 1,
        }
    }
    // A cold part belongs to another function, which is counted.
    let cold_parts = skipped.remove(SkipReason::ColdPart.name()).unwrap_or(0);
    let not_hooked: u64 = skipped.values().sum();
    let found = module.functions.len() as u64 - cold_parts;
    Coverage { found, hooked: found - entry_only - not_hooked, entry_only, skipped, ..Coverage::default() }
}
