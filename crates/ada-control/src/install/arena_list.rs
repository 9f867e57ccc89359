//! The agent's list of arenas, by which it finds their switches, and where their code comes from: see [`ada_ring::origins`].

use std::collections::HashSet;
use std::io;
use std::mem::offset_of;
use std::ops::Range;

use ada_event::RuntimeAddr;
use ada_process::Remote;
use ada_process::procfs::ProcessMemory;
use ada_ring::Control;
use ada_ring::arena_front::{SWITCH_BYTES, SWITCH_COUNT_AT, SWITCHES_AT};
use ada_ring::counters::{PASSED, switch_word};
use ada_ring::handler_functions::HandlerFunctions;
use ada_ring::origins::{ARENAS, ListedArena};
use ada_ring::state::ProcessBlock;

use crate::install::memory_layout::MemoryLayout;

/// No image has so many functions.
const MOST: usize = 1 << 24;
/// A switch by which calls are recorded.
const RECORDED: u32 = 0;

/// Puts an arena's code on the list, as this number; its table lies behind it. What the list has no room for, signal
/// handlers see as it is.
pub(crate) fn add(
    remote: &dyn Remote,
    process_block: RuntimeAddr,
    number: usize,
    code: &Range<RuntimeAddr>,
    first_function: u32,
) -> io::Result<()> {
    if number >= ARENAS {
        return Ok(());
    }
    let address = process_block + (offset_of!(ProcessBlock, arenas) + number * size_of::<ListedArena>()) as u64;
    // As the entry has them: where the arena starts, the table, and the first switch's function.
    remote.write(address, [code.start.0, code.end.0, first_function.into()].map(u64::to_le_bytes).as_flattened())
}

/// Whether the process has hooks, and all of them only pass calls on, but for those of signal handlers. None where that cannot be read.
pub(crate) fn only_passes(memory: &ProcessMemory, layout: MemoryLayout) -> Option<bool> {
    let handlers = handlers(memory, layout)?;
    let arenas = Switches::of_all(memory, layout)?;
    let is_recorded = |arena: &Switches| {
        let mut recorded = arena.with(RECORDED);
        recorded.any(|index| !handlers.contains(&arena.first_function.wrapping_add(index as u32)))
    };
    Some(!arenas.is_empty() && !arenas.iter().any(is_recorded))
}

/// Has all calls recorded that pass in a process because its recorder was taken for gone.
pub(crate) fn record_what_passes(memory: &ProcessMemory, layout: MemoryLayout) -> Option<()> {
    for arena in Switches::of_all(memory, layout)? {
        for index in arena.with(switch_word(PASSED)) {
            let address = arena.start + (SWITCHES_AT + index * SWITCH_BYTES) as u64;
            memory.write(address, &RECORDED.to_le_bytes()).ok()?;
        }
    }
    Some(())
}

/// The switches of an arena, as a process has them.
struct Switches {
    start: RuntimeAddr,
    first_function: u32,
    words: Vec<u8>,
}

impl Switches {
    fn of_all(memory: &ProcessMemory, layout: MemoryLayout) -> Option<Vec<Self>> {
        let list = layout.process_block() + offset_of!(ProcessBlock, arenas) as u64;
        let entries = (0..ARENAS as u64).map(|number| list + number * size_of::<ListedArena>() as u64);
        let mut all = Vec::new();
        for entry in entries {
            let start = RuntimeAddr(memory.read_u64(entry + offset_of!(ListedArena, start) as u64).ok()?);
            if start.0 == 0 {
                continue;
            }
            let first_function = memory.read_u64(entry + offset_of!(ListedArena, first_function) as u64).ok()? as u32;
            let count = memory.read_u64(start + SWITCH_COUNT_AT as u64).ok()?;
            let mut words = vec![0; usize::try_from(count).ok().filter(|count| *count <= MOST)? * SWITCH_BYTES];
            memory.read(start + SWITCHES_AT as u64, &mut words).ok()?;
            all.push(Self { start, first_function, words });
        }
        Some(all)
    }

    /// The numbers of those that have a value.
    fn with(&self, value: u32) -> impl Iterator<Item = usize> + '_ {
        let words = self.words.as_chunks::<SWITCH_BYTES>().0.iter().enumerate();
        words.filter(move |(_, word)| **word == value.to_le_bytes()).map(|(index, _)| index)
    }
}

/// The functions that a process's memory says handle signals.
fn handlers(memory: &ProcessMemory, layout: MemoryLayout) -> Option<HashSet<u32>> {
    let mut words = [0; size_of::<HandlerFunctions>()];
    memory.read(layout.pool + offset_of!(Control, handlers) as u64, &mut words).ok()?;
    let numbers = words.as_chunks().0.iter().map(|word| u32::from_le_bytes(*word));
    // One more than the function's number, as `HandlerFunctions` has them.
    Some(numbers.filter_map(|number| number.checked_sub(1)).collect())
}
