//! A thread's events in pieces that can be read by themselves, so that several readers share a long thread.

use std::ops::Range;

use ada_event::{Event, EventSeq};

use super::ThreadTrace;
use super::index::IndexFile;
use crate::atf::EventVisitor;
use crate::atf::packed::{CompactBlock, EventDecoder};

/// Events of a piece of a raw file: half a megabyte. Those of a packed one are its blocks.
const RAW_PIECE: u64 = 1 << 14;
/// Blocks whose pages are given back together: each time interrupts every processor that runs the program.
const RELEASED_TOGETHER: usize = 64;

/// What reading a piece needs besides the files; kept for the next one.
#[derive(Default)]
pub struct PieceReader {
    decoder: EventDecoder,
    block: CompactBlock,
}

impl ThreadTrace {
    /// How many pieces the events have.
    pub fn piece_count(&self) -> usize {
        match &self.index {
            IndexFile::Raw { .. } => self.index.len().div_ceil(RAW_PIECE) as usize,
            IndexFile::Packed(packed) => packed.file.shape.block_count(),
        }
    }

    /// The positions of a piece's events.
    pub fn piece_events(&self, piece: usize) -> Range<u64> {
        match &self.index {
            IndexFile::Raw { .. } => {
                let first = piece as u64 * RAW_PIECE;
                first..(first + RAW_PIECE).min(self.index.len())
            }
            IndexFile::Packed(packed) => packed.file.shape.block_range(piece),
        }
    }

    /// Hands the events of a piece to a visitor, and gives its pages back. One that cannot be read has none, as in
    /// [`Self::visit`].
    #[inline]
    pub fn visit_piece(&self, piece: usize, reader: &mut PieceReader, visitor: &mut impl EventVisitor) {
        match &self.index {
            IndexFile::Raw { map, shape } => {
                let events = self.piece_events(piece);
                let at = |seq: u64| shape.events.start + seq as usize * Event::SIZE;
                let bytes = at(events.start)..at(events.end);
                visitor.begin(EventSeq(events.start), events.end - events.start);
                let raw = map.bytes()[bytes.clone()].as_chunks().0;
                raw.iter().for_each(|it| visitor.event(Event::from_le_bytes(it)));
                map.release(bytes);
            }
            IndexFile::Packed(packed) => {
                let (map, shape) = (&packed.file.map, &packed.file.shape);
                if reader.block.read(shape, map.bytes(), piece, &mut reader.decoder).is_ok() {
                    reader.block.visit(visitor);
                }
                if (piece + 1).is_multiple_of(RELEASED_TOGETHER) {
                    let first = shape.byte_range(piece + 1 - RELEASED_TOGETHER).start;
                    map.release(first..shape.byte_range(piece).end);
                }
            }
        }
    }
}
