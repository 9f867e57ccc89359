//! The agent's list of arenas, by which it finds out where their code comes from: see [`ada_ring::origins`].

use std::io;
use std::mem::offset_of;
use std::ops::Range;

use ada_process::Remote;
use ada_ring::origins::{ARENAS, ListedArena};
use ada_ring::state::ProcessBlock;

/// Puts an arena's code on the list, as this number; its table lies behind it. What the list has no room for, signal
/// handlers see as it is.
pub(crate) fn add(remote: &dyn Remote, process_block: u64, number: usize, code: &Range<u64>) -> io::Result<()> {
    if number >= ARENAS {
        return Ok(());
    }
    let place = process_block + (offset_of!(ProcessBlock, arenas) + number * size_of::<ListedArena>()) as u64;
    // As the entry has them: where the arena starts, and the table.
    remote.write(place, [code.start, code.end].map(u64::to_le_bytes).as_flattened())
}
