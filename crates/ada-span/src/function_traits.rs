//! What the analysis has to know of functions: which have no returns, and which play a part in unwinding and threads.

use std::collections::HashMap;

use ada_event::{FunctionId, ModuleId, RuntimeAddr};

use crate::role::{GoPart, Role, SwiftCall};

/// What is known of one function.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FunctionTrait {
    /// Its part.
    pub role: Role,
    /// Whether only its calls are recorded.
    pub is_entry_only: bool,
    /// Whether its calls are not recorded at all.
    pub is_skipped: bool,
    /// Whether it has no name.
    pub is_unnamed: bool,
    /// Whether it belongs to the machinery that programs start their threads through.
    pub is_runtime: bool,
    /// Whether its module is part of that machinery.
    pub is_library: bool,
    /// Whose code it is, if it is of Go.
    pub go_part: GoPart,
    /// Its address in the process, if it is known where its module was loaded.
    pub address: Option<RuntimeAddr>,
}

/// What is known of all functions of a process. Functions that it does not know are plain.
#[derive(Clone, Debug, Default)]
pub struct FunctionTraits {
    modules: HashMap<ModuleId, Vec<FunctionTrait>>,
    moves_stacks: bool,
    go_version: Option<String>,
    /// How far further copies of modules lie behind the first one, or before it.
    copies: Vec<(ModuleId, u64)>,
}

impl FunctionTraits {
    /// Adds a module's functions, in the order of their symbol indexes.
    pub fn add_module(&mut self, module: ModuleId, functions: Vec<FunctionTrait>) {
        self.modules.insert(module, functions);
    }

    /// States that a runtime of the process has stacks change threads.
    pub fn set_moves_stacks(&mut self) {
        self.moves_stacks = true;
    }

    /// States which Go made the program.
    pub fn set_go_version(&mut self, version: &str) {
        self.go_version = Some(version.to_owned());
    }

    /// Which Go made the program, as it calls itself.
    pub(crate) fn go_version(&self) -> Option<&str> {
        self.go_version.as_deref()
    }

    /// Whether stacks change threads.
    pub fn moves_stacks(&self) -> bool {
        self.moves_stacks
    }

    /// Adds a further copy of a module, so far behind the first one; the distance wraps.
    pub fn add_copy(&mut self, module: ModuleId, distance: u64) {
        self.copies.push((module, distance));
    }

    /// Gives a function another part.
    pub fn set_role(&mut self, function: FunctionId, role: Role) {
        let module = self.modules.get_mut(&function.module());
        if let Some(known) = module.and_then(|functions| functions.get_mut(function.symbol_index() as usize)) {
            known.role = role;
        }
    }

    /// What is known of a function.
    pub fn get(&self, function: FunctionId) -> FunctionTrait {
        let module = self.modules.get(&function.module());
        module.and_then(|functions| functions.get(function.symbol_index() as usize)).copied().unwrap_or_default()
    }

    /// Whether calls of some function report tasks or blocks.
    pub fn has_concurrency(&self) -> bool {
        let is_telling = |role: Role| role.is_concurrency() && role != Role::Swift(SwiftCall::ProcessExit);
        self.modules.values().flatten().any(|function| is_telling(function.role))
    }

    /// The modules that have a function with this part.
    pub(crate) fn modules_with(&self, role: Role) -> Vec<ModuleId> {
        let has = |functions: &[FunctionTrait]| functions.iter().any(|function| function.role == role);
        self.modules.iter().filter(|(_, functions)| has(functions)).map(|(&module, _)| module).collect()
    }

    /// Whether calls of all functions with this part are recorded.
    pub(crate) fn records_all(&self, role: Role) -> bool {
        self.modules.values().flatten().all(|function| function.role != role || !function.is_skipped)
    }

    /// Module numbers and how many functions each has.
    pub fn modules(&self) -> impl Iterator<Item = (ModuleId, usize)> {
        self.modules.iter().map(|(&module, functions)| (module, functions.len()))
    }

    /// Every function with its address, in each copy of its module.
    pub fn addresses(&self) -> impl Iterator<Item = (RuntimeAddr, FunctionId)> {
        let firsts = self.modules.keys().map(|&module| (module, 0));
        firsts.chain(self.copies.iter().copied()).flat_map(|(module, distance)| {
            let functions = self.modules.get(&module).into_iter().flatten().enumerate();
            functions.filter_map(move |(index, it)| {
                Some((RuntimeAddr(it.address?.0.wrapping_add(distance)), FunctionId::new(module, index as u32)))
            })
        })
    }
}
