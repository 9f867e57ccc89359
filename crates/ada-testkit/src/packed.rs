//! Packed files by hand: each field is put where `docs/formats/packed.md` says.

use crate::atf::{Bytes, Machine, crc32};

/// A block's fields, but for what follows from its payload.
#[derive(Clone, Copy, Default)]
pub struct Block {
    /// `E` events, `D` detail records, `L` links, `C` closing.
    pub kind: u8,
    /// The first event's or record's position.
    pub first: u64,
    /// How many there are.
    pub count: u32,
    /// The thread.
    pub thread: u32,
    /// The earliest time.
    pub earliest: u64,
    /// The latest.
    pub latest: u64,
    /// Events: the first one's time. Records: where the first one begins in the raw file.
    pub origin: u64,
    /// Events: frames open before the first. Records: their bytes.
    pub extent: u32,
}

impl Block {
    /// The block's header.
    pub fn header(&self, payload: &[u8]) -> Vec<u8> {
        let mut fields = Bytes::default();
        fields.u32(payload.len() as u32).u32(crc32(payload)).u64(self.first).u32(self.count).u32(self.thread);
        fields.u64(self.earliest).u64(self.latest).u64(self.origin).u32(self.extent).u32(0);
        let magic = [b'P', b'K', b'B', self.kind];
        let mut bytes = Bytes::default();
        bytes.raw(&magic).u32(crc32(&[&magic[..], &fields.0].concat())).raw(&fields.0);
        bytes.0
    }

    /// The whole block.
    pub fn bytes(&self, payload: &[u8]) -> Vec<u8> {
        [self.header(payload), payload.to_vec()].concat()
    }
}

/// The first 32 bytes of a packed file.
pub fn header(magic: &[u8; 4], machine: Machine, thread: u32) -> Vec<u8> {
    let mut bytes = Bytes::default();
    bytes.raw(magic).raw(&[1, 1, machine.arch, machine.os]).u32(thread).raw(&[machine.clock, 0, 0, 0]);
    let crc = crc32(&bytes.0);
    bytes.u32(crc).raw(&[0; 12]);
    bytes.0
}

/// The parts of a block of events, in the order of the payload.
#[derive(Clone, Debug, Default)]
pub struct EventParts {
    /// The usual times of the four kinds of control.
    pub usual: [u16; 4],
    /// How many functions the list has.
    pub functions_listed: u32,
    /// A byte an event.
    pub controls: Vec<u8>,
    /// Times of 8 bits, 16 bits and 64 bits, functions, the list of functions, escapes and runs of detail.
    pub parts: [Vec<u8>; 7],
}

impl EventParts {
    /// The payload.
    pub fn payload(&self) -> Vec<u8> {
        let mut bytes = Bytes::default();
        for usual in self.usual {
            bytes.u16(usual);
        }
        bytes.u32(self.functions_listed);
        for part in &self.parts {
            bytes.u32(part.len() as u32);
        }
        bytes.raw(&self.controls).raw(&self.parts.concat());
        bytes.0
    }
}

/// A finished file of blocks: each with its payload and its filter of functions. `around` are the bytes that the raw file
/// has before and behind its events, and whether the checksum in the latter is to be computed.
pub fn file(
    magic: &[u8; 4],
    machine: Machine,
    thread: u32,
    blocks: &[(Block, Vec<u8>, Vec<u8>)],
    around: (&[u8], &[u8], bool),
) -> Vec<u8> {
    let mut bytes = header(magic, machine, thread);
    let (head, tail, is_crc_left_out) = around;
    let mut closing = Bytes::default();
    closing.u32(is_crc_left_out.into()).u32(blocks.len() as u32).u32(head.len() as u32).u32(tail.len() as u32);
    for (block, payload, filter) in blocks {
        closing.u64(bytes.len() as u64).raw(&block.header(payload)).u16(filter.len() as u16).raw(filter);
        bytes.extend(block.bytes(payload));
    }
    closing.raw(head).raw(tail);
    let own = blocks.iter().map(|(block, ..)| block).filter(|block| block.kind != b'L');
    let block = Block {
        kind: b'C',
        first: own.clone().map(|block| u64::from(block.count)).sum(),
        count: blocks.len() as u32,
        thread,
        earliest: own.clone().map(|block| block.earliest).min().unwrap_or(0),
        latest: own.map(|block| block.latest).max().unwrap_or(0),
        ..Block::default()
    };
    let at = (bytes.len() as u64).to_le_bytes();
    bytes.extend(block.bytes(&closing.0));
    bytes.extend(at);
    bytes.extend(crc32(&at).to_le_bytes());
    bytes.extend(b"PEND");
    bytes
}
