//! The switches as they lie in the arenas.

use std::collections::{BTreeSet, HashMap};
use std::ops::Range;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};

use ada_event::{FunctionId, ModuleId};
use ada_patch::Arena;

use crate::install::code_memory::CodeMemory;

/// The switches of all arenas. A module that several programs have loaded has several.
pub(crate) struct SwitchArenas {
    code: Arc<CodeMemory>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    arenas: Vec<SwitchArena>,
    /// What stands in switches, if it is not 0: the next program that loads the module begins with it.
    words: HashMap<FunctionId, u32>,
    /// What has lost its hook: the next program that loads the module does not get it.
    unhooked: BTreeSet<FunctionId>,
}

struct SwitchArena {
    /// Where it starts in the code's memory.
    offset: u64,
    module: ModuleId,
    functions: usize,
}

impl SwitchArenas {
    pub(crate) fn new(code: Arc<CodeMemory>) -> Self {
        Self { code, state: Mutex::default() }
    }

    /// Takes the arena in that starts at `offset` of the code's memory.
    pub(crate) fn add(&self, offset: u64, module: ModuleId, functions: usize) {
        let arena = SwitchArena { offset, module, functions };
        let mut state = self.lock();
        for (function, word) in state.words.iter().filter(|(function, _)| function.module() == module) {
            let index = function.symbol_index() as usize;
            if index < functions {
                self.switch(&arena, index).store(*word, Ordering::Relaxed);
            }
        }
        state.arenas.push(arena);
    }

    /// Forgets the arenas in a part of the file.
    pub(crate) fn forget(&self, part: &Range<u64>) {
        self.lock().arenas.retain(|arena| !part.contains(&arena.offset));
    }

    /// Notes that functions have lost their hooks.
    pub(crate) fn note_unhooked(&self, functions: &[FunctionId]) {
        self.lock().unhooked.extend(functions);
    }

    /// The functions of a module that have lost their hooks, by number.
    pub(crate) fn unhooked_of(&self, module: ModuleId) -> Vec<usize> {
        let (first, last) = (FunctionId::new(module, 0), FunctionId::new(module, u32::MAX));
        let state = self.lock();
        state.unhooked.range(first..=last).map(|function| function.symbol_index() as usize).collect()
    }

    /// What stands in a function's switch.
    #[cfg(test)]
    pub(crate) fn word(&self, function: FunctionId) -> Option<u32> {
        let index = function.symbol_index() as usize;
        let state = self.lock();
        let arena = state.arenas.iter().find(|arena| arena.module == function.module() && index < arena.functions)?;
        Some(self.switch(arena, index).load(Ordering::Relaxed))
    }

    /// Sets a function's switch, wherever it is loaded. False where it has none.
    pub(crate) fn set(&self, function: FunctionId, word: u32) -> bool {
        let index = function.symbol_index() as usize;
        let mut state = self.lock();
        let its = state.arenas.iter().filter(|arena| arena.module == function.module() && index < arena.functions);
        let is_there = its.map(|arena| self.switch(arena, index).store(word, Ordering::Relaxed)).count() > 0;
        match word {
            0 => drop(state.words.remove(&function)),
            word if is_there => drop(state.words.insert(function, word)),
            _ => (),
        }
        is_there
    }

    fn switch(&self, arena: &SwitchArena, index: usize) -> &AtomicU32 {
        assert!(index < arena.functions);
        self.code.word(arena.offset + Arena::switch_offset(index) as u64)
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().expect("nobody panics with the lock")
    }
}

#[cfg(test)]
mod tests {
    use rustix::fs::{MemfdFlags, memfd_create};

    use super::*;

    #[test]
    fn what_has_lost_its_hook_is_known_by_module() {
        let descriptor = memfd_create("ada", MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING).unwrap();
        let arenas = SwitchArenas::new(Arc::new(CodeMemory::in_file(descriptor.into()).unwrap()));
        let of = |module, index| FunctionId::new(ModuleId(module), index);
        arenas.note_unhooked(&[of(2, 7), of(1, 3), of(2, 0), of(3, 1)]);
        assert_eq!(arenas.unhooked_of(ModuleId(2)), [0, 7]);
        assert_eq!(arenas.unhooked_of(ModuleId(4)), [0; 0]);
    }
}
