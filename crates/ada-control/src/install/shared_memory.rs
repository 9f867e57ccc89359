//! The memory that ada shares with the target: two anonymous files, mapped by both. One is for the target to write, and has the
//! control block, the dump, chunks and blocks of counters: as many as there can be, of which few are ever used. The
//! other is for it to read: see [`CodeMemory`].
//!
//! Their sizes are sealed: a target that cut one would have ada die of the memory that is missing.

use std::fs::File;
use std::io;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use ada_event::ModuleId;
use ada_process::MemfdId;
use ada_ring::chunk::MAX_CHUNKS;
use ada_ring::counters::{BLOCK_BYTES, FIRST_BLOCKS, MAX_BLOCKS};
use ada_ring::pool::CHUNKS_AT;
use ada_ring::{CHUNK_SIZE, DetailMode, OnFull, Pool};
use memmap2::{MmapMut, MmapOptions};
use rustix::fs::{MemfdFlags, SealFlags, fcntl_add_seals, memfd_create};

use crate::install::code_memory::{CodeMemory, path_of};
use crate::install::switch_arenas::SwitchArenas;

/// The shared memory, on ada's side.
pub(crate) struct SharedMemory {
    rings: File,
    /// Keeps the pool's memory mapped.
    _pool_map: MmapMut,
    pool: Pool,
    pub(crate) code: Arc<CodeMemory>,
    /// The switches of the arenas in there.
    pub(crate) switches: SwitchArenas,
}

/// The two files.
pub(crate) struct SharedFiles {
    /// For the target to write.
    pub(crate) rings: File,
    /// For it to read.
    pub(crate) code: File,
}

impl SharedFiles {
    fn new() -> io::Result<Self> {
        let new = || memfd_create("ada", MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING).map(File::from);
        Ok(Self { rings: new()?, code: new()? })
    }
}

impl SharedMemory {
    /// A fresh one with this many chunks.
    pub(crate) fn new(chunks: usize, on_full: OnFull, detail: DetailMode) -> io::Result<Self> {
        Self::in_files(SharedFiles::new()?, chunks, on_full, detail)
    }

    /// The same in empty memfds that can be sealed. Those that a target has made it may have exchanged for other files:
    /// these cannot be sealed, and are not touched.
    pub(crate) fn in_files(files: SharedFiles, chunks: usize, on_full: OnFull, detail: DetailMode) -> io::Result<Self> {
        let SharedFiles { rings, code } = files;
        let chunks = chunks.clamp(2, MAX_CHUNKS);
        fcntl_add_seals(&rings, SealFlags::SHRINK)?;
        rings.set_len(pool_bytes(MAX_CHUNKS, MAX_BLOCKS))?;
        fcntl_add_seals(&rings, SealFlags::GROW | SealFlags::SEAL)?;
        let code = Arc::new(CodeMemory::in_file(code)?);
        let (mut pool_map, most_chunks, most_blocks) = map_pool(&rings, chunks)?;
        // SAFETY: the mapping holds the control block, the dump, all chunks and the counters, and lives as long as `self`, as the
        // orders do.
        let pool = unsafe { Pool::at(pool_map.as_mut_ptr(), code.orders()) };
        let orders = pool.orders();
        orders.chunk_count.store(chunks as u32, Ordering::Relaxed);
        orders.most_chunks.store(most_chunks as u32, Ordering::Relaxed);
        orders.most_blocks.store(most_blocks as u32, Ordering::Relaxed);
        orders.on_full.store(on_full as u32, Ordering::Relaxed);
        orders.detail_mode.store(detail as u32, Ordering::Relaxed);
        let switches = SwitchArenas::new(code.clone());
        Ok(Self { rings, _pool_map: pool_map, pool, code, switches })
    }

    pub(crate) fn pool(&self) -> Pool {
        self.pool
    }

    /// What the memory is known by in the mappings of a process: its code's file.
    pub(crate) fn memfd(&self) -> io::Result<MemfdId> {
        self.code.memfd()
    }

    /// A path by which another process opens the rings.
    pub(crate) fn rings_path(&self) -> String {
        path_of(&self.rings)
    }

    /// The parts of the pool that a process has mapped from the start: the chunks that all share with what lies before
    /// them, and the first counters.
    pub(crate) fn first_parts(&self) -> [Range<u64>; 2] {
        let chunks = (CHUNKS_AT + self.pool.chunk_count() * CHUNK_SIZE) as u64;
        let counters = self.pool.counters_at() as u64;
        let blocks = FIRST_BLOCKS.min(self.pool.most_blocks()) * BLOCK_BYTES;
        [0..chunks, counters..counters + blocks as u64]
    }

    /// Has others use a part of the code's memory that nobody will use again.
    pub(crate) fn release(&self, part: Range<u64>) {
        self.switches.forget(&part);
        self.code.release(part);
    }

    /// Makes the switches of an arena known, which starts at `offset`.
    pub(crate) fn add_switches(&self, offset: u64, module: ModuleId, functions: usize) {
        self.switches.add(offset, module, functions);
    }
}

fn pool_bytes(most_chunks: usize, most_blocks: usize) -> u64 {
    (CHUNKS_AT + most_chunks * CHUNK_SIZE + most_blocks * BLOCK_BYTES) as u64
}

/// Maps as much as there can be, or less where ada itself may not have so much address space.
fn map_pool(file: &File, chunks: usize) -> io::Result<(MmapMut, usize, usize)> {
    let (mut most_chunks, mut most_blocks) = (MAX_CHUNKS, MAX_BLOCKS);
    loop {
        let bytes = pool_bytes(most_chunks, most_blocks);
        // SAFETY: the file is ours; the target writes to the same memory by the rules of `ada-ring`.
        match unsafe { MmapOptions::new().len(bytes as usize).map_mut(file) } {
            Err(_) if most_chunks > chunks || most_blocks > FIRST_BLOCKS => {
                (most_chunks, most_blocks) = ((most_chunks / 2).max(chunks), (most_blocks / 2).max(FIRST_BLOCKS));
            }
            map => return Ok((map?, most_chunks, most_blocks)),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::MetadataExt;

    use super::*;

    #[test]
    fn room_that_nobody_needs_costs_no_memory() {
        let shared = SharedMemory::new(2, OnFull::Wait, DetailMode::Off).unwrap();
        let used = || shared.rings.metadata().unwrap().blocks() * 512;
        assert!(used() < 1 << 18);
        assert_eq!((shared.pool().chunk_count(), shared.pool().chunk_end()), (2, 2));
        let chunks: Vec<usize> = std::iter::from_fn(|| shared.pool().claim()).collect();
        assert_eq!(chunks, [0, 1]);
        assert_eq!((shared.pool().claim_beyond(), shared.pool().chunk_end()), (Some(2), 3));
        assert_eq!(std::iter::from_fn(|| shared.pool().claim_beyond()).last(), Some(MAX_CHUNKS - 1));
        assert!(used() < 1 << 18, "claimed, and not written to");
    }

    #[test]
    fn nobody_can_cut_it() {
        let shared = SharedMemory::new(2, OnFull::Wait, DetailMode::Off).unwrap();
        let opened = File::options().read(true).write(true).open(shared.rings_path()).unwrap();
        assert!(opened.set_len(0).is_err() && opened.set_len(u64::MAX >> 2).is_err());
        // Reading it would end this process, had it been cut.
        assert_eq!(shared.pool().chunk_end(), 2);
    }

    #[test]
    fn a_file_that_is_no_memfd_is_left_alone() {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), "precious").unwrap();
        let opened = || File::options().read(true).write(true).open(file.path()).unwrap();
        for is_code in [false, true] {
            let mut files = SharedFiles::new().unwrap();
            *if is_code { &mut files.code } else { &mut files.rings } = opened();
            assert!(SharedMemory::in_files(files, 2, OnFull::Wait, DetailMode::Off).is_err());
            assert_eq!(std::fs::read(file.path()).unwrap(), b"precious");
        }
    }
}
