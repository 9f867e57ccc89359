//! Where ada's memory lies in a target.
//!
//! All of it is one block of addresses with fixed distances in it, so that whoever finds the rings finds the rest. The
//! kernel says where there is room, and the block goes some way below what it would hand out next. A program can ask for any
//! address of its own (ASan wants its shadow from 0x7fff8000 on, the Go heap is at 0xc000000000), but nobody who asks for an
//! address asks for one in the middle of the kernel's choice; and TSan ends a program that has something mapped far from its
//! libraries.

use std::io;
use std::ops::Range;

use ada_event::RuntimeAddr;
use ada_process::maps::Mapping;
use ada_process::{MemfdId, Remote, SystemCall};
use ada_ring::CHUNK_SIZE;
use ada_ring::chunk::MAX_CHUNKS;
use ada_ring::control::CONTROL_BYTES;
use ada_ring::counters::{BLOCK_BYTES, MAX_BLOCKS};
use ada_ring::orders::ORDERS_BYTES;
use ada_ring::pool::CHUNKS_AT;
use ada_ring::shadow_stack::tall_at;
use ada_ring::state::{MAX_REGIONS, STATE_STRIDE, private};

const GIB: u64 = 1 << 30;
/// What lies behind the rings, from their start: the orders, …
const ORDERS: u64 = 5 * GIB;
/// … the agent, …
const AGENT: u64 = ORDERS + ORDERS_BYTES as u64;
/// … the tall shadow stacks, …
const TALLS: u64 = tall_at(PRIVATE, 0);
/// … the thread states and what belongs to them, as many regions as there can be, …
const PRIVATE: u64 = 6 * GIB;
/// … and the end of all that.
const END: u64 = PRIVATE + (MAX_REGIONS * private::REGION_STRIDE) as u64;
/// The low half of a record's address is enough to find it again.
const ALIGNMENT: u64 = 1 << 32;
/// How much the kernel can hand out before it comes to the block, which is not mapped as a whole: what an address space may
/// take is limited for some programs.
const DISTANCE: u64 = 64 * GIB;
/// How often to look further down where there is something in the way.
const TRIES: u64 = 64;
const PAGE: u64 = 4096;

/// Where ada's memory lies in a target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct MemoryLayout {
    /// The rings.
    pub(crate) pool: RuntimeAddr,
}

impl MemoryLayout {
    /// The layouts to try in a target, the best one first.
    pub(crate) fn candidates(remote: &dyn Remote) -> io::Result<impl Iterator<Item = Self> + use<>> {
        let [next, room] = kernels_choices(remote, [PAGE, END + DISTANCE + ALIGNMENT])?;
        let next = next?;
        let best = room.ok().map(|room| {
            // A kernel that hands out addresses upwards comes to the block's end first.
            let lowest = if next < room { room + DISTANCE } else { room };
            lowest.align_up(ALIGNMENT)
        });
        // Where even room may not be asked for.
        let highest = next.0.saturating_sub(END + DISTANCE) & !(ALIGNMENT - 1);
        let further = (0..TRIES).map_while(move |step| highest.checked_sub(step * ALIGNMENT));
        let further = further.filter(|pool| *pool != 0).map(RuntimeAddr);
        Ok(best.into_iter().chain(further).map(|pool| Self { pool }))
    }

    /// The layout in a process that is hooked already, and the code's memory.
    pub(crate) fn find(mappings: &[Mapping]) -> Option<(Self, MemfdId)> {
        mappings.iter().find_map(|mapping| {
            MemfdId::of_mapping(mapping).filter(|_| mapping.file_offset == 0)?;
            let layout = Self { pool: mapping.start };
            let at = |address| mappings.iter().find(move |it| it.start == address);
            // The recorder has the rings too, and runs nothing that it shares with a target.
            let code = at(layout.agent()).filter(|agent| agent.executable).and_then(MemfdId::of_mapping)?;
            at(layout.orders()).is_some_and(|orders| code.is_mapped_by(orders)).then_some((layout, code))
        })
    }

    /// What the recorder says.
    pub(crate) fn orders(self) -> RuntimeAddr {
        self.pool + ORDERS
    }

    pub(crate) fn agent(self) -> RuntimeAddr {
        self.pool + AGENT
    }

    /// The thread states and what belongs to them.
    pub(crate) fn private(self) -> Range<RuntimeAddr> {
        self.pool + PRIVATE..self.pool + END
    }

    /// What a process maps for itself alone.
    pub(crate) fn unshared(self) -> Range<RuntimeAddr> {
        self.pool + TALLS..self.pool + END
    }

    /// What the agent keeps for the process.
    pub(crate) fn process_block(self) -> RuntimeAddr {
        self.private().start + private::PROCESS_AT as u64
    }

    /// All of it.
    pub(crate) fn all(self) -> Range<RuntimeAddr> {
        self.pool..self.pool + END
    }
}

/// Where the kernel would put mappings of these lengths, one after the other.
fn kernels_choices(remote: &dyn Remote, lengths: [u64; 2]) -> io::Result<[io::Result<RuntimeAddr>; 2]> {
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
    let map = |length: u64| SystemCall {
        number: libc::SYS_mmap,
        arguments: [0, length, libc::PROT_NONE as u64, flags as u64, u64::MAX, 0],
    };
    let unmap = |(address, length): (RuntimeAddr, u64)| SystemCall {
        number: libc::SYS_munmap,
        arguments: [address.0, length, 0, 0, 0, 0],
    };
    let mut made = remote.system_calls(&lengths.map(map))?.into_iter().map(|made| made.map(RuntimeAddr));
    let mut next = || made.next().unwrap_or_else(|| Err(io::Error::from(io::ErrorKind::UnexpectedEof)));
    let made = [next(), next()];
    let there = made.iter().zip(lengths).filter_map(|(made, length)| Some((*made.as_ref().ok()?, length)));
    for unmapped in remote.system_calls(&there.map(unmap).collect::<Vec<_>>())? {
        unmapped?;
    }
    Ok(made)
}

const _: () = {
    assert!((ALIGNMENT as usize + CONTROL_BYTES).is_multiple_of(CHUNK_SIZE));
    assert!((CHUNKS_AT + MAX_CHUNKS * CHUNK_SIZE) as u64 <= ALIGNMENT);
    assert!((CHUNKS_AT + MAX_CHUNKS * CHUNK_SIZE + MAX_BLOCKS * BLOCK_BYTES) as u64 <= ORDERS);
    assert!(TALLS - AGENT >= GIB / 8, "far more than the agent has");
    assert!(private::STATES_AT.is_multiple_of(STATE_STRIDE));
};
