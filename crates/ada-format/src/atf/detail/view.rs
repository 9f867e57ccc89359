//! Reads a detail file from its bytes, without copying them.

use std::iter::FusedIterator;

use ada_event::DetailSeq;

use super::check::DetailCheck;
use super::header::{DetailFooter, DetailHeader};
use super::record::{DetailRecord, Hop, hop};
use super::shape::DetailShape;
use super::table::OffsetTable;
use crate::atf::layout::detail_footer;
use crate::atf::map::Mapping;
use crate::atf::{Arch, AtfError, Damage};

/// The detail records of one thread.
#[derive(Clone, Debug)]
pub struct DetailView<'a> {
    bytes: &'a [u8],
    shape: DetailShape,
    /// Where the bytes are mapped, if they are: walks give pages back.
    map: Option<&'a Mapping>,
}

impl<'a> DetailView<'a> {
    /// Finds the records. A file with a footer is not read for that; one without is walked once, to count what is
    /// whole.
    pub fn parse(bytes: &'a [u8]) -> Result<Self, AtfError> {
        DetailShape::find(bytes, |_| ()).map(|shape| Self { bytes, shape, map: None })
    }

    /// A view of a mapped file whose shape is already known.
    pub(crate) fn mapped(map: &'a Mapping, shape: DetailShape) -> Self {
        Self { bytes: map.bytes(), shape, map: Some(map) }
    }

    /// The header; none if the file was cut inside it.
    pub fn header(&self) -> Option<&DetailHeader> {
        self.shape.header.as_ref()
    }

    /// The footer, if the file was finished.
    pub fn footer(&self) -> Option<&DetailFooter> {
        self.shape.footer.as_ref()
    }

    /// What is wrong with the file, as far as can be known without reading all records.
    pub fn damage(&self) -> &[Damage] {
        &self.shape.damage
    }

    /// How many records there are: as the footer says, or as counted in a file without one.
    pub fn len(&self) -> u64 {
        self.shape.count
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The records in the order of the file. An error is the last item: where the next record begins is unknown then.
    pub fn records(&self) -> Records<'a> {
        Records {
            bytes: self.bytes,
            at: self.shape.records.start,
            end: self.shape.records.end,
            arch: self.shape.arch(),
            seen: 0,
            stated: self.shape.footer.as_ref().map(|footer| (footer.event_count, self.shape.footer_offset)),
            done: false,
        }
    }

    /// The record at a position, which is what an event's `detail` links to. The first call walks the file once to
    /// remember each 32nd offset; from then on the time does not depend on the position.
    pub fn record(&self, seq: DetailSeq) -> Option<DetailRecord<'a>> {
        self.table().record(self.bytes, seq.get()?.into(), self.shape.arch())
    }

    /// Reads everything once and gives all damage: what [`Self::damage`] has, and wrong checksums, threads and times.
    /// Fails at the first record that cannot be read.
    pub fn verify(&self) -> Result<Vec<Damage>, AtfError> {
        let mut found = self.shape.damage.clone();
        let mut check = DetailCheck::new(&self.shape);
        for record in self.records() {
            check.feed(&record?, |damage| found.push(damage))?;
        }
        check.bytes(&self.bytes[self.shape.records.clone()]);
        check.finish(&self.shape, true, |damage| found.push(damage));
        Ok(found)
    }

    fn table(&self) -> &OffsetTable {
        let shape = &self.shape;
        shape.table.get_or_init(|| {
            OffsetTable::build(self.bytes, shape.records.clone(), shape.arch(), |walked| {
                if let Some(map) = self.map {
                    map.release(0..walked);
                }
            })
        })
    }
}

/// The records of a detail file in its order.
#[derive(Clone, Debug)]
pub struct Records<'a> {
    bytes: &'a [u8],
    at: usize,
    end: usize,
    arch: Arch,
    seen: u64,
    /// The count that the footer states, and where the footer is.
    stated: Option<(u64, u64)>,
    done: bool,
}

impl Records<'_> {
    /// Where the next record begins in the file.
    pub fn offset(&self) -> usize {
        self.at
    }

    fn fail(&mut self, error: AtfError) -> Option<AtfError> {
        self.done = true;
        Some(error)
    }

    fn at_end(&mut self) -> Option<AtfError> {
        self.done = true;
        let (stored, footer) = self.stated.filter(|&(stored, _)| stored != self.seen)?;
        Some(AtfError::Count { offset: footer + detail_footer::EVENT_COUNT as u64, stored, actual: self.seen })
    }
}

impl<'a> Iterator for Records<'a> {
    type Item = Result<DetailRecord<'a>, AtfError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.done {
            return None;
        }
        let offset = self.at as u64;
        let error = match hop(self.bytes, self.at, self.end, self.arch) {
            Hop::Whole(record, next) => {
                self.at = next;
                self.seen += 1;
                return Some(Ok(record));
            }
            Hop::End => self.at_end(),
            Hop::TooShort { length } => self.fail(AtfError::RecordTooShort { offset, length }),
            Hop::Cut { length } => {
                let length = length.unwrap_or((self.end - self.at) as u32);
                self.fail(AtfError::RecordPastEnd { offset, length, end: self.end as u64 })
            }
        };
        error.map(Err)
    }
}

impl FusedIterator for Records<'_> {}
