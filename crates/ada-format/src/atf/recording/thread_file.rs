//! Where a thread's file is written: on the disk, or in memory until it joins a bundle.

use std::fs::File;
use std::io::{self, Cursor, Seek, SeekFrom, Write};
use std::path::Path;

use crate::private::create_file;

pub(super) enum ThreadFile {
    Disk(File),
    Memory(Cursor<Vec<u8>>),
}

impl ThreadFile {
    pub(super) fn memory() -> Self {
        Self::Memory(Cursor::default())
    }

    pub(super) fn sync_data(&self) -> io::Result<()> {
        match self {
            Self::Disk(file) => file.sync_data(),
            Self::Memory(_) => Ok(()),
        }
    }

    /// Cuts what lies behind `length`.
    pub(super) fn set_len(&mut self, length: u64) -> io::Result<()> {
        match self {
            Self::Disk(file) => file.set_len(length),
            Self::Memory(memory) => {
                memory.get_mut().truncate(usize::try_from(length).unwrap_or(usize::MAX));
                Ok(())
            }
        }
    }

    /// A new file that holds what is in memory, and in which this can go on.
    pub(super) fn copy_to(&self, path: &Path) -> io::Result<Self> {
        let mut file = create_file(path)?;
        if let Self::Memory(memory) = self {
            file.write_all(memory.get_ref())?;
            file.seek(SeekFrom::Start(memory.position()))?;
        }
        Ok(Self::Disk(file))
    }

    /// What is in memory.
    pub(super) fn into_memory(self) -> Option<Vec<u8>> {
        match self {
            Self::Disk(_) => None,
            Self::Memory(memory) => Some(memory.into_inner()),
        }
    }
}

impl Write for ThreadFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Disk(file) => file.write(bytes),
            Self::Memory(memory) => memory.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::Disk(file) => file.flush(),
            Self::Memory(_) => Ok(()),
        }
    }
}

impl Seek for ThreadFile {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        match self {
            Self::Disk(file) => file.seek(to),
            Self::Memory(memory) => memory.seek(to),
        }
    }
}
