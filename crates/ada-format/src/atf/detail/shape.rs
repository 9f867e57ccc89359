//! Where a detail file's records begin and end, and what is wrong with the file: the recovery rules.

use std::ops::Range;
use std::sync::{Arc, OnceLock};

use super::header::{DetailFooter, DetailHeader};
use super::record::{Hop, hop};
use super::table::OffsetTable;
use crate::atf::layout::{FOOTER_SIZE, HEADER_SIZE, detail, detail_footer};
use crate::atf::{Arch, AtfError, Damage, preamble};

/// What can be known of a detail file without decoding its payloads. It borrows nothing, so that whoever owns the
/// bytes can keep it beside them; clones share the offset table.
#[derive(Clone, Debug)]
pub(crate) struct DetailShape {
    pub(crate) header: Option<DetailHeader>,
    pub(crate) footer: Option<DetailFooter>,
    /// Where the footer is, or would be.
    pub(crate) footer_offset: u64,
    /// The bytes of the records.
    pub(crate) records: Range<usize>,
    /// How many records a valid footer states, or were counted where there is none.
    pub(crate) count: u64,
    pub(crate) damage: Vec<Damage>,
    pub(crate) table: Arc<OnceLock<OffsetTable>>,
}

impl DetailShape {
    /// Applies the rules in the order in which `docs/formats/atf-v2.md` lists them. Only where there is no footer are
    /// the records walked; `walked` is then called from time to time with how far.
    pub(crate) fn find(bytes: &[u8], walked: impl FnMut(usize)) -> Result<Self, AtfError> {
        let len = bytes.len() as u64;
        let Some(first) = bytes.first_chunk::<HEADER_SIZE>() else {
            preamble::check(bytes, detail::MAGIC)?;
            return Ok(Self::new(None, len, 0..0, vec![Damage::HeaderCut { len }]));
        };
        let header = DetailHeader::decode(first)?;
        let start = header.events_offset;
        let stated = header.footer_offset();
        if start < HEADER_SIZE as u64 || start > len {
            if let Some(at) = stated.filter(|_| start > len && !header.is_placeholder()) {
                let expected = at.saturating_add(FOOTER_SIZE as u64);
                return Ok(Self::new(Some(header), len, 0..0, vec![Damage::Truncated { expected, len }]));
            }
            return Err(AtfError::EventsOffset { offset: detail::EVENTS_OFFSET as u64, found: start, len });
        }
        if let Some((at, footer)) = find_footer(bytes, &header)? {
            return Ok(Self::finished(header, at, footer, len));
        }
        let Some(stated) = stated else {
            let found = start.saturating_add(header.bytes_length);
            return Err(AtfError::FooterOffset { offset: detail::BYTES_LENGTH as u64, found });
        };
        let (end, damage) = match stated.saturating_add(FOOTER_SIZE as u64) {
            _ if header.is_placeholder() => (len, None),
            expected if expected > len => (stated.min(len), Some(Damage::Truncated { expected, len })),
            _ => (stated, Some(Damage::FooterMissing { offset: stated })),
        };
        let damage = damage.into_iter().collect();
        Ok(Self::new(Some(header), stated, start as usize..end as usize, damage).recover(bytes, walked))
    }

    /// What can be known of a raw file from the bytes before and behind its records, which have so many.
    pub(crate) fn around(head: &[u8], tail: &[u8], length: u64) -> Self {
        let header = head.first_chunk().and_then(|bytes| DetailHeader::decode(bytes).ok());
        let shape = Self::new(header, head.len() as u64 + length, 0..0, Vec::new());
        Self { footer: tail.first_chunk().and_then(DetailFooter::decode), ..shape }
    }

    fn new(header: Option<DetailHeader>, footer_offset: u64, records: Range<usize>, damage: Vec<Damage>) -> Self {
        Self { header, footer: None, footer_offset, records, count: 0, damage, table: Arc::default() }
    }

    pub(crate) fn arch(&self) -> Arch {
        self.header.as_ref().map_or(Arch(0), |header| header.arch)
    }

    fn finished(header: DetailHeader, at: u64, footer: DetailFooter, len: u64) -> Self {
        let mut damage = Vec::new();
        if header.bytes_length != footer.bytes_length || header.event_count != footer.event_count {
            damage.push(Damage::StaleHeader { footer: at });
        }
        let end = at + FOOTER_SIZE as u64;
        if end < len {
            damage.push(Damage::TrailingBytes { offset: end, len: len - end });
        }
        let records = header.events_offset as usize..at as usize;
        let shape = Self::new(Some(header), at, records, damage);
        Self { count: footer.event_count, footer: Some(footer), ..shape }
    }

    /// Counts the whole records of a file without a footer, and leaves out one that is not whole. A record of
    /// impossible length stays in: reading it gives the error.
    fn recover(mut self, bytes: &[u8], walked: impl FnMut(usize)) -> Self {
        let table = OffsetTable::build(bytes, self.records.clone(), self.arch(), walked);
        self.count = table.count();
        let stop = table.end();
        let is_cut = matches!(hop(bytes, stop, self.records.end, self.arch()), Hop::Cut { .. });
        if self.damage.is_empty() {
            self.damage.push(Damage::FooterMissing { offset: stop as u64 });
            self.footer_offset = stop as u64;
        }
        if is_cut {
            let len = (self.records.end - stop) as u64;
            self.damage.push(Damage::PartialRecord { offset: stop as u64, len });
            self.records.end = stop;
        }
        self.table = Arc::new(OnceLock::from(table));
        self
    }
}

/// Looks for the footer where the header says it is, then at the file's end, where a writer that died between footer
/// and header has left it.
fn find_footer(bytes: &[u8], header: &DetailHeader) -> Result<Option<(u64, DetailFooter)>, AtfError> {
    let start = header.events_offset;
    if let Some(at) = header.footer_offset().filter(|_| !header.is_placeholder())
        && let Some(footer) = footer_at(bytes, at)
    {
        return if footer.bytes_length == at - start {
            Ok(Some((at, footer)))
        } else {
            let offset = at + detail_footer::BYTES_LENGTH as u64;
            Err(AtfError::Length { offset, stored: footer.bytes_length, actual: at - start })
        };
    }
    // Stack bytes can look like anything: at the file's end only a footer whose length fits is taken for one.
    let at = (bytes.len() as u64).checked_sub(FOOTER_SIZE as u64).filter(|&at| at >= start);
    Ok(at.and_then(|at| Some((at, footer_at(bytes, at)?))).filter(|(at, footer)| footer.bytes_length == at - start))
}

fn footer_at(bytes: &[u8], at: u64) -> Option<DetailFooter> {
    bytes.get(usize::try_from(at).ok()?..)?.first_chunk::<FOOTER_SIZE>().and_then(DetailFooter::decode)
}
