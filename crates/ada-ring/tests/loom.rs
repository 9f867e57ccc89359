//! Every order in which a thread, another thread and the drain can meet over a chunk, by loom.
//!
//! The words are loom's, the protocol is the ring's own (`Handover`). A record is two words, as in the ring: what it is about, and
//! the stamp that is stored last.

#![cfg(not(miri))]

use ada_ring::ChunkState;
use ada_ring::handover::{Handover, Word};
use loom::sync::Arc;
use loom::sync::atomic::{AtomicU32, AtomicU64, Ordering, fence};
use loom::thread;

struct LoomWord(AtomicU32);

impl Word for LoomWord {
    fn load(&self) -> u32 {
        self.0.load(Ordering::Acquire)
    }

    fn store(&self, value: u32) {
        self.0.store(value, Ordering::Release);
    }

    fn replace(&self, old: u32, new: u32) -> bool {
        self.0.compare_exchange(old, new, Ordering::AcqRel, Ordering::Relaxed).is_ok()
    }

    fn fence() {
        fence(Ordering::SeqCst);
    }
}

const RECORDS: usize = 2;

/// A chunk of two records.
struct Chunk {
    state: LoomWord,
    reader_busy: LoomWord,
    drained: AtomicU64,
    records: [[AtomicU64; 2]; RECORDS],
}

impl Chunk {
    fn new(state: ChunkState, generation: u64) -> Self {
        let word = |number: usize| if generation == 0 { 0 } else { generation * 10 + number as u64 };
        Self {
            state: LoomWord(AtomicU32::new(state as u32)),
            reader_busy: LoomWord(AtomicU32::new(0)),
            drained: AtomicU64::new(0),
            records: std::array::from_fn(|number| [AtomicU64::new(word(number)), AtomicU64::new(word(number))]),
        }
    }

    fn handover(&self) -> Handover<'_, LoomWord> {
        Handover { state: &self.state, reader_busy: &self.reader_busy }
    }

    /// As a stub writes: what the record is about, then its stamp.
    fn write(&self, number: usize, generation: u64) {
        let word = generation * 10 + number as u64;
        self.records[number][1].store(word, Ordering::Relaxed);
        self.records[number][0].store(word, Ordering::Release);
    }

    fn zero(&self) {
        for record in &self.records {
            record.iter().for_each(|word| word.store(0, Ordering::Relaxed));
        }
        self.drained.store(0, Ordering::Relaxed);
    }

    /// As the drain reads: from where it stopped, as far as records are stamped. What it has is whole and of one life of
    /// the chunk.
    fn read(&self) -> Vec<u64> {
        let from = self.drained.load(Ordering::Relaxed) as usize;
        let mut read = Vec::new();
        for record in &self.records[from..] {
            let stamp = record[0].load(Ordering::Acquire);
            if stamp == 0 {
                break;
            }
            assert_eq!(record[1].load(Ordering::Relaxed), stamp, "a stamped record is whole");
            read.push(stamp);
        }
        self.drained.store((from + read.len()) as u64, Ordering::Relaxed);
        assert!(read.iter().all(|word| word / 10 == read[0] / 10), "records of two lives of a chunk: {read:?}");
        read
    }

    /// A round of the drain: reads, and frees the chunk once it has all of a full one.
    fn drain(&self) -> Vec<u64> {
        let is_full = self.state.load() == ChunkState::Full as u32;
        if !self.handover().begin_reading() {
            return Vec::new();
        }
        let read = self.read();
        let is_at_end = self.drained.load(Ordering::Relaxed) as usize == RECORDS;
        let is_kept = is_full && is_at_end && self.handover().change(ChunkState::Full, ChunkState::Draining);
        self.handover().end_reading();
        if is_kept {
            self.zero();
            assert!(
                self.handover().change(ChunkState::Draining, ChunkState::Free),
                "a kept chunk is the drain's alone"
            );
        }
        read
    }

    /// A thread takes its full chunk back: how many records it has dropped, if it got it.
    fn take_back(&self) -> Option<u64> {
        if !self.handover().take_back() {
            return None;
        }
        let lost = RECORDS as u64 - self.drained.load(Ordering::Relaxed);
        self.zero();
        Some(lost)
    }
}

#[test]
fn a_free_chunk_is_claimed_once() {
    loom::model(|| {
        let chunk = Arc::new(Chunk::new(ChunkState::Free, 0));
        let claim = |chunk: Arc<Chunk>| move || chunk.handover().change(ChunkState::Free, ChunkState::Claimed);
        let other = thread::spawn(claim(chunk.clone()));
        let own = claim(chunk.clone())();
        assert!(own != other.join().unwrap(), "one of the two has it");
    });
}

#[test]
fn what_is_read_behind_a_writer_is_whole_and_in_order() {
    loom::model(|| {
        let chunk = Arc::new(Chunk::new(ChunkState::Active, 0));
        let writer = {
            let chunk = chunk.clone();
            thread::spawn(move || {
                chunk.write(0, 1);
                chunk.write(1, 1);
                assert!(chunk.handover().change(ChunkState::Active, ChunkState::Full));
            })
        };
        let mut read = chunk.drain();
        writer.join().unwrap();
        read.extend(chunk.drain());
        assert_eq!(read, [10, 11]);
        // It may have been full before the first round, or become so after it.
        chunk.drain();
        assert_eq!(chunk.state.load(), ChunkState::Free as u32);
    });
}

#[test]
fn a_chunk_that_is_taken_back_is_read_or_counted_as_lost_but_never_both() {
    loom::model(|| {
        let chunk = Arc::new(Chunk::new(ChunkState::Full, 1));
        let owner = {
            let chunk = chunk.clone();
            thread::spawn(move || {
                let lost = chunk.take_back();
                if lost.is_some() {
                    assert!(chunk.handover().change(ChunkState::Claimed, ChunkState::Active));
                    chunk.write(0, 2);
                    chunk.write(1, 2);
                    assert!(chunk.handover().change(ChunkState::Active, ChunkState::Full));
                }
                lost
            })
        };
        let mut read = chunk.drain();
        read.extend(chunk.drain());
        let lost = owner.join().unwrap();
        read.extend(chunk.drain());
        // Where the owner was looking, the drain could not keep it, and comes once more.
        read.extend(chunk.drain());
        let of = |life: u64| read.iter().filter(|word| **word / 10 == life).count() as u64;
        match lost {
            None => assert_eq!((of(1), of(2)), (2, 0)),
            Some(lost) => assert_eq!((of(1) + lost, of(2)), (2, 2), "{read:?}"),
        }
        assert_eq!(chunk.state.load(), ChunkState::Free as u32);
    });
}

#[test]
fn a_chunk_that_the_drain_frees_is_its_next_owners_alone() {
    loom::model(|| {
        let chunk = Arc::new(Chunk::new(ChunkState::Full, 1));
        let next = {
            let chunk = chunk.clone();
            thread::spawn(move || {
                let is_claimed = chunk.handover().change(ChunkState::Free, ChunkState::Claimed);
                if is_claimed {
                    let is_zero = chunk.records.iter().flatten().all(|word| word.load(Ordering::Relaxed) == 0);
                    assert!(is_zero, "a free chunk is zeroed");
                    assert!(chunk.handover().change(ChunkState::Claimed, ChunkState::Active));
                    chunk.write(0, 2);
                }
                is_claimed
            })
        };
        assert_eq!(chunk.drain(), [10, 11]);
        let later = chunk.drain();
        let is_claimed = next.join().unwrap();
        let last = chunk.drain();
        let read: Vec<u64> = later.into_iter().chain(last).collect();
        assert_eq!(read, if is_claimed { vec![20] } else { vec![] });
    });
}
