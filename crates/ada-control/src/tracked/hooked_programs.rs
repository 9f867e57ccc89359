//! What is hooked in a session.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};

use ada_event::{FunctionId, ModuleId, ProcessId, TraceNanos};
use ada_process::Clock;
use ada_process::maps::LoadedFile;

use super::module_list::ModuleList;
use super::process_facts::ProcessFacts;
use crate::install::installer::Installer;
use crate::plan::module::Module;
use crate::program_id::ProgramId;

/// What is behind the lock. Only its holder may hook.
#[derive(Default)]
pub(crate) struct HookedPrograms {
    pub(crate) installers: HashMap<ProgramId, (Installer, HashSet<LoadedFile>)>,
    pub(crate) modules: ModuleList,
    /// What is known of each process.
    pub(crate) processes: HashMap<ProcessId, ProcessFacts>,
    /// What could not be traced, and why.
    pub(crate) limits: Vec<String>,
    /// Those that the end of the trace tells of.
    pub(crate) told_limits: Vec<String>,
    /// Why it is not known when threads ran, if it is not.
    pub(crate) no_schedule: Option<String>,
    /// When hooks began to be removed from what goes on running: after that not every call is recorded.
    pub(crate) detached: Option<TraceNanos>,
    /// Where the list of a module's functions was written first.
    pub(crate) lists: HashMap<ModuleId, PathBuf>,
}

impl HookedPrograms {
    /// Says when a process was attached to, if it was. Gives the same by the time-stamp counter.
    pub(crate) fn note_clock(&mut self, pid: ProcessId, clock: &Clock) -> Option<u64> {
        let process = self.processes.get_mut(&pid)?;
        let attached = process.attached.as_mut()?;
        attached.time = Some(clock.at(attached.tsc));
        process.is_news = true;
        Some(attached.tsc)
    }

    /// The modules of a process.
    pub(crate) fn modules_of(&self, pid: ProcessId) -> Vec<&Module> {
        let programs = self.processes.get(&pid).into_iter().flat_map(|process| &process.programs);
        programs.flat_map(|&program| self.modules.of(program)).collect()
    }

    /// The same, each with the file of its program where the process has run another one since. A program's own file is the
    /// first of its modules.
    pub(crate) fn modules_by_program(&self, pid: ProcessId) -> Vec<(&Module, Option<&Path>)> {
        let programs = self.processes.get(&pid).map(|process| &process.programs);
        let last = programs.and_then(|programs| programs.last());
        let of_program = |program: &ProgramId| {
            let file = self.modules.of(*program).next().filter(|_| Some(program) != last);
            let file = file.map(|module| module.file.path.as_path());
            self.modules.of(*program).map(move |module| (module, file)).collect::<Vec<_>>()
        };
        programs.into_iter().flatten().flat_map(of_program).collect()
    }

    /// The numbers of modules that a process has had, which runs a program that it may have been forked with.
    pub(crate) fn modules_taken_by(&self, pid: ProcessId, program: ProgramId) -> HashSet<ModuleId> {
        let known = self.processes.get(&pid).into_iter().flat_map(|it| it.programs.iter().chain(&it.forked_in));
        let programs = known.copied().chain([program]);
        programs.flat_map(|program| self.modules.of(program)).map(|module| module.id).collect()
    }

    /// A function's name, or its module and offset where it has none.
    pub(crate) fn name_of(&self, function: FunctionId) -> String {
        let module = self.modules.with_id(function.module());
        module.map(|module| module.name_of(function.symbol_index() as usize)).unwrap_or_default()
    }
}
