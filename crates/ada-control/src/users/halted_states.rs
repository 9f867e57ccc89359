//! The thread states of a halted process, whose threads go on in other rings.

use std::io;
use std::mem::offset_of;
use std::sync::atomic::Ordering;

use ada_agent::own_calls::CallSet;
use ada_event::{ProcessId, RuntimeAddr};
use ada_process::Remote;
use ada_process::ptrace::Halted;
use ada_ring::chunk::{MAX_CHUNKS, ThreadKey};
use ada_ring::counters::{BLOCK_BYTES, FIRST_BLOCKS};
use ada_ring::pool::CHUNKS_AT;
use ada_ring::state::{
    INTERRUPTIONS, Interruption, MAX_REGIONS, NO_CHUNK, ProcessBlock, STATE_STRIDE, STATES, private,
};
use ada_ring::{CHUNK_SIZE, ChunkState, Lane, Pool, RECORDS_END, ThreadState};

use crate::install::memory_layout::MemoryLayout;
use crate::install::rings::UserRings;

/// Stands for a thread where only the shadow stack of a state is in use.
const A_STACK: u32 = u32::MAX;

pub(super) struct HaltedStates<'a> {
    halted: &'a Halted,
    layout: MemoryLayout,
    pid: ProcessId,
}

impl<'a> HaltedStates<'a> {
    pub(super) fn new(halted: &'a Halted, layout: MemoryLayout, pid: ProcessId) -> Self {
        Self { halted, layout, pid }
    }

    pub(super) fn has_goroutines(&self) -> io::Result<bool> {
        Ok(self.word(self.layout.process_block() + offset_of!(ProcessBlock, goroutines) as u64)? != 0)
    }

    /// The system calls that the process has forbidden itself.
    pub(super) fn forbidden(&self) -> io::Result<CallSet> {
        let mut forbidden = CallSet::default();
        let first = self.layout.process_block() + offset_of!(ProcessBlock, forbidden) as u64;
        for (word, number) in forbidden.iter_mut().zip(0..) {
            *word = self.word(first + 8 * number)?;
        }
        Ok(forbidden)
    }

    /// Has all threads go on in new rings, which are mapped. What they have recorded is complete: none is in ada's code.
    pub(super) fn go_over(&self, old: &UserRings, new: &UserRings) -> io::Result<()> {
        let block = self.layout.process_block();
        for field in [offset_of!(ProcessBlock, further_chunks), offset_of!(ProcessBlock, further_blocks)] {
            self.halted.write(block + field as u64, &0_u32.to_le_bytes())?;
        }
        // A process whose ada is killed asks its own.
        old.pool.control().handlers.iter().for_each(|function| new.pool.control().handlers.add(function));
        for (state, thread) in self.states()? {
            self.thread_goes_over(state, thread, &old.pool, &new.pool)?;
        }
        Ok(())
    }

    /// Whether a signal handler runs that has interrupted a thread. It may have been in ada's code, whatever the handler's frame says: the
    /// handler is shown the program's own state.
    pub(super) fn has_handlers(&self) -> io::Result<bool> {
        let first = offset_of!(ThreadState, interruptions) + offset_of!(Interruption, slot);
        for (state, _) in self.states()? {
            for number in 0..INTERRUPTIONS {
                if self.word(state + (first + number * size_of::<Interruption>()) as u64)? != 0 {
                    return Ok(true);
                }
            }
        }
        Ok(false)
    }

    /// Where the states of threads are, and whose they are.
    fn states(&self) -> io::Result<Vec<(RuntimeAddr, u32)>> {
        let further = self.word(self.layout.process_block() + offset_of!(ProcessBlock, further_regions) as u64)?;
        let mut states = Vec::new();
        for region in 0..=(further as u32 as usize).min(MAX_REGIONS - 1) {
            let start = self.layout.private().start + (region * private::REGION_STRIDE) as u64;
            let threads_at = start + (private::PROCESS_AT + offset_of!(ProcessBlock, state_threads)) as u64;
            let mut threads = [0; 4 * STATES];
            self.halted.read(threads_at, &mut threads)?;
            for (number, thread) in threads.chunks_exact(4).enumerate() {
                let thread = u32::from_le_bytes([thread[0], thread[1], thread[2], thread[3]]);
                if thread != 0 && thread != A_STACK {
                    states.push((start + (private::STATES_AT + number * STATE_STRIDE) as u64, thread));
                }
            }
        }
        Ok(states)
    }

    fn thread_goes_over(&self, state: RuntimeAddr, thread: u32, old: &Pool, new: &Pool) -> io::Result<()> {
        let field = |offset: usize| state + offset as u64;
        let owner = ThreadKey { pid: self.pid.0, tid: thread };
        let mut has_others = false;
        for (lane, position) in [
            (Lane::Detail, offset_of!(ThreadState, detail_position)),
            (Lane::Probe, offset_of!(ThreadState, probe_position)),
        ] {
            if let Some((chunk, within)) =
                self.take_place(field(position))?.filter(|it| is_owned(old, it.0, owner, lane))
            {
                has_others = true;
                cut(old, chunk, within);
            }
        }
        // Where only the newest detail is kept, the thread has another chunk of it.
        let kept_at = field(offset_of!(ThreadState, detail_chunks));
        let kept = self.word(kept_at)?;
        self.halted.write(kept_at, &[0; 8])?;
        for chunk in [kept as u32, (kept >> 32) as u32].into_iter().filter_map(|it| it.checked_sub(1)) {
            let chunk = (chunk as usize).min(MAX_CHUNKS - 1);
            has_others |=
                is_owned(old, chunk, owner, Lane::Detail) && old.change(chunk, ChunkState::Active, ChunkState::Full);
        }
        let index = self.take_place(field(offset_of!(ThreadState, index_position)))?;
        if let Some((chunk, within)) = index.filter(|it| is_owned(old, it.0, owner, Lane::Index)) {
            let header = old.header(chunk);
            if within == 0 {
                // It says what was lost before its first record, and nobody reads a chunk without one.
                self.add(field(offset_of!(ThreadState, lost)), header.lost_before.load(Ordering::Relaxed))?;
                self.add(field(offset_of!(ThreadState, chunks_taken)), u64::MAX)?;
                old.change(chunk, ChunkState::Active, ChunkState::Free);
            } else {
                header.has_handed_over_others.fetch_or(has_others.into(), Ordering::Release);
                cut(old, chunk, within);
            }
        }
        let counters = self.layout.pool + (new.counters_at() + self.block(new) * BLOCK_BYTES) as u64;
        self.halted.write(field(offset_of!(ThreadState, counters)), &counters.0.to_le_bytes())
    }

    /// Where a thread's next record of a lane would go: the chunk, and how far within. It has none from now on.
    fn take_place(&self, position_at: RuntimeAddr) -> io::Result<Option<(usize, usize)>> {
        let position = self.word(position_at)?;
        self.halted.write(position_at, &NO_CHUNK.to_le_bytes())?;
        let distance = position.checked_sub(self.layout.pool.0 + CHUNKS_AT as u64);
        let place = distance.map(|it| (it as usize / CHUNK_SIZE, (it as usize % CHUNK_SIZE).min(RECORDS_END)));
        Ok(place.filter(|(chunk, _)| *chunk < MAX_CHUNKS))
    }

    /// A block of counters that the process has mapped.
    fn block(&self, new: &Pool) -> usize {
        match new.claim_block(self.pid.0) {
            Some(block) if block < FIRST_BLOCKS => block,
            Some(block) => {
                new.give_block_back(block);
                new.share_block()
            }
            None => new.share_block(),
        }
    }

    fn word(&self, address: RuntimeAddr) -> io::Result<u64> {
        let mut word = [0; 8];
        self.halted.read(address, &mut word)?;
        Ok(u64::from_le_bytes(word))
    }

    fn add(&self, address: RuntimeAddr, number: u64) -> io::Result<()> {
        self.halted.write(address, &self.word(address)?.wrapping_add(number).to_le_bytes())
    }
}

fn is_owned(pool: &Pool, chunk: usize, owner: ThreadKey, lane: Lane) -> bool {
    let header = pool.header(chunk);
    pool.state(chunk) == ChunkState::Active as u32
        && header.owner() == owner
        && header.lane.load(Ordering::Relaxed) == lane as u32
}

/// Hands a chunk over that has records up to here.
fn cut(pool: &Pool, chunk: usize, at: usize) {
    pool.header(chunk).cut_at.store(at as u32 + 1, Ordering::Relaxed);
    pool.change(chunk, ChunkState::Active, ChunkState::Full);
}
