//! The rings of a session: memory that processes write, of which those of each user have their own. A process that has given up
//! its rights neither reads nor writes what one that still has them records.
//!
//! Chunks are numbered throughout: those of the first rings as they number them, the others' behind.

use std::fs::File;
use std::io;
use std::ops::Range;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, OnceLock};

use ada_event::ProcessId;
use ada_process::MemfdId;
use ada_process::procfs::ProcessDir;
use ada_ring::chunk::{ChunkHeader, MAX_CHUNKS};
use ada_ring::counters::{BLOCK_BYTES, FIRST_BLOCKS, MAX_BLOCKS};
use ada_ring::orders::MAX_RINGS;
use ada_ring::pool::CHUNKS_AT;
use ada_ring::{CHUNK_SIZE, ChunkState, DropReason, Pool};
use memmap2::{MmapMut, MmapOptions};
use rustix::fs::{MemfdFlags, SealFlags, fcntl_add_seals, memfd_create};

use crate::install::code_memory::CodeMemory;
use crate::install::ring_homes::RingHomes;

/// All rings of a session. There are more as users come.
pub(crate) struct Rings {
    of_users: [OnceLock<UserRings>; MAX_RINGS],
    /// Held while rings are made.
    making: Mutex<()>,
    homes: RingHomes,
    /// Has the orders, which all share.
    code: Arc<CodeMemory>,
}

/// The rings of a user's processes.
pub(crate) struct UserRings {
    user: u32,
    file: File,
    /// Keeps the pool's memory mapped.
    _map: MmapMut,
    pub(crate) pool: Pool,
}

impl Rings {
    /// The first, in an empty memfd that can be sealed, with so many chunks that all threads share.
    pub(crate) fn new(file: File, user: u32, chunks: usize, code: Arc<CodeMemory>) -> io::Result<Self> {
        let chunks = chunks.clamp(2, MAX_CHUNKS);
        seal(&file)?;
        let (map, most_chunks, most_blocks) = map_pool(&file, chunks)?;
        let rings = Self {
            of_users: [const { OnceLock::new() }; MAX_RINGS],
            making: Mutex::default(),
            homes: RingHomes::default(),
            code,
        };
        let first = rings.of_users[0].get_or_init(|| rings.of_user(user, file, map));
        let orders = first.pool.orders();
        orders.chunk_count.store(chunks as u32, Ordering::Relaxed);
        orders.most_chunks.store(most_chunks as u32, Ordering::Relaxed);
        orders.most_blocks.store(most_blocks as u32, Ordering::Relaxed);
        Ok(rings)
    }

    fn of_user(&self, user: u32, file: File, mut map: MmapMut) -> UserRings {
        // SAFETY: the mapping holds the control block, the dump, all chunks and the counters, and lives as long as `self`, as the
        // orders do.
        let pool = unsafe { Pool::at(map.as_mut_ptr(), self.code.orders()) };
        UserRings { user, file, _map: map, pool }
    }

    /// Those of a user, made now if need be.
    pub(crate) fn of(&self, user: u32) -> io::Result<&UserRings> {
        let _making = self.making.lock().expect("nobody panics with the lock");
        if let Some(rings) = self.all().find(|rings| rings.user == user) {
            return Ok(rings);
        }
        let number = self.all().count();
        let free = self.of_users.get(number).ok_or_else(|| io::Error::other("too many users"))?;
        let file = File::from(memfd_create("ada", MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING)?);
        seal(&file)?;
        let first = self.first();
        let bytes = pool_bytes(first.most_chunks(), first.most_blocks());
        // SAFETY: the file is ours; processes write to the same memory by the rules of `ada-ring`.
        let map = unsafe { MmapOptions::new().len(bytes as usize).map_mut(&file) }?;
        let rings = self.of_user(user, file, map);
        rings.pool.control().number.store(number as u32, Ordering::Relaxed);
        Ok(free.get_or_init(|| rings))
    }

    /// Those of the user whose rights a process has. One that can take back those of the first user has not given them up.
    pub(crate) fn of_process(&self, pid: ProcessId) -> io::Result<&UserRings> {
        let status = ProcessDir::of(pid).status()?;
        let first = self.first_of_users();
        if status.has_user(first.user) {
            return Ok(first);
        }
        self.of(status.effective_user().ok_or(io::ErrorKind::InvalidData)?)
    }

    /// A process has these rings from now on.
    pub(crate) fn give(&self, pid: ProcessId, rings: &UserRings) {
        let number = self.all().position(|it| it.user == rings.user);
        number.into_iter().for_each(|number| self.homes.give(pid, number));
    }

    /// Whether to believe that a chunk is a process's.
    pub(crate) fn is_of(&self, chunk: usize, pid: ProcessId) -> bool {
        let number = chunk / MAX_CHUNKS;
        self.homes.accepts(pid, number, || self.is_used_by(number, pid))
    }

    /// Whether a process has the rings of this number mapped.
    pub(crate) fn is_used_by(&self, number: usize, pid: ProcessId) -> bool {
        let memfd = self.of_users.get(number).and_then(OnceLock::get).and_then(|rings| rings.memfd().ok());
        memfd.is_some_and(|memfd| memfd.is_used_by(pid))
    }

    /// Whether to believe that what a pool says of a process is that process's.
    pub(crate) fn is_word_of(&self, number: usize, pid: ProcessId) -> bool {
        self.is_of(number * MAX_CHUNKS, pid)
    }

    /// Whether a process is known to have the rings of a chunk.
    pub(crate) fn has_rings_of(&self, pid: ProcessId, chunk: usize) -> bool {
        self.homes.has(pid, chunk / MAX_CHUNKS)
    }

    /// Those that are known by this in the mappings of a process.
    pub(crate) fn mapped_as(&self, memfd: Option<MemfdId>) -> Option<&UserRings> {
        self.all().find(|rings| memfd.is_some() && rings.memfd().ok() == memfd)
    }

    fn all(&self) -> impl Iterator<Item = &UserRings> {
        self.of_users.iter().map_while(OnceLock::get)
    }

    /// The pool of the user for whom the recording was begun.
    pub(crate) fn first(&self) -> Pool {
        self.of_users[0].get().expect("made first").pool
    }

    /// The user for whom it was begun.
    pub(crate) fn first_of_users(&self) -> &UserRings {
        self.of_users[0].get().expect("made first")
    }

    pub(crate) fn pools(&self) -> impl Iterator<Item = Pool> {
        self.all().map(|rings| rings.pool)
    }

    /// Every chunk that there is.
    pub(crate) fn chunks(&self) -> impl Iterator<Item = usize> {
        let of_pool =
            |(number, pool): (usize, Pool)| (0..pool.chunk_end()).map(move |chunk| number * MAX_CHUNKS + chunk);
        self.pools().enumerate().flat_map(of_pool)
    }

    /// The pool that has a chunk, and what it is there.
    pub(crate) fn place_of(&self, chunk: usize) -> (&Pool, usize) {
        let rings = self.of_users.get(chunk / MAX_CHUNKS).and_then(OnceLock::get);
        (&rings.expect("a chunk of the rings").pool, chunk % MAX_CHUNKS)
    }

    /// A chunk's state as a number.
    pub(crate) fn state(&self, chunk: usize) -> u32 {
        let (pool, chunk) = self.place_of(chunk);
        pool.state(chunk)
    }

    pub(crate) fn header(&self, chunk: usize) -> &ChunkHeader {
        let (pool, chunk) = self.place_of(chunk);
        pool.header(chunk)
    }

    /// Moves a chunk from one state to another, if it is still in the first.
    pub(crate) fn change(&self, chunk: usize, from: ChunkState, to: ChunkState) -> bool {
        let (pool, chunk) = self.place_of(chunk);
        pool.change(chunk, from, to)
    }

    /// How many chunks that all threads share are free, where these are fewest.
    pub(crate) fn fewest_free(&self) -> usize {
        let free = |pool: Pool| (0..pool.chunk_count()).filter(|&it| pool.state(it) == ChunkState::Free as u32).count();
        self.pools().map(free).min().unwrap_or(0)
    }

    /// How often no chunk was free.
    pub(crate) fn exhausted(&self) -> u64 {
        self.sum(|pool| pool.control().exhausted.load(Ordering::Relaxed))
    }

    /// Records given up for a reason.
    pub(crate) fn drops(&self, reason: DropReason) -> u64 {
        self.sum(|pool| pool.control().drops[reason as usize].load(Ordering::Relaxed))
    }

    /// The target counts, and may say anything.
    pub(crate) fn sum(&self, of: impl Fn(Pool) -> u64) -> u64 {
        self.pools().fold(0, |sum, pool| sum.saturating_add(of(pool)))
    }
}

impl UserRings {
    pub(crate) fn file(&self) -> &File {
        &self.file
    }

    /// What they are known by in the mappings of a process.
    pub(crate) fn memfd(&self) -> io::Result<MemfdId> {
        MemfdId::of(&self.file)
    }

    /// The parts that a process has mapped from the start: the chunks that all share with what lies before them, and the first
    /// counters.
    pub(crate) fn first_parts(&self) -> [Range<u64>; 2] {
        let chunks = (CHUNKS_AT + self.pool.chunk_count() * CHUNK_SIZE) as u64;
        let counters = self.pool.counters_at() as u64;
        let blocks = FIRST_BLOCKS.min(self.pool.most_blocks()) * BLOCK_BYTES;
        [0..chunks, counters..counters + blocks as u64]
    }
}

/// Makes the file as large as there can be need of, and keeps it so.
fn seal(file: &File) -> io::Result<()> {
    fcntl_add_seals(file, SealFlags::SHRINK)?;
    file.set_len(pool_bytes(MAX_CHUNKS, MAX_BLOCKS))?;
    Ok(fcntl_add_seals(file, SealFlags::GROW | SealFlags::SEAL)?)
}

fn pool_bytes(most_chunks: usize, most_blocks: usize) -> u64 {
    (CHUNKS_AT + most_chunks * CHUNK_SIZE + most_blocks * BLOCK_BYTES) as u64
}

/// Maps as much as there can be, or less where ada itself may not have so much address space.
fn map_pool(file: &File, chunks: usize) -> io::Result<(MmapMut, usize, usize)> {
    let (mut most_chunks, mut most_blocks) = (MAX_CHUNKS, MAX_BLOCKS);
    loop {
        let bytes = pool_bytes(most_chunks, most_blocks);
        // SAFETY: the file is ours; the target writes to the same memory by the rules of `ada-ring`.
        match unsafe { MmapOptions::new().len(bytes as usize).map_mut(file) } {
            Err(_) if most_chunks > chunks || most_blocks > FIRST_BLOCKS => {
                (most_chunks, most_blocks) = ((most_chunks / 2).max(chunks), (most_blocks / 2).max(FIRST_BLOCKS));
            }
            map => return Ok((map?, most_chunks, most_blocks)),
        }
    }
}

#[cfg(test)]
mod tests {
    use ada_ring::{DetailMode, OnFull};

    use crate::install::shared_memory::SharedMemory;

    use super::*;

    #[test]
    fn each_user_has_chunks_of_its_own() {
        let shared = SharedMemory::new(2, OnFull::Wait, DetailMode::Off).unwrap();
        let rings = &shared.rings;
        let own = rings.first_of_users().user;
        assert_eq!(rings.of(own).unwrap().memfd().unwrap(), rings.first_of_users().memfd().unwrap());
        let other = rings.of(own + 1).unwrap();
        assert_eq!(rings.of(own + 1).unwrap().memfd().unwrap(), other.memfd().unwrap());
        assert_eq!(rings.chunks().collect::<Vec<_>>(), [0, 1, MAX_CHUNKS, MAX_CHUNKS + 1]);
        assert_eq!((other.pool.claim(), rings.fewest_free()), (Some(0), 1));
        let states = [0, MAX_CHUNKS].map(|chunk| rings.state(chunk));
        assert_eq!(states, [ChunkState::Free as u32, ChunkState::Claimed as u32]);
        other.pool.header(0).tid.store(7, Ordering::Relaxed);
        assert_eq!([0, MAX_CHUNKS].map(|chunk| rings.header(chunk).tid.load(Ordering::Relaxed)), [0, 7]);
        assert_eq!(other.pool.control().number.load(Ordering::Relaxed), 1);
    }

    #[test]
    fn there_are_as_many_rings_as_can_be_numbered() {
        let shared = SharedMemory::new(2, OnFull::Wait, DetailMode::Off).unwrap();
        let own = shared.rings.first_of_users().user;
        let made = (1..MAX_RINGS as u32).filter(|user| shared.rings.of(own + user).is_ok()).count();
        assert_eq!(made, MAX_RINGS - 1);
        assert!(shared.rings.of(own + MAX_RINGS as u32).is_err());
    }
}
