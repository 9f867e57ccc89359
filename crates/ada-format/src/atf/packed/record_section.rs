//! The packed form of a detail file's records, while they are being written.

use std::io::{self, Seek, Write};

use ada_event::TraceNanos;

use super::block::{BlockHeader, BlockKind, LONGEST, MOST_RECORD_BYTES};
use super::block_file::BlockFile;
use super::closing::Around;
use super::record_encoder::{HEADER_WORDS, RecordEncoder};
use super::shape::FileHeader;
use crate::atf::Arch;
use crate::atf::detail::{Hop, hop};
use crate::atf::layout::{RECORD_HEADER_SIZE, record};

/// Bytes of records after which a block is full.
const FULL: usize = 256 << 10;

/// Appends records. When a write fails, the records of the block at hand are forgotten, and what comes next takes their
/// positions.
pub(crate) struct RecordSection<W: Write + Seek> {
    file: BlockFile<W>,
    header: FileHeader,
    /// The block at hand: its records, how many bytes they are in the raw form, and how many records.
    encoder: RecordEncoder,
    bytes: usize,
    count: u32,
    times: Option<(TraceNanos, TraceNanos)>,
    /// Where records begin in the raw file.
    raw_start: u64,
    /// What the blocks before have: records, and their bytes.
    before: (u64, u64),
    is_behind: bool,
    payload: Vec<u8>,
    is_compressed: bool,
    is_next_compressed: bool,
}

impl<W: Write + Seek> RecordSection<W> {
    pub(crate) fn begin(file: W, header: FileHeader, raw_start: u64) -> io::Result<Self> {
        let file = BlockFile::begin(file, &header)?;
        Ok(Self {
            file,
            header,
            encoder: RecordEncoder::default(),
            bytes: 0,
            count: 0,
            times: None,
            raw_start,
            before: (0, 0),
            is_behind: false,
            payload: Vec::new(),
            is_compressed: true,
            is_next_compressed: true,
        })
    }

    /// What it writes to.
    pub(crate) fn file(&mut self) -> &mut W {
        self.file.file()
    }

    /// Records appended so far.
    pub(crate) fn records(&self) -> u64 {
        self.before.0 + u64::from(self.count)
    }

    /// Their bytes in the raw form.
    pub(crate) fn len(&self) -> u64 {
        self.before.1 + self.bytes as u64
    }

    /// Bytes that they take, about.
    pub(crate) fn packed_len(&self) -> u64 {
        self.file.len() + self.encoder.len() as u64
    }

    /// Whether a record of this length can be appended.
    pub(crate) fn has_room_for(&self, length: usize) -> bool {
        length <= MOST_RECORD_BYTES as usize
    }

    /// Whether blocks are compressed: that takes time, which whoever waits for the writer may not have. A block that has begun
    /// stays as it is: each time that it is written, it goes over what was written of it before, and must not be shorter.
    pub(crate) fn set_compressed(&mut self, is_compressed: bool) {
        self.is_next_compressed = is_compressed;
        if self.count == 0 {
            self.is_compressed = is_compressed;
        }
    }

    /// Appends whole records.
    pub(crate) fn append(&mut self, records: &[u8]) -> io::Result<()> {
        let mut at = 0;
        while let Hop::Whole(_, next) = hop(records, at, records.len(), Arch(0)) {
            let (words, _) = records[at..next].as_chunks();
            let word = |number: usize| words.get(number).map(|word| u64::from_le_bytes(*word));
            let header = std::array::from_fn(|number| word(number).unwrap_or(0));
            let function = word(HEADER_WORDS);
            let read = RECORD_HEADER_SIZE + function.map_or(0, |_| 8);
            self.append_in_pieces(next - at, header, function, &[&records[at + read..next]])?;
            at = next;
        }
        Ok(())
    }

    /// Appends a record of this length: the words of its header, its function where it has one, and the rest in pieces, all
    /// but the last of whole words. What is missing at its end is zero.
    #[inline]
    pub(crate) fn append_in_pieces(
        &mut self,
        length: usize,
        header: [u64; HEADER_WORDS],
        function: Option<u64>,
        pieces: &[&[u8]],
    ) -> io::Result<()> {
        if !self.has_room_for(length) {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "a detail record of more than 1 MiB"));
        }
        let time = TraceNanos(header[record::TIMESTAMP / 8]);
        let is_late = self.times.is_some_and(|(begun, _)| time.0.saturating_sub(begun.0) > LONGEST);
        if is_late || self.bytes + length > FULL {
            self.seal()?;
        }
        self.encoder.push(length.div_ceil(8), header, function, pieces);
        self.bytes += length;
        self.count += 1;
        let (first, last) = self.times.unwrap_or((time, time));
        self.times = Some((first.min(time), last.max(time)));
        self.is_behind = true;
        Ok(())
    }

    fn block(&mut self) -> BlockHeader {
        self.encoder.payload(&mut self.payload, self.is_compressed);
        let (earliest, latest) = self.times.unwrap_or_default();
        BlockHeader {
            kind: BlockKind::Records,
            payload_len: self.payload.len() as u32,
            payload_crc: crc32fast::hash(&self.payload),
            first: self.before.0,
            count: self.count,
            thread: self.header.thread,
            earliest,
            latest,
            origin: self.raw_start + self.before.1,
            extent: self.bytes as u32,
        }
    }

    fn seal(&mut self) -> io::Result<()> {
        if self.count == 0 {
            return Ok(());
        }
        let header = self.block();
        let written = self.file.put(header, &self.payload, Vec::new());
        if written.is_ok() {
            self.before = (self.records(), self.len());
        }
        self.encoder.begin_next();
        (self.bytes, self.count, self.times, self.is_behind) = (0, 0, None, false);
        self.is_compressed = self.is_next_compressed;
        written
    }

    /// Hands everything to the operating system, from where it survives the process.
    pub(crate) fn flush(&mut self) -> io::Result<()> {
        if self.is_behind && self.count > 0 {
            let header = self.block();
            self.file.put_unfinished(&header, &self.payload)?;
        }
        self.is_behind = false;
        Ok(())
    }

    pub(crate) fn finish(mut self, around: &Around, sync: impl FnMut(&mut W) -> io::Result<()>) -> io::Result<W> {
        self.seal()?;
        self.file.finish(self.before.0, around, sync)
    }
}

impl<W: Write + Seek> Drop for RecordSection<W> {
    fn drop(&mut self) {
        if self.file.is_open() {
            // There is nobody to report a failure to; readers recover what was written.
            let _ = self.flush();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Cursor;

    use crate::atf::Platform;
    use ada_event::ThreadId;

    #[test]
    fn a_block_that_was_flushed_as_it_is_is_not_compressed_later() {
        let header = FileHeader { is_detail: true, platform: Platform::LINUX_X86_64, thread: ThreadId(4) };
        let mut section = RecordSection::begin(Cursor::new(Vec::new()), header, 64).unwrap();
        section.set_compressed(false);
        for time in 0..500_u64 {
            let words = [104 | 3 << 32, time << 32, time];
            section.append_in_pieces(104, words, Some(7), &[&[9; 72]]).unwrap();
        }
        section.flush().unwrap();
        section.set_compressed(true);
        let file = section.finish(&Around::default(), |_| Ok(())).unwrap().into_inner();
        assert!(file.ends_with(b"PEND"), "nothing of what was flushed is behind the end");
    }
}
