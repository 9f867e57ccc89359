//! Reads a packed file from end to end, block by block; a second thread decodes ahead where a processor is free.

use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, Sender, SyncSender};
use std::thread::JoinHandle;

use super::compact_block::CompactBlock;
use super::event_decoder::EventDecoder;
use super::packed_file::PackedFile;
use crate::atf::EventVisitor;

/// The smallest number of blocks for which a thread decodes ahead.
const WORTH_A_THREAD: usize = 8;
/// How many blocks that thread may be ahead.
const BLOCKS_AHEAD: usize = 8;
/// Bytes of the file that are released together: each release interrupts every processor that runs the program.
const RELEASED_TOGETHER: usize = 4 << 20;

/// Hands all events to a visitor. Blocks that cannot be read are left out; `Session::verify` reports them.
/// `has_processor`: one is free to decode ahead.
#[inline]
pub(crate) fn visit(file: &Arc<PackedFile>, has_processor: bool, visitor: &mut impl EventVisitor) {
    let is_worth_it = has_processor && file.shape.block_count() >= WORTH_A_THREAD;
    match is_worth_it.then(|| Ahead::start(file.clone())).flatten() {
        Some(ahead) => ahead.visit(visitor),
        None => {
            let (mut reader, mut block) = (BlockReader::new(file), CompactBlock::default());
            while reader.next(&mut block) {
                block.visit(visitor);
            }
        }
    }
}

/// Reads block after block.
struct BlockReader<'a> {
    file: &'a PackedFile,
    decoder: EventDecoder,
    next: usize,
    /// The file is released up to this byte.
    released: usize,
}

impl<'a> BlockReader<'a> {
    fn new(file: &'a PackedFile) -> Self {
        Self { file, decoder: EventDecoder::default(), next: 0, released: 0 }
    }

    /// Reads the next block, if there is one.
    fn next(&mut self, block: &mut CompactBlock) -> bool {
        let PackedFile { map, shape } = self.file;
        if self.next >= shape.block_count() {
            return false;
        }
        let _ = block.read(shape, map.bytes(), self.next, &mut self.decoder);
        let end = shape.byte_range(self.next).end;
        if end.saturating_sub(self.released) >= RELEASED_TOGETHER {
            map.release(self.released..end);
            self.released = end;
        }
        self.next += 1;
        true
    }
}

/// The thread that decodes.
struct Ahead {
    filled: Receiver<CompactBlock>,
    /// Blocks that were read, to be filled again.
    emptied: Sender<CompactBlock>,
    worker: JoinHandle<()>,
}

impl Ahead {
    fn start(file: Arc<PackedFile>) -> Option<Self> {
        let (give, filled) = mpsc::sync_channel(BLOCKS_AHEAD);
        let (emptied, spare) = mpsc::channel();
        let decode = move || decode_all(&file, &give, &spare);
        let worker = std::thread::Builder::new().name("ada-decoding".into()).spawn(decode).ok()?;
        Some(Self { filled, emptied, worker })
    }

    #[inline]
    fn visit(self, visitor: &mut impl EventVisitor) {
        for block in self.filled {
            block.visit(visitor);
            let _ = self.emptied.send(block);
        }
        if let Err(panic) = self.worker.join() {
            std::panic::resume_unwind(panic);
        }
    }
}

fn decode_all(file: &PackedFile, filled: &SyncSender<CompactBlock>, spare: &Receiver<CompactBlock>) {
    let mut reader = BlockReader::new(file);
    loop {
        let mut block = spare.try_recv().unwrap_or_default();
        // The receiver is gone: its visitor has panicked.
        if !reader.next(&mut block) || filled.send(block).is_err() {
            return;
        }
    }
}
