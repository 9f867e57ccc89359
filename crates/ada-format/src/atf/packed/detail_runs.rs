//! The links of a block's events to their detail, as runs: so many events without detail, then so many whose detail records
//! are consecutive.

use std::mem::offset_of;
use std::ops::Range;

use ada_event::{DetailSeq, Event};

use super::number;
use crate::atf::BlockFault;

/// Events of a block whose details follow each other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct DetailRun {
    /// By their positions in the block.
    pub(super) events: Range<usize>,
    pub(super) first: DetailSeq,
}

/// Reads the runs of a block with so many events; they are in the order of the events.
pub(super) fn read(mut coded: &[u8], count: usize) -> Result<Vec<DetailRun>, BlockFault> {
    let mut runs = Vec::new();
    let (mut position, mut detail) = (0_usize, 0_u32);
    while !coded.is_empty() {
        let skipped = number::take(&mut coded)?;
        let length = number::take(&mut coded)?;
        let first = detail.wrapping_add(number::take_signed(&mut coded)? as u32);
        let start = usize::try_from(skipped).ok().and_then(|skipped| position.checked_add(skipped));
        let end = start.and_then(|start| start.checked_add(usize::try_from(length).ok()?));
        let (Some(start), Some(end)) = (start, end) else { return Err(BlockFault::Number) };
        if end > count {
            return Err(BlockFault::Short);
        }
        runs.push(DetailRun { events: start..end, first: DetailSeq(first) });
        (position, detail) = (end, first.wrapping_add(length as u32));
    }
    Ok(runs)
}

/// Links a block's events.
pub(super) fn apply(runs: &[DetailRun], events: &mut [[u8; Event::SIZE]]) {
    for run in runs {
        for (event, number) in events[run.events.clone()].iter_mut().zip(0_u32..) {
            event[offset_of!(Event, detail)..].copy_from_slice(&run.first.0.wrapping_add(number).to_le_bytes());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn runs(runs: &[(u64, u64, i64)], count: usize) -> Result<Vec<(Range<usize>, u32)>, BlockFault> {
        let mut bytes = Vec::new();
        for &(skipped, length, step) in runs {
            number::put(&mut bytes, skipped);
            number::put(&mut bytes, length);
            number::put_signed(&mut bytes, step);
        }
        Ok(read(&bytes, count)?.into_iter().map(|run| (run.events, run.first.0)).collect())
    }

    #[test]
    fn runs_stand_where_they_were_put() {
        assert_eq!(runs(&[], 2), Ok(vec![]));
        assert_eq!(runs(&[(1, 2, 7), (1, 1, -3)], 6), Ok(vec![(1..3, 7), (4..5, 6)]));
        assert_eq!(runs(&[(0, 1, 1), (0, 0, 9)], 1), Ok(vec![(0..1, 1), (1..1, 11)]));
    }

    #[test]
    fn runs_that_reach_beyond_the_events_are_refused() {
        assert_eq!(runs(&[(1, 2, 0)], 2), Err(BlockFault::Short));
        assert_eq!(runs(&[(0, 2, 0), (1, 0, 0)], 2), Err(BlockFault::Short));
        assert_eq!(runs(&[(u64::MAX, 1, 0)], 2), Err(BlockFault::Number));
    }
}
