//! `/proc/PID/mem`.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

use ada_event::RuntimeAddr;

/// The memory of a process. It stays that of the program which the process runs when this is opened: after an exec there
/// is nothing to read any more.
pub struct ProcessMemory {
    file: File,
}

impl ProcessMemory {
    pub(super) fn of_file(file: File) -> Self {
        Self { file }
    }

    /// Reads bytes at an address.
    pub fn read(&self, address: RuntimeAddr, bytes: &mut [u8]) -> io::Result<()> {
        self.file.read_exact_at(bytes, address.0)
    }

    /// Reads a word at an address.
    pub fn read_u64(&self, address: RuntimeAddr) -> io::Result<u64> {
        let mut bytes = [0; 8];
        self.read(address, &mut bytes)?;
        Ok(u64::from_le_bytes(bytes))
    }

    /// Writes bytes at an address, whatever the protection of the page, if the memory was opened for writing.
    pub fn write(&self, address: RuntimeAddr, bytes: &[u8]) -> io::Result<()> {
        self.file.write_all_at(bytes, address.0)
    }

    /// Whether the process has let go of this memory: it runs another program, or has ended. `address` is one that the
    /// program had mapped and never unmaps.
    pub fn is_abandoned(&self, address: RuntimeAddr) -> bool {
        matches!(self.file.read_at(&mut [0], address.0), Ok(0))
    }
}
