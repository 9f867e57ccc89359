//! The memory that ada shares with the target: one anonymous file, mapped by both.
//!
//! ```text
//! 0        control block and chunks
//! …        table of covered pages
//! code     the agent, then arenas, as they are made
//! ```

use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd};

use ada_ring::pool::{CONTROL_BYTES, MAX_CHUNKS};
use ada_ring::state::covered;
use ada_ring::{CHUNK_SIZE, DetailMode, OnFull, Pool};
use memmap2::{MmapMut, MmapOptions};
use std::sync::atomic::Ordering;

/// Room for code: sparse, so that only what is used costs memory.
const CODE_BYTES: u64 = 4 << 30;

/// The shared memory, on ada's side.
pub(crate) struct SharedMemory {
    file: File,
    /// Keeps the pool's memory mapped.
    _pool_map: MmapMut,
    pool: Pool,
    covered: MmapMut,
    pool_bytes: u64,
    code_used: u64,
}

impl SharedMemory {
    /// A fresh one with this many chunks.
    pub(crate) fn new(chunks: usize, on_full: OnFull, detail: DetailMode) -> io::Result<Self> {
        let chunks = chunks.clamp(2, MAX_CHUNKS);
        // SAFETY: a valid name; the result is checked.
        let descriptor = unsafe { libc::memfd_create(c"ada".as_ptr(), libc::MFD_CLOEXEC) };
        if descriptor < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: a descriptor that nobody else owns.
        let file = unsafe { File::from_raw_fd(descriptor) };
        let pool_bytes = (CONTROL_BYTES + (chunks + 1) * CHUNK_SIZE) as u64;
        let mut memory_end = pool_bytes + covered::BYTES as u64 + CODE_BYTES;
        memory_end = memory_end.next_multiple_of(4096);
        file.set_len(memory_end)?;
        // SAFETY: the file is ours; the target writes to the same memory by the rules of `ada-ring`.
        let mut pool_map = unsafe { MmapOptions::new().len(pool_bytes as usize).map_mut(&file)? };
        // SAFETY: as above; nobody but us writes here.
        let covered = unsafe { MmapOptions::new().offset(pool_bytes).len(covered::BYTES).map_mut(&file)? };
        // SAFETY: the mapping holds the control block, all chunks and the dump, and lives as long as `self`.
        let pool = unsafe { Pool::at(pool_map.as_mut_ptr()) };
        pool.control().chunk_count.store(chunks as u32, Ordering::Relaxed);
        pool.control().on_full.store(on_full as u32, Ordering::Relaxed);
        pool.control().detail_mode.store(detail as u32, Ordering::Relaxed);
        Ok(Self { file, _pool_map: pool_map, pool, covered, pool_bytes, code_used: 0 })
    }

    pub(crate) fn pool(&self) -> Pool {
        self.pool
    }

    /// A path by which another process opens this memory.
    pub(crate) fn path(&self) -> String {
        format!("/proc/{}/fd/{}", std::process::id(), self.file.as_raw_fd())
    }

    pub(crate) fn pool_bytes(&self) -> u64 {
        self.pool_bytes
    }

    pub(crate) fn covered_offset(&self) -> u64 {
        self.pool_bytes
    }

    pub(crate) fn covered_mut(&mut self) -> &mut [u8] {
        &mut self.covered
    }

    /// Sets a whole number of pages for code aside, and gives their place in the file.
    pub(crate) fn reserve_code(&mut self, bytes: u64) -> Option<u64> {
        let offset = self.covered_offset() + covered::BYTES as u64 + self.code_used;
        let bytes = bytes.next_multiple_of(4096);
        if self.code_used + bytes > CODE_BYTES {
            return None;
        }
        self.code_used += bytes;
        Some(offset)
    }

    /// Writes code into its place.
    pub(crate) fn write_code(&self, offset: u64, code: &[u8]) -> io::Result<()> {
        use std::os::unix::fs::FileExt;
        self.file.write_all_at(code, offset)
    }
}

const _: () = assert!(covered::BYTES.is_multiple_of(4096));
