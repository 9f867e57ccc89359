//! A process writes into rings and is killed at any moment; another reads behind it, as a recorder does.

#![cfg(not(miri))]

use std::sync::atomic::Ordering;
use std::time::Duration;

use ada_ring::orders::{ORDERS_BYTES, Orders};
use ada_ring::pool::CHUNKS_AT;
use ada_ring::{CHUNK_SIZE, ChunkReader, ChunkState, DropReason, Lane, Pool, RECORDS_PER_CHUNK, RawRecord, ThreadKey};

const CHUNKS: usize = 3;
const ROUNDS: u64 = 150;
const WRITER: ThreadKey = ThreadKey { pid: 5, tid: 6 };

/// Memory that a process shares with its forks.
struct Shared {
    mapping: *mut libc::c_void,
    length: usize,
    pool: Pool,
}

impl Shared {
    fn new() -> Self {
        let rings = CHUNKS_AT + CHUNKS * CHUNK_SIZE;
        let length = rings + ORDERS_BYTES + CHUNK_SIZE;
        let (access, kind) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_SHARED | libc::MAP_ANONYMOUS);
        // SAFETY: new memory, at an address that the kernel chooses.
        let mapping = unsafe { libc::mmap(std::ptr::null_mut(), length, access, kind, -1, 0) };
        assert_ne!(mapping, libc::MAP_FAILED);
        let aligned = (mapping as usize).next_multiple_of(CHUNK_SIZE);
        // SAFETY: zeroed, aligned, with room for all chunks, and mapped for as long as `self` is there.
        let pool = unsafe { Pool::at(aligned as *mut u8, (aligned + rings) as *const Orders) };
        pool.orders().chunk_count.store(CHUNKS as u32, Ordering::Relaxed);
        pool.orders().most_chunks.store(CHUNKS as u32, Ordering::Relaxed);
        Self { mapping, length, pool }
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        // SAFETY: mapped in `new`.
        unsafe { libc::munmap(self.mapping, self.length) };
    }
}

/// A child that writes until this is dropped, also by a test that fails: nobody else would end it.
struct Writer(libc::pid_t);

impl Writer {
    fn begin(pool: &Pool, does_drop: bool) -> Self {
        // SAFETY: the child touches only shared memory, and is killed.
        let child = unsafe { libc::fork() };
        if child == 0 {
            write_forever(pool, does_drop);
        }
        assert!(child > 0);
        Self(child)
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        // SAFETY: our own child.
        let ended = unsafe {
            libc::kill(self.0, libc::SIGKILL);
            libc::waitpid(self.0, std::ptr::null_mut(), 0)
        };
        assert_eq!(ended, self.0);
    }
}

/// Writes numbered records until it is killed, as agent and stubs do. Allocates nothing: it runs in a fork of a process
/// with threads.
fn write_forever(pool: &Pool, does_drop: bool) -> ! {
    let mut number = 0_u64;
    for ordinal in 0.. {
        let chunk = loop {
            let taken = || pool.reclaim_oldest(WRITER, Lane::Index, CHUNKS, None);
            match pool.claim().or_else(|| if does_drop { taken() } else { None }) {
                Some(chunk) => break chunk,
                None => std::hint::spin_loop(),
            }
        };
        let header = pool.header(chunk);
        header.pid.store(WRITER.pid, Ordering::Relaxed);
        header.tid.store(WRITER.tid, Ordering::Relaxed);
        header.lane.store(Lane::Index as u32, Ordering::Relaxed);
        header.ordinal.store(ordinal, Ordering::Relaxed);
        pool.change(chunk, ChunkState::Claimed, ChunkState::Active);
        for at in 0..RECORDS_PER_CHUNK {
            number += 1;
            let record = pool.records(chunk).wrapping_add(at * RawRecord::SIZE).cast::<u64>();
            // SAFETY: a record of a chunk that this thread owns. The stamp is last, as the reader expects.
            unsafe {
                record.add(1).write_volatile(content(number));
                (*record.cast::<std::sync::atomic::AtomicU64>()).store(number, Ordering::Release);
            }
        }
        pool.change(chunk, ChunkState::Active, ChunkState::Full);
    }
    unreachable!("it is killed long before")
}

fn content(number: u64) -> u64 {
    number.wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

#[derive(Default)]
struct Drained {
    last: u64,
    missing: u64,
}

impl Drained {
    /// Reads what is there, oldest chunk first, and gives chunks back that are done.
    fn round(&mut self, pool: &Pool) {
        for (ordinal, chunk) in chunks_in_order(pool) {
            let is_full = pool.state(chunk) == ChunkState::Full as u32;
            let Some(mut reader) = ChunkReader::begin(pool, chunk) else { continue };
            // It may have been taken back, and be another by now.
            if pool.header(chunk).ordinal.load(Ordering::Relaxed) != ordinal {
                continue;
            }
            reader.read_on(|record| {
                let word = u64::from(record.top_and_kind) << 32 | u64::from(record.function);
                assert_eq!(word, content(record.tsc), "a stamped record is whole");
                assert!(record.tsc > self.last, "{} after {}", record.tsc, self.last);
                self.missing += record.tsc - self.last - 1;
                self.last = record.tsc;
            });
            if is_full && reader.is_at_end() && reader.keep(ChunkState::Full) {
                pool.zero_records(chunk, CHUNK_SIZE);
                assert!(pool.change(chunk, ChunkState::Draining, ChunkState::Free));
            }
        }
    }
}

/// The chunks that there is something to read in, the oldest first.
fn chunks_in_order(pool: &Pool) -> Vec<(u64, usize)> {
    let listed = || {
        let mut chunks: Vec<(u64, usize)> = (0..CHUNKS)
            .filter(|&chunk| [ChunkState::Active as u32, ChunkState::Full as u32].contains(&pool.state(chunk)))
            .map(|chunk| (pool.header(chunk).ordinal.load(Ordering::Relaxed), chunk))
            .collect();
        chunks.sort_unstable();
        chunks
    };
    // A writer that overtakes the listing leaves a hole in it, which the next one shows.
    let mut chunks = listed();
    loop {
        let next = listed();
        if next.iter().all(|it| chunks.contains(it) || chunks.last().is_none_or(|newest| it > newest)) {
            return chunks;
        }
        chunks = next;
    }
}

fn kill_at_any_moment(does_drop: bool) {
    let mut random = 0x2545_f491_4f6c_dd1d_u64;
    let mut read = 0;
    for _ in 0..ROUNDS {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        let shared = Shared::new();
        let pool = &shared.pool;
        let writer = Writer::begin(pool, does_drop);
        let mut drained = Drained::default();
        for _ in 0..random % 8 {
            drained.round(pool);
            std::thread::sleep(Duration::from_micros(random >> 32 & 255));
        }
        drop(writer);
        drained.round(pool);
        let dropped = pool.control().drops[DropReason::RingFull as usize].load(Ordering::Relaxed);
        // It may have been killed after it took a chunk back, and before it counted.
        let is_claimed = (0..CHUNKS).any(|chunk| pool.state(chunk) == ChunkState::Claimed as u32);
        let uncounted = if is_claimed { RECORDS_PER_CHUNK as u64 } else { 0 };
        assert!(drained.missing <= dropped + uncounted, "{} are missing, {dropped} were counted", drained.missing);
        // What it dropped last it may not have come to replace.
        assert!(dropped.saturating_sub(drained.missing) <= (CHUNKS * RECORDS_PER_CHUNK) as u64);
        assert!(does_drop || drained.missing == 0);
        // All that is still somebody's is the dead one's: one it was writing, one it was claiming.
        let taken = (0..CHUNKS).filter(|&chunk| pool.state(chunk) != ChunkState::Free as u32).count();
        assert!(taken <= 2, "{taken} chunks are not free");
        read += drained.last;
    }
    assert!(read > 0, "some records were read");
}

#[test]
fn nothing_is_torn_or_missing_where_a_writer_that_waits_is_killed() {
    kill_at_any_moment(false);
}

#[test]
fn what_is_missing_is_counted_where_a_writer_that_drops_is_killed() {
    kill_at_any_moment(true);
}
