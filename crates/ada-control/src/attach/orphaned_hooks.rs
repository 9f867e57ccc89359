//! Removes the hooks of an ada that was killed.
//!
//! The processes themselves hold all that is needed: open frames are in their thread states, and the original code is in
//! the tables beside the stubs.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::mem::offset_of;
use std::time::{Duration, Instant};

use ada_event::ProcessId;
use ada_process::MemfdId;
use ada_process::maps::{self, Mapping};
use ada_process::procfs::{ProcessDir, ProcessMemory, all_processes};
use ada_ring::{Control, Orders};

use crate::detach::unhook;
use crate::error::ControlError;
use crate::install::arena_list;
use crate::install::memory_layout::MemoryLayout;
use crate::install::site_table;
use crate::install::sites::Site;
use crate::machine;

/// How long a recorder may take to give a sign of life, where it cannot be looked for.
const PATIENCE: Duration = Duration::from_secs(2);

/// The result of removing hooks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HookRemoval {
    /// How many processes had them.
    pub processes: usize,
    /// How many of these had found that nobody records them, and let their calls pass.
    pub passing: usize,
    /// Processes that keep theirs, and why.
    pub kept: Vec<String>,
}

/// Takes the hooks out of a process, and of all that share its trace, if its recorder is gone. Nothing where the
/// process has none; refused where it is being traced.
pub fn remove_orphaned_hooks(pid: ProcessId) -> Result<Option<HookRemoval>, ControlError> {
    let refused = |reason: String| ControlError::NotDetached { pid, reason };
    let mappings = match maps::of_process(pid) {
        Ok(mappings) => mappings,
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
            return Err(refused("permission is denied; run ada as root, or as the user of that process".to_owned()));
        }
        // It has ended, and all that it had is gone.
        Err(_) => return Ok(None),
    };
    let Some((layout, memfd)) = MemoryLayout::find(&mappings) else { return Ok(None) };
    let memory = ProcessDir::of(pid).writable_memory().map_err(|error| refused(machine::why_not(&error)))?;
    match recorder_of(memfd, layout, &memory) {
        Recorder::Process(recorder) => {
            return Err(refused(format!("ada records it in process {recorder}; `ada ps` shows what to detach from")));
        }
        Recorder::Lives => {
            return Err(refused("somebody else's ada records it; ask that user to detach from it".to_owned()));
        }
        Recorder::Gone => {}
    }
    say_that_it_is_gone(layout, &memory).map_err(|error| refused(machine::why_not(&error)))?;
    let mut removal = HookRemoval { processes: 0, passing: 0, kept: Vec::new() };
    for users in hooked_by_user(memfd).into_values() {
        // Those of another user have other rings. Where it fails they find out by themselves.
        for (layout, memory) in users.iter().filter_map(|user| memory_of(*user)) {
            let _ = say_that_it_is_gone(layout, &memory);
        }
        // No process gets hooks any more, and a fork has those of its parent.
        let tables: BTreeMap<site_table::TableAt, Vec<Site>> =
            users.iter().flat_map(|user| sites_of(*user, memfd)).collect();
        let sites: Vec<Vec<Site>> = tables.into_values().collect();
        removal.processes += users.len();
        removal.passing += users.iter().filter(|user| lets_calls_pass(**user)).count();
        removal.kept.extend(unhook(&sites, memfd, users).kept);
    }
    Ok(Some(removal))
}

/// A process that has the hooks of an ada that was killed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OrphanedProcess {
    /// The process.
    pub pid: ProcessId,
    /// Whether it has found that nobody records it, and lets its calls pass.
    pub passes: bool,
    /// What it runs.
    pub command: Vec<String>,
}

/// All such processes, as far as their mappings may be read.
pub fn orphaned_processes() -> Vec<OrphanedProcess> {
    let hooked = all_processes().filter_map(|pid| Some((pid, MemoryLayout::find(&maps::of_process(pid).ok()?)?)));
    let mut is_gone: Vec<(MemfdId, bool)> = Vec::new();
    let mut orphaned = Vec::new();
    for (pid, (layout, memfd)) in hooked.collect::<Vec<_>>() {
        let Ok(memory) = ProcessDir::of(pid).memory() else { continue };
        let known = is_gone.iter().find(|(known, _)| *known == memfd).map(|(_, is_gone)| *is_gone);
        let is_gone = known.unwrap_or_else(|| {
            let is_it = matches!(recorder_of(memfd, layout, &memory), Recorder::Gone);
            is_gone.push((memfd, is_it));
            is_it
        });
        if is_gone {
            let command = ProcessDir::of(pid).command_line();
            orphaned.push(OrphanedProcess { pid, passes: lets_calls_pass(pid), command });
        }
    }
    orphaned
}

fn memory_of(pid: ProcessId) -> Option<(MemoryLayout, ProcessMemory)> {
    let (layout, _) = MemoryLayout::find(&maps::of_process(pid).ok()?)?;
    Some((layout, ProcessDir::of(pid).writable_memory().ok()?))
}

/// Threads that wait for the recorder stop waiting.
fn say_that_it_is_gone(layout: MemoryLayout, memory: &ProcessMemory) -> io::Result<()> {
    memory.write(layout.pool + offset_of!(Control, recorder_gone) as u64, &1_u32.to_le_bytes())
}

/// The processes that are hooked by way of this memory, by their users: what the processes of one say of their hooks
/// holds for them, and for nobody else. Whoever only has the memory mapped, as a display server has that of its clients,
/// is not halted.
fn hooked_by_user(memfd: MemfdId) -> BTreeMap<Option<u32>, BTreeSet<ProcessId>> {
    let mut all: BTreeMap<_, BTreeSet<ProcessId>> = BTreeMap::new();
    for pid in memfd.users() {
        let is_hooked =
            maps::of_process(pid).is_ok_and(|it| MemoryLayout::find(&it).is_some_and(|(_, of)| of == memfd));
        if is_hooked {
            let user = ProcessDir::of(pid).status().ok().and_then(|status| status.effective_user());
            all.entry(user).or_default().insert(pid);
        }
    }
    all
}

/// Whether nothing of ada's in a process does more than to pass calls on.
fn lets_calls_pass(pid: ProcessId) -> bool {
    let only_passes = || {
        let (layout, _) = MemoryLayout::find(&maps::of_process(pid).ok()?)?;
        arena_list::only_passes(&ProcessDir::of(pid).memory().ok()?, layout)
    };
    only_passes() == Some(true)
}

/// Everything that was written over the code of a process.
fn sites_of(pid: ProcessId, memfd: MemfdId) -> Vec<(site_table::TableAt, Vec<Site>)> {
    let (Ok(mappings), Ok(memory)) = (maps::of_process(pid), ProcessDir::of(pid).memory()) else {
        return Vec::new();
    };
    let agent = MemoryLayout::find(&mappings).map(|(layout, _)| layout.agent());
    let is_arena =
        |mapping: &&Mapping| memfd.is_mapped_by(mapping) && mapping.executable && agent != Some(mapping.start);
    site_table::find(mappings.iter().filter(is_arena), |address, bytes| memory.read(address, bytes))
}

enum Recorder {
    Process(ProcessId),
    Lives,
    Gone,
}

/// Who records what is written to this memory, which one of its processes has in this layout: whoever has it mapped
/// without the agent.
fn recorder_of(memfd: MemfdId, layout: MemoryLayout, memory: &ProcessMemory) -> Recorder {
    let mut is_anybody_unknown = false;
    for pid in all_processes() {
        match maps::of_process(pid) {
            Ok(mappings) => {
                let has_it = mappings.iter().any(|mapping| memfd.is_mapped_by(mapping));
                if has_it && MemoryLayout::find(&mappings).is_none_or(|(_, other)| other != memfd) {
                    return Recorder::Process(pid);
                }
            }
            Err(error) => is_anybody_unknown |= error.kind() == io::ErrorKind::PermissionDenied,
        }
    }
    if is_anybody_unknown && gives_signs_of_life(layout, memory) { Recorder::Lives } else { Recorder::Gone }
}

fn gives_signs_of_life(layout: MemoryLayout, memory: &ProcessMemory) -> bool {
    let beats = || memory.read_u64(layout.orders() + offset_of!(Orders, heartbeats) as u64).ok();
    let (first, until) = (beats(), Instant::now() + PATIENCE);
    while Instant::now() < until {
        std::thread::sleep(Duration::from_millis(20));
        if beats() != first {
            return true;
        }
    }
    false
}
