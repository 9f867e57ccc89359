//! The agent's list of arenas, by which it finds their switches, and where their code comes from: see [`ada_ring::origins`].

use std::io;
use std::mem::offset_of;
use std::ops::Range;

use ada_event::RuntimeAddr;
use ada_process::Remote;
use ada_process::procfs::ProcessMemory;
use ada_ring::arena_front::{SWITCH_BYTES, SWITCH_COUNT_AT, SWITCHES_AT};
use ada_ring::origins::{ARENAS, ListedArena};
use ada_ring::state::ProcessBlock;

/// No image has so many functions.
const MOST: usize = 1 << 24;

/// Puts an arena's code on the list, as this number; its table lies behind it. What the list has no room for, signal
/// handlers see as it is.
pub(crate) fn add(
    remote: &dyn Remote,
    process_block: RuntimeAddr,
    number: usize,
    code: &Range<RuntimeAddr>,
) -> io::Result<()> {
    if number >= ARENAS {
        return Ok(());
    }
    let address = process_block + (offset_of!(ProcessBlock, arenas) + number * size_of::<ListedArena>()) as u64;
    // As the entry has them: where the arena starts, and the table.
    remote.write(address, [code.start, code.end].map(|end| end.0.to_le_bytes()).as_flattened())
}

/// Whether the process has hooks, and all of them only pass calls on. None where that cannot be read.
pub(crate) fn only_passes(memory: &ProcessMemory, process_block: RuntimeAddr) -> Option<bool> {
    let list = process_block + offset_of!(ProcessBlock, arenas) as u64;
    let starts = (0..ARENAS as u64).map(|number| memory.read_u64(list + number * size_of::<ListedArena>() as u64).ok());
    let starts = starts.collect::<Option<Vec<u64>>>()?.into_iter().filter(|start| *start != 0);
    let starts: Vec<RuntimeAddr> = starts.map(RuntimeAddr).collect();
    for &start in &starts {
        let count = memory.read_u64(start + SWITCH_COUNT_AT as u64).ok()?;
        let mut switches = vec![0; usize::try_from(count).ok().filter(|count| *count <= MOST)? * SWITCH_BYTES];
        memory.read(start + SWITCHES_AT as u64, &mut switches).ok()?;
        if switches.as_chunks::<SWITCH_BYTES>().0.contains(&[0; SWITCH_BYTES]) {
            return Some(false);
        }
    }
    Some(!starts.is_empty())
}
