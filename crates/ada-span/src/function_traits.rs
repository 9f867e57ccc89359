//! What the analysis has to know of functions: which have no returns, and which play a part in unwinding and threads.

use std::collections::HashMap;

use ada_event::{FunctionId, ModuleId, RuntimeAddr};

use crate::role::{Role, SwiftCall};

/// What is known of one function.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FunctionTrait {
    /// Its part.
    pub role: Role,
    /// Whether only its calls are recorded.
    pub is_entry_only: bool,
    /// Whether it has no name.
    pub is_unnamed: bool,
    /// Whether it belongs to the machinery that programs start their threads through.
    pub is_runtime: bool,
    /// Whether its module is part of that machinery.
    pub is_library: bool,
    /// Its address in the process, if it is known where its module was loaded.
    pub address: Option<RuntimeAddr>,
}

/// What is known of all functions of a process. Functions that it does not know are plain.
#[derive(Clone, Debug, Default)]
pub struct FunctionTraits {
    modules: HashMap<ModuleId, Vec<FunctionTrait>>,
}

impl FunctionTraits {
    /// Adds a module's functions, in the order of their symbol indexes.
    pub fn add_module(&mut self, module: ModuleId, functions: Vec<FunctionTrait>) {
        self.modules.insert(module, functions);
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

    /// Module numbers and how many functions each has.
    pub fn modules(&self) -> impl Iterator<Item = (ModuleId, usize)> {
        self.modules.iter().map(|(&module, functions)| (module, functions.len()))
    }

    /// Every function with its address.
    pub fn addresses(&self) -> impl Iterator<Item = (RuntimeAddr, FunctionId)> {
        self.modules.iter().flat_map(|(&module, functions)| {
            functions
                .iter()
                .enumerate()
                .filter_map(move |(index, it)| Some((it.address?, FunctionId::new(module, index as u32))))
        })
    }
}
