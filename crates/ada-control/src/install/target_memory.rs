//! Maps shared memory, thread states and the agent into a target before it is hooked.

use std::io;
use std::mem::offset_of;
use std::ops::Range;

use ada_agent::config::Item;
use ada_event::RuntimeAddr;
use ada_patch::{AgentEntries, StubOptions};
use ada_process::{Remote, SystemCall};
use ada_ring::control::CONTROL_BYTES;
use ada_ring::orders::ORDERS_BYTES;
use ada_ring::pool::CHUNKS_AT;
use ada_ring::state::{NO_CHUNK, private};
use ada_ring::{CHUNK_SIZE, ThreadState};

use crate::error::ControlError;
use crate::install::agent_image::{AgentImage, CrashEntries};
use crate::install::lasting_memory::LastingMemory;
use crate::install::loader_notification::LoaderNotification;
use crate::install::memory_layout::MemoryLayout;
use crate::install::open_in_target::{MappedPart, OpenInTarget, injected, map_all_and};
use crate::install::shared_memory::SharedMemory;
use crate::program_id::ProgramId;

/// How many chunks are made ready before the first program runs. Those that it runs are many, and most are short.
pub(crate) const WARM_CHUNKS: usize = 16;

/// The addresses of ada's memory in a target.
#[derive(Clone, Debug)]
pub(crate) struct TargetMemory {
    /// The GS base of threads that have no state yet.
    pub(crate) nobodys_state: RuntimeAddr,
    pub(crate) entries: AgentEntries,
    pub(crate) crash: CrashEntries,
    /// What the agent keeps for the process.
    pub(crate) process_block: RuntimeAddr,
    /// The agent's part of the code's memory.
    pub(crate) agent: Range<u64>,
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
    /// Maps everything into the target. `rings` and `code` are open there.
    pub(crate) fn set_up(
        remote: &dyn Remote,
        rings: &OpenInTarget,
        code: &OpenInTarget,
        shared: &SharedMemory,
        program: &Program,
        lasting: &LastingMemory,
    ) -> Result<Self, ControlError> {
        let Program { id, loader, max_depth, stubs, warm_chunks } = *program;
        // Those of all users have the same layout.
        let parts = shared.rings.first_of_users().first_parts();
        let layout = map_first(remote, rings, parts[0].end)?;
        let pool = layout.pool;
        let private_at = layout.private().start;
        // The first chunks are the busiest: pages that are there already cost no faults while the target runs. Where
        // the kernel is too old for this, they come by and by.
        const MADV_POPULATE_WRITE: u64 = 23;
        let warm = ((CHUNKS_AT + warm_chunks * CHUNK_SIZE) as u64).min(parts[0].end);
        let dump = pool + CONTROL_BYTES as u64..pool + CHUNKS_AT as u64;
        for part in [pool..dump.start, dump.end..pool + warm].into_iter().filter(|_| warm_chunks > 0) {
            let length = part.end - part.start;
            let _ = remote.system_call(libc::SYS_madvise, [part.start.0, length, MADV_POPULATE_WRITE, 0, 0, 0]);
        }
        let shape = stubs.detail.unwrap_or_default();
        let (detail, probes) = (shape.layout(), shape.probe_layout());
        let config = [
            (Item::Pool, pool.0),
            (Item::Orders, layout.orders().0),
            (Item::Private, private_at.0),
            (Item::LoaderDebug, loader.map_or(0, |loader| loader.debug.0)),
            (Item::MaxDepth, max_depth.map_or(0, u64::from)),
            (Item::OwnerByWord, u64::from(stubs.owner_by_word)),
            (Item::StackWindow, shape.window as u64),
            (Item::DetailStride, detail.stride as u64),
            (Item::DetailVectorsAt, detail.vectors_at.unwrap_or_default() as u64),
            (Item::ProbeWindow, probes.window as u64),
            (Item::ProbeStride, probes.stride as u64),
            (Item::ProbeVectorsAt, probes.vectors_at.unwrap_or_default() as u64),
            (Item::Program, id.0.into()),
            (Item::OwnStacks, 1),
            (Item::StackEnd, lasting.stack_end.0),
        ];
        let agent = AgentImage::at(layout.agent(), &config, lasting)?;
        let length = agent.bytes.len() as u64;
        let offset = shared.code.reserve(length).ok_or(ControlError::AgentLayout("room"))?;
        shared.code.write(offset, &agent.bytes);
        let counters = MappedPart {
            address: pool + parts[1].start,
            length: parts[1].end - parts[1].start,
            protection: libc::PROT_READ | libc::PROT_WRITE,
            offset: parts[1].start,
        };
        let orders = MappedPart {
            address: layout.orders(),
            length: ORDERS_BYTES as u64,
            protection: libc::PROT_READ,
            offset: 0,
        };
        let protection = libc::PROT_READ | libc::PROT_EXEC;
        let agent_part = MappedPart { address: layout.agent(), length, protection, offset };
        let mapped = [(rings, &counters), (code, &orders), (code, &agent_part)];
        map_all_and(remote, &mapped, &private_calls(private_at)).map_err(injected("mapping ada's memory"))?;
        let nobodys_state = private_at + private::STATES_AT as u64;
        // No FS base is 1, so that nobody owns it.
        remote.write(private_at, &1_u64.to_le_bytes()).map_err(injected("preparing thread states"))?;
        let position = nobodys_state + offset_of!(ThreadState, index_position) as u64;
        remote.write(position, &NO_CHUNK.to_le_bytes()).map_err(injected("preparing thread states"))?;
        Ok(Self {
            nobodys_state,
            entries: agent.entries,
            crash: agent.crash,
            process_block: layout.process_block(),
            agent: offset..offset + length,
        })
    }
}

/// Maps the start of the rings where there is room for all of ada's memory.
fn map_first(remote: &dyn Remote, rings: &OpenInTarget, length: u64) -> Result<MemoryLayout, ControlError> {
    let mut result = Err(io::Error::from(io::ErrorKind::AddrInUse));
    for layout in MemoryLayout::candidates(remote).map_err(injected("looking for room"))? {
        let protection = libc::PROT_READ | libc::PROT_WRITE;
        let first = MappedPart { address: layout.pool, length, protection, offset: 0 };
        result = rings.map(remote, &[first]).map(|()| layout);
        let is_taken =
            |error: &io::Error| matches!(error.kind(), io::ErrorKind::AlreadyExists | io::ErrorKind::AddrInUse);
        if !result.as_ref().is_err_and(is_taken) {
            break;
        }
    }
    result.map_err(injected("mapping the rings"))
}

/// What maps the thread states, and has forks find their owners' words wiped.
fn private_calls(private_at: RuntimeAddr) -> [SystemCall; 2] {
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE | libc::MAP_FIXED_NOREPLACE;
    let protection = (libc::PROT_READ | libc::PROT_WRITE) as u64;
    let map = [private_at.0, private::BYTES as u64, protection, flags as u64, u64::MAX, 0];
    let wipe = [private_at.0, private::WIPED_BYTES as u64, libc::MADV_WIPEONFORK as u64, 0, 0, 0];
    [(libc::SYS_mmap, map), (libc::SYS_madvise, wipe)].map(|(number, arguments)| SystemCall { number, arguments })
}
