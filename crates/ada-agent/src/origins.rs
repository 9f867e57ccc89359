//! Which of the program's states a state in an arena stands for, and which of its addresses runs where.

use ada_ring::arch::{
    CRASH_REGISTERS, FLAGS, FRAME_POINTER, INSTRUCTION_POINTER, RAX, RED_ZONE, RETURN_POPS, STACK_POINTER,
    restored_flags,
};
use ada_ring::origins::{ExitUser, HEADER, ListedArena, Origin, OriginKind, SavedRegister, StubDepth};
use core::slice::from_raw_parts;
use core::sync::atomic::Ordering;

use crate::memory::process_block;
use crate::syscall;

/// The registers of an interrupted thread.
pub(crate) type Registers = [u64; CRASH_REGISTERS];

/// How deep the code that a stub calls goes on calling.
const MOST_CALLS: usize = 3;
/// No part of a stub has more words on the stack.
const MOST_WORDS: usize = 24;

/// The table of one arena.
struct Table {
    arena: u64,
    origins: &'static [Origin],
    depths: &'static [StubDepth],
    saved: &'static [SavedRegister],
    exit_users: &'static [ExitUser],
}

impl Table {
    fn of(listed: &ListedArena) -> Option<Self> {
        let arena = listed.start.load(Ordering::Acquire);
        let table = listed.table.load(Ordering::Relaxed);
        if arena == 0 {
            return None;
        }
        // SAFETY: the recorder lists an arena once its table is written, and nothing unmaps it before the hooks are gone.
        unsafe {
            let [origins, depths, saved, users] = (*(table as *const [u32; 4])).map(|count| count as usize);
            let first_origin = (table + HEADER as u64) as *const Origin;
            let first_depth = first_origin.add(origins).cast::<StubDepth>();
            let first_saved = first_depth.add(depths).cast::<SavedRegister>();
            let first_user = first_saved.add(saved).cast::<ExitUser>();
            Some(Self {
                arena,
                origins: from_raw_parts(first_origin, origins),
                depths: from_raw_parts(first_depth, depths),
                saved: from_raw_parts(first_saved, saved),
                exit_users: from_raw_parts(first_user, users),
            })
        }
    }

    fn at(&self, distance: i32) -> u64 {
        self.arena.wrapping_add_signed(distance.into())
    }

    /// Makes of a state in the arena what the program would have. False where that is not known.
    fn unhook(&self, registers: &mut Registers, function: Option<u32>) -> bool {
        for _ in 0..=MOST_CALLS {
            let Some((origin, inside)) = self.origin_of(registers[INSTRUCTION_POINTER]) else { return false };
            let Some(kind) = OriginKind::decode(origin.kind) else { return false };
            match kind {
                OriginKind::Displaced(bytes) => {
                    registers[INSTRUCTION_POINTER] = self.at(origin.original) + u64::from(inside);
                    // Behind the last one goes on who was shown the next instruction: a breakpoint's handler.
                    return inside <= bytes;
                }
                OriginKind::BelowRedZone => {
                    registers[INSTRUCTION_POINTER] = self.at(origin.original);
                    registers[STACK_POINTER] += RED_ZONE;
                    return true;
                }
                OriginKind::SharedExit { behind, is_below, .. } => {
                    let Some(original) = function.and_then(|function| self.exit_of(origin.original as u32, function))
                    else {
                        return false;
                    };
                    let inside = if is_below { 0 } else { u64::from(inside) };
                    registers[INSTRUCTION_POINTER] = self.at(original) + u64::from(behind) + inside;
                    registers[STACK_POINTER] += if is_below { RED_ZONE } else { 0 };
                    return true;
                }
                OriginKind::Stub(list) => {
                    registers[INSTRUCTION_POINTER] = self.at(origin.original);
                    return self.restore(registers, list, inside);
                }
                OriginKind::Called(list) | OriginKind::Returns(list) => {
                    if !self.restore(registers, list, inside) {
                        return false;
                    }
                    let Some(caller) = syscall::read_word(registers[STACK_POINTER]) else { return false };
                    registers[INSTRUCTION_POINTER] = caller;
                    registers[STACK_POINTER] += RETURN_POPS;
                    if matches!(kind, OriginKind::Returns(_)) {
                        return true;
                    }
                }
            }
        }
        false
    }

    /// Takes off the stack what a part of a stub has there, and puts the registers back that it has saved.
    fn restore(&self, registers: &mut Registers, list: u32, inside: u32) -> bool {
        let is_there = |depth: &&StubDepth| u32::from(depth.list) == list && u32::from(depth.from) <= inside;
        let Some(last) = self.depths.iter().rfind(is_there).filter(|it| it.depth != StubDepth::UNKNOWN) else {
            return false;
        };
        let [is_framed, flags_in_rax] =
            [StubDepth::FROM_FRAME_POINTER, StubDepth::FLAGS_IN_RAX].map(|bit| last.depth & bit != 0);
        let depth = last.depth & !(StubDepth::FROM_FRAME_POINTER | StubDepth::FLAGS_IN_RAX);
        let pointer = registers[if is_framed { FRAME_POINTER } else { STACK_POINTER }];
        let mut words = [0; MOST_WORDS];
        let Some(words) = words.get_mut(..depth as usize / 8) else { return false };
        if !words.is_empty() && !syscall::read_words(pointer, words) {
            return false;
        }
        registers[STACK_POINTER] = pointer + u64::from(depth);
        if flags_in_rax {
            registers[FLAGS] = restored_flags(registers[FLAGS], registers[RAX]);
        }
        let is_saved = |it: &&SavedRegister| u32::from(it.list) == list && u32::from(it.depth) <= depth;
        for saved in self.saved.iter().filter(is_saved) {
            let index = (depth - u32::from(saved.depth)) as usize / 8;
            let (Some(&word), Some(register)) = (words.get(index), registers.get_mut(saved.register as usize)) else {
                return false;
            };
            *register = if saved.register as usize == FLAGS { restored_flags(*register, word) } else { word };
        }
        true
    }

    /// The stretch that has the code at an address, and how far in it that is.
    fn origin_of(&self, instruction: u64) -> Option<(&'static Origin, u32)> {
        let distance = u32::try_from(instruction.checked_sub(self.arena)?).ok()?;
        let number = self.origins.partition_point(|origin| origin.at <= distance).checked_sub(1)?;
        let origin = &self.origins[number];
        Some((origin, distance - origin.at))
    }

    /// Where a function has the exit that it shares with others.
    fn exit_of(&self, stub: u32, function: u32) -> Option<i32> {
        let users = self.users_of(stub);
        let number = users.binary_search_by_key(&function, |user| user.function).ok()?;
        Some(users[number].original)
    }

    fn copy_of(&self, instruction: u64) -> Option<u64> {
        let copy = |origin: &Origin, original: i32, bytes: u64| {
            let inside = instruction.checked_sub(self.at(original))?;
            (inside < bytes).then(|| self.arena + u64::from(origin.at) + inside)
        };
        self.origins.iter().find_map(|origin| match OriginKind::decode(origin.kind)? {
            OriginKind::Displaced(bytes) => copy(origin, origin.original, bytes.into()),
            OriginKind::SharedExit { behind, bytes, is_below: false } => {
                let users = self.users_of(origin.original as u32);
                users.iter().find_map(|user| copy(origin, user.original + i32::from(behind), bytes.into()))
            }
            _ => None,
        })
    }

    /// The functions that share an exit.
    fn users_of(&self, stub: u32) -> &'static [ExitUser] {
        let first = self.exit_users.partition_point(|user| user.stub < stub);
        let behind = self.exit_users.partition_point(|user| user.stub <= stub);
        &self.exit_users[first..behind]
    }
}

fn tables() -> impl Iterator<Item = Table> {
    process_block().arenas.iter().filter_map(Table::of)
}

/// The state that a thread with these registers would have without hooks, if it runs an arena's code. `function` is the
/// innermost one that is recorded.
pub(crate) fn unhooked(registers: &Registers, function: Option<u32>) -> Option<Registers> {
    let instruction = registers[INSTRUCTION_POINTER];
    let holds = |listed: &&ListedArena| {
        let start = listed.start.load(Ordering::Acquire);
        start != 0 && (start..listed.table.load(Ordering::Relaxed)).contains(&instruction)
    };
    let table = Table::of(process_block().arenas.iter().find(holds)?)?;
    let mut unhooked = *registers;
    table.unhook(&mut unhooked, function).then_some(unhooked)
}

/// Where the instruction at one of the program's addresses runs, if it was displaced.
pub(crate) fn copy_of(instruction: u64) -> Option<u64> {
    tables().find_map(|table| table.copy_of(instruction))
}
