//! How far each thread has got, and what is missing of it.

use ada_event::{EventSeq, TraceNanos};
use ada_format::atf::{LaneFigures, ThreadWriter};
use ada_ring::{DetailShape, RECORDS_END, RECORDS_PER_CHUNK, RawRecord};

use crate::drain::detail_lane::ThreadDetails;
use crate::drain::gap_log::Wait;
use crate::drain::pending_chunk::PendingChunk;
use crate::drain::stack_changes::StackChanges;
use crate::drain::windows::ThreadWindow;
use crate::error::ControlError;
use crate::install::function_numbers::FunctionNumbers;
use crate::program_id::ProgramId;

/// How far a thread's events have got.
#[derive(Default)]
pub(super) struct ThreadProgress {
    pub(super) last: TraceNanos,
    chunk: Option<ChunkProgress>,
    /// Whether events of it could not be written.
    pub(super) is_cut: bool,
    pub(super) details: ThreadDetails,
    pub(super) window: ThreadWindow,
    pub(super) stacks: StackChanges,
}

/// How far the chunk of a thread that was read last has got.
#[derive(Clone, Copy)]
struct ChunkProgress {
    program: ProgramId,
    ordinal: u64,
    records: u64,
}

/// What is missing before a batch of records, or made it late.
#[derive(Default)]
pub(super) struct BatchGaps {
    /// Records in chunks that the thread took back unread.
    pub(super) taken_back: u64,
    /// Records that found no chunk.
    pub(super) without_chunk: u64,
    pub(super) waits: Vec<Wait>,
    /// Behind each record that was reserved and never written.
    pub(super) torn: Vec<u64>,
}

impl ThreadProgress {
    /// Takes note of a chunk that was read up to a position. True the first time that it had records; then its header
    /// says what the thread went through before it had the chunk.
    pub(super) fn begin_chunk(
        &mut self,
        pending: &PendingChunk,
        read: usize,
        batch: &[RawRecord],
        gaps: &mut BatchGaps,
    ) -> bool {
        let now = ChunkProgress {
            program: pending.program,
            ordinal: pending.ordinal,
            records: (read.min(RECORDS_END) / RawRecord::SIZE) as u64,
        };
        if batch.is_empty() {
            // Nothing more may come where a thread has gone on elsewhere.
            let is_same = |last: &&mut ChunkProgress| (last.program, last.ordinal) == (now.program, now.ordinal);
            if let Some(last) = self.chunk.as_mut().filter(is_same) {
                last.records = now.records;
            }
            return false;
        }
        let last =
            self.chunk.replace(now).filter(|last| last.program == pending.program && last.ordinal <= pending.ordinal);
        if last.is_some_and(|last| last.ordinal == pending.ordinal) {
            return false;
        }
        let per_chunk = RECORDS_PER_CHUNK as u64;
        gaps.taken_back = match last {
            // Ordinals are the target's word.
            Some(last) => (per_chunk - last.records)
                .saturating_add((pending.ordinal - last.ordinal - 1).saturating_mul(per_chunk)),
            None if self.last == TraceNanos::default() => pending.ordinal.saturating_mul(per_chunk),
            None => 0,
        };
        true
    }

    /// Writes the detail of events that were written without, and lie in windows, up to the position `base`.
    pub(super) fn write_remembered(
        &mut self,
        thread: &mut ThreadWriter,
        base: EventSeq,
        known: &FunctionNumbers,
        shape: &DetailShape,
        lane: &mut LaneFigures,
    ) -> Result<(), ControlError> {
        for range in self.window.before(base) {
            for event in self.details.remembered_in(&range) {
                let Some(window) = self.window.of(event.seq) else { continue };
                let Some(captured) = self.details.take(event.tsc) else {
                    window.lost();
                    continue;
                };
                let function = known.get(event.function);
                let payload = captured.payload(function, shape);
                lane.bytes += thread.add_detail(event.seq, event.time, &payload)?;
                lane.written += 1;
                window.wrote(event.time);
            }
        }
        Ok(())
    }
}
