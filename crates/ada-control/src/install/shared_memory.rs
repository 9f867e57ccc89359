//! The memory that ada shares with the target: one anonymous file, mapped by both.
//!
//! ```text
//! 0        control block, dump, chunks, blocks of counters: as many as there can be, of which few are ever used
//! …        for each program the agent, then arenas, as they are made
//! ```
//!
//! Its size is sealed: a target that cut it would have ada die of the memory that is missing.

use std::fs::File;
use std::io;
use std::ops::Range;
use std::os::fd::AsRawFd;
use std::sync::atomic::{AtomicU64, Ordering};

use ada_event::ModuleId;
use ada_process::procfs::ProcessDir;
use ada_process::{MemfdId, this_process};
use ada_ring::chunk::MAX_CHUNKS;
use ada_ring::counters::{BLOCK_BYTES, FIRST_BLOCKS, MAX_BLOCKS};
use ada_ring::pool::CHUNKS_AT;
use ada_ring::{CHUNK_SIZE, DetailMode, OnFull, Pool};
use memmap2::{MmapMut, MmapOptions};
use rustix::fs::{FallocateFlags, MemfdFlags, SealFlags, fallocate, fcntl_add_seals, memfd_create};

use crate::install::switch_arenas::SwitchArenas;

/// Room for code: sparse, so that only what is used costs memory.
const CODE_BYTES: u64 = 1 << 40;

/// The shared memory, on ada's side.
pub(crate) struct SharedMemory {
    file: File,
    /// Keeps the pool's memory mapped.
    _pool_map: MmapMut,
    pool: Pool,
    pool_bytes: u64,
    /// The switches of the arenas in here.
    pub(crate) switches: SwitchArenas,
    code_used: AtomicU64,
}

impl SharedMemory {
    /// A fresh one with this many chunks.
    pub(crate) fn new(chunks: usize, on_full: OnFull, detail: DetailMode) -> io::Result<Self> {
        let descriptor = memfd_create("ada", MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING)?;
        Self::in_file(File::from(descriptor), chunks, on_full, detail)
    }

    /// The same in an empty memfd that can be sealed. One that a target has made it may have exchanged for another file:
    /// that cannot be sealed, and is not touched.
    pub(crate) fn in_file(file: File, chunks: usize, on_full: OnFull, detail: DetailMode) -> io::Result<Self> {
        let chunks = chunks.clamp(2, MAX_CHUNKS);
        fcntl_add_seals(&file, SealFlags::SHRINK)?;
        file.set_len((pool_bytes(MAX_CHUNKS, MAX_BLOCKS) + CODE_BYTES).next_multiple_of(4096))?;
        fcntl_add_seals(&file, SealFlags::GROW | SealFlags::SEAL)?;
        let (mut pool_map, most_chunks, most_blocks) = map_pool(&file, chunks)?;
        let pool_bytes = pool_bytes(most_chunks, most_blocks);
        // SAFETY: the mapping holds the control block, the dump, all chunks and the counters, and lives as long as `self`.
        let pool = unsafe { Pool::at(pool_map.as_mut_ptr()) };
        pool.control().chunk_count.store(chunks as u32, Ordering::Relaxed);
        pool.control().most_chunks.store(most_chunks as u32, Ordering::Relaxed);
        pool.control().most_blocks.store(most_blocks as u32, Ordering::Relaxed);
        pool.control().on_full.store(on_full as u32, Ordering::Relaxed);
        pool.control().detail_mode.store(detail as u32, Ordering::Relaxed);
        Ok(Self {
            file,
            _pool_map: pool_map,
            pool,
            pool_bytes,
            switches: SwitchArenas::default(),
            code_used: AtomicU64::new(0),
        })
    }

    pub(crate) fn pool(&self) -> Pool {
        self.pool
    }

    /// What the file is known by in the mappings of a process.
    pub(crate) fn memfd(&self) -> io::Result<MemfdId> {
        MemfdId::of(&self.file)
    }

    /// A path by which another process opens this memory.
    pub(crate) fn path(&self) -> String {
        ProcessDir::of(this_process()).descriptor(self.file.as_raw_fd() as u64).display().to_string()
    }

    /// The parts of the pool that a process has mapped from the start: the chunks that all share with what lies before
    /// them, and the first counters.
    pub(crate) fn first_parts(&self) -> [Range<u64>; 2] {
        let chunks = (CHUNKS_AT + self.pool.chunk_count() * CHUNK_SIZE) as u64;
        let counters = self.pool.counters_at() as u64;
        let blocks = FIRST_BLOCKS.min(self.pool.most_blocks()) * BLOCK_BYTES;
        [0..chunks, counters..counters + blocks as u64]
    }

    /// Sets a whole number of pages aside, and gives their offset in the file.
    pub(crate) fn reserve(&self, bytes: u64) -> Option<u64> {
        let bytes = bytes.next_multiple_of(4096);
        let used = self.code_used.fetch_add(bytes, Ordering::Relaxed);
        (used + bytes <= CODE_BYTES).then_some(self.pool_bytes + used)
    }

    /// Gives the memory of a part back that nobody will use again.
    pub(crate) fn release(&self, part: Range<u64>) {
        self.switches.forget(&part);
        let flags = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
        // Where it fails the memory stays in use.
        let _ = fallocate(&self.file, flags, part.start, part.end - part.start);
    }

    /// Makes the switches of an arena known, which starts at `offset`.
    pub(crate) fn add_switches(&self, offset: u64, module: ModuleId, functions: usize) -> io::Result<()> {
        self.switches.add(&self.file, offset, module, functions)
    }

    /// Writes code at an offset.
    pub(crate) fn write_code(&self, offset: u64, code: &[u8]) -> io::Result<()> {
        use std::os::unix::fs::FileExt;
        self.file.write_all_at(code, offset)
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
        let used = || shared.file.metadata().unwrap().blocks() * 512;
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
        let opened = File::options().read(true).write(true).open(shared.path()).unwrap();
        assert!(opened.set_len(0).is_err() && opened.set_len(u64::MAX >> 2).is_err());
        // Reading it would end this process, had it been cut.
        assert_eq!(shared.pool().chunk_end(), 2);
    }

    #[test]
    fn a_file_that_is_no_memfd_is_left_alone() {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), "precious").unwrap();
        let opened = File::options().read(true).write(true).open(file.path()).unwrap();
        assert!(SharedMemory::in_file(opened, 2, OnFull::Wait, DetailMode::Off).is_err());
        assert_eq!(std::fs::read(file.path()).unwrap(), b"precious");
    }

    #[test]
    fn what_is_released_costs_no_memory() {
        let shared = SharedMemory::new(2, OnFull::Wait, DetailMode::Off).unwrap();
        let used = || shared.file.metadata().unwrap().blocks();
        let before = used();
        let offset = shared.reserve(1 << 20).unwrap();
        shared.write_code(offset, &[0xcc; 1 << 20]).unwrap();
        assert!(used() >= before + (1 << 20) / 512);
        shared.release(offset..offset + (1 << 20));
        assert_eq!(used(), before);
    }
}
