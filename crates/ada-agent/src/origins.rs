//! Which of the program's states a state in an arena stands for, and which of its addresses runs where.

use ada_ring::arch::{
    CRASH_REGISTERS, FLAGS, FRAME_POINTER, INSTRUCTION_POINTER, RAX, RED_ZONE, RETURN_POPS, STACK_POINTER,
    restored_flags,
};
use ada_ring::origins::{ExitUser, HEADER, ListedArena, Origin, OriginKind, RelayOrigin, SavedRegister, StubDepth};
use core::slice::from_raw_parts;
use core::sync::atomic::Ordering;

use crate::memory::process_block;
use crate::syscall;

/// The registers of an interrupted thread.
pub(crate) type Registers = [u64; CRASH_REGISTERS];

/// The state that an interrupted thread would have without hooks.
pub(crate) struct Unhooked {
    pub(crate) registers: Registers,
    /// Where a stub keeps each of them meanwhile; 0 for those that are where they belong.
    pub(crate) kept_at: Registers,
}

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
    /// The numbers of displaced instructions' origins, by where they were.
    displaced: &'static [u32],
    /// Those of exits' users.
    users_by_original: &'static [u32],
    relays: &'static [RelayOrigin],
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
            let [origins, depths, saved, users, displaced, relays] =
                (*(table as *const [u32; 6])).map(|count| count as usize);
            let first_origin = (table + HEADER as u64) as *const Origin;
            let first_depth = first_origin.add(origins).cast::<StubDepth>();
            let first_saved = first_depth.add(depths).cast::<SavedRegister>();
            let first_user = first_saved.add(saved).cast::<ExitUser>();
            let first_displaced = first_user.add(users).cast::<u32>();
            let first_relay = first_displaced.add(displaced + users).cast::<RelayOrigin>();
            Some(Self {
                arena,
                origins: from_raw_parts(first_origin, origins),
                depths: from_raw_parts(first_depth, depths),
                saved: from_raw_parts(first_saved, saved),
                exit_users: from_raw_parts(first_user, users),
                displaced: from_raw_parts(first_displaced, displaced),
                users_by_original: from_raw_parts(first_displaced.add(displaced), users),
                relays: from_raw_parts(first_relay, relays),
            })
        }
    }

    fn at(&self, distance: i32) -> u64 {
        self.arena.wrapping_add_signed(distance.into())
    }

    /// Makes of a state in the arena what the program would have. False where that is not known.
    fn unhook(&self, state: &mut Unhooked, function: Option<u32>) -> bool {
        for _ in 0..=MOST_CALLS {
            let registers = &mut state.registers;
            let Some((origin, inside)) = self.origin_of(registers[INSTRUCTION_POINTER]) else { return false };
            let Some(kind) = OriginKind::decode(origin.kind) else { return false };
            match kind {
                OriginKind::Displaced(_) | OriginKind::SharedExit { .. } => {
                    return self.show_displaced(registers, function);
                }
                OriginKind::BelowRedZone => {
                    registers[INSTRUCTION_POINTER] = self.at(origin.original);
                    registers[STACK_POINTER] += RED_ZONE;
                    return true;
                }
                OriginKind::Stub(list) => {
                    registers[INSTRUCTION_POINTER] = self.at(origin.original);
                    return self.restore(state, list, inside);
                }
                OriginKind::Called(list) | OriginKind::Returns(list) => {
                    if !self.restore(state, list, inside) {
                        return false;
                    }
                    let registers = &mut state.registers;
                    let Some(caller) = syscall::read_word(registers[STACK_POINTER]) else { return false };
                    registers[INSTRUCTION_POINTER] = caller;
                    registers[STACK_POINTER] += RETURN_POPS;
                    if matches!(kind, OriginKind::Returns(_)) {
                        // What a handler had called first comes back to an arena.
                        return arena_at(caller).is_none_or(|table| table.show_displaced(registers, function));
                    }
                }
            }
        }
        false
    }

    /// The same for displaced instructions.
    fn show_displaced(&self, registers: &mut Registers, function: Option<u32>) -> bool {
        let Some((origin, inside)) = self.origin_of(registers[INSTRUCTION_POINTER]) else { return false };
        match OriginKind::decode(origin.kind) {
            Some(OriginKind::Displaced(bytes)) => {
                registers[INSTRUCTION_POINTER] = self.at(origin.original) + u64::from(inside);
                // Behind the last one goes on who was shown the next instruction: a breakpoint's handler.
                inside <= bytes
            }
            Some(OriginKind::SharedExit { behind, is_below, .. }) => {
                let Some(original) = self.exit_of(origin.original as u32, function) else { return false };
                let inside = if is_below { 0 } else { u64::from(inside) };
                registers[INSTRUCTION_POINTER] = self.at(original) + u64::from(behind) + inside;
                registers[STACK_POINTER] += if is_below { RED_ZONE } else { 0 };
                true
            }
            _ => false,
        }
    }

    /// Whether an instruction of the arena was displaced there. What leads back into the program behind the last one was not.
    fn is_displaced(&self, instruction: u64) -> bool {
        let Some((origin, inside)) = self.origin_of(instruction) else { return false };
        match OriginKind::decode(origin.kind) {
            Some(OriginKind::Displaced(bytes)) => inside < bytes,
            Some(OriginKind::SharedExit { bytes, is_below: false, .. }) => inside < u32::from(bytes),
            _ => false,
        }
    }

    /// Takes off the stack what a part of a stub has there, and puts the registers back that it has saved.
    fn restore(&self, Unhooked { registers, kept_at }: &mut Unhooked, list: u32, inside: u32) -> bool {
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
            kept_at[saved.register as usize] = pointer + 8 * index as u64;
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

    /// Where a function has the exit that it shares with others. What a handler had called first is not recorded: then it is
    /// that of one of them. They all go on alike.
    fn exit_of(&self, stub: u32, function: Option<u32>) -> Option<i32> {
        let users = self.users_of(stub);
        let number = function.and_then(|function| users.binary_search_by_key(&function, |user| user.function).ok());
        Some(users.get(number.unwrap_or(0))?.original)
    }

    fn copy_of(&self, instruction: u64) -> Option<u64> {
        let distance = i32::try_from(instruction.wrapping_sub(self.arena) as i64).ok()?;
        self.copy_of_displaced(distance).or_else(|| self.copy_of_shared(distance)).map(|at| self.arena + u64::from(at))
    }

    fn copy_of_displaced(&self, instruction: i32) -> Option<u32> {
        let original = |number: &u32| self.origins[*number as usize].original;
        let behind = self.displaced.partition_point(|number| original(number) <= instruction);
        let nearest = original(self.displaced.get(behind.checked_sub(1)?)?);
        let first = self.displaced.partition_point(|number| original(number) < nearest);
        let origin = &self.origins[self.displaced[first] as usize];
        let Some(OriginKind::Displaced(bytes)) = OriginKind::decode(origin.kind) else { return None };
        let inside = (instruction - nearest) as u32;
        (inside < bytes).then_some(origin.at + inside)
    }

    fn copy_of_shared(&self, instruction: i32) -> Option<u32> {
        let user = |number: &u32| &self.exit_users[*number as usize];
        let behind = self.users_by_original.partition_point(|number| user(number).original <= instruction);
        let user = user(self.users_by_original.get(behind.checked_sub(1)?)?);
        let offset = (instruction - user.original) as u32;
        let first = self.origins.partition_point(|origin| origin.at < user.stub);
        self.origins[first..].iter().take_while(|origin| origin.original as u32 == user.stub).find_map(|origin| {
            match OriginKind::decode(origin.kind)? {
                OriginKind::SharedExit { behind, bytes, is_below: false } => {
                    let inside = offset.checked_sub(behind.into())?;
                    (inside < bytes.into()).then_some(origin.at + inside)
                }
                _ => None,
            }
        })
    }

    /// The instruction in whose place a thread is that is at a relay.
    fn site_of_relay(&self, instruction: u64) -> Option<u64> {
        let distance = i32::try_from(instruction.wrapping_sub(self.arena) as i64).ok()?;
        let number = self.relays.binary_search_by_key(&distance, |relay| relay.at).ok()?;
        Some(self.at(self.relays[number].original))
    }

    /// The functions that share an exit.
    fn users_of(&self, stub: u32) -> &'static [ExitUser] {
        let first = self.exit_users.partition_point(|user| user.stub < stub);
        let behind = self.exit_users.partition_point(|user| user.stub <= stub);
        &self.exit_users[first..behind]
    }
}

/// The table of the arena that has the code at an address.
fn arena_at(instruction: u64) -> Option<Table> {
    let holds = |listed: &&ListedArena| {
        let start = listed.start.load(Ordering::Acquire);
        start != 0 && (start..listed.table.load(Ordering::Relaxed)).contains(&instruction)
    };
    Table::of(process_block().arenas.iter().find(holds)?)
}

fn tables() -> impl Iterator<Item = Table> {
    process_block().arenas.iter().filter_map(Table::of)
}

/// The state that a thread with these registers would have without hooks, if it runs an arena's code, or is on its way there.
/// `function` is the innermost one that is recorded.
pub(crate) fn unhooked(registers: &Registers, function: Option<u32>) -> Option<Unhooked> {
    let instruction = registers[INSTRUCTION_POINTER];
    let mut unhooked = Unhooked { registers: *registers, kept_at: [0; CRASH_REGISTERS] };
    match arena_at(instruction) {
        Some(table) => table.unhook(&mut unhooked, function).then_some(unhooked),
        None => {
            // A jump changes nothing but the address.
            unhooked.registers[INSTRUCTION_POINTER] = tables().find_map(|table| table.site_of_relay(instruction))?;
            Some(unhooked)
        }
    }
}

/// Whether an address is that of an instruction that was displaced, where it runs.
pub(crate) fn is_displaced(instruction: u64) -> bool {
    arena_at(instruction).is_some_and(|table| table.is_displaced(instruction))
}

/// Where the instruction at one of the program's addresses runs, if it was displaced.
pub(crate) fn copy_of(instruction: u64) -> Option<u64> {
    tables().find_map(|table| table.copy_of(instruction))
}
