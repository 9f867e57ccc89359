//! The memory with what programs run and obey: orders, agents, stubs and switches. ada writes it, and they map it to read.
//!
//! ```text
//! 0        orders
//! …        for each program the agent, then arenas, as they are made
//! ```
//!
//! It is sealed against writing. All that can still be written to is the mapping that ada has made before: nobody who has this file
//! mapped, or opens it, can change what others run.

use std::fs::File;
use std::io;
use std::ops::Range;
use std::os::fd::AsRawFd;
use std::sync::Mutex;
use std::sync::atomic::AtomicU32;

use ada_process::procfs::ProcessDir;
use ada_process::{MemfdId, this_process};
use ada_ring::Orders;
use ada_ring::orders::ORDERS_BYTES;
use memmap2::{MmapOptions, MmapRaw};
use rustix::fs::{SealFlags, fcntl_add_seals};

use crate::install::file_parts::FileParts;

/// Room for all code: sparse, so that only what is used costs memory.
const MOST_BYTES: u64 = 1 << 40;
/// Where ada itself may not have so much address space, it takes less, and this at least.
const LEAST_BYTES: u64 = 1 << 28;

/// The memory with code and orders, on ada's side.
pub(crate) struct CodeMemory {
    file: File,
    map: MmapRaw,
    parts: Mutex<FileParts>,
}

impl CodeMemory {
    /// One in an empty memfd that can be sealed.
    pub(crate) fn in_file(file: File) -> io::Result<Self> {
        fcntl_add_seals(&file, SealFlags::SHRINK)?;
        file.set_len(MOST_BYTES)?;
        let (map, bytes) = map_most(&file)?;
        // Older kernels do not know the last one. Then only those who could change ada itself can open the file to write.
        let sealed = SealFlags::GROW | SealFlags::SEAL;
        fcntl_add_seals(&file, sealed | SealFlags::FUTURE_WRITE).or_else(|_| fcntl_add_seals(&file, sealed))?;
        Ok(Self { file, map, parts: Mutex::new(FileParts::new(ORDERS_BYTES as u64..bytes)) })
    }

    pub(crate) fn orders(&self) -> *const Orders {
        self.map.as_ptr().cast()
    }

    /// What the file is known by in the mappings of a process.
    pub(crate) fn memfd(&self) -> io::Result<MemfdId> {
        MemfdId::of(&self.file)
    }

    /// A path by which another process opens it.
    pub(crate) fn path(&self) -> String {
        path_of(&self.file)
    }

    /// The file, open to read, for a process that cannot open it.
    pub(crate) fn open_to_read(&self) -> io::Result<File> {
        File::open(self.path())
    }

    /// Sets a whole number of pages aside, and gives their offset in the file.
    pub(crate) fn reserve(&self, bytes: u64) -> Option<u64> {
        self.parts.lock().expect("nobody panics with the lock").take(bytes.next_multiple_of(4096))
    }

    /// Has others use a part that nobody will use again. A sealed file keeps its pages, and the next ones find what was there.
    pub(crate) fn release(&self, part: Range<u64>) {
        let part = part.start..part.end.next_multiple_of(4096);
        self.parts.lock().expect("nobody panics with the lock").give_back(part);
    }

    /// Writes code at an offset.
    pub(crate) fn write(&self, offset: u64, code: &[u8]) {
        let start = self.pointer(offset, code.len());
        // SAFETY: within the mapping; a part belongs to whoever has reserved it, and nobody runs it yet.
        unsafe { start.copy_from_nonoverlapping(code.as_ptr(), code.len()) };
    }

    /// Writes the path of the loader's order. Gives false where it is too long.
    pub(crate) fn write_path(&self, path: &[u8]) -> bool {
        // SAFETY: the mapping begins with the orders.
        let room = unsafe { &(*self.orders()).loader.path };
        if path.len() >= size_of_val(room) {
            return false;
        }
        let bytes = room.get().cast::<u8>();
        // SAFETY: there is room for the path and the NUL, and nobody reads it before a call is wanted.
        unsafe {
            bytes.copy_from_nonoverlapping(path.as_ptr(), path.len());
            bytes.add(path.len()).write(0);
        }
        true
    }

    /// The word at an offset.
    pub(crate) fn word(&self, offset: u64) -> &AtomicU32 {
        assert!(offset.is_multiple_of(align_of::<AtomicU32>() as u64));
        // SAFETY: within the mapping, and aligned; programs only read it.
        unsafe { &*self.pointer(offset, size_of::<AtomicU32>()).cast::<AtomicU32>() }
    }

    fn pointer(&self, offset: u64, bytes: usize) -> *mut u8 {
        let offset = offset as usize;
        assert!(offset >= ORDERS_BYTES && offset.checked_add(bytes).is_some_and(|end| end <= self.map.len()));
        // SAFETY: checked just now.
        unsafe { self.map.as_mut_ptr().add(offset) }
    }
}

/// A path by which another process opens a file that ada has open.
pub(super) fn path_of(file: &File) -> String {
    ProcessDir::of(this_process()).descriptor(file.as_raw_fd() as u64).display().to_string()
}

/// Maps as much as there can be.
fn map_most(file: &File) -> io::Result<(MmapRaw, u64)> {
    let mut bytes = MOST_BYTES;
    loop {
        match MmapOptions::new().len(bytes as usize).map_raw(file) {
            Err(_) if bytes > LEAST_BYTES => bytes /= 2,
            map => return Ok((map?, bytes)),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{FileExt, MetadataExt};

    use rustix::fs::{MemfdFlags, memfd_create};

    use super::*;

    fn memory() -> CodeMemory {
        let descriptor = memfd_create("ada", MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING).unwrap();
        CodeMemory::in_file(File::from(descriptor)).unwrap()
    }

    #[test]
    fn nobody_else_can_write_or_cut_it() {
        let memory = memory();
        let offset = memory.reserve(4096).unwrap();
        memory.write(offset, &[7; 100]);
        let opened = File::options().read(true).write(true).open(memory.path()).unwrap();
        assert!(opened.write_all_at(&[9], offset).is_err() && opened.set_len(0).is_err());
        let options = || MmapOptions::new().offset(offset).len(4096).clone();
        assert!(options().map_raw(&opened).is_err(), "neither is there a mapping to write to");
        // SAFETY: nobody writes to it meanwhile.
        let read = unsafe { options().map(&opened) }.unwrap();
        assert_eq!((read[99], read[100]), (7, 0));
        // SAFETY: it changes no memory, only whether it can be changed.
        let made_writable =
            unsafe { libc::mprotect(read.as_ptr() as *mut _, 4096, libc::PROT_READ | libc::PROT_WRITE) };
        assert_eq!(made_writable, -1);
        memory.word(offset).store(5, std::sync::atomic::Ordering::Relaxed);
        assert_eq!(read[0], 5, "ada can");
    }

    #[test]
    fn room_costs_no_memory_until_it_is_used_and_is_used_again() {
        let memory = memory();
        let used = || memory.file.metadata().unwrap().blocks();
        let before = used();
        let offset = memory.reserve(1 << 20).unwrap();
        assert_eq!(used(), before);
        memory.write(offset, &[0xcc; 1 << 20]);
        assert!(used() >= before + (1 << 20) / 512);
        memory.release(offset..offset + (1 << 20));
        assert_eq!(memory.reserve(1 << 20), Some(offset));
    }

    #[test]
    fn a_path_has_an_end() {
        let memory = memory();
        assert!(memory.write_path(b"/proc/1/fd/7") && memory.write_path(b"/a"));
        // SAFETY: written just now.
        let read = unsafe { std::ffi::CStr::from_ptr((*memory.orders()).loader.path.get().cast()) };
        assert_eq!(read.to_bytes(), b"/a");
        assert!(!memory.write_path(&[b'x'; 128]) && memory.write_path(&[b'x'; 127]));
    }
}
