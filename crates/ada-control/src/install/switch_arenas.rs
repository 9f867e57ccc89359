//! The switches as they lie in the arenas.

use std::collections::{BTreeSet, HashMap};
use std::fs::File;
use std::io;
use std::ops::Range;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, Ordering};

use ada_event::{FunctionId, ModuleId};
use ada_patch::Arena;
use ada_ring::counters::{PASSED, switch_word};
use memmap2::{MmapOptions, MmapRaw};

/// The switches of all arenas. A module that several programs have loaded has several.
#[derive(Default)]
pub(crate) struct SwitchArenas(Mutex<State>);

#[derive(Default)]
struct State {
    arenas: Vec<SwitchArena>,
    /// What stands in switches, if it is not 0: the next program that loads the module begins with it.
    words: HashMap<FunctionId, u32>,
    /// What has lost its hook: the next program that loads the module does not get it.
    unhooked: BTreeSet<FunctionId>,
}

struct SwitchArena {
    /// Where it starts in the shared memory's file.
    offset: u64,
    module: ModuleId,
    functions: usize,
    memory: MmapRaw,
}

impl SwitchArenas {
    /// Takes the arena in that starts at `offset` of the shared memory's file.
    pub(crate) fn add(&self, file: &File, offset: u64, module: ModuleId, functions: usize) -> io::Result<()> {
        let memory = MmapOptions::new().offset(offset).len(Arena::switches_end(functions)).map_raw(file)?;
        let arena = SwitchArena { offset, module, functions, memory };
        let mut state = self.0.lock().expect("nobody panics with the lock");
        for (function, word) in state.words.iter().filter(|(function, _)| function.module() == module) {
            let index = function.symbol_index() as usize;
            if index < functions {
                arena.word(index).store(*word, Ordering::Relaxed);
            }
        }
        state.arenas.push(arena);
        Ok(())
    }

    /// Forgets the arenas in a part of the file.
    pub(crate) fn forget(&self, part: &Range<u64>) {
        self.0.lock().expect("nobody panics with the lock").arenas.retain(|arena| !part.contains(&arena.offset));
    }

    /// Has all calls recorded again that pass because the recorder was taken for gone.
    pub(crate) fn record_what_passes(&self) {
        let state = self.0.lock().expect("nobody panics with the lock");
        for arena in &state.arenas {
            for switch in (0..arena.functions).map(|index| arena.word(index)) {
                let _ = switch.compare_exchange(switch_word(PASSED), 0, Ordering::SeqCst, Ordering::Relaxed);
            }
        }
    }

    /// Notes that functions have lost their hooks.
    pub(crate) fn note_unhooked(&self, functions: &[FunctionId]) {
        self.0.lock().expect("nobody panics with the lock").unhooked.extend(functions);
    }

    /// The functions of a module that have lost their hooks, by number.
    pub(crate) fn unhooked_of(&self, module: ModuleId) -> Vec<usize> {
        let (first, last) = (FunctionId::new(module, 0), FunctionId::new(module, u32::MAX));
        let state = self.0.lock().expect("nobody panics with the lock");
        state.unhooked.range(first..=last).map(|function| function.symbol_index() as usize).collect()
    }

    /// What stands in a function's switch.
    #[cfg(test)]
    pub(crate) fn word(&self, function: FunctionId) -> Option<u32> {
        let index = function.symbol_index() as usize;
        let state = self.0.lock().expect("nobody panics with the lock");
        let arena = state.arenas.iter().find(|arena| arena.module == function.module() && index < arena.functions)?;
        Some(arena.word(index).load(Ordering::Relaxed))
    }

    /// Sets a function's switch, wherever it is loaded. False where it has none.
    pub(crate) fn set(&self, function: FunctionId, word: u32) -> bool {
        let index = function.symbol_index() as usize;
        let mut state = self.0.lock().expect("nobody panics with the lock");
        let its = state.arenas.iter().filter(|arena| arena.module == function.module() && index < arena.functions);
        let is_there = its.map(|arena| arena.word(index).store(word, Ordering::Relaxed)).count() > 0;
        match word {
            0 => drop(state.words.remove(&function)),
            word if is_there => drop(state.words.insert(function, word)),
            _ => (),
        }
        is_there
    }
}

impl SwitchArena {
    fn word(&self, index: usize) -> &AtomicU32 {
        let offset = Arena::switch_offset(index);
        assert!(index < self.functions && offset.is_multiple_of(align_of::<AtomicU32>()));
        // SAFETY: within the mapping, which reaches to the end of the switches; others change the word at once, as here.
        unsafe { &*self.memory.as_mut_ptr().add(offset).cast::<AtomicU32>() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_has_lost_its_hook_is_known_by_module() {
        let arenas = SwitchArenas::default();
        let of = |module, index| FunctionId::new(ModuleId(module), index);
        arenas.note_unhooked(&[of(2, 7), of(1, 3), of(2, 0), of(3, 1)]);
        assert_eq!(arenas.unhooked_of(ModuleId(2)), [0, 7]);
        assert_eq!(arenas.unhooked_of(ModuleId(4)), [0; 0]);
    }
}
