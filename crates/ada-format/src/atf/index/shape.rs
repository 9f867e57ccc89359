//! Where an index file's events begin and end, and what is wrong with the file: the recovery rules.

use std::ops::Range;

use ada_event::Event;

use super::header::{IndexFooter, IndexHeader};
use crate::atf::layout::{FOOTER_SIZE, HEADER_SIZE, index, index_footer, u64_at};
use crate::atf::{AtfError, Damage, preamble};

const EVENT_SIZE: u64 = Event::SIZE as u64;

/// What can be known of an index file without reading its events. It borrows nothing, so that whoever owns the bytes
/// can keep it beside them.
#[derive(Clone, Debug)]
pub(crate) struct IndexShape {
    pub(crate) header: Option<IndexHeader>,
    pub(crate) footer: Option<IndexFooter>,
    /// Where the footer is, or would be.
    pub(crate) footer_offset: u64,
    /// The bytes of the whole events.
    pub(crate) events: Range<usize>,
    pub(crate) damage: Vec<Damage>,
}

impl IndexShape {
    /// Applies the rules in the order in which `docs/formats/atf-v2.md` lists them.
    pub(crate) fn find(bytes: &[u8]) -> Result<Self, AtfError> {
        let len = bytes.len() as u64;
        let Some(first) = bytes.first_chunk::<HEADER_SIZE>() else {
            preamble::check(bytes, index::MAGIC)?;
            return Ok(Self::without_events(None, len, Damage::HeaderCut { len }));
        };
        let header = IndexHeader::decode(first)?;
        let start = header.events_offset;
        if start < HEADER_SIZE as u64 || start > len {
            // A finished header describes a file that was this long once.
            if start > len && header.agrees_with_itself() {
                let expected = header.footer_offset.saturating_add(FOOTER_SIZE as u64);
                return Ok(Self::without_events(Some(header), len, Damage::Truncated { expected, len }));
            }
            return Err(AtfError::EventsOffset { offset: index::EVENTS_OFFSET as u64, found: start, len });
        }
        if let Some((at, footer)) = find_footer(bytes, &header)? {
            return Ok(Self::finished(header, at, footer, len));
        }
        Self::unfinished(bytes, header)
    }

    /// What can be known of a raw file from the bytes before and behind its events, of which there are so many.
    pub(crate) fn around(head: &[u8], tail: &[u8], count: u64) -> Self {
        Self {
            header: head.first_chunk().and_then(|bytes| IndexHeader::decode(bytes).ok()),
            footer: tail.first_chunk().and_then(IndexFooter::decode),
            footer_offset: head.len() as u64 + count * EVENT_SIZE,
            events: 0..0,
            damage: Vec::new(),
        }
    }

    fn without_events(header: Option<IndexHeader>, len: u64, damage: Damage) -> Self {
        Self { header, footer: None, footer_offset: len, events: 0..0, damage: vec![damage] }
    }

    fn finished(header: IndexHeader, at: u64, footer: IndexFooter, len: u64) -> Self {
        let mut damage = Vec::new();
        if header.footer_offset != at || !header.counts(footer.event_count) {
            damage.push(Damage::StaleHeader { footer: at });
        }
        let end = at + FOOTER_SIZE as u64;
        if end < len {
            damage.push(Damage::TrailingBytes { offset: end, len: len - end });
        }
        let events = header.events_offset as usize..at as usize;
        Self { header: Some(header), footer: Some(footer), footer_offset: at, events, damage }
    }

    fn unfinished(bytes: &[u8], header: IndexHeader) -> Result<Self, AtfError> {
        let len = bytes.len() as u64;
        let (start, stated) = (header.events_offset, header.footer_offset);
        let (end, mut damage) = match stated {
            0 => (len, Vec::new()),
            _ if !header.agrees_with_itself() => {
                return Err(AtfError::FooterOffset { offset: index::FOOTER_OFFSET as u64, found: stated });
            }
            _ => match stated.saturating_add(FOOTER_SIZE as u64) {
                expected if expected > len => (stated.min(len), vec![Damage::Truncated { expected, len }]),
                _ => (stated, vec![Damage::FooterMissing { offset: stated }]),
            },
        };
        let mut whole = (end - start) / EVENT_SIZE;
        let mut leftover = (end - start) % EVENT_SIZE;
        if stated == 0 {
            if whole > 0 && is_cut_footer(&bytes[(start + (whole - 1) * EVENT_SIZE) as usize..], whole - 1) {
                whole -= 1;
                leftover = 0;
            }
            damage.push(Damage::FooterMissing { offset: start + whole * EVENT_SIZE });
        }
        let events_end = start + whole * EVENT_SIZE;
        if leftover > 0 {
            damage.push(Damage::PartialRecord { offset: events_end, len: leftover });
        }
        let events = start as usize..events_end as usize;
        Ok(Self { header: Some(header), footer: None, footer_offset: events_end, events, damage })
    }
}

/// Looks for the footer where the header says it is, then at the file's end, where a writer that died between footer
/// and header has left it.
fn find_footer(bytes: &[u8], header: &IndexHeader) -> Result<Option<(u64, IndexFooter)>, AtfError> {
    let start = header.events_offset;
    let miscounted = |at: u64, footer: &IndexFooter| AtfError::Count {
        offset: at + index_footer::EVENT_COUNT as u64,
        stored: footer.event_count,
        actual: (at - start) / EVENT_SIZE,
    };
    if header.footer_offset >= start
        && let Some((footer, _)) = footer_at(bytes, header.footer_offset)
    {
        return if fits(&footer, header.footer_offset - start) {
            Ok(Some((header.footer_offset, footer)))
        } else {
            Err(miscounted(header.footer_offset, &footer))
        };
    }
    let Some(at) = (bytes.len() as u64).checked_sub(FOOTER_SIZE as u64).filter(|&at| at >= start) else {
        return Ok(None);
    };
    match footer_at(bytes, at) {
        Some((footer, _)) if fits(&footer, at - start) => Ok(Some((at, footer))),
        // Two events whose bytes look like a footer would have to be of kind 0, thread 0 and function 0.
        Some((footer, true)) => Err(miscounted(at, &footer)),
        _ => Ok(None),
    }
}

fn fits(footer: &IndexFooter, room: u64) -> bool {
    footer.event_count.checked_mul(EVENT_SIZE) == Some(room)
}

/// The footer at `at`, and whether its reserved bytes are all zero.
fn footer_at(bytes: &[u8], at: u64) -> Option<(IndexFooter, bool)> {
    let bytes = bytes.get(usize::try_from(at).ok()?..)?.first_chunk::<FOOTER_SIZE>()?;
    let plain = bytes[index_footer::RESERVED..].iter().all(|&byte| byte == 0);
    Some((IndexFooter::decode(bytes)?, plain))
}

/// Whether a file's last 32 to 63 bytes are the beginning of a footer for `events` events, and not an event: as one
/// it would be a call of the function whose number happens to be its own position.
fn is_cut_footer(bytes: &[u8], events: u64) -> bool {
    bytes.starts_with(&index_footer::MAGIC) && u64_at(bytes, index_footer::EVENT_COUNT) == events
}
