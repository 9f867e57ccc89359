//! Reads a chunk, and gives it back to the pool once there is no more to come.

use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use ada_event::ThreadId;
use ada_ring::chunk::IS_EXITING;
use ada_ring::probe::RawProbe;
use ada_ring::{ChunkReader, ChunkState, DetailMode, Lane, RECORDS_END};

use crate::drain::Drain;
use crate::drain::batch_facts::BatchFacts;
use crate::drain::detail_lane::{ThreadChunks, give_memory_back};
use crate::drain::gaps::Wait;
use crate::drain::pending_chunk::PendingChunk;
use crate::drain::session::SessionFiles;
use crate::drain::signal_order::add_interrupting;
use crate::drain::thread_progress::BatchGaps;

/// How long an unwritten record may hold its thread's later ones back: its writer was interrupted by a signal whose
/// handler has not returned, or has jumped away and never will.
const HOLE_PATIENCE: Duration = Duration::from_millis(5);
/// How long a chunk with such a record is kept from others, should the writer come back after all.
const QUARANTINE: Duration = Duration::from_millis(100);

/// So many bytes of a chunk are not worth giving back to the operating system.
const LITTLE: usize = 16 << 10;

impl Drain {
    /// Takes what a chunk has, and the chunk itself once there is no more to come. False where later chunks of the
    /// thread have to wait. `left` is what else its thread has left if it had ended before the chunks were listed, and so
    /// has written all that it ever will.
    pub(super) fn empty(
        &mut self,
        pending: &PendingChunk,
        is_last: bool,
        left: Option<&[usize]>,
        final_round: bool,
        files: &mut SessionFiles,
    ) -> bool {
        let is_full = self.pool.state(pending.chunk) == ChunkState::Full as u32;
        // A process that runs another program by now has left this one's chunks behind.
        let is_left = self.programs[&pending.pid].last().is_some_and(|&newest| newest > pending.program);
        let ended = is_left || left.is_some();
        let pool = self.pool;
        let others = ThreadChunks { pool: &pool, pid: pending.pid, tid: pending.tid, known: left };
        let Some(mut reader) = ChunkReader::begin(&pool, pending.chunk).filter(|_| pending.is_still_there(&pool))
        else {
            return true;
        };
        self.batch.clear();
        let (mut has_holes, mut gaps) = (false, BatchGaps::default());
        // Read while nobody can take the chunk back.
        let header = pool.header(pending.chunk);
        let (lost, ticks) = (header.lost_before.load(Ordering::Relaxed), header.waited_ticks.load(Ordering::Relaxed));
        loop {
            reader.read_on(|record| self.batch.push(record));
            let may_skip = ended || is_full && self.has_lost_patience(pending.chunk);
            if reader.is_at_end() || !may_skip {
                break;
            }
            let before = self.batch.last().map_or(0, |record| record.tsc);
            let (read, batch) = (self.batch.len(), &mut self.batch);
            if !reader.skip_hole(is_full, |record| batch.push(record)) {
                if !is_full {
                    break;
                }
                // The thread has gone on behind it, in another chunk.
                reader.skip_rest(|record| batch.push(record));
            }
            has_holes = true;
            let told = self.batch.len() - read;
            // What was cut off happened before what follows.
            let next = reader.next_record();
            let time = next.map_or(before, |next| next.tsc);
            for record in &mut self.batch[read..] {
                record.tsc = time;
            }
            self.batch.extend(next);
            if told == 0 {
                gaps.torn.push(time);
                self.torn += 1;
            }
        }
        let (at_end, used) = (reader.is_at_end(), reader.position());
        let is_done = at_end && is_full || ended;
        let has_left_others = header.has_left_others.swap(0, Ordering::Acquire) != 0;
        if self.batch.is_empty() && !is_done && !has_left_others {
            return !is_full;
        }
        if is_done {
            // Before its thread takes it back, and writes to it what nobody has read.
            reader.keep(if is_full { ChunkState::Full } else { ChunkState::Active });
        } else {
            drop(reader);
        }
        if at_end && !self.batch.is_empty() {
            self.read_interrupting(pending);
        }
        let first = self.batch.iter().map(|record| record.tsc).find(|tsc| *tsc > 0);
        let shadow_base_low = header.shadow_base_low.load(Ordering::Relaxed);
        // After the events: what belongs to them was written before them.
        let progress = self.threads.entry((pending.pid, pending.tid)).or_default();
        if progress.is_new_chunk(pending, used, &self.batch, &mut gaps) {
            gaps.without_chunk = lost;
            gaps.waits.extend(first.filter(|_| ticks > 0).map(|until| Wait { ticks, until }));
        }
        let facts = BatchFacts::of(&self.batch);
        let limit = facts.latest;
        let (details, stride) = (&mut progress.details, self.shape.stride());
        if self.detail == DetailMode::All {
            gaps.waits.extend(details.collect(&others, Lane::Detail, stride, limit));
        } else if self.watch.is_some() {
            gaps.waits.extend(details.collect_handed_over(&others, stride, limit));
        }
        if facts.has_probes() || has_left_others {
            gaps.waits.extend(details.collect(&others, Lane::Probe, RawProbe::SIZE, limit));
        }
        if has_left_others && !is_done && others.are_handed_over() {
            // They belong to events that are still to come.
            header.has_left_others.store(1, Ordering::Relaxed);
        }
        if self.failure.is_none()
            && let Err(error) = self.write(pending, &facts, &others, shadow_base_low, files)
        {
            self.failure = Some(error);
        }
        if self.failure.is_none() && files.is_segment_full() {
            self.turn_segment(files);
        }
        if self.failure.is_some() {
            self.unwritten += self.batch.len() as u64;
        }
        self.tell_gaps(pending, gaps, first, files);
        if is_full && !at_end && !ended {
            return false;
        }
        if is_done {
            let status = header.exit_status.load(Ordering::Relaxed);
            if status & IS_EXITING != 0 {
                self.exit_calls.insert(pending.pid, (status & !IS_EXITING) as i32);
            }
            self.stuck.remove(&pending.chunk);
            self.free(pending.chunk, used, has_holes && !ended);
            if ended && is_last && !is_left && !final_round {
                if let Some(mut progress) = self.threads.remove(&(pending.pid, pending.tid)) {
                    let id = files.thread_id(pending.pid, pending.tid).unwrap_or(ThreadId(pending.tid));
                    progress.window.finished(id, true).for_each(|window| self.windows.push(pending.pid, window));
                }
                others.free();
                if let Err(error) = files.thread_ended(pending.pid, pending.tid) {
                    self.failure.get_or_insert(error);
                }
            }
        }
        true
    }

    /// Writes down where a thread's events are missing or late. `first` is the first of the batch.
    fn tell_gaps(&mut self, pending: &PendingChunk, gaps: BatchGaps, first: Option<u64>, files: &SessionFiles) {
        let thread = files.thread_id(pending.pid, pending.tid).unwrap_or(ThreadId(pending.tid));
        let Some(begin) = first.map(|tsc| self.clock.at(tsc).0) else { return };
        if gaps.taken_back > 0 {
            self.gaps.lost(pending.pid, thread, begin, gaps.taken_back);
        }
        if gaps.without_chunk > 0 {
            self.gaps.lost_without_chunk(pending.pid, thread, begin, gaps.without_chunk);
        }
        for tsc in gaps.torn {
            self.gaps.lost(pending.pid, thread, self.clock.at(tsc).0, 1);
        }
        for wait in gaps.waits {
            self.waited_ns += self.gaps.waited(pending.pid, thread, &self.clock, wait);
        }
        // All that comes is missing too, and one word of it is enough.
        let progress = self.threads.entry((pending.pid, pending.tid)).or_default();
        if self.failure.is_some() && !std::mem::replace(&mut progress.is_cut, true) {
            self.gaps.lost(pending.pid, thread, begin, self.batch.len() as u64);
        }
    }

    /// Reads on in the next chunk as far as its records were written before the last of this one.
    fn read_interrupting(&mut self, pending: &PendingChunk) {
        let pool = self.pool;
        let Some(next) = pending.next(&pool) else { return };
        let Some(mut reader) = ChunkReader::begin(&pool, next.chunk) else { return };
        add_interrupting(&mut self.batch, |limit| reader.next_record_before(limit));
    }

    fn has_lost_patience(&mut self, chunk: usize) -> bool {
        self.stuck.entry(chunk).or_insert_with(Instant::now).elapsed() > HOLE_PATIENCE
    }

    /// Gives a kept chunk to whoever needs one.
    fn free(&mut self, chunk: usize, used: usize, has_holes: bool) {
        self.index.dumps += 1;
        if has_holes {
            self.quarantine.push_back((Instant::now() + QUARANTINE, chunk));
        } else {
            self.zero(chunk, used);
            self.pool.change(chunk, ChunkState::Draining, ChunkState::Free);
        }
    }

    /// Zeroes what was used of a kept chunk. One that there is only because there are many threads costs no memory
    /// afterwards.
    fn zero(&self, chunk: usize, used: usize) {
        let is_given_back = used > LITTLE && give_memory_back(&self.pool, chunk);
        if !is_given_back {
            self.pool.zero_records(chunk, used);
        }
    }

    pub(super) fn end_quarantine(&mut self) {
        while let Some(&(until, chunk)) = self.quarantine.front()
            && until <= Instant::now()
        {
            self.quarantine.pop_front();
            self.zero(chunk, RECORDS_END);
            self.pool.change(chunk, ChunkState::Draining, ChunkState::Free);
        }
    }
}
