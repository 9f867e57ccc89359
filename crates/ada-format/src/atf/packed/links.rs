//! Links of events to details that came later, when their blocks were written already.

use std::mem::offset_of;
use std::ops::Range;

use ada_event::{Event, EventSeq, ThreadId, TraceNanos};

use super::block::{BlockHeader, BlockKind};
use super::number;
use crate::atf::BlockFault;

/// A link: the event's position, and the detail's.
pub(super) type Link = (u64, u32);

pub(super) fn encode(thread: ThreadId, links: &[Link], payload: &mut Vec<u8>) -> BlockHeader {
    payload.clear();
    let (mut seq, mut detail) = (0_u64, 0_u32);
    for &link in links {
        number::put_signed(payload, link.0.wrapping_sub(seq) as i64);
        number::put_signed(payload, i64::from(link.1.wrapping_sub(detail) as i32));
        (seq, detail) = link;
    }
    BlockHeader {
        kind: BlockKind::Links,
        payload_len: payload.len() as u32,
        payload_crc: crc32fast::hash(payload),
        first: 0,
        count: links.len() as u32,
        thread,
        earliest: TraceNanos(0),
        latest: TraceNanos(0),
        origin: 0,
        extent: 0,
    }
}

/// Appends a block's links.
pub(super) fn decode(header: &BlockHeader, mut payload: &[u8], links: &mut Vec<Link>) -> Result<(), BlockFault> {
    let (mut seq, mut detail) = (0_u64, 0_u32);
    for _ in 0..header.count {
        seq = seq.wrapping_add(number::take_signed(&mut payload)? as u64);
        detail = detail.wrapping_add(number::take_signed(&mut payload)? as u32);
        links.push((seq, detail));
    }
    if payload.is_empty() { Ok(()) } else { Err(BlockFault::Long) }
}

/// Whether there are links of events at these positions.
pub(super) fn are_in(links: &[Link], positions: Range<u64>) -> bool {
    links.get(start(links, positions.start)).is_some_and(|(seq, _)| *seq < positions.end)
}

/// The first link of an event at a position or behind it.
fn start(links: &[Link], position: u64) -> usize {
    links.partition_point(|(seq, _)| *seq < position)
}

/// Sets the links of events that begin with the one at `first`. Links are ordered by event; of two the later counts.
pub(super) fn apply(links: &[Link], first: EventSeq, events: &mut [[u8; Event::SIZE]]) {
    for (seq, detail) in &links[start(links, first.0)..] {
        let Some(event) = events.get_mut((seq - first.0) as usize) else { break };
        event[offset_of!(Event, detail)..].copy_from_slice(&detail.to_le_bytes());
    }
}
