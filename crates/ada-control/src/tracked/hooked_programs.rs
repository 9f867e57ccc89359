//! What is hooked in a session.

use std::collections::{HashMap, HashSet};
use std::path::PathBuf;

use ada_event::{FunctionId, ModuleId, ProcessId};
use ada_process::maps::LoadedFile;

use super::process_facts::ProcessFacts;
use crate::install::installer::Installer;
use crate::plan::module::Module;
use crate::program_id::ProgramId;

/// What is behind the lock: whoever holds it may hook.
#[derive(Default)]
pub(crate) struct HookedPrograms {
    pub(crate) installers: HashMap<ProgramId, (Installer, HashSet<LoadedFile>)>,
    pub(crate) modules: Vec<Module>,
    /// What is known of each process.
    pub(crate) processes: HashMap<ProcessId, ProcessFacts>,
    /// What could not be traced, and why.
    pub(crate) limits: Vec<String>,
    /// Where the list of a module's functions was written first.
    pub(crate) lists: HashMap<ModuleId, PathBuf>,
}

impl HookedPrograms {
    /// The modules of a process.
    pub(crate) fn modules_of(&self, pid: ProcessId) -> Vec<&Module> {
        let programs = self.processes.get(&pid).map(|process| &process.programs);
        let is_its = |module: &&Module| programs.is_some_and(|programs| programs.contains(&module.program));
        self.modules.iter().filter(is_its).collect()
    }

    /// The numbers of modules that a process has had, which runs a program that it may have been forked with.
    pub(crate) fn modules_taken_by(&self, pid: ProcessId, program: ProgramId) -> HashSet<ModuleId> {
        let known = self.processes.get(&pid);
        let was_run =
            |it: &ProcessFacts, other: &ProgramId| it.programs.contains(other) || it.forked_in.contains(other);
        let has_run = |other: ProgramId| other == program || known.is_some_and(|it| was_run(it, &other));
        self.modules.iter().filter(|module| has_run(module.program)).map(|module| module.id).collect()
    }

    /// A function's name, or its module and offset where it has none.
    pub(crate) fn name_of(&self, function: FunctionId) -> String {
        let module = self.modules.iter().find(|module| module.id == function.module());
        module.map(|module| module.name_of(function.symbol_index() as usize)).unwrap_or_default()
    }
}
