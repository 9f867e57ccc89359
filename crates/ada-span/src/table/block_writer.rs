//! Encodes and writes blocks, on a thread beside the replay where a processor is free for it.

use std::fs::File;
use std::io::{self, Write};
use std::mem;
use std::sync::mpsc::{self, Receiver, SyncSender};
use std::thread::JoinHandle;

use super::block::BlockEntry;
use super::block_code;
use super::row::Row;
use crate::thread_index::ThreadIndex;

/// Blocks that may wait to be written.
const WAITING: usize = 16;

/// A block as the replay leaves it: spans that are open have no end yet.
#[derive(Default)]
pub(crate) struct Filled {
    pub(crate) rows: Vec<Row>,
    /// Rows of spans that are open, in their order.
    pub(crate) late_rows: Vec<u64>,
    /// Where their ends will be.
    pub(crate) late_base: u64,
    pub(crate) thread: ThreadIndex,
}

/// Writes a file of blocks.
pub(crate) enum BlockWriter {
    Here(BlockFile),
    Beside(Beside),
}

/// The thread that writes them.
pub(crate) struct Beside {
    full: SyncSender<Filled>,
    /// Blocks that are written, to be filled again.
    written: Receiver<Filled>,
    worker: JoinHandle<io::Result<WrittenBlocks>>,
}

/// What was written.
#[derive(Default)]
pub(crate) struct WrittenBlocks {
    pub(crate) blocks: Vec<BlockEntry>,
    pub(crate) length: u64,
}

/// The file, and what is in it.
pub(crate) struct BlockFile {
    file: File,
    bytes: Vec<u8>,
    so_far: WrittenBlocks,
    error: Option<io::Error>,
}

impl BlockWriter {
    /// `is_beside` where a thread of its own is worth it; without one if there can be none.
    pub(crate) fn new(file: File, is_beside: bool) -> io::Result<Self> {
        let beside = is_beside.then(|| Beside::start(BlockFile::new(file.try_clone()?))).transpose();
        Ok(match beside {
            Ok(Some(beside)) => Self::Beside(beside),
            Ok(None) | Err(_) => Self::Here(BlockFile::new(file)),
        })
    }

    /// Writes a block, and leaves an empty one instead.
    pub(crate) fn write(&mut self, filled: &mut Filled) {
        match self {
            Self::Here(file) => file.write(filled),
            Self::Beside(beside) => {
                let full = mem::replace(filled, beside.written.try_recv().unwrap_or_default());
                // It ends before this only by a panic, and then `finish` says so.
                let _ = beside.full.send(full);
            }
        }
        filled.rows.clear();
        filled.late_rows.clear();
        filled.late_base = 0;
    }

    pub(crate) fn finish(self) -> io::Result<WrittenBlocks> {
        match self {
            Self::Here(file) => file.finish(),
            Self::Beside(Beside { full, written: _, worker }) => {
                drop(full);
                worker.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
            }
        }
    }
}

impl Beside {
    fn start(mut file: BlockFile) -> io::Result<Self> {
        let (full, to_write) = mpsc::sync_channel::<Filled>(WAITING);
        let (give_back, written) = mpsc::channel();
        let write = move || {
            for filled in to_write {
                file.write(&filled);
                let _ = give_back.send(filled);
            }
            file.finish()
        };
        let worker = std::thread::Builder::new().name("ada-tables".into()).spawn(write)?;
        Ok(Self { full, written, worker })
    }
}

impl BlockFile {
    fn new(file: File) -> Self {
        Self { file, bytes: Vec::new(), so_far: WrittenBlocks::default(), error: None }
    }

    fn write(&mut self, Filled { rows, late_rows, late_base, thread }: &Filled) {
        self.bytes.clear();
        let facts = block_code::encode(rows, late_rows, &mut self.bytes);
        self.so_far.blocks.push(BlockEntry {
            thread: *thread,
            offset: self.so_far.length,
            length: self.bytes.len() as u32,
            crc: crc32fast::hash(&self.bytes),
            late_base: *late_base,
            ..facts
        });
        if self.error.is_none() {
            self.error = self.file.write_all(&self.bytes).err();
        }
        self.so_far.length += self.bytes.len() as u64;
    }

    fn finish(self) -> io::Result<WrittenBlocks> {
        self.error.map_or(Ok(self.so_far), Err)
    }
}
