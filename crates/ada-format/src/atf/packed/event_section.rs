//! The packed form of an index file's events, while they are being written.

use std::io::{self, Seek, Write};

use ada_event::{DetailSeq, Event, EventSeq};

use super::block::LONGEST;
use super::block_file::BlockFile;
use super::closing::Around;
use super::event_encoder::EventEncoder;
use super::links::{self, Link};
use super::shape::FileHeader;

/// Links that are kept back before they are written.
const MANY_LINKS: usize = 4096;

/// Appends events. When a write fails, the events of the block at hand are forgotten, and what comes next takes their
/// positions.
pub(crate) struct EventSection<W: Write + Seek> {
    file: BlockFile<W>,
    encoder: EventEncoder,
    links: Vec<Link>,
    header: FileHeader,
    /// Whether the block at hand has events that the file does not have.
    is_behind: bool,
    payload: Vec<u8>,
}

impl<W: Write + Seek> EventSection<W> {
    pub(crate) fn begin(file: W, header: FileHeader) -> io::Result<Self> {
        let encoder = EventEncoder::new(header.thread, 0);
        let file = BlockFile::begin(file, &header)?;
        Ok(Self { file, encoder, links: Vec::new(), header, is_behind: false, payload: Vec::new() })
    }

    /// Events appended so far.
    pub(crate) fn records(&self) -> u64 {
        self.encoder.next()
    }

    /// Bytes that the events so far take, about.
    pub(crate) fn packed_len(&self) -> u64 {
        self.file.len() + self.encoder.len() as u64
    }

    /// What it writes to.
    pub(crate) fn file(&mut self) -> &mut W {
        self.file.file()
    }

    pub(crate) fn append(&mut self, events: &mut impl Iterator<Item = Event>) -> io::Result<()> {
        let Some(first) = events.next() else { return Ok(()) };
        // What is on disk already is not written again with what comes so much later.
        if self.encoder.has_begun_before(first.timestamp, LONGEST) {
            self.seal()?;
        }
        self.push(&mut std::iter::once(first))?;
        self.push(events)
    }

    fn push(&mut self, events: &mut impl Iterator<Item = Event>) -> io::Result<()> {
        loop {
            self.is_behind |= self.encoder.push(events) > 0;
            if !self.encoder.is_full() {
                return Ok(());
            }
            self.seal()?;
        }
    }

    /// Links an event that was appended without detail.
    pub(crate) fn link(&mut self, seq: EventSeq, detail: DetailSeq) -> io::Result<()> {
        self.links.push((seq.0, detail.0));
        if self.links.len() >= MANY_LINKS { self.write_links() } else { Ok(()) }
    }

    fn write_links(&mut self) -> io::Result<()> {
        if self.links.is_empty() {
            return Ok(());
        }
        let header = links::encode(self.header.thread, &self.links, &mut self.payload);
        self.links.clear();
        // It lies where the block at hand was written as far as it had come.
        self.is_behind = true;
        self.file.put(header, &self.payload, Vec::new())
    }

    fn seal(&mut self) -> io::Result<()> {
        let (header, functions) = self.encoder.block(&mut self.payload);
        let written = self.file.put(header, &self.payload, functions);
        let next = if written.is_ok() { self.encoder.next() } else { self.encoder.first() };
        self.encoder.begin_next(next);
        self.is_behind = false;
        written
    }

    /// Hands everything to the operating system, from where it survives the process.
    pub(crate) fn flush(&mut self) -> io::Result<()> {
        self.write_links()?;
        if self.is_behind && !self.encoder.is_empty() {
            let (header, _) = self.encoder.block(&mut self.payload);
            self.file.put_unfinished(&header, &self.payload)?;
        }
        self.is_behind = false;
        Ok(())
    }

    pub(crate) fn finish(mut self, around: &Around, sync: impl FnMut(&mut W) -> io::Result<()>) -> io::Result<W> {
        self.write_links()?;
        if !self.encoder.is_empty() {
            let (header, functions) = self.encoder.block(&mut self.payload);
            // Nothing more can be done for what cannot be written now.
            self.is_behind = false;
            self.file.put(header, &self.payload, functions)?;
        }
        self.file.finish(self.encoder.next(), around, sync)
    }
}

impl<W: Write + Seek> Drop for EventSection<W> {
    fn drop(&mut self) {
        if self.file.is_open() {
            // There is nobody to report a failure to; readers recover what was written.
            let _ = self.flush();
        }
    }
}
