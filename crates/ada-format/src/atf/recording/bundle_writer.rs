//! Writes the files of small threads one behind the other.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;

use ada_event::ThreadId;

use crate::atf::bundle::{self, BundledThread, Member};
use crate::atf::{Platform, Store};
use crate::private::create_file;

pub(super) struct BundleWriter {
    file: BufWriter<File>,
    length: usize,
    threads: Vec<BundledThread>,
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
        let mut file = BufWriter::new(create_file(path)?);
        let header = bundle::header(platform);
        file.write_all(&header)?;
        Ok(Self { file, length: header.len(), threads: Vec::new() })
    }

    pub(super) fn add(&mut self, small: &SmallThread) -> io::Result<()> {
        let mut put = |bytes: &[u8]| {
            self.file.write_all(bytes)?;
            let begin = self.length;
            self.length += bytes.len();
            Ok::<_, io::Error>(Member { bytes: begin..self.length, store: small.store })
        };
        let index = put(&small.index)?;
        let detail = small.detail.as_deref().map(put).transpose()?;
        self.threads.push(BundledThread { thread: small.thread, index, detail });
        Ok(())
    }

    /// Writes the directory.
    pub(super) fn finish(mut self, is_synced: bool) -> io::Result<()> {
        self.threads.sort_unstable_by_key(|it| it.thread);
        self.file.write_all(&bundle::end(self.length as u64, &self.threads))?;
        let file = self.file.into_inner().map_err(io::IntoInnerError::into_error)?;
        if is_synced { file.sync_data() } else { Ok(()) }
    }
}
