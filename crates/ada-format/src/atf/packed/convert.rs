//! Whole files from one form to the other.

use std::io::{self, Seek, Write};

use ada_event::{Event, ThreadId};

use super::closing::{Around, FOOTER_CRC};
use super::event_decoder::EventDecoder;
use super::event_section::EventSection;
use super::record_section::RecordSection;
use super::shape::{FileHeader, PackedShape};
use crate::atf::detail::{DetailHeader, DetailShape, Hop, hop};
use crate::atf::index::{IndexHeader, IndexShape};
use crate::atf::{AtfError, Clock, Damage, Platform};

/// Bytes before or behind the events that a packed file takes along.
const MOST_AROUND: usize = 1 << 20;
/// Events that are packed between two calls of `progress`.
const STEP: usize = 1 << 15;

/// Stands in for the platform of a raw file that was cut inside its header; unpacking restores the cut header.
const CUT_HEADER: Platform = Platform::LINUX_X86_64;

/// Why a file stays as it is.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ConvertError {
    /// The file contradicts itself.
    #[error(transparent)]
    Corrupt(#[from] AtfError),
    /// The file system refused.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// There is more before or behind the events than a packed file has room for.
    #[error("{len} bytes before or behind the events are no part of a trace")]
    AroundTooLong {
        /// How many bytes.
        len: usize,
    },
    /// The records of a detail file do not follow each other to its end.
    #[error("byte {offset}: no detail record, or one of more than 1 MiB")]
    Record {
        /// Where.
        offset: u64,
    },
    /// Blocks are lost: what remains would get other positions.
    #[error("{0}")]
    Damaged(Damage),
}

/// Packs an index file. `progress` is called with how far the raw bytes are read.
pub fn pack_index<W: Write + Seek>(raw: &[u8], file: W, mut progress: impl FnMut(usize)) -> Result<W, ConvertError> {
    let shape = IndexShape::find(raw)?;
    let events = shape.events.clone();
    let header = FileHeader {
        is_detail: false,
        platform: shape.header.as_ref().map_or(CUT_HEADER, |header| header.platform),
        thread: shape.header.as_ref().map_or(ThreadId(0), |header| header.thread),
    };
    let mut around = around(raw, &events)?;
    let mut section = EventSection::begin(file, header)?;
    let mut crc = crc32fast::Hasher::new();
    let mut read = events.start;
    for step in raw[events].as_chunks().0.chunks(STEP) {
        section.append(&mut step.iter().map(Event::from_le_bytes))?;
        crc.update(step.as_flattened());
        read += step.as_flattened().len();
        progress(read);
    }
    around.leave_out(crc.finalize());
    Ok(section.finish(&around, |_| Ok(()))?)
}

/// Packs a detail file. `progress` is called with how far the raw bytes are read.
pub fn pack_detail<W: Write + Seek>(raw: &[u8], file: W, mut progress: impl FnMut(usize)) -> Result<W, ConvertError> {
    let shape = DetailShape::find(raw, |_| ())?;
    let records = shape.records.clone();
    let header = FileHeader {
        is_detail: true,
        platform: shape.header.as_ref().map_or(CUT_HEADER, |header| Platform {
            arch: header.arch,
            os: header.os,
            clock: Clock(0),
        }),
        thread: shape.header.as_ref().map_or(ThreadId(0), |header| header.thread),
    };
    let mut around = around(raw, &records)?;
    let mut section = RecordSection::begin(file, header, records.start as u64)?;
    let mut crc = crc32fast::Hasher::new();
    let mut at = records.start;
    while at < records.end {
        let from = at;
        while at < records.end && at - from < 32 * STEP {
            match hop(raw, at, records.end, shape.arch()) {
                Hop::Whole(_, next) if section.has_room_for(next - at) => at = next,
                _ => return Err(ConvertError::Record { offset: at as u64 }),
            }
        }
        section.append(&raw[from..at])?;
        crc.update(&raw[from..at]);
        progress(at);
    }
    around.leave_out(crc.finalize());
    Ok(section.finish(&around, |_| Ok(()))?)
}

fn around(raw: &[u8], inner: &std::ops::Range<usize>) -> Result<Around, ConvertError> {
    let (head, tail) = (&raw[..inner.start], &raw[inner.end..]);
    match head.len().max(tail.len()) {
        len if len > MOST_AROUND => Err(ConvertError::AroundTooLong { len }),
        _ => Ok(Around { head: head.to_vec(), tail: tail.to_vec(), is_crc_left_out: false }),
    }
}

impl Around {
    /// Leaves the checksum out, if it is the one that unpacking will compute.
    fn leave_out(&mut self, crc: u32) {
        if let Some(stored) = self.tail.get_mut(FOOTER_CRC).filter(|stored| **stored == crc.to_le_bytes()) {
            stored.fill(0);
            self.is_crc_left_out = true;
        }
    }
}

/// Writes the raw file that a packed one was made of, to the last byte. One that was never finished, or was cut, becomes
/// a raw file that was not finished.
pub fn unpack_index<W: Write>(packed: &[u8], file: W) -> Result<W, ConvertError> {
    let shape = PackedShape::of_index(packed)?;
    let placeholder = |header: &FileHeader| IndexHeader::placeholder(header.platform, header.thread).encode();
    let mut raw = RawFile::begin(&shape, file, placeholder)?;
    let workers = std::thread::available_parallelism().map_or(1, usize::from);
    let mut decoders: Vec<(EventDecoder, Vec<[u8; Event::SIZE]>)> = Vec::new();
    decoders.resize_with(workers, Default::default);
    for first in (0..shape.block_count()).step_by(workers) {
        let blocks = first..(first + workers).min(shape.block_count());
        let read = std::thread::scope(|scope| {
            let shape = &shape;
            let reading: Vec<_> = blocks
                .clone()
                .zip(&mut decoders)
                .map(|(block, (decoder, events))| {
                    scope.spawn(move || shape.read_events(packed, block, decoder, events))
                })
                .collect();
            reading
                .into_iter()
                .map(|it| it.join().expect("reading a block does not panic"))
                .collect::<Result<Vec<_>, _>>()
        });
        read.map_err(ConvertError::Damaged)?;
        for (_, events) in &decoders[..blocks.len()] {
            raw.write(events.as_flattened())?;
        }
    }
    raw.finish(&shape)
}

/// The same for a detail file.
pub fn unpack_detail<W: Write>(packed: &[u8], file: W) -> Result<W, ConvertError> {
    let shape = PackedShape::of_detail(packed)?;
    let placeholder = |header: &FileHeader| {
        DetailHeader::placeholder(header.platform.arch, header.platform.os, header.thread).encode()
    };
    let mut raw = RawFile::begin(&shape, file, placeholder)?;
    for block in 0..shape.block_count() {
        raw.write(&shape.read_records(packed, block).map_err(ConvertError::Damaged)?.bytes)?;
    }
    raw.finish(&shape)
}

/// A raw file that grows.
struct RawFile<W> {
    file: W,
    crc: crc32fast::Hasher,
}

impl<W: Write> RawFile<W> {
    /// Refuses a packed file that lacks blocks.
    fn begin(
        shape: &PackedShape,
        mut file: W,
        placeholder: impl FnOnce(&FileHeader) -> [u8; 64],
    ) -> Result<Self, ConvertError> {
        let is_lost = |damage: &&Damage| matches!(damage, Damage::BlockDamaged { .. } | Damage::BytesSkipped { .. });
        if let Some(damage) = shape.damage().iter().find(is_lost) {
            return Err(ConvertError::Damaged(damage.clone()));
        }
        let mut next = 0;
        for block in 0..shape.block_count() {
            let range = shape.block_range(block);
            if range.start != next {
                return Err(ConvertError::Damaged(Damage::BytesSkipped {
                    offset: shape.byte_range(block).start as u64,
                    len: range.start - next,
                }));
            }
            next = range.end;
        }
        match (shape.around(), shape.header()) {
            (Some(around), _) => file.write_all(&around.head)?,
            (None, Some(header)) => file.write_all(&placeholder(header))?,
            (None, None) => {}
        }
        Ok(Self { file, crc: crc32fast::Hasher::new() })
    }

    fn write(&mut self, bytes: &[u8]) -> Result<(), ConvertError> {
        self.crc.update(bytes);
        Ok(self.file.write_all(bytes)?)
    }

    fn finish(mut self, shape: &PackedShape) -> Result<W, ConvertError> {
        if let Some(around) = shape.around() {
            let mut tail = around.tail.clone();
            if around.is_crc_left_out {
                tail[FOOTER_CRC].copy_from_slice(&self.crc.finalize().to_le_bytes());
            }
            self.file.write_all(&tail)?;
        }
        self.file.flush()?;
        Ok(self.file)
    }
}

/// Takes bytes and compares them with those that should come.
pub struct Comparison<'a> {
    expected: &'a [u8],
    is_equal: bool,
}

impl<'a> Comparison<'a> {
    /// Expects these bytes.
    pub fn with(expected: &'a [u8]) -> Self {
        Self { expected, is_equal: true }
    }

    /// Whether they came, and nothing else.
    pub fn is_equal(&self) -> bool {
        self.is_equal && self.expected.is_empty()
    }
}

impl Write for Comparison<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self.expected.split_at_checked(bytes.len()) {
            Some((these, rest)) if these == bytes => self.expected = rest,
            _ => self.is_equal = false,
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
