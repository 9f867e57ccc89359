//! Writes a file of blocks.

use std::io::{self, Seek, SeekFrom, Write};

use ada_event::ThreadId;

use super::block::{BlockHeader, BlockKind};
use super::closing::{self, Around, Entry};
use super::shape::FileHeader;

/// A file that grows by blocks. What does not reach the file is forgotten, and what comes next goes over it.
pub(super) struct BlockFile<W: Write + Seek> {
    /// Taken at the end, so that `drop` knows whether there is still something to save.
    file: Option<W>,
    /// Where the next block goes.
    end: u64,
    entries: Vec<Entry>,
    /// Bytes of the entries.
    directory: u64,
    thread: ThreadId,
    buffer: Vec<u8>,
}

impl<W: Write + Seek> BlockFile<W> {
    pub(super) fn begin(mut file: W, header: &FileHeader) -> io::Result<Self> {
        let bytes = header.encode();
        file.write_all(&bytes)?;
        let (end, thread) = (bytes.len() as u64, header.thread);
        Ok(Self { file: Some(file), end, entries: Vec::new(), directory: 0, thread, buffer: Vec::new() })
    }

    pub(super) fn is_open(&self) -> bool {
        self.file.is_some()
    }

    /// Bytes of all whole blocks, and of the directory that they will have.
    pub(super) fn len(&self) -> u64 {
        self.end + self.directory
    }

    /// Writes a block that will not change any more.
    pub(super) fn put(&mut self, header: BlockHeader, payload: &[u8], functions: Vec<u8>) -> io::Result<()> {
        self.write(&header, payload)?;
        let offset = self.end;
        self.end += self.buffer.len() as u64;
        let entry = Entry { offset, header, functions };
        self.directory += entry.len();
        self.entries.push(entry);
        Ok(())
    }

    /// Writes a block as far as it has come: the next one goes over it, and is larger.
    pub(super) fn put_unfinished(&mut self, header: &BlockHeader, payload: &[u8]) -> io::Result<()> {
        self.write(header, payload)?;
        let end = self.end;
        self.file().seek(SeekFrom::Start(end)).map(drop)
    }

    fn write(&mut self, header: &BlockHeader, payload: &[u8]) -> io::Result<()> {
        self.buffer.clear();
        self.buffer.extend_from_slice(&header.encode());
        self.buffer.extend_from_slice(payload);
        let end = self.end;
        let file = self.file.as_mut().expect("only finish takes the file, and it consumes the writer");
        if let Err(error) = file.write_all(&self.buffer) {
            file.seek(SeekFrom::Start(end))?;
            return Err(error);
        }
        Ok(())
    }

    /// Writes the directory. `sync` is called before its last bytes and after them: where they are on disk, all is.
    pub(super) fn finish(
        &mut self,
        count: u64,
        around: &Around,
        mut sync: impl FnMut(&mut W) -> io::Result<()>,
    ) -> io::Result<W> {
        let payload = closing::encode(&self.entries, around);
        let headers = self.entries.iter().map(|entry| &entry.header);
        let timed = || headers.clone().filter(|header| header.kind != BlockKind::Links);
        let header = BlockHeader {
            kind: BlockKind::Closing,
            payload_len: u32::try_from(payload.len()).map_err(|_| io::ErrorKind::FileTooLarge)?,
            payload_crc: crc32fast::hash(&payload),
            first: count,
            count: self.entries.len() as u32,
            thread: self.thread,
            earliest: timed().map(|header| header.earliest).min().unwrap_or_default(),
            latest: timed().map(|header| header.latest).max().unwrap_or_default(),
            origin: 0,
            extent: 0,
        };
        self.write(&header, &payload)?;
        let trailer = closing::trailer(self.end);
        let file = self.file();
        sync(file)?;
        file.write_all(&trailer)?;
        file.flush()?;
        sync(file)?;
        Ok(self.file.take().expect("it was there a line before"))
    }

    /// What it writes to.
    pub(super) fn file(&mut self) -> &mut W {
        self.file.as_mut().expect("only finish takes the file, and it consumes the writer")
    }
}
