//! The memory that ada shares with the target: anonymous files, mapped by both. One is for the target to write, and has the
//! control block, the dump, chunks and blocks of counters: as many as there can be, of which few are ever used; processes of
//! another user have another one ([`Rings`]). One is for it to read: see [`CodeMemory`].
//!
//! Their sizes are sealed: a target that cut one would have ada die of the memory that is missing.

use std::fs::File;
use std::io;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use ada_event::ModuleId;
use ada_process::MemfdId;
use ada_ring::{DetailMode, OnFull, Pool};
use rustix::fs::{MemfdFlags, memfd_create};

use crate::install::code_memory::CodeMemory;
use crate::install::rings::Rings;
use crate::install::switch_arenas::SwitchArenas;

/// The shared memory, on ada's side.
pub(crate) struct SharedMemory {
    pub(crate) rings: Arc<Rings>,
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
    /// A fresh one with this many chunks, for processes of ada's own user.
    pub(crate) fn new(chunks: usize, on_full: OnFull, detail: DetailMode) -> io::Result<Self> {
        let user = rustix::process::geteuid().as_raw();
        Self::in_files(SharedFiles::new()?, user, chunks, on_full, detail)
    }

    /// The same in empty memfds that can be sealed, for those of a user. Those that a target has made it may have exchanged for
    /// other files: these cannot be sealed, and are not touched.
    pub(crate) fn in_files(
        files: SharedFiles,
        user: u32,
        chunks: usize,
        on_full: OnFull,
        detail: DetailMode,
    ) -> io::Result<Self> {
        let SharedFiles { rings, code } = files;
        let code = Arc::new(CodeMemory::in_file(code)?);
        let rings = Arc::new(Rings::new(rings, user, chunks, code.clone())?);
        let pool = rings.first();
        pool.orders().on_full.store(on_full as u32, Ordering::Relaxed);
        pool.orders().detail_mode.store(detail as u32, Ordering::Relaxed);
        let switches = SwitchArenas::new(code.clone());
        Ok(Self { rings, code, switches })
    }

    /// The pool of the user for whom the recording was begun.
    pub(crate) fn pool(&self) -> Pool {
        self.rings.first()
    }

    /// What the memory is known by in the mappings of a process: its code's file.
    pub(crate) fn memfd(&self) -> io::Result<MemfdId> {
        self.code.memfd()
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

#[cfg(test)]
mod tests {
    use std::os::unix::fs::MetadataExt;

    use ada_ring::chunk::MAX_CHUNKS;

    use super::*;
    use crate::install::code_memory::path_of;

    #[test]
    fn room_that_nobody_needs_costs_no_memory() {
        let shared = SharedMemory::new(2, OnFull::Wait, DetailMode::Off).unwrap();
        let used = || shared.rings.first_of_users().file().metadata().unwrap().blocks() * 512;
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
        let path = path_of(shared.rings.first_of_users().file());
        let opened = File::options().read(true).write(true).open(path).unwrap();
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
            assert!(SharedMemory::in_files(files, 0, 2, OnFull::Wait, DetailMode::Off).is_err());
            assert_eq!(std::fs::read(file.path()).unwrap(), b"precious");
        }
    }
}
