//! Writes the files of small threads one behind the other.

use std::fs::File;
use std::io::{self, Seek, SeekFrom, Write};
use std::path::Path;

use ada_event::ThreadId;

use crate::atf::{Platform, Store, bundle};
use crate::private::create_file;

/// Bytes that are kept back before they are written.
const BUFFER_SIZE: usize = 256 << 10;

pub(super) struct BundleWriter {
    file: File,
    /// Whole threads that the file is still to get.
    buffer: Vec<u8>,
    /// Bytes of the file, which ends with a whole thread.
    written: u64,
}

/// The finished files of a thread that was written in memory.
pub(super) struct SmallThread {
    pub(super) thread: ThreadId,
    pub(super) store: Store,
    pub(super) index: Vec<u8>,
    pub(super) detail: Option<Vec<u8>>,
}

impl BundleWriter {
    pub(super) fn create(path: &Path, platform: Platform) -> io::Result<Self> {
        let file = create_file(path)?;
        Ok(Self { file, buffer: bundle::header(platform).to_vec(), written: 0 })
    }

    pub(super) fn add(&mut self, small: &SmallThread) -> io::Result<()> {
        let SmallThread { thread, store, index, detail } = small;
        let entry = bundle::entry(*thread, *store, index.len(), detail.as_ref().map(Vec::len));
        for part in [&entry[..], index, detail.as_deref().unwrap_or_default()] {
            self.buffer.extend_from_slice(part);
        }
        if self.buffer.len() < BUFFER_SIZE { Ok(()) } else { self.flush() }
    }

    /// Hands all bytes to the operating system. Where that fails, the file is as it was before, and the next call tries again.
    pub(super) fn flush(&mut self) -> io::Result<()> {
        if let Err(error) = self.file.write_all(&self.buffer) {
            self.file.set_len(self.written)?;
            self.file.seek(SeekFrom::Start(self.written))?;
            return Err(error);
        }
        self.written += self.buffer.len() as u64;
        self.buffer.clear();
        Ok(())
    }

    pub(super) fn finish(mut self, is_synced: bool) -> io::Result<()> {
        self.flush()?;
        if is_synced { self.file.sync_data() } else { Ok(()) }
    }
}
