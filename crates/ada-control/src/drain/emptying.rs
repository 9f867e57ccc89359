//! Reads a chunk, and gives it back to the pool once there is no more to come.

use std::sync::atomic::Ordering;

use ada_format::atf::HexAddr;
use ada_ring::chunk::IS_EXITING;
use ada_ring::{ChunkReader, ChunkState, RECORDS_END};

use super::Drain;
use super::batch_facts::BatchFacts;
use super::detail_lane::ThreadChunks;
use super::gap_log::Wait;
use super::own_stack::OwnStack;
use super::pending_chunk::PendingChunk;
use super::session::SessionFiles;
use super::thread_progress::BatchGaps;

impl Drain {
    /// Takes what a chunk has, and the chunk itself once there is no more to come. False where later chunks of the
    /// thread have to wait. `other_chunks` are those of other lanes if the thread had ended before the chunks were listed,
    /// and so has written all that it ever will.
    pub(super) fn empty(
        &mut self,
        pending: &PendingChunk,
        is_last: bool,
        other_chunks: Option<&[usize]>,
        final_round: bool,
        files: &mut SessionFiles,
    ) -> bool {
        let is_full = self.rings.state(pending.chunk) == ChunkState::Full as u32;
        let has_moved_on = self.processes.has_abandoned_program_of(pending);
        let ended = has_moved_on || other_chunks.is_some();
        let rings = self.rings.clone();
        let others = ThreadChunks { rings: &rings, pid: pending.pid, tid: pending.tid, known: other_chunks };
        let (pool, chunk) = rings.place_of(pending.chunk);
        let Some(mut reader) = ChunkReader::begin(pool, chunk).filter(|_| pending.is_still_there(&rings)) else {
            return true;
        };
        let mut gaps = BatchGaps::default();
        // Read while nobody can take the chunk back.
        let header = rings.header(pending.chunk);
        let (lost, ticks) = (header.lost_before.load(Ordering::Relaxed), header.waited_ticks.load(Ordering::Relaxed));
        let has_holes = self.read(&mut reader, pending.chunk, is_full, ended, &mut gaps);
        let at_end = reader.is_at_end();
        // A thread that goes on elsewhere leaves nothing out.
        let used = if at_end { RECORDS_END } else { reader.position() };
        let mut is_done = at_end && is_full || ended;
        let has_handed_over_others = header.has_handed_over_others.swap(0, Ordering::Acquire) != 0;
        if self.batch.is_empty() && !is_done && !has_handed_over_others {
            return !is_full;
        }
        if is_done {
            // Before its thread takes it back, and writes to it what nobody has read. Where that is about to try, it has the
            // chunk, and the next round sees to it.
            is_done = reader.keep(if is_full { ChunkState::Full } else { ChunkState::Active });
        } else {
            drop(reader);
        }
        if at_end && !self.batch.is_empty() {
            self.read_interrupting(pending);
        }
        let first = self.batch.iter().map(|record| record.tsc).find(|tsc| *tsc > 0);
        let own_stack = OwnStack::of(header);
        let progress = self.writer.threads.entry((pending.pid, pending.tid)).or_default();
        if progress.begin_chunk(pending, used, &self.batch, &mut gaps) {
            gaps.without_chunk = lost;
            gaps.waits.extend(first.filter(|_| ticks > 0).map(|until| Wait { ticks, until }));
        }
        let facts = BatchFacts::of(&self.batch);
        let is_written = self.failure.is_none();
        let waits = self.writer.collect_details(pending, &facts, &others, has_handed_over_others, is_written);
        gaps.waits.extend(waits);
        if has_handed_over_others && !is_done && others.are_handed_over() {
            // They belong to events that are still to come.
            header.has_handed_over_others.store(1, Ordering::Relaxed);
        }
        if self.failure.is_none()
            && let Err(error) = self.writer.write(&mut self.batch, pending, &facts, &others, own_stack, files)
        {
            self.failure = Some(error);
        }
        if self.failure.is_none() && files.is_segment_full() {
            self.turn_segment(files);
        }
        let cut = self.failure.is_some().then_some(self.batch.len() as u64);
        self.writer.figures.unwritten += cut.unwrap_or(0);
        self.writer.note_gaps(pending, gaps, first, cut, files);
        if is_full && !at_end && !ended {
            return false;
        }
        if is_done {
            let status = header.exit_status.load(Ordering::Relaxed);
            if status & IS_EXITING != 0 {
                self.processes.saw_exit_call(pending.pid, (status & !IS_EXITING) as i32);
            }
            if self.failure.is_none()
                && header.has_thread_result.load(Ordering::Relaxed) != 0
                && let Ok(thread) = files.thread(pending.pid, pending.tid)
            {
                thread.entry_mut().exit_value = Some(HexAddr(header.thread_result.load(Ordering::Relaxed)));
            }
            self.writer.figures.index.dumps += 1;
            self.returns.free(&rings, pending.chunk, used, has_holes && !ended);
            if ended && is_last && !has_moved_on && !final_round {
                self.writer.thread_ended(pending, files);
                others.free(&self.writer.shape);
                if let Err(error) = files.thread_ended(pending.pid, pending.tid) {
                    self.failure.get_or_insert(error);
                }
            }
        }
        true
    }

    /// Reads the records of a chunk into the batch. True where some were reserved and never written.
    fn read(
        &mut self,
        reader: &mut ChunkReader<'_>,
        chunk: usize,
        is_full: bool,
        ended: bool,
        gaps: &mut BatchGaps,
    ) -> bool {
        self.batch.clear();
        let mut has_holes = false;
        loop {
            reader.read_on(|record| self.batch.push(record));
            let may_skip = ended || is_full && self.returns.has_lost_patience(chunk);
            if reader.is_at_end() || !may_skip {
                return has_holes;
            }
            let before = self.batch.last().map_or(0, |record| record.tsc);
            let (read, batch) = (self.batch.len(), &mut self.batch);
            if !reader.skip_hole(is_full, |record| batch.push(record)) {
                if !is_full {
                    return has_holes;
                }
                // The thread has gone on behind it, in another chunk.
                reader.skip_rest(|record| batch.push(record));
            }
            has_holes = true;
            let kept = self.batch.len() - read;
            // What was cut off happened before what follows.
            let next = reader.next_record();
            let time = next.map_or(before, |next| next.tsc);
            for record in &mut self.batch[read..] {
                record.tsc = time;
            }
            self.batch.extend(next);
            if kept == 0 {
                gaps.torn.push(time);
                self.writer.figures.torn += 1;
            }
        }
    }

    /// Reads on in the next chunks as far as their records were written before the last of this one. These are a handler's,
    /// or what came after it: a handler may leave for another context, and come back when others have filled many chunks.
    fn read_interrupting(&mut self, pending: &PendingChunk) {
        let rings = self.rings.clone();
        let Some(limit) = self.batch.iter().map(|record| record.tsc).max() else { return };
        let mut next = pending.next(&rings);
        while let Some(pending) = next {
            let (pool, chunk) = rings.place_of(pending.chunk);
            let Some(mut reader) = ChunkReader::begin(pool, chunk) else { return };
            self.batch.extend(std::iter::from_fn(|| reader.next_record_before(limit)));
            next = if reader.is_at_end() { pending.next(&rings) } else { None };
        }
    }
}
