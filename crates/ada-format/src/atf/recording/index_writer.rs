//! Writes an index file.

use std::io::{self, Seek, Write};
use std::mem::offset_of;

use ada_event::{DetailSeq, Event, EventSeq, ThreadId, TraceNanos};

use super::section::SectionWriter;
use crate::atf::index::{IndexFooter, IndexHeader, saturated};
use crate::atf::layout::FLAG_HAS_DETAIL;
use crate::atf::packed::{Around, EventSection, FileHeader};
use crate::atf::{Platform, WriteError};

/// Where an event holds its link.
const DETAIL_FIELD: u64 = offset_of!(Event, detail) as u64;

/// Appends the events of one thread. At most 64 KiB, or one packed block, wait in its buffer; dropping it unfinished
/// writes them, and leaves a file that readers recover.
pub struct IndexWriter<W: Write + Seek> {
    section: Section<W>,
    header: IndexHeader,
    times: Option<(TraceNanos, TraceNanos)>,
}

/// The events, in either form.
enum Section<W: Write + Seek> {
    Raw(SectionWriter<W>),
    Packed(Box<EventSection<W>>),
    /// Events are counted, and that is all.
    Counted(SectionWriter<W>, u64),
}

impl<W: Write + Seek> IndexWriter<W> {
    /// Begins a file at the writer's position 0 with a placeholder header.
    pub fn begin(file: W, platform: Platform, thread: ThreadId) -> io::Result<Self> {
        let header = IndexHeader::placeholder(platform, thread);
        let section = Section::Raw(SectionWriter::begin(file, &header.encode())?);
        Ok(Self { section, header, times: None })
    }

    /// Begins a packed file at the writer's position 0.
    pub fn begin_packed(file: W, platform: Platform, thread: ThreadId) -> io::Result<Self> {
        let header = IndexHeader::placeholder(platform, thread);
        let section = EventSection::begin(file, FileHeader { is_detail: false, platform, thread })?;
        Ok(Self { section: Section::Packed(section.into()), header, times: None })
    }

    /// Begins a file that will have no events, whatever is appended.
    pub fn begin_without_events(file: W, platform: Platform, thread: ThreadId) -> io::Result<Self> {
        let header = IndexHeader::placeholder(platform, thread);
        let section = Section::Counted(SectionWriter::begin(file, &header.encode())?, 0);
        Ok(Self { section, header, times: None })
    }

    /// What it writes to; what waits in its buffer is not there yet.
    pub(super) fn file(&mut self) -> &mut W {
        match &mut self.section {
            Section::Raw(section) | Section::Counted(section, _) => section.file(),
            Section::Packed(section) => section.file(),
        }
    }

    /// Appends one event and says where it lies.
    pub fn append(&mut self, event: &Event) -> io::Result<EventSeq> {
        let seq = self.next_seq();
        self.append_events(std::iter::once(*event))?;
        Ok(seq)
    }

    /// Appends events, straight to the form that the file has.
    pub fn append_events(&mut self, events: impl Iterator<Item = Event>) -> io::Result<()> {
        let (mut first, mut last) = (None, TraceNanos(0));
        {
            let mut events = events.inspect(|event| {
                first.get_or_insert(event.timestamp);
                last = event.timestamp;
            });
            match &mut self.section {
                Section::Raw(section) => events.try_for_each(|event| section.append(&event.to_le_bytes(), 1))?,
                Section::Packed(section) => section.append(&mut events)?,
                Section::Counted(_, count) => *count += events.count() as u64,
            }
        }
        if let Some(first) = first {
            self.saw(first, last);
        }
        Ok(())
    }

    /// Appends whole events as files store them. Only the first and the last are looked at.
    pub fn append_raw(&mut self, bytes: &[u8]) -> Result<(), WriteError> {
        let (events, []) = bytes.as_chunks() else {
            return Err(WriteError::RawLength { len: bytes.len() });
        };
        let ([first, ..], [.., last]) = (events, events) else { return Ok(()) };
        self.append_bytes(events)?;
        self.saw(Event::from_le_bytes(first).timestamp, Event::from_le_bytes(last).timestamp);
        Ok(())
    }

    fn append_bytes(&mut self, events: &[[u8; Event::SIZE]]) -> io::Result<()> {
        match &mut self.section {
            Section::Raw(section) => section.append(events.as_flattened(), events.len() as u64),
            Section::Packed(section) => section.append(&mut events.iter().map(Event::from_le_bytes)),
            Section::Counted(_, count) => {
                *count += events.len() as u64;
                Ok(())
            }
        }
    }

    /// Links an event that was appended without detail to its detail record.
    pub fn link(&mut self, seq: EventSeq, detail: DetailSeq) -> io::Result<()> {
        let at = seq.0 * Event::SIZE as u64 + DETAIL_FIELD;
        match &mut self.section {
            Section::Raw(section) => section.change(at, DetailSeq::NONE.0.to_le_bytes(), detail.0.to_le_bytes()),
            Section::Packed(section) => section.link(seq, detail),
            Section::Counted(..) => Ok(()),
        }
    }

    /// The position that the next event will have.
    pub fn next_seq(&self) -> EventSeq {
        EventSeq(match &self.section {
            Section::Raw(section) => section.records(),
            Section::Packed(section) => section.records(),
            Section::Counted(_, count) => *count,
        })
    }

    /// Bytes that the events so far take, about where they are packed.
    pub fn stored_bytes(&self) -> u64 {
        match &self.section {
            Section::Raw(section) => section.len(),
            Section::Packed(section) => section.packed_len(),
            Section::Counted(..) => 0,
        }
    }

    /// The first and the last event's time.
    pub fn times(&self) -> Option<(TraceNanos, TraceNanos)> {
        self.times
    }

    /// States in the finished header that a detail file exists.
    pub fn set_has_detail(&mut self) {
        self.header.flags |= FLAG_HAS_DETAIL;
    }

    /// Hands the buffer to the operating system: what was appended survives the death of this process.
    pub fn flush(&mut self) -> io::Result<()> {
        match &mut self.section {
            Section::Raw(section) => section.flush(),
            Section::Packed(section) => section.flush(),
            Section::Counted(section, _) => section.flush(),
        }
    }

    /// Writes the footer, then the header.
    pub fn finish(self) -> io::Result<W> {
        self.finish_synced(|_| Ok(()))
    }

    /// Like [`Self::finish`], with `sync` called between footer and header, and at the end.
    pub fn finish_synced(mut self, sync: impl FnMut(&mut W) -> io::Result<()>) -> io::Result<W> {
        let event_count = match self.section {
            Section::Counted(..) => 0,
            _ => self.next_seq().0,
        };
        let (time_start, time_end) = self.times.unwrap_or_default();
        let bytes_written = event_count * Event::SIZE as u64;
        self.header.event_count = saturated(event_count);
        self.header.footer_offset = self.header.events_offset + bytes_written;
        (self.header.time_start, self.header.time_end) = (time_start, time_end);
        let footer = |crc32| IndexFooter { crc32, event_count, time_start, time_end, bytes_written }.encode();
        let header = self.header.encode();
        match self.section {
            Section::Raw(section) | Section::Counted(section, _) => section.finish(footer, &header, sync),
            Section::Packed(section) => section.finish(&Around::without_crc(header, footer(0)), sync),
        }
    }

    fn saw(&mut self, first: TraceNanos, last: TraceNanos) {
        self.times = Some((self.times.map_or(first, |(start, _)| start), last));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::atf::IndexView;
    use std::io::Cursor;

    fn event(time: u64) -> Event {
        Event { timestamp: TraceNanos(time), thread: ThreadId(5), ..Event::default() }
    }

    fn writer() -> IndexWriter<Cursor<Vec<u8>>> {
        IndexWriter::begin(Cursor::default(), Platform::LINUX_X86_64, ThreadId(5)).unwrap()
    }

    #[test]
    fn a_link_made_later_is_as_good_as_one_made_at_once() {
        let mut late = writer();
        let mut at_once = writer();
        for seq in 0..5000 {
            late.append(&event(seq)).unwrap();
            let detail = if seq % 7 == 3 { DetailSeq(seq as u32 / 7) } else { DetailSeq::NONE };
            at_once.append(&Event { detail, ..event(seq) }).unwrap();
        }
        for seq in (3..5000).step_by(7) {
            late.link(EventSeq(seq), DetailSeq(seq as u32 / 7)).unwrap();
        }
        late.append(&event(6000)).unwrap();
        at_once.append(&event(6000)).unwrap();
        assert!(late.finish().unwrap().into_inner() == at_once.finish().unwrap().into_inner());
    }

    #[test]
    fn single_and_raw_appends_make_the_same_file() {
        let events: Vec<Event> = (10..5000).map(event).collect();
        let (mut one, mut raw) = (writer(), writer());
        for event in &events {
            one.append(event).unwrap();
        }
        let bytes: Vec<u8> = events.iter().flat_map(|event| event.to_le_bytes()).collect();
        raw.append_raw(&bytes[..32]).unwrap();
        raw.append_raw(&bytes[32..]).unwrap();
        let (one, raw) = (one.finish().unwrap().into_inner(), raw.finish().unwrap().into_inner());
        assert!(one == raw);
        let view = IndexView::parse(&one).unwrap();
        assert!(view.verify().is_empty());
        assert!(view.events().eq(events));
    }

    #[test]
    fn raw_bytes_must_be_whole_events() {
        let mut writer = writer();
        assert!(matches!(writer.append_raw(&[0; 33]), Err(WriteError::RawLength { len: 33 })));
        assert!(writer.append_raw(&[]).is_ok());
        assert_eq!(writer.next_seq(), EventSeq(0));
    }

    #[test]
    fn data_is_synced_before_the_header_is_complete() {
        let mut writer = writer();
        writer.append(&event(1)).unwrap();
        let mut footer_offsets = Vec::new();
        let sync = |file: &mut Cursor<Vec<u8>>| {
            footer_offsets.push(file.get_ref()[40]);
            Ok(())
        };
        writer.finish_synced(sync).unwrap();
        assert_eq!(footer_offsets, [0, 96]);
    }
}
