//! Writes a detail file.

use std::io::{self, Seek, Write};

use ada_event::{DetailSeq, EventSeq, ThreadId, TraceNanos};

use super::section::SectionWriter;
use crate::atf::detail::{DetailFooter, DetailHeader, Hop, encode_header, header_words, hop};
use crate::atf::layout::{HEADER_SIZE, RECORD_HEADER_SIZE};
use crate::atf::packed::{Around, FileHeader, RecordSection};
use crate::atf::payload::{Payload, X86Captured};
use crate::atf::{AtfError, Platform, WriteError};

/// Appends the detail records of one thread. At most 64 KiB, or one packed block, wait in its buffer; dropping it
/// unfinished writes them, and leaves a file that readers recover.
pub struct DetailWriter<W: Write + Seek> {
    section: Section<W>,
    header: DetailHeader,
    times: Option<(TraceNanos, TraceNanos)>,
    /// One record under construction; kept to reuse its memory.
    scratch: Vec<u8>,
}

/// The records, in either form.
enum Section<W: Write + Seek> {
    Raw(SectionWriter<W>),
    Packed(Box<RecordSection<W>>),
}

impl<W: Write + Seek> Section<W> {
    fn append(&mut self, bytes: &[u8], records: u64) -> io::Result<()> {
        match self {
            Self::Raw(section) => section.append(bytes, records),
            Self::Packed(section) => section.append(bytes),
        }
    }
}

impl<W: Write + Seek> DetailWriter<W> {
    /// Begins a file at the writer's position 0 with a placeholder header.
    pub fn begin(file: W, platform: Platform, thread: ThreadId) -> io::Result<Self> {
        let header = DetailHeader::placeholder(platform.arch, platform.os, thread);
        let section = Section::Raw(SectionWriter::begin(file, &header.encode())?);
        Ok(Self { section, header, times: None, scratch: Vec::new() })
    }

    /// Begins a packed file at the writer's position 0.
    pub fn begin_packed(file: W, platform: Platform, thread: ThreadId) -> io::Result<Self> {
        let header = DetailHeader::placeholder(platform.arch, platform.os, thread);
        let file_header = FileHeader { is_detail: true, platform, thread };
        let section = RecordSection::begin(file, file_header, HEADER_SIZE as u64)?;
        Ok(Self { section: Section::Packed(section.into()), header, times: None, scratch: Vec::new() })
    }

    /// What it writes to; what waits in its buffer is not there yet.
    pub(super) fn file(&mut self) -> &mut W {
        match &mut self.section {
            Section::Raw(section) => section.file(),
            Section::Packed(section) => section.file(),
        }
    }

    /// Bytes of all records so far, in the raw form.
    pub fn bytes(&self) -> u64 {
        match &self.section {
            Section::Raw(section) => section.len(),
            Section::Packed(section) => section.len(),
        }
    }

    /// Bytes that the records so far take, about where they are packed.
    pub fn stored_bytes(&self) -> u64 {
        match &self.section {
            Section::Raw(section) => section.len(),
            Section::Packed(section) => section.packed_len(),
        }
    }

    /// How many records there are so far.
    pub fn count(&self) -> u64 {
        match &self.section {
            Section::Raw(section) => section.records(),
            Section::Packed(section) => section.records(),
        }
    }

    /// The link that an event needs to point at the next record.
    pub fn next_seq(&self) -> Result<DetailSeq, WriteError> {
        let position = self.count();
        match u32::try_from(position).map(DetailSeq) {
            Ok(seq) if seq != DetailSeq::NONE => Ok(seq),
            _ => Err(WriteError::LinkOverflow { position }),
        }
    }

    /// Appends one record that belongs to the event at `index_seq`, and gives the link for that event.
    pub fn append(
        &mut self,
        index_seq: EventSeq,
        timestamp: TraceNanos,
        payload: &Payload<'_>,
    ) -> Result<DetailSeq, WriteError> {
        let seq = self.next_seq()?;
        let link = u32::try_from(index_seq.0).map_err(|_| WriteError::LinkOverflow { position: index_seq.0 })?;
        let mut record = std::mem::take(&mut self.scratch);
        record.clear();
        record.resize(RECORD_HEADER_SIZE, 0);
        let written = self.append_encoded(&mut record, link, timestamp, payload);
        self.scratch = record;
        written.map(|()| seq)
    }

    fn append_encoded(
        &mut self,
        record: &mut Vec<u8>,
        link: u32,
        timestamp: TraceNanos,
        payload: &Payload<'_>,
    ) -> Result<(), WriteError> {
        payload.encode(record)?;
        let length = u32::try_from(record.len()).map_err(|_| WriteError::PayloadTooLong { len: record.len() })?;
        let header = encode_header(length, payload.kind(), link, self.header.thread, timestamp);
        record[..RECORD_HEADER_SIZE].copy_from_slice(&header);
        self.section.append(record, 1)?;
        self.saw(link, timestamp);
        Ok(())
    }

    /// Appends one record as [`Self::append`] does, from where its parts lie. Gives its bytes too.
    pub fn append_captured(
        &mut self,
        index_seq: EventSeq,
        timestamp: TraceNanos,
        captured: &X86Captured<'_>,
    ) -> Result<(DetailSeq, u64), WriteError> {
        let seq = self.next_seq()?;
        let link = u32::try_from(index_seq.0).map_err(|_| WriteError::LinkOverflow { position: index_seq.0 })?;
        let sizes = captured.sizes()?;
        let length = RECORD_HEADER_SIZE + captured.len();
        let [first, second] = captured.registers;
        let pieces = [first, second, &sizes, captured.vectors, captured.stack];
        let header = header_words(length as u32, captured.kind, link, self.header.thread, timestamp);
        match &mut self.section {
            Section::Raw(section) => {
                let [head, event, time] = header.map(u64::to_le_bytes);
                let function = captured.function.0.to_le_bytes();
                let [registers, more_registers, sizes, vectors, stack] = pieces;
                let pieces = [&head, &event, &time, &function, registers, more_registers, sizes, vectors, stack];
                section.append_in_pieces(length, &pieces)?;
            }
            Section::Packed(section) => {
                section.append_in_pieces(length, header, Some(captured.function.0), &pieces)?;
            }
        }
        self.saw(link, timestamp);
        Ok((seq, length as u64))
    }

    /// Appends whole records as a ring holds them, after a walk that checks their lengths. The links in them are the
    /// caller's to have made.
    pub fn append_raw(&mut self, bytes: &[u8]) -> Result<(), WriteError> {
        let before = (self.header.clone(), self.times);
        let appended = match self.walk(bytes) {
            Ok(records) => self.section.append(bytes, records).map_err(WriteError::from),
            Err(error) => Err(error.into()),
        };
        if appended.is_err() {
            (self.header, self.times) = before;
        }
        appended
    }

    /// Notes links and times of the records in `bytes`, and counts them.
    fn walk(&mut self, bytes: &[u8]) -> Result<u64, AtfError> {
        let mut records = 0;
        let mut at = 0;
        loop {
            let offset = at as u64;
            match hop(bytes, at, bytes.len(), self.header.arch) {
                Hop::Whole(record, next) => {
                    self.saw(record.index_seq, record.timestamp);
                    records += 1;
                    at = next;
                }
                Hop::End => return Ok(records),
                Hop::TooShort { length } => return Err(AtfError::RecordTooShort { offset, length }),
                Hop::Cut { length } => {
                    let length = length.unwrap_or((bytes.len() - at) as u32);
                    return Err(AtfError::RecordPastEnd { offset, length, end: bytes.len() as u64 });
                }
            }
        }
    }

    /// Whether packed records are compressed from now on: that takes time, which whoever waits for them may not have.
    pub fn set_compressed(&mut self, is_compressed: bool) {
        if let Section::Packed(section) = &mut self.section {
            section.set_compressed(is_compressed);
        }
    }

    /// Hands the buffer to the operating system: what was appended survives the death of this process.
    pub fn flush(&mut self) -> io::Result<()> {
        match &mut self.section {
            Section::Raw(section) => section.flush(),
            Section::Packed(section) => section.flush(),
        }
    }

    /// Writes the footer, then the header.
    pub fn finish(self) -> io::Result<W> {
        self.finish_synced(|_| Ok(()))
    }

    /// Like [`Self::finish`], with `sync` called between footer and header, and at the end.
    pub fn finish_synced(mut self, sync: impl FnMut(&mut W) -> io::Result<()>) -> io::Result<W> {
        self.header.event_count = self.count();
        self.header.bytes_length = self.bytes();
        let (time_start, time_end) = self.times.unwrap_or_default();
        let (event_count, bytes_length) = (self.header.event_count, self.header.bytes_length);
        let footer = |crc32| DetailFooter { crc32, event_count, bytes_length, time_start, time_end }.encode();
        let header = self.header.encode();
        match self.section {
            Section::Raw(section) => section.finish(footer, &header, sync),
            Section::Packed(section) => section.finish(&Around::without_crc(header, footer(0)), sync),
        }
    }

    fn saw(&mut self, index_seq: u32, timestamp: TraceNanos) {
        let seq = EventSeq(index_seq.into());
        let start = self.times.map_or(seq, |_| self.header.index_seq_start);
        self.header.index_seq_start = start.min(seq);
        self.header.index_seq_end = self.header.index_seq_end.max(seq);
        let (first, last) = self.times.unwrap_or((timestamp, timestamp));
        self.times = Some((first.min(timestamp), last.max(timestamp)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::atf::{DetailType, DetailView, X86Call};
    use ada_event::{FunctionId, RuntimeAddr};
    use std::io::Cursor;

    fn writer() -> DetailWriter<Cursor<Vec<u8>>> {
        DetailWriter::begin(Cursor::default(), Platform::LINUX_X86_64, ThreadId(5)).unwrap()
    }

    fn unknown(bytes: &[u8]) -> Payload<'_> {
        Payload::Unknown { kind: DetailType(16), bytes }
    }

    #[test]
    fn records_are_found_by_position() {
        let mut writer = writer();
        for n in 0..100_u64 {
            let payload = vec![n as u8; n as usize];
            writer.append(EventSeq(2 * n), TraceNanos(n), &unknown(&payload)).unwrap();
        }
        let file = writer.finish().unwrap().into_inner();
        let view = DetailView::parse(&file).unwrap();
        assert_eq!((view.len(), view.verify()), (100, Ok(Vec::new())));
        for (n, record) in view.records().enumerate() {
            assert_eq!(view.record(DetailSeq(n as u32)), record.ok());
        }
        assert_eq!(view.record(DetailSeq(99)).unwrap().index_seq, 198);
        assert_eq!(view.record(DetailSeq(100)), None);
    }

    #[test]
    fn raw_records_make_the_same_file() {
        let (mut one, mut raw) = (writer(), writer());
        one.append(EventSeq(3), TraceNanos(1), &unknown(b"abc")).unwrap();
        one.append(EventSeq(4), TraceNanos(2), &unknown(b"")).unwrap();
        let one = one.finish().unwrap().into_inner();
        let records = &one[64..one.len() - 64];
        assert!(raw.append_raw(&records[..30]).is_err());
        raw.append_raw(records).unwrap();
        assert!(raw.finish().unwrap().into_inner() == one);
    }

    #[test]
    fn what_lies_in_pieces_makes_the_same_file() {
        let words: Vec<u8> = (1..=10_u64).flat_map(u64::to_le_bytes).collect();
        let vectors = [7; 128];
        for (with_vectors, window) in [(false, 0), (false, 16), (true, 13), (true, 128)] {
            let stack = &[0xaa; 128][..window];
            let call = X86Call {
                function: FunctionId(1 << 32),
                rdi: 1,
                rsi: 2,
                rdx: 3,
                rcx: 4,
                r8: 5,
                r9: 6,
                rax: 7,
                return_address: RuntimeAddr(8),
                rbp: 9,
                rsp: 10,
                vectors: with_vectors.then_some([u128::from_le_bytes([7; 16]); 8]),
                stack,
                ..X86Call::default()
            };
            let captured = X86Captured {
                kind: DetailType::CALL,
                function: call.function,
                registers: [&words[..24], &words[24..]],
                vectors: if with_vectors { &vectors } else { &[] },
                stack,
            };
            for begin in [DetailWriter::begin, DetailWriter::begin_packed] {
                let file = |is_in_pieces: bool| {
                    let mut writer = begin(Cursor::<Vec<u8>>::default(), Platform::LINUX_X86_64, ThreadId(5)).unwrap();
                    for (seq, time) in
                        [(3, 100), (4, 101), (9, 150)].map(|(seq, time)| (EventSeq(seq), TraceNanos(time)))
                    {
                        match is_in_pieces {
                            true => writer.append_captured(seq, time, &captured).unwrap().0,
                            false => writer.append(seq, time, &Payload::X86Call(call)).unwrap(),
                        };
                    }
                    writer.finish().unwrap().into_inner()
                };
                assert!(file(true) == file(false), "{window} bytes of stack");
            }
        }
    }

    #[test]
    fn what_is_not_compressed_reads_the_same() {
        let files: [Vec<u8>; 2] = [true, false].map(|is_compressed| {
            let thread = ThreadId(5);
            let mut writer = DetailWriter::begin_packed(Cursor::default(), Platform::LINUX_X86_64, thread).unwrap();
            writer.set_compressed(is_compressed);
            for n in 0..100_u64 {
                writer.append(EventSeq(n), TraceNanos(n), &unknown(&(n / 9).to_le_bytes().repeat(9))).unwrap();
            }
            writer.finish().unwrap().into_inner()
        });
        let [compressed, stored] = &files;
        assert!(compressed.len() < stored.len());
        let unpack = |file: &[u8]| crate::atf::packed::unpack_detail(file, Vec::new()).unwrap();
        assert!(unpack(compressed) == unpack(stored));
    }

    #[test]
    fn a_position_that_does_not_fit_is_refused() {
        let mut writer = writer();
        let result = writer.append(EventSeq(1 << 32), TraceNanos(1), &unknown(b""));
        assert!(matches!(result, Err(WriteError::LinkOverflow { position: 0x1_0000_0000 })));
        assert_eq!(writer.next_seq().unwrap(), DetailSeq(0));
    }
}
