//! Maps shared memory, thread states and the agent into a target before it is hooked.

use std::mem::offset_of;
use std::ops::Range;

use ada_agent::config::Item;
use ada_patch::{AgentEntries, StubOptions};
use ada_process::Remote;
use ada_ring::chunk::MAX_CHUNKS;
use ada_ring::control::CONTROL_BYTES;
use ada_ring::pool::CHUNKS_AT;
use ada_ring::state::{MAX_REGIONS, NO_CHUNK, STATE_STRIDE, covered, private};
use ada_ring::{CHUNK_SIZE, ThreadState};

use crate::error::ControlError;
use crate::install::agent_image::{AgentImage, CrashEntries};
use crate::install::loader_notification::LoaderNotification;
use crate::install::open_in_target::{OpenInTarget, injected};
use crate::install::shared_memory::SharedMemory;
use crate::program_id::ProgramId;

/// Where the large parts go: far from everything that programs and loaders use, and the pool aligned to chunks.
pub(crate) const POOL_AT: u64 = 0x1000_0000_0000;
const PRIVATE_AT: u64 = 0x1100_0000_0000;
const AGENT_AT: u64 = 0x1200_0000_0000;
/// All of these.
pub(crate) const OURS: Range<u64> = POOL_AT..0x1300_0000_0000;
/// The thread states and what belongs to them, as many regions as there can be.
pub(crate) const PRIVATE: Range<u64> = PRIVATE_AT..PRIVATE_AT + (MAX_REGIONS * private::REGION_STRIDE) as u64;

/// How many chunks are made ready before the first program runs. Those that it runs are many, and most are short.
pub(crate) const WARM_CHUNKS: usize = 16;

/// The places of ada's memory in a target.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TargetMemory {
    pub(crate) pool: u64,
    /// The GS base of threads that have no state yet.
    pub(crate) nobodys_state: u64,
    pub(crate) entries: AgentEntries,
    pub(crate) crash: CrashEntries,
    /// What the agent keeps for the process.
    pub(crate) process_block: u64,
}

/// What the agent has to know of the program that it is a guest of.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Program {
    /// Its number in the session.
    pub(crate) id: ProgramId,
    pub(crate) loader: Option<LoaderNotification>,
    pub(crate) max_depth: Option<u32>,
    pub(crate) stubs: StubOptions,
    /// How many chunks are made ready before it runs.
    pub(crate) warm_chunks: usize,
}

impl TargetMemory {
    /// Maps everything into the target.
    pub(crate) fn set_up(
        remote: &dyn Remote,
        open: &OpenInTarget,
        shared: &SharedMemory,
        covered_offset: u64,
        program: &Program,
    ) -> Result<Self, ControlError> {
        let Program { id, loader, max_depth, stubs, warm_chunks } = *program;
        let read_write = libc::PROT_READ | libc::PROT_WRITE;
        let parts = shared.first_parts();
        for part in &parts {
            open.map(remote, POOL_AT + part.start, part.end - part.start, read_write, part.start)
                .map_err(injected("mapping the rings"))?;
        }
        let covered_at = POOL_AT + shared.pool_bytes();
        open.map(remote, covered_at, covered::BYTES as u64, libc::PROT_READ, covered_offset)
            .map_err(injected("mapping the table of covered pages"))?;
        map_private(remote)?;
        // The first chunks are the busiest: pages that are there already cost no faults while the target runs. Where
        // the kernel is too old for this, they come by and by.
        const MADV_POPULATE_WRITE: u64 = 23;
        let warm = ((CHUNKS_AT + warm_chunks * CHUNK_SIZE) as u64).min(parts[0].end);
        let dump = POOL_AT + CONTROL_BYTES as u64..POOL_AT + CHUNKS_AT as u64;
        for part in [POOL_AT..dump.start, dump.end..POOL_AT + warm].into_iter().filter(|_| warm_chunks > 0) {
            let length = part.end - part.start;
            let _ = remote.system_call(libc::SYS_madvise, [part.start, length, MADV_POPULATE_WRITE, 0, 0, 0]);
        }
        let shape = stubs.detail.unwrap_or_default();
        let config = [
            (Item::Pool, POOL_AT),
            (Item::Private, PRIVATE_AT),
            (Item::Covered, covered_at),
            (Item::LoaderDebug, loader.map_or(0, |loader| loader.debug)),
            (Item::MaxDepth, max_depth.map_or(0, u64::from)),
            (Item::OwnerByWord, u64::from(stubs.owner_by_word)),
            (Item::StackWindow, shape.window as u64),
            (Item::DetailStride, shape.stride() as u64),
            (Item::Program, id.0.into()),
        ];
        let agent = AgentImage::at(AGENT_AT, &config)?;
        let length = agent.bytes.len() as u64;
        let offset = shared.reserve(length).ok_or(ControlError::AgentLayout("room"))?;
        shared
            .write_code(offset, &agent.bytes)
            .map_err(|source| ControlError::System { doing: "writing the agent", source })?;
        open.map(remote, AGENT_AT, length, libc::PROT_READ | libc::PROT_EXEC, offset)
            .map_err(injected("mapping the agent"))?;
        let nobodys_state = PRIVATE_AT + private::STATES_AT as u64;
        // No FS base is 1, so that nobody owns it.
        remote.write(PRIVATE_AT, &1_u64.to_le_bytes()).map_err(injected("preparing thread states"))?;
        let position = nobodys_state + offset_of!(ThreadState, index_position) as u64;
        remote.write(position, &NO_CHUNK.to_le_bytes()).map_err(injected("preparing thread states"))?;
        let process_block = PRIVATE_AT + private::PROCESS_AT as u64;
        Ok(Self { pool: POOL_AT, nobodys_state, entries: agent.entries, crash: agent.crash, process_block })
    }
}

fn map_private(remote: &dyn Remote) -> Result<(), ControlError> {
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE | libc::MAP_FIXED_NOREPLACE;
    let protection = (libc::PROT_READ | libc::PROT_WRITE) as u64;
    remote
        .system_call(libc::SYS_mmap, [PRIVATE_AT, private::BYTES as u64, protection, flags as u64, u64::MAX, 0])
        .map_err(injected("mapping thread states"))?;
    remote
        .system_call(
            libc::SYS_madvise,
            [PRIVATE_AT, private::WIPED_BYTES as u64, libc::MADV_WIPEONFORK as u64, 0, 0, 0],
        )
        .map_err(injected("preparing thread states for forks"))?;
    Ok(())
}

const _: () = {
    assert!((POOL_AT as usize + CONTROL_BYTES).is_multiple_of(CHUNK_SIZE));
    // The low half of a record's address is enough to find it again.
    assert!(POOL_AT.is_multiple_of(1 << 32) && CHUNKS_AT + MAX_CHUNKS * CHUNK_SIZE <= 1 << 32);
    assert!(PRIVATE.end <= AGENT_AT);
    assert!(private::STATES_AT.is_multiple_of(STATE_STRIDE));
};
