//! Which of the program's addresses an address in an arena stands for, and the other way round.

use ada_ring::origins::{HEADER, ListedArena, Origin, StubDepth};
use core::sync::atomic::Ordering;

use crate::memory::process_block;
use crate::syscall;

/// How deep the code that a stub calls goes on calling.
const MOST_CALLS: usize = 3;

/// The table of one arena.
struct Table {
    arena: u64,
    origins: &'static [Origin],
    depths: &'static [StubDepth],
}

/// Where an interrupted thread would be without hooks.
pub(crate) struct Unhooked {
    pub(crate) instruction: u64,
    /// How many bytes a stub has on the stack.
    pub(crate) depth: u64,
}

impl Table {
    fn of(place: &ListedArena) -> Option<Self> {
        let arena = place.start.load(Ordering::Acquire);
        let table = place.table.load(Ordering::Relaxed);
        if arena == 0 {
            return None;
        }
        // SAFETY: the recorder lists an arena once its table is written, and nothing unmaps it before the hooks are gone.
        unsafe {
            let [origins, depths] = *(table as *const [u32; 2]);
            let first = (table + HEADER as u64) as *const Origin;
            Some(Self {
                arena,
                origins: core::slice::from_raw_parts(first, origins as usize),
                depths: core::slice::from_raw_parts(first.add(origins as usize).cast(), depths as usize),
            })
        }
    }

    fn original(&self, origin: &Origin) -> u64 {
        self.arena.wrapping_add_signed(origin.original.into())
    }

    /// `stack` is the stack pointer there.
    fn unhooked_at(&self, instruction: u64, stack: u64) -> Option<Unhooked> {
        let (origin, inside) = self.origin_of(instruction)?;
        match origin.what & (Origin::STUB | Origin::CALLED) {
            0 => {
                // Behind the last one goes on who was told the next instruction: a breakpoint's handler.
                let is_copied = inside <= origin.what;
                is_copied.then(|| Unhooked { instruction: self.original(origin) + u64::from(inside), depth: 0 })
            }
            _ => self.unhooked_stub(origin, inside, stack),
        }
    }

    /// The same in a stub, or in code that it calls, which may call some more.
    fn unhooked_stub(&self, mut origin: &Origin, mut inside: u32, stack: u64) -> Option<Unhooked> {
        let mut depth = 0;
        for _ in 0..=MOST_CALLS {
            depth += self.depth(origin, inside)?;
            if origin.what & Origin::STUB != 0 {
                return Some(Unhooked { instruction: self.original(origin), depth });
            }
            let caller = syscall::read_word(stack.checked_add(depth)?)?;
            (origin, inside) = self.origin_of(caller)?;
            if origin.what & (Origin::STUB | Origin::CALLED) == 0 {
                return None;
            }
            depth += 8;
        }
        None
    }

    /// The stretch that has the code at an address, and how far in it that is.
    fn origin_of(&self, instruction: u64) -> Option<(&'static Origin, u32)> {
        let distance = u32::try_from(instruction.checked_sub(self.arena)?).ok()?;
        let number = self.origins.partition_point(|origin| origin.at <= distance).checked_sub(1)?;
        let origin = &self.origins[number];
        Some((origin, distance - origin.at))
    }

    /// What a stub, or what it calls, has on the stack there.
    fn depth(&self, origin: &Origin, inside: u32) -> Option<u64> {
        let list = origin.what & !(Origin::STUB | Origin::CALLED);
        let is_there = |depth: &&StubDepth| u32::from(depth.list) == list && u32::from(depth.from) <= inside;
        let last = self.depths.iter().rfind(is_there)?;
        (last.depth != StubDepth::UNKNOWN).then_some(last.depth.into())
    }

    fn copy_of(&self, instruction: u64) -> Option<u64> {
        let is_copied = |origin: &&Origin| origin.what & (Origin::STUB | Origin::CALLED) == 0;
        self.origins.iter().filter(is_copied).find_map(|origin| {
            let inside = instruction.checked_sub(self.original(origin))?;
            (inside < u64::from(origin.what)).then(|| self.arena + u64::from(origin.at) + inside)
        })
    }
}

fn tables() -> impl Iterator<Item = Table> {
    process_block().arenas.iter().filter_map(Table::of)
}

/// What the code at an address stands for, if it is an arena's; the stack pointer is `stack` there.
pub(crate) fn unhooked_at(instruction: u64, stack: u64) -> Option<Unhooked> {
    let holds = |place: &&ListedArena| {
        let start = place.start.load(Ordering::Acquire);
        start != 0 && (start..place.table.load(Ordering::Relaxed)).contains(&instruction)
    };
    Table::of(process_block().arenas.iter().find(holds)?)?.unhooked_at(instruction, stack)
}

/// Where the instruction at one of the program's addresses runs, if it was displaced.
pub(crate) fn copy_of(instruction: u64) -> Option<u64> {
    tables().find_map(|table| table.copy_of(instruction))
}
