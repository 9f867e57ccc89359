//! What every block begins with.

use ada_event::{ThreadId, TraceNanos};

use crate::atf::layout::{put, u32_at, u64_at};

/// Bytes of a block's header.
pub(crate) const BLOCK_HEADER_SIZE: usize = 64;
/// Events that a block may have: their functions can be numbered with 16 bits.
pub(crate) const MOST_EVENTS: u32 = 0xfffe;
/// Bytes that the records of a block may have. No block is larger in memory, whatever a file says.
pub(crate) const MOST_RECORD_BYTES: u32 = 1 << 20;

/// Nanoseconds after which a writer ends a block, however little is in it. Until then it writes over the block with what
/// comes, and loses all of it should it be killed at that moment.
pub(crate) const LONGEST: u64 = 1_000_000_000;

/// What a block holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BlockKind {
    Events,
    Records,
    /// Links from events of earlier blocks to their detail.
    Links,
    /// The directory, and what the raw file has around its events.
    Closing,
}

impl BlockKind {
    fn letter(self) -> u8 {
        match self {
            Self::Events => b'E',
            Self::Records => b'D',
            Self::Links => b'L',
            Self::Closing => b'C',
        }
    }
}

/// The first 64 bytes of a block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct BlockHeader {
    pub(crate) kind: BlockKind,
    pub(crate) payload_len: u32,
    pub(crate) payload_crc: u32,
    /// The position of the first event or record in its file.
    pub(crate) first: u64,
    pub(crate) count: u32,
    pub(crate) thread: ThreadId,
    pub(crate) earliest: TraceNanos,
    pub(crate) latest: TraceNanos,
    /// Events: the first one's time. Records: where the first one begins in the raw file.
    pub(crate) origin: u64,
    /// Events: how many frames were open before the first. Records: their bytes.
    pub(crate) extent: u32,
}

impl BlockHeader {
    pub(crate) const MAGIC: [u8; 3] = *b"PKB";

    /// Reads a header, if these bytes are one: magic and checksum agree.
    pub(crate) fn decode(bytes: &[u8; BLOCK_HEADER_SIZE]) -> Option<Self> {
        let kind = match bytes[..4] {
            [b'P', b'K', b'B', b'E'] => BlockKind::Events,
            [b'P', b'K', b'B', b'D'] => BlockKind::Records,
            [b'P', b'K', b'B', b'L'] => BlockKind::Links,
            [b'P', b'K', b'B', b'C'] => BlockKind::Closing,
            _ => return None,
        };
        (u32_at(bytes, 4) == header_crc(bytes)).then(|| Self {
            kind,
            payload_len: u32_at(bytes, 8),
            payload_crc: u32_at(bytes, 12),
            first: u64_at(bytes, 16),
            count: u32_at(bytes, 24),
            thread: ThreadId(u32_at(bytes, 28)),
            earliest: TraceNanos(u64_at(bytes, 32)),
            latest: TraceNanos(u64_at(bytes, 40)),
            origin: u64_at(bytes, 48),
            extent: u32_at(bytes, 56),
        })
    }

    /// The header as files store it.
    pub(crate) fn encode(&self) -> [u8; BLOCK_HEADER_SIZE] {
        let mut bytes = [0; BLOCK_HEADER_SIZE];
        bytes[..3].copy_from_slice(&Self::MAGIC);
        bytes[3] = self.kind.letter();
        put(&mut bytes, 8, self.payload_len.to_le_bytes());
        put(&mut bytes, 12, self.payload_crc.to_le_bytes());
        put(&mut bytes, 16, self.first.to_le_bytes());
        put(&mut bytes, 24, self.count.to_le_bytes());
        put(&mut bytes, 28, self.thread.0.to_le_bytes());
        put(&mut bytes, 32, self.earliest.0.to_le_bytes());
        put(&mut bytes, 40, self.latest.0.to_le_bytes());
        put(&mut bytes, 48, self.origin.to_le_bytes());
        put(&mut bytes, 56, self.extent.to_le_bytes());
        let crc = header_crc(&bytes);
        put(&mut bytes, 4, crc.to_le_bytes());
        bytes
    }

    /// The position behind the last event or record.
    pub(crate) fn end(&self) -> u64 {
        self.first.saturating_add(self.count.into())
    }
}

fn header_crc(bytes: &[u8; BLOCK_HEADER_SIZE]) -> u32 {
    // Without the checksum itself.
    let mut crc = crc32fast::Hasher::new();
    crc.update(&bytes[..4]);
    crc.update(&bytes[8..]);
    crc.finalize()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_reads_back_and_a_changed_bit_makes_it_none() {
        let header = BlockHeader {
            kind: BlockKind::Records,
            payload_len: 1,
            payload_crc: 2,
            first: 3,
            count: 4,
            thread: ThreadId(5),
            earliest: TraceNanos(6),
            latest: TraceNanos(7),
            origin: 8,
            extent: 9,
        };
        let bytes = header.encode();
        assert_eq!(BlockHeader::decode(&bytes), Some(header));
        for bit in 0..bytes.len() * 8 {
            let mut changed = bytes;
            changed[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(BlockHeader::decode(&changed), None, "bit {bit}");
        }
    }
}
