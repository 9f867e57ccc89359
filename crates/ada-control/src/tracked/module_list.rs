//! The modules of all programs of a session. There may be thousands of programs, and each asks for its own.

use std::collections::HashMap;
use std::ops::Deref;
use std::path::PathBuf;

use ada_event::ModuleId;

use crate::plan::module::Module;
use crate::program_id::ProgramId;

/// The modules, in the order in which they came.
#[derive(Default)]
pub(crate) struct ModuleList {
    all: Vec<Module>,
    /// Where those of each program are.
    by_program: HashMap<ProgramId, Vec<usize>>,
    /// Where the first one of each file is.
    by_path: HashMap<PathBuf, usize>,
}

impl ModuleList {
    /// Adds a module; of one that its program has, where this copy of it lies. What is the same in all modules of a file is kept once.
    pub(crate) fn add(&mut self, mut module: Module) {
        let of_program = self.by_program.get(&module.program).into_iter().flatten().copied();
        if let Some(known) = of_program.into_iter().find(|&number| self.all[number].id == module.id) {
            let known = &mut self.all[known];
            if known.bias != module.bias && !known.other_biases.contains(&module.bias) {
                known.other_biases.push(module.bias);
            }
            return;
        }
        let number = self.all.len();
        match self.by_path.get(&module.file.path) {
            Some(&same) => module.share_with(&self.all[same]),
            None => drop(self.by_path.insert(module.file.path.clone(), number)),
        }
        self.by_program.entry(module.program).or_default().push(number);
        self.all.push(module);
    }

    /// The modules of a program.
    pub(crate) fn of(&self, program: ProgramId) -> impl Iterator<Item = &Module> {
        self.by_program.get(&program).into_iter().flatten().map(|&number| &self.all[number])
    }

    /// A module by its number.
    pub(crate) fn with_id(&self, id: ModuleId) -> Option<&Module> {
        self.all.iter().find(|module| module.id == id)
    }
}

impl Deref for ModuleList {
    type Target = [Module];

    fn deref(&self) -> &[Module] {
        &self.all
    }
}
