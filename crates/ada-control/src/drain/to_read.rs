//! What is to be read in a round.

use std::collections::{HashMap, HashSet};
use std::sync::atomic::Ordering;

use ada_event::{ProcessId, ThreadId};
use ada_ring::{ChunkState, Lane};

use super::pending_chunk::PendingChunk;
use crate::install::rings::Rings;
use crate::program_id::ProgramId;

/// What is to be read in a round.
pub(super) struct ToRead {
    /// The chunks that threads hold or have filled, those of one thread in their order, and none of them missing.
    pub(super) chunks: Vec<PendingChunk>,
    /// Threads that have ended, of which no more will come, with all that remains of them in other lanes.
    pub(super) ended: HashMap<(ProcessId, ThreadId), Vec<usize>>,
}

impl ToRead {
    /// Lists it. `has_ended` is asked of each thread that has chunks.
    ///
    /// A list takes its time. Meanwhile a thread may fill a chunk that was passed already, and go on in one
    /// behind it: then the list has the later one only, and its events would be taken for those that come next. So the
    /// list is made twice. All that a thread had before a chunk of the first list was there when the second was begun;
    /// whatever it has taken since has to wait for the next round.
    pub(super) fn list(rings: &Rings, has_ended: impl Fn(ProcessId, ThreadId) -> bool) -> Self {
        Self::list_watched(rings, has_ended, |_| {})
    }

    /// The same; `looking_at` is called with each chunk before it is looked at.
    fn list_watched(
        rings: &Rings,
        has_ended: impl Fn(ProcessId, ThreadId) -> bool,
        mut looking_at: impl FnMut(usize),
    ) -> Self {
        let mut list = || -> Vec<PendingChunk> {
            let looked_at = rings.chunks().inspect(|chunk| looking_at(*chunk));
            let pending = looked_at.filter_map(|chunk| PendingChunk::in_chunk(rings, chunk));
            pending.filter(|pending| rings.is_of(pending.chunk, pending.pid)).collect()
        };
        let mut newest: HashMap<(ProcessId, ThreadId), (ProgramId, u64)> = HashMap::new();
        let mut known = HashSet::new();
        for pending in list() {
            let position = newest.entry(pending.thread()).or_default();
            *position = pending.position().max(*position);
            known.insert((pending.chunk, pending.thread(), pending.position()));
        }
        let is_ended = |&(pid, tid): &(ProcessId, ThreadId)| has_ended(pid, tid);
        let mut ended: HashMap<(ProcessId, ThreadId), Vec<usize>> =
            newest.keys().copied().filter(is_ended).map(|thread| (thread, Vec::new())).collect();
        let mut chunks = list();
        // Its id may be another thread's by now.
        let news =
            chunks.iter().filter(|pending| !known.contains(&(pending.chunk, pending.thread(), pending.position())));
        let asked: HashSet<(ProcessId, ThreadId)> =
            news.map(PendingChunk::thread).filter(|thread| ended.contains_key(thread)).collect();
        ended.retain(|thread, _| !asked.contains(thread) || is_ended(thread));
        if !ended.is_empty() {
            for (thread, chunk) in rings.chunks().filter_map(|chunk| in_other_lane(rings, chunk)) {
                if rings.has_rings_of(thread.0, chunk) {
                    ended.entry(thread).and_modify(|chunks| chunks.push(chunk));
                }
            }
        }
        chunks.retain(|pending| {
            ended.contains_key(&pending.thread())
                || newest.get(&pending.thread()).is_some_and(|newest| pending.position() <= *newest)
        });
        chunks.sort_unstable_by_key(|pending| (pending.thread(), pending.position()));
        Self { chunks, ended }
    }
}

/// Whose a chunk of another lane than that of events is.
fn in_other_lane(rings: &Rings, chunk: usize) -> Option<((ProcessId, ThreadId), usize)> {
    let state = rings.state(chunk);
    if state != ChunkState::Active as u32 && state != ChunkState::Full as u32 {
        return None;
    }
    let header = rings.header(chunk);
    let pid = ProcessId(header.pid.load(Ordering::Relaxed));
    let thread = (pid, ThreadId(header.tid.load(Ordering::Relaxed)));
    (header.lane.load(Ordering::Relaxed) != Lane::Index as u32).then_some((thread, chunk))
}

#[cfg(test)]
mod tests {
    use ada_ring::{DetailMode, OnFull, Pool};

    use super::*;
    use crate::install::shared_memory::SharedMemory;

    fn give(pool: &Pool, chunk: usize, tid: u32, ordinal: u64, state: ChunkState) {
        let header = pool.header(chunk);
        header.pid.store(1, Ordering::Relaxed);
        header.tid.store(tid, Ordering::Relaxed);
        header.ordinal.store(ordinal, Ordering::Relaxed);
        pool.control().chunks[chunk].store(state as u32, Ordering::Relaxed);
    }

    fn read(to_read: &ToRead) -> Vec<(usize, u64)> {
        to_read.chunks.iter().map(|pending| (pending.chunk, pending.ordinal)).collect()
    }

    /// What a thread does while the list is being made: it takes the first free chunk, as ever.
    #[test]
    fn a_thread_that_overtakes_the_list_leaves_no_hole_in_it() {
        let shared = SharedMemory::new(6, OnFull::Wait, DetailMode::Off).unwrap();
        let pool = shared.pool();
        give(&pool, 2, 7, 0, ChunkState::Active);
        let mut has_run = false;
        let to_read = ToRead::list_watched(
            &shared.rings,
            |_, _| false,
            |chunk| {
                if chunk == 3 && !std::mem::replace(&mut has_run, true) {
                    give(&pool, 2, 7, 0, ChunkState::Full);
                    give(&pool, 0, 7, 1, ChunkState::Full);
                    give(&pool, 1, 7, 2, ChunkState::Full);
                    give(&pool, 3, 7, 3, ChunkState::Active);
                }
            },
        );
        assert_eq!(read(&to_read), [(2, 0), (0, 1), (1, 2), (3, 3)]);
        // The same again, during the second list.
        let mut lists = 0;
        let to_read = ToRead::list_watched(
            &shared.rings,
            |_, _| false,
            |chunk| {
                lists += usize::from(chunk == 0);
                if chunk == 5 && lists == 2 {
                    give(&pool, 4, 7, 4, ChunkState::Full);
                    give(&pool, 5, 7, 5, ChunkState::Active);
                }
            },
        );
        assert_eq!(read(&to_read), [(2, 0), (0, 1), (1, 2), (3, 3)], "number 5 was seen, and number 4 was not");
        assert_eq!(read(&ToRead::list(&shared.rings, |_, _| false)).len(), 6);
    }

    #[test]
    fn all_that_remains_of_an_ended_thread_is_read() {
        let shared = SharedMemory::new(4, OnFull::Wait, DetailMode::Off).unwrap();
        let pool = shared.pool();
        give(&pool, 1, 7, 0, ChunkState::Active);
        let mut lists = 0;
        let to_read = ToRead::list_watched(
            &shared.rings,
            |_, tid| tid == ThreadId(7),
            |chunk| {
                lists += usize::from(chunk == 0);
                if chunk == 2 && lists == 1 {
                    // It goes on where the list has been, and ends.
                    give(&pool, 1, 7, 0, ChunkState::Full);
                    give(&pool, 0, 7, 1, ChunkState::Active);
                }
            },
        );
        assert_eq!(
            (read(&to_read), to_read.ended.contains_key(&(ProcessId(1), ThreadId(7)))),
            (vec![(1, 0), (0, 1)], true)
        );
    }

    #[test]
    fn a_new_thread_with_an_ended_ones_id_lives() {
        let shared = SharedMemory::new(4, OnFull::Wait, DetailMode::Off).unwrap();
        let pool = shared.pool();
        give(&pool, 1, 7, 3, ChunkState::Active);
        let lists = std::cell::Cell::new(0);
        let to_read = ToRead::list_watched(
            &shared.rings,
            |_, _| lists.get() == 1,
            |chunk| {
                lists.set(lists.get() + usize::from(chunk == 0));
                if lists.get() == 2 {
                    give(&pool, 0, 7, 0, ChunkState::Active);
                }
            },
        );
        assert!(to_read.ended.is_empty());
    }
}
