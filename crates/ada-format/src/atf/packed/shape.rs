//! Finds a packed file's blocks: by its directory, or by looking for them.

use std::ops::Range;

use ada_event::{Event, EventSeq, FunctionId, ThreadId, TraceNanos};

use super::block::{BLOCK_HEADER_SIZE, BlockHeader, BlockKind, MOST_EVENTS};
use super::bloom;
use super::closing::{self, Around, Entry, TRAILER_SIZE};
use super::detail_code::DetailBlock;
use super::detail_runs::DetailRun;
use super::event_decoder::{BlockSink, EventDecoder};
use super::links::{self, Link};
use crate::atf::layout::{detail_footer, index_footer, preamble as preamble_at, put, u32_at};
use crate::atf::{Arch, AtfError, BlockFault, Clock, Damage, Os, Platform, preamble};

/// Bytes of a packed file's header.
const FILE_HEADER_SIZE: usize = 32;
const INDEX_MAGIC: [u8; 4] = *b"ATPI";
const DETAIL_MAGIC: [u8; 4] = *b"ATPD";

/// The first 32 bytes of a packed file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FileHeader {
    /// Whether it has records of detail rather than events.
    pub(crate) is_detail: bool,
    pub(crate) platform: Platform,
    pub(crate) thread: ThreadId,
}

impl FileHeader {
    fn magic(is_detail: bool) -> [u8; 4] {
        if is_detail { DETAIL_MAGIC } else { INDEX_MAGIC }
    }

    pub(super) fn encode(&self) -> [u8; FILE_HEADER_SIZE] {
        let mut bytes = [0; FILE_HEADER_SIZE];
        preamble::write(&mut bytes, Self::magic(self.is_detail), self.platform.arch, self.platform.os);
        put(&mut bytes, 8, self.thread.0.to_le_bytes());
        bytes[12] = self.platform.clock.0;
        let crc = crc32fast::hash(&bytes[..16]);
        put(&mut bytes, 16, crc.to_le_bytes());
        bytes
    }

    fn decode(bytes: &[u8; FILE_HEADER_SIZE], is_detail: bool, damage: &mut Vec<Damage>) -> Self {
        let (stored, computed) = (u32_at(bytes, 16), crc32fast::hash(&bytes[..16]));
        if stored != computed {
            damage.push(Damage::Crc { offset: 16, stored, computed });
        }
        let platform =
            Platform { arch: Arch(bytes[preamble_at::ARCH]), os: Os(bytes[preamble_at::OS]), clock: Clock(bytes[12]) };
        Self { is_detail, platform, thread: ThreadId(u32_at(bytes, 8)) }
    }
}

/// What a packed file holds, as far as can be known without reading its events. It borrows nothing, so that whoever owns
/// the bytes can keep it beside them.
#[derive(Clone, Debug)]
pub struct PackedShape {
    header: Option<FileHeader>,
    is_detail: bool,
    entries: Vec<Entry>,
    links: Vec<Link>,
    around: Option<Around>,
    damage: Vec<Damage>,
    /// A copy of the last block of an unfinished file: its writer overwrites it with a longer one.
    last: Option<Vec<u8>>,
    is_settled: bool,
}

impl PackedShape {
    /// The blocks of an index file.
    pub fn of_index(bytes: &[u8]) -> Result<Self, AtfError> {
        Self::find(bytes, false)
    }

    /// The blocks of a detail file.
    pub fn of_detail(bytes: &[u8]) -> Result<Self, AtfError> {
        Self::find(bytes, true)
    }

    fn find(bytes: &[u8], is_detail: bool) -> Result<Self, AtfError> {
        preamble::check(bytes, FileHeader::magic(is_detail))?;
        let mut shape = Self {
            header: None,
            is_detail,
            entries: Vec::new(),
            links: Vec::new(),
            around: None,
            damage: Vec::new(),
            last: None,
            is_settled: true,
        };
        let Some(first) = bytes.first_chunk() else {
            shape.damage.push(Damage::HeaderCut { len: bytes.len() as u64 });
            return Ok(shape);
        };
        shape.header = Some(FileHeader::decode(first, is_detail, &mut shape.damage));
        let found = match read_directory(bytes) {
            Some((entries, around)) => {
                let footer = if is_detail { detail_footer::MAGIC } else { index_footer::MAGIC };
                if !around.tail.starts_with(&footer) {
                    // The raw file had none.
                    shape.damage.push(Damage::FooterMissing { offset: bytes.len() as u64 });
                }
                shape.around = Some(around);
                entries
            }
            None => shape.scan(bytes),
        };
        shape.take(bytes, found);
        shape.keep_last(bytes);
        Ok(shape)
    }

    /// Copies the last block of an unfinished file before its writer overwrites it.
    fn keep_last(&mut self, bytes: &[u8]) {
        if !self.damage.iter().any(|damage| matches!(damage, Damage::FooterMissing { .. })) || self.around.is_some() {
            return;
        }
        let is_end = |damage: &Damage| matches!(damage, Damage::FooterMissing { .. } | Damage::Crc { .. });
        let last = self.entries.last().map(|entry| (payload_of(bytes, entry).map(<[u8]>::to_vec), &entry.header));
        self.is_settled = self.damage.iter().all(is_end);
        match last {
            Some((Ok(payload), header)) if crc32fast::hash(&payload) == header.payload_crc => self.last = Some(payload),
            Some(_) => self.is_settled = false,
            None => {}
        }
    }

    /// Whether the file shows no sign of a write under way. One that does is worth another look.
    pub(crate) fn is_settled(&self) -> bool {
        self.is_settled
    }

    /// Searches the file for blocks.
    fn scan(&mut self, bytes: &[u8]) -> Vec<Entry> {
        let mut entries = Vec::new();
        let mut at = FILE_HEADER_SIZE;
        let end = loop {
            match block_at(bytes, at) {
                Some(header) => {
                    let end = at + BLOCK_HEADER_SIZE + header.payload_len as usize;
                    if end > bytes.len() {
                        self.damage.push(Damage::Truncated { expected: end as u64, len: bytes.len() as u64 });
                        break at;
                    }
                    if header.kind == BlockKind::Closing {
                        let payload = &bytes[at + BLOCK_HEADER_SIZE..end];
                        if crc32fast::hash(payload) == header.payload_crc {
                            self.around = closing::decode(payload).map(|(_, around)| around);
                        }
                        self.damage.push(Damage::DirectoryLost { offset: at as u64 });
                        return entries;
                    }
                    entries.push(Entry { offset: at as u64, header, functions: Vec::new() });
                    at = end;
                }
                None if at == bytes.len() => break at,
                None => {
                    let next = (at + 1..bytes.len()).find(|&at| block_at(bytes, at).is_some());
                    let end = next.unwrap_or(bytes.len());
                    self.damage.push(match next {
                        Some(_) => Damage::BytesSkipped { offset: at as u64, len: (end - at) as u64 },
                        None => Damage::PartialRecord { offset: at as u64, len: (end - at) as u64 },
                    });
                    match next {
                        Some(next) => at = next,
                        None => break at,
                    }
                }
            }
        };
        self.damage.push(Damage::FooterMissing { offset: end as u64 });
        entries
    }

    /// Keeps the blocks that can be part of the file: of its kind, in order, and within it.
    fn take(&mut self, bytes: &[u8], found: Vec<Entry>) {
        let kind = if self.is_detail { BlockKind::Records } else { BlockKind::Events };
        let mut next = 0;
        for entry in found {
            let header = &entry.header;
            let is_own = header.kind == kind
                && header.count > 0
                && header.first >= next
                && header.first.checked_add(header.count.into()).is_some()
                && (self.is_detail || header.count <= MOST_EVENTS);
            let fault = if header.kind == BlockKind::Links && !self.is_detail {
                let read = read_payload(bytes, &entry);
                read.and_then(|payload| links::decode(header, payload, &mut self.links)).err()
            } else if is_own {
                payload_of(bytes, &entry).err()
            } else {
                Some(BlockFault::Code)
            };
            if let Some(reason) = fault {
                self.damage.push(block_damage(&entry, reason));
            } else if is_own {
                next = header.end();
                self.entries.push(entry);
            }
        }
        // The later of two links stands behind the earlier, and counts.
        self.links.sort_by_key(|(seq, _)| *seq);
    }

    pub(crate) fn header(&self) -> Option<&FileHeader> {
        self.header.as_ref()
    }

    pub(crate) fn entries(&self) -> &[Entry] {
        &self.entries
    }

    pub(crate) fn around(&self) -> Option<&Around> {
        self.around.as_ref()
    }

    /// What is wrong with the file, as far as can be known without reading its events.
    pub fn damage(&self) -> &[Damage] {
        &self.damage
    }

    /// The position behind the last event or record.
    pub fn len(&self) -> u64 {
        self.entries.last().map_or(0, |entry| entry.header.end())
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// How many blocks there are.
    pub fn block_count(&self) -> usize {
        self.entries.len()
    }

    /// The positions of a block's events or records.
    pub fn block_range(&self, block: usize) -> Range<u64> {
        self.entries.get(block).map_or(0..0, |entry| entry.header.first..entry.header.end())
    }

    /// The block that has a position.
    pub fn block_with(&self, position: u64) -> Option<usize> {
        let block = self.entries.partition_point(|entry| entry.header.end() <= position);
        self.entries.get(block).filter(|entry| entry.header.first <= position).map(|_| block)
    }

    /// The first block with an event that is not before a time, in a thread whose clock runs forward.
    pub fn block_not_before(&self, time: TraceNanos) -> usize {
        self.entries.partition_point(|entry| entry.header.latest < time)
    }

    /// Whether a block may have an event of one of these functions.
    pub fn may_have(&self, block: usize, functions: &[FunctionId]) -> bool {
        let entry = self.entries.get(block);
        entry.is_some_and(|entry| functions.iter().any(|&it| bloom::may_have(&entry.functions, it.0)))
    }

    /// Reads a block of events. The file's bytes are those that the shape was made of.
    pub fn read_events(
        &self,
        bytes: &[u8],
        block: usize,
        decoder: &mut EventDecoder,
        events: &mut Vec<[u8; Event::SIZE]>,
    ) -> Result<(), Damage> {
        let Some(entry) = self.entries.get(block) else {
            events.clear();
            return Ok(());
        };
        let read = self.payload(bytes, block).and_then(|payload| decoder.decode(&entry.header, payload, events));
        if let Err(reason) = read {
            events.clear();
            return Err(block_damage(entry, reason));
        }
        links::apply(&self.links, EventSeq(entry.header.first), events);
        Ok(())
    }

    /// Whether events of a block were linked to details after it was written.
    pub(super) fn has_links(&self, block: usize) -> bool {
        links::are_in(&self.links, self.block_range(block))
    }

    /// The thread of a block's events; an escaped event may state another.
    pub(super) fn block_thread(&self, block: usize) -> ThreadId {
        self.entries[block].header.thread
    }

    /// Hands a block's events to a sink, with a slot for each, and returns their links to detail, without those that
    /// were written later.
    pub(super) fn decode<S: BlockSink>(
        &self,
        bytes: &[u8],
        block: usize,
        decoder: &mut EventDecoder,
        slots: &mut [S::Slot],
        sink: S,
    ) -> Result<Vec<DetailRun>, Damage> {
        let entry = &self.entries[block];
        let read = self.payload(bytes, block).and_then(|payload| decoder.read(&entry.header, payload, slots, sink));
        read.map_err(|reason| block_damage(entry, reason))
    }

    /// Reads a block of detail records.
    pub(crate) fn read_records(&self, bytes: &[u8], block: usize) -> Result<DetailBlock, Damage> {
        let entry = &self.entries[block];
        let read = self.payload(bytes, block).and_then(|payload| DetailBlock::decode(&entry.header, payload));
        read.map_err(|reason| block_damage(entry, reason))
    }

    fn payload<'a>(&'a self, bytes: &'a [u8], block: usize) -> Result<&'a [u8], BlockFault> {
        match &self.last {
            Some(last) if block + 1 == self.entries.len() => Ok(last),
            _ => read_payload(bytes, &self.entries[block]),
        }
    }

    /// A number that stands for all events and records, as their checksums do.
    pub(crate) fn fingerprint(&self) -> u64 {
        let mut crc = crc32fast::Hasher::new();
        for entry in &self.entries {
            crc.update(&entry.header.encode());
        }
        for (seq, detail) in &self.links {
            crc.update(&seq.to_le_bytes());
            crc.update(&detail.to_le_bytes());
        }
        crc.finalize().into()
    }

    /// Where a block lies in its file, header included.
    pub(crate) fn byte_range(&self, block: usize) -> Range<usize> {
        let entry = &self.entries[block];
        let start = entry.offset as usize;
        start..start + BLOCK_HEADER_SIZE + entry.header.payload_len as usize
    }
}

fn block_damage(entry: &Entry, reason: BlockFault) -> Damage {
    let BlockHeader { first, count, .. } = entry.header;
    Damage::BlockDamaged { offset: entry.offset, first: EventSeq(first), count, reason }
}

/// The directory that a file's end leads to.
fn read_directory(bytes: &[u8]) -> Option<(Vec<Entry>, Around)> {
    let at = usize::try_from(closing::read_trailer(bytes)?).ok()?;
    let header = block_at(bytes, at).filter(|header| header.kind == BlockKind::Closing)?;
    let start = at + BLOCK_HEADER_SIZE;
    let end = start.checked_add(header.payload_len as usize)?;
    let payload = bytes.get(start..end).filter(|_| end + TRAILER_SIZE == bytes.len())?;
    (crc32fast::hash(payload) == header.payload_crc).then(|| closing::decode(payload)).flatten()
}

fn block_at(bytes: &[u8], at: usize) -> Option<BlockHeader> {
    let bytes = bytes.get(at..)?;
    bytes.starts_with(&BlockHeader::MAGIC).then(|| bytes.first_chunk().and_then(BlockHeader::decode)).flatten()
}

/// A block's bytes, where the file has all of them.
fn payload_of<'a>(bytes: &'a [u8], entry: &Entry) -> Result<&'a [u8], BlockFault> {
    let start = usize::try_from(entry.offset).ok().and_then(|at| at.checked_add(BLOCK_HEADER_SIZE));
    let end = start.and_then(|start| start.checked_add(entry.header.payload_len as usize));
    let (Some(start), Some(end)) = (start, end) else { return Err(BlockFault::Short) };
    bytes.get(start..end).ok_or(BlockFault::Short)
}

/// The same, if its checksum is right.
fn read_payload<'a>(bytes: &'a [u8], entry: &Entry) -> Result<&'a [u8], BlockFault> {
    let payload = payload_of(bytes, entry)?;
    if crc32fast::hash(payload) == entry.header.payload_crc { Ok(payload) } else { Err(BlockFault::Checksum) }
}
