//! The switches as they lie in the arenas.

use std::fs::File;
use std::io;
use std::ops::Range;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, Ordering};

use ada_event::{FunctionId, ModuleId};
use ada_patch::Arena;
use memmap2::{MmapOptions, MmapRaw};

/// The switches of all arenas. A module that is loaded twice has two.
#[derive(Default)]
pub(crate) struct SwitchArenas(Mutex<Vec<SwitchArena>>);

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
        self.0.lock().expect("nobody panics with the lock").push(arena);
        Ok(())
    }

    /// Forgets the arenas in a part of the file.
    pub(crate) fn forget(&self, part: &Range<u64>) {
        self.0.lock().expect("nobody panics with the lock").retain(|arena| !part.contains(&arena.offset));
    }

    /// Sets a function's switch, wherever it is loaded. False where it has none.
    pub(crate) fn set(&self, function: FunctionId, word: u32) -> bool {
        let index = function.symbol_index() as usize;
        let arenas = self.0.lock().expect("nobody panics with the lock");
        let its = arenas.iter().filter(|arena| arena.module == function.module() && index < arena.functions);
        its.map(|arena| arena.word(index).store(word, Ordering::Relaxed)).count() > 0
    }
}

impl SwitchArena {
    fn word(&self, index: usize) -> &AtomicU32 {
        let offset = Arena::switch_offset(index);
        assert!(index < self.functions && offset.is_multiple_of(align_of::<AtomicU32>()));
        // SAFETY: within the mapping, which reaches to the end of the switches; others only read the word, at once.
        unsafe { &*self.memory.as_mut_ptr().add(offset).cast::<AtomicU32>() }
    }
}
