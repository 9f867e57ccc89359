//! A block's bytes, made from the rows of the replay.

use ada_event::TraceNanos;

use super::block::{BlockEntry, Column};
use super::column;
use super::row::Row;

/// Appends a block to `out`. `late_rows` are those that have no end yet, in their order. Gives what the directory needs to
/// know of its rows.
pub(crate) fn encode(rows: &[Row], late_rows: &[u64], out: &mut Vec<u8>) -> BlockEntry {
    let (first, last) = (rows.first().copied().unwrap_or_default(), rows.last().copied().unwrap_or_default());
    let mut bits = Row::default();
    let (mut max_end, mut max_duration, mut min_depth, mut max_depth) = (TraceNanos(0), 0, u32::MAX, 0);
    for row in rows {
        bits.add_bits(row, &first);
        max_end = max_end.max(row.end());
        max_duration = max_duration.max(row.value(Column::Duration));
        min_depth = min_depth.min(row.depth());
        max_depth = max_depth.max(row.depth());
    }
    // Each column in a loop of its own, made for it.
    macro_rules! put {
        ($($name:ident from $base:expr),*) => {
            $(column::put(out, $base, bits.value(Column::$name), rows.iter().map(|row| row.value(Column::$name)));)*
        };
    }
    put!(
        OpenSeq from first.value(Column::OpenSeq),
        Start from first.value(Column::Start),
        Function from 0,
        Depth from 0,
        ParentDelta from 0,
        Duration from 0,
        SelfTime from 0,
        CloseDelta from 0,
        Outcome from 0,
        Context from 0
    );
    let late_bits = late_rows.iter().fold(0, |bits, row| bits | row);
    column::put(out, 0, late_bits, late_rows.iter().copied());
    BlockEntry {
        rows: rows.len() as u32,
        late_count: late_rows.len() as u32,
        first_seq: first.seq(),
        last_seq: last.seq(),
        min_start: first.start(),
        max_start: last.start(),
        max_end,
        max_duration,
        min_depth: min_depth.min(max_depth),
        max_depth,
        ..BlockEntry::default()
    }
}
