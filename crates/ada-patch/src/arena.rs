//! An arena: the memory near an image that holds its stubs.
//!
//! ```text
//! 0       addresses of the agent's entry points
//! 120     how many switches there are
//! 128     one switch per function: 0 to record, else where calls are counted
//! …       code that all stubs share
//! …       per function: what counts its calls, then its displaced instructions
//! …       per function: what records its calls, or has the shared code do so
//! …       what is run at the functions' exits
//! ```
//!
//! A table of its own says where its code comes from: see [`ada_ring::origins`].

use std::collections::HashMap;

use ada_event::RuntimeAddr;
use ada_ring::AgentEntries;
use ada_ring::arena_front::{SWITCH_BYTES, SWITCH_COUNT_AT, SWITCHES_AT};
use ada_ring::origins::{self, ExitUser, Origin, OriginKind, RelayOrigin, SavedRegister, StubDepth};

use crate::arch::{
    AssemblyError, External, JUMP_BYTES, MARKER_BYTES, SharedCode, StubTemplate, address_push, can_be_shared, relocate,
};
use crate::hook_site::{CopiedCode, HookSite};
use crate::leaving::Behind;
use crate::moved_code::{MovedCode, MovedWay};
use crate::relay::Relay;
use crate::{DisplacedExit, ExitPlan, PatchPlan, Probed, SkipReason, StubKind, StubOptions};

/// Where the parts of stubs start.
const ALIGN: usize = 16;

/// No template is longer: what counts, and what records.
const COUNTER_BYTES: usize = 64;
const RECORDER_BYTES: usize = 512;
/// What those take beyond that which choose between two ways to record, guarded probes and functions whose registers are kept while
/// that is seldom, and room for the few that an image has.
const GUARDED_BYTES: usize = 96;
const GUARDED_ROOM: usize = 64 * GUARDED_BYTES;

/// Most displaced sequences are under 16 bytes; a few of the longest fit between them.
const DISPLACED_BYTES: usize = 32;

/// No exit's stub is longer.
const EXIT_BYTES: usize = 96;

/// The generated code could not be assembled: an error in this crate.
#[derive(Debug)]
pub struct ArenaError(AssemblyError);

impl std::fmt::Display for ArenaError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "stub code does not assemble: {}", self.0)
    }
}

impl std::error::Error for ArenaError {}

impl From<AssemblyError> for ArenaError {
    fn from(error: AssemblyError) -> Self {
        Self(error)
    }
}

/// Stubs being laid out for an arena at a fixed address.
pub struct Arena {
    base: RuntimeAddr,
    /// Up to the displaced instructions.
    front: Vec<u8>,
    /// Where the recorders start, from the arena's start.
    recorders_at: usize,
    recorders: Vec<u8>,
    /// Where the exits' stubs start.
    exits_at: usize,
    exits: Vec<u8>,
    /// Exits' stubs by the bytes that they stand for, and whether a `ret` comes behind: most functions end alike.
    exits_by_bytes: HashMap<(Vec<u8>, Behind), RuntimeAddr>,
    /// Where the code of each of the three parts comes from.
    origins: [Vec<Origin>; 3],
    exit_users: Vec<ExitUser>,
    /// Where functions that jump back to their own starts go on instead.
    loops: HashMap<RuntimeAddr, RuntimeAddr>,
    relays: Vec<RelayOrigin>,
    room: usize,
    shared: SharedCode,
    templates: Vec<StubTemplate>,
}

impl Arena {
    /// The most bytes of the code that stubs share.
    const SHARED: usize = 20 << 10;

    /// Enough bytes for an arena with this many functions and exits.
    pub fn room_for(functions: usize, exits: usize) -> usize {
        Self::exits_at(functions) + (exits * EXIT_BYTES).next_multiple_of(4096)
    }

    fn exits_at(functions: usize) -> usize {
        Self::recorders_at(functions) + (functions * (RECORDER_BYTES + ALIGN) + GUARDED_ROOM).next_multiple_of(4096)
    }

    fn recorders_at(functions: usize) -> usize {
        let counters = functions * (COUNTER_BYTES + ALIGN + DISPLACED_BYTES);
        (Self::switches_end(functions) + Self::SHARED + counters).next_multiple_of(4096)
    }

    /// Where the switch of function number `index` is, from the arena's start.
    pub const fn switch_offset(index: usize) -> usize {
        SWITCHES_AT + index * SWITCH_BYTES
    }

    /// Where the switches of so many functions end.
    pub const fn switches_end(functions: usize) -> usize {
        Self::switch_offset(functions)
    }

    /// An empty arena at `base` with switches for this many functions, and room for so many exits.
    pub fn new(
        base: RuntimeAddr,
        entries: &AgentEntries,
        options: &StubOptions,
        functions: usize,
        exits: usize,
    ) -> Result<Self, ArenaError> {
        let mut front = Vec::with_capacity(Self::recorders_at(functions));
        for address in entries.to_words() {
            front.extend_from_slice(&address.to_le_bytes());
        }
        front.resize(SWITCH_COUNT_AT, 0);
        front.extend_from_slice(&(functions as u64).to_le_bytes());
        front.resize(Self::switches_end(functions).next_multiple_of(64), 0);
        let shared = SharedCode::new(RuntimeAddr(base.0 + front.len() as u64), base, options)?;
        front.extend_from_slice(&shared.code);
        let pairs = StubKind::ALL.iter().flat_map(|&kind| [(kind, false), (kind, true)]);
        let templates: Result<_, _> = pairs.map(|(kind, flags)| StubTemplate::new(kind, flags, options)).collect();
        Ok(Self {
            base,
            front,
            recorders_at: Self::recorders_at(functions),
            recorders: Vec::with_capacity(functions * RECORDER_BYTES),
            exits_at: Self::exits_at(functions),
            exits: Vec::new(),
            exits_by_bytes: HashMap::new(),
            origins: Default::default(),
            exit_users: Vec::new(),
            loops: HashMap::new(),
            relays: Vec::new(),
            room: Self::room_for(functions, exits),
            shared,
            templates: templates?,
        })
    }

    /// Adds a stub for a planned function: number `index` in this image, known to the process as `function`, and the
    /// subject of a runtime probe if `probe` says so. Gives the jump that leads to it.
    pub fn add(
        &mut self,
        plan: &PatchPlan<RuntimeAddr>,
        index: usize,
        function: u32,
        probe: Option<Probed>,
    ) -> Result<HookSite, SkipReason> {
        let kind = match probe {
            None => plan.kind,
            Some(Probed { guard: Some(guard), part, .. }) => plan.kind.guarded(guard, part),
            Some(Probed { part, .. }) => plan.kind.probed(part),
        };
        let before = (self.front.len(), self.recorders.len());
        let added = self.add_parts(kind, plan, index, (function, probe));
        if added.is_err() {
            self.front.truncate(before.0);
            self.recorders.truncate(before.1);
        }
        added
    }

    fn add_parts(
        &mut self,
        kind: StubKind,
        plan: &PatchPlan<RuntimeAddr>,
        index: usize,
        (function, probe): (u32, Option<Probed>),
    ) -> Result<HookSite, SkipReason> {
        let [number, first, second, bits, usual] = probe.map_or([0; 5], Probed::words);
        let numbers = [function, number, first, second, bits, usual];
        let Self { base, front, recorders, shared, .. } = self;
        let template = &self.templates[2 * kind as usize + usize::from(!plan.flags_are_dead)];
        front.resize(front.len().next_multiple_of(ALIGN), 0xcc);
        recorders.resize(recorders.len().next_multiple_of(ALIGN), 0xcc);
        let at = |offset: usize| RuntimeAddr(base.0 + offset as u64);
        let counter = at(front.len());
        let recorder = at(self.recorders_at + recorders.len());
        let displaced = at(front.len() + template.counter.code.len());
        let switch = at(Self::switch_offset(index));
        let address_of = |external| match external {
            External::Switch => switch,
            External::Displaced => displaced,
            _ => template.address_in_recorder(external, recorder).unwrap_or_else(|| shared.address(external)),
        };
        template.counter.emit(counter, numbers, address_of, front);
        template.recorder.emit(recorder, numbers, address_of, recorders);
        let mut moved = Vec::new();
        let leaves = !plan.leaving.is_empty() || plan.displaced.leaves();
        if leaves {
            relocate(
                plan.displaced.bytes(),
                plan.at,
                displaced,
                plan.leaving,
                &shared.exit_code(),
                |_| None,
                front,
                &mut moved,
            )?;
        } else {
            plan.displaced.relocate(plan.at, displaced, front, &mut moved)?;
        }
        if front.len() > self.recorders_at || self.recorders_at + recorders.len() > self.exits_at {
            return Err(SkipReason::NoRoom);
        }
        if plan.starts_own_loop {
            // What it jumps to is where the hook is, or a marker before that.
            self.loops.extend([0, MARKER_BYTES].map(|before| (RuntimeAddr(plan.at.0 - before as u64), displaced)));
        }
        let stub = template.entry(counter, recorder);
        let mut site = self.site(stub, plan.at, plan.relay)?;
        let base = self.base;
        let list = 2 * (2 * kind as usize + usize::from(!plan.flags_are_dead)) as u32;
        let of_stub = |at: RuntimeAddr, list: u32| Origin {
            at: (at.0 - base.0) as u32,
            original: plan.at.0.wrapping_sub(base.0) as i32,
            kind: OriginKind::Stub(list).encode(),
        };
        let pushes = self.pushes_list();
        let [fronts, recorders, _] = &mut self.origins;
        fronts.push(of_stub(counter, list));
        fronts.extend(moved.iter().map(|run| origin_of(base, run, pushes)));
        recorders.push(of_stub(recorder, list + 1));
        let length = plan.displaced.bytes().len() as u8;
        site.copy = (plan.displaced.moves_as_bytes() && !leaves).then_some(CopiedCode { at: displaced, length });
        Ok(site)
    }

    /// Adds a stub for the exit of a function that the process knows as `function`, unless there is one for the same
    /// instructions. Gives the jump that leads to it.
    pub fn add_exit(&mut self, plan: &ExitPlan<RuntimeAddr>, function: u32) -> Result<HookSite, SkipReason> {
        let (bytes, leaving) = (plan.displaced.bytes(), plan.displaced.leaving());
        // What runs on into another function goes back to where it was.
        let is_shared = can_be_shared(bytes) && leaving.behind != Behind::Other;
        let key = (bytes.to_vec(), leaving.behind);
        let stub = match self.exits_by_bytes.get(&key).filter(|_| is_shared) {
            Some(&stub) => stub,
            None => {
                let (stub, runs) = self.relocate_to_exits(&plan.displaced, plan.at)?;
                let base = self.base;
                if is_shared {
                    self.exits_by_bytes.insert(key, stub);
                    self.origins[2].extend(runs.iter().map(|run| origin_of_shared(base, stub, plan.at, run)));
                } else {
                    let pushes = self.pushes_list();
                    self.origins[2].extend(runs.iter().map(|run| origin_of(base, run, pushes)));
                }
                stub
            }
        };
        if is_shared {
            let distance = |address: RuntimeAddr| address.0.wrapping_sub(self.base.0);
            let (stub, original) = (distance(stub) as u32, distance(plan.at) as i32);
            self.exit_users.push(ExitUser { stub, function, original });
        }
        self.site(stub, plan.at, plan.relay)
    }

    /// The jumps from an address to a stub. Instructions that give way to a relay are moved.
    fn site(
        &mut self,
        stub: RuntimeAddr,
        at: RuntimeAddr,
        relay: Option<Relay<RuntimeAddr>>,
    ) -> Result<HookSite, SkipReason> {
        let Some(Relay { at: relay, evicted }) = relay else { return HookSite::leading_to(stub, at, None) };
        let site = match evicted {
            None => HookSite::leading_to(stub, at, Some(relay))?,
            Some(evicted) => {
                let (evicted, runs) = self.relocate_to_exits(&evicted, RuntimeAddr(relay.0 - JUMP_BYTES as u64))?;
                let pushes = self.pushes_list();
                self.origins[2].extend(runs.iter().map(|run| origin_of(self.base, run, pushes)));
                HookSite::through_evicted(stub, at, relay, evicted)?
            }
        };
        let distance = |address: RuntimeAddr| address.0.wrapping_sub(self.base.0) as i32;
        self.relays.push(RelayOrigin { at: distance(relay), original: distance(at) });
        Ok(site)
    }

    /// Adds code that does what instructions did at `from`. Gives its address, and where it comes from.
    fn relocate_to_exits(
        &mut self,
        moved: &DisplacedExit,
        from: RuntimeAddr,
    ) -> Result<(RuntimeAddr, Vec<MovedCode>), SkipReason> {
        let before = self.exits.len();
        self.exits.resize(before.next_multiple_of(8), 0xcc);
        let stub = RuntimeAddr(self.base.0 + (self.exits_at + self.exits.len()) as u64);
        let code = self.shared.exit_code();
        let mut runs = Vec::new();
        let again = |target: RuntimeAddr| self.loops.get(&target).copied();
        let relocated = relocate(moved.bytes(), from, stub, moved.leaving(), &code, again, &mut self.exits, &mut runs);
        if relocated.is_err() || self.exits_at + self.exits.len() > self.room {
            self.exits.truncate(before);
            return Err(relocated.err().unwrap_or(SkipReason::NoRoom));
        }
        Ok((stub, runs))
    }

    /// The most bytes that [`Self::origin_table`] has for so many functions and exits.
    pub fn origins_room(functions: usize, exits: usize) -> usize {
        /// A part that counts, one that records, displaced instructions, and a relay.
        const OF_FUNCTION: usize = 2 + 6 + 1;
        /// Instructions that leave, some that gave way to a relay, and that.
        const OF_EXIT: usize = 8 + 8 + 1;
        /// What all kinds of stubs have on the stack.
        const STACK_USE: usize = 20 << 10;
        let origins = functions * OF_FUNCTION + exits * OF_EXIT;
        (origins::HEADER + origins * size_of::<Origin>() + STACK_USE).next_multiple_of(4096)
    }

    /// The list of displaced calls: behind those of the stubs, and of what these share.
    fn pushes_list(&self) -> u32 {
        (2 * self.templates.len() + self.shared.parts.len()) as u32
    }

    /// Where the arena's code comes from, as bytes.
    pub fn origin_table(&self) -> Vec<u8> {
        let of_stubs = self.templates.iter().flat_map(|template| &template.stack_use);
        let of_shared = self.shared.parts.iter().map(|part| &part.stack_use);
        let of_calls = address_push();
        let lists = || (0..).zip(of_stubs.clone().chain(of_shared.clone()).chain([&of_calls]));
        let first = 2 * self.templates.len() as u32;
        let parts = (first..).zip(&self.shared.parts).map(|(list, part)| Origin {
            at: (part.at.0 - self.base.0) as u32,
            original: 0,
            kind: if part.returns { OriginKind::Returns(list) } else { OriginKind::Called(list) }.encode(),
        });
        // The code that all stubs share comes before theirs.
        let origins: Vec<Origin> = parts.chain(self.origins.iter().flatten().copied()).collect();
        let depths: Vec<StubDepth> = lists()
            .flat_map(|(list, it)| it.depths.iter().map(move |&(from, depth)| StubDepth { list, from, depth }))
            .collect();
        let saved: Vec<SavedRegister> = lists()
            .flat_map(|(list, it)| {
                it.saved.iter().map(move |&(depth, register)| SavedRegister { list, depth, register })
            })
            .collect();
        let mut users = self.exit_users.clone();
        users.sort_unstable();
        let mut bytes = Vec::with_capacity(origins::HEADER + size_of_val(&*origins) + size_of_val(&*users));
        let is_displaced = |origin: &Origin| matches!(OriginKind::decode(origin.kind), Some(OriginKind::Displaced(_)));
        let mut displaced: Vec<u32> =
            (0..).zip(&origins).filter(|(_, it)| is_displaced(it)).map(|(at, _)| at).collect();
        displaced.sort_by_key(|&number| origins[number as usize].original);
        let mut users_by_original: Vec<u32> = (0..users.len() as u32).collect();
        users_by_original.sort_by_key(|&number| users[number as usize].original);
        let mut relays = self.relays.clone();
        relays.sort_unstable();
        for count in [origins.len(), depths.len(), saved.len(), users.len(), displaced.len(), relays.len()] {
            bytes.extend((count as u32).to_le_bytes());
        }
        for Origin { at, original, kind } in origins {
            bytes.extend([at.to_le_bytes(), original.to_le_bytes(), kind.to_le_bytes()].into_iter().flatten());
        }
        for StubDepth { list, from, depth } in depths {
            bytes.extend([list.to_le_bytes(), from.to_le_bytes()].into_iter().flatten());
            bytes.extend(depth.to_le_bytes());
        }
        for SavedRegister { list, depth, register } in saved {
            bytes.extend([list.to_le_bytes(), depth.to_le_bytes()].into_iter().flatten());
            bytes.extend(register.to_le_bytes());
        }
        for ExitUser { stub, function, original } in users {
            bytes.extend([stub.to_le_bytes(), function.to_le_bytes(), original.to_le_bytes()].into_iter().flatten());
        }
        bytes.extend(displaced.into_iter().chain(users_by_original).flat_map(u32::to_le_bytes));
        bytes.extend(relays.iter().flat_map(|relay| [relay.at, relay.original]).flat_map(i32::to_le_bytes));
        bytes
    }

    /// The arena's bytes, in pieces with their distance from its base address.
    pub fn finish(self) -> [(usize, Vec<u8>); 3] {
        [(0, self.front), (self.recorders_at, self.recorders), (self.exits_at, self.exits)]
    }
}

fn origin_of(base: RuntimeAddr, run: &MovedCode, pushes: u32) -> Origin {
    let distance = |address: RuntimeAddr| address.0.wrapping_sub(base.0);
    let kind = match run.way {
        MovedWay::AsItWas => OriginKind::Displaced(run.length),
        MovedWay::BelowRedZone => OriginKind::BelowRedZone,
        MovedWay::PushesAddress => OriginKind::Stub(pushes),
    };
    Origin { at: distance(run.at) as u32, original: distance(run.from) as i32, kind: kind.encode() }
}

/// The same for a part of an exit at `stub` that was at `from`, among others.
fn origin_of_shared(base: RuntimeAddr, stub: RuntimeAddr, from: RuntimeAddr, run: &MovedCode) -> Origin {
    let distance = |address: RuntimeAddr| address.0.wrapping_sub(base.0) as u32;
    let (behind, bytes) = ((run.from.0 - from.0) as u8, run.length as u8);
    let kind = OriginKind::SharedExit { behind, bytes, is_below: run.way == MovedWay::BelowRedZone };
    Origin { at: distance(run.at), original: distance(stub) as i32, kind: kind.encode() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ada_ring::DetailShape;
    use ada_ring::detail::MAX_WINDOW;

    const PLAIN_BYTES: usize = 80;

    /// Without room for the code, small libraries are not hooked. Without a table, handlers see ada's addresses.
    #[test]
    fn there_is_room_for_shared_code_and_for_what_stubs_have_on_the_stack() {
        for window in [0, 128, MAX_WINDOW] {
            let shape = DetailShape { window, vectors: true, probes_too: true };
            let options = StubOptions { owner_by_word: true, detail: Some(shape) };
            let arena = Arena::new(RuntimeAddr(0x10_0000), &AgentEntries::default(), &options, 0, 0).unwrap();
            let (taken, room) = (arena.origin_table().len(), Arena::origins_room(0, 0));
            assert!(taken <= room, "{taken} of {room}");
            let shared = arena.shared.code.len();
            assert!(shared <= Arena::SHARED, "{shared} of {}, window {window}", Arena::SHARED);
        }
    }

    #[test]
    fn every_template_assembles_and_is_small() {
        for (kind, owner_by_word) in StubKind::ALL.into_iter().flat_map(|kind| [(kind, true), (kind, false)]) {
            let detail = owner_by_word.then_some(DetailShape { window: 128, vectors: true, probes_too: true });
            let template = StubTemplate::new(kind, owner_by_word, &StubOptions { owner_by_word, detail }).unwrap();
            let (counter, recorder) = (template.counter.code.len(), template.recorder.code.len());
            let has_both =
                kind.is_probed_if_guarded() || matches!(kind, StubKind::NumberedFull | StubKind::SeldomRegisters);
            let more = if has_both { GUARDED_BYTES } else { 0 };
            // Nearly all functions have this one, and the rest is shared.
            let most = if kind == StubKind::Full { PLAIN_BYTES } else { RECORDER_BYTES + more };
            assert!(counter <= COUNTER_BYTES && recorder <= most, "{kind:?}: {counter} and {recorder} bytes");
        }
    }
}
