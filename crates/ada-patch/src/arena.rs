//! An arena: the memory near an image that holds its stubs.
//!
//! ```text
//! 0       addresses of the agent's entry points
//! 128     one switch per function: 0 to record, else where calls are counted
//! …       code that all stubs share
//! …       per function: what counts its calls, then its displaced instructions
//! …       per function: what records its calls
//! ```

use ada_event::RuntimeAddr;
use ada_ring::AgentEntries;
use iced_x86::IcedError;

use crate::x86_64::displaced::{JUMP_BYTES, push_jump, short_jump};
use crate::x86_64::stub::shared_code::Common;
use crate::x86_64::stub::{External, StubKind, StubOptions, StubTemplate};
use crate::{PatchPlan, SkipReason};

const SWITCHES: usize = 128;
/// Where the parts of stubs start.
const ALIGN: usize = 16;

/// A switch is a word: 0 records calls and returns; anything else is the place of the function's counter, in bytes from
/// the start of a thread's counters, and calls are counted only.
const SWITCH_BYTES: usize = 4;

/// No template is longer: what counts, and what records.
const COUNTER_BYTES: usize = 64;
const RECORDER_BYTES: usize = 368;

/// Most displaced sequences are under 16 bytes; a few of the longest fit between them.
const DISPLACED_BYTES: usize = 32;

/// The generated code could not be assembled: an error in this crate.
#[derive(Debug)]
pub struct ArenaError(IcedError);

impl std::fmt::Display for ArenaError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "stub code does not assemble: {}", self.0)
    }
}

impl std::error::Error for ArenaError {}

impl From<IcedError> for ArenaError {
    fn from(error: IcedError) -> Self {
        Self(error)
    }
}

/// Bytes to write over code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Patch {
    /// Where.
    pub at: RuntimeAddr,
    bytes: [u8; JUMP_BYTES],
    length: u8,
}

impl Patch {
    fn new(at: RuntimeAddr, code: &[u8]) -> Self {
        let mut bytes = [0; JUMP_BYTES];
        bytes[..code.len()].copy_from_slice(code);
        Self { at, bytes, length: code.len() as u8 }
    }

    /// A patch as it was: no more bytes than a jump has.
    pub fn of(at: RuntimeAddr, bytes: &[u8]) -> Option<Self> {
        (bytes.len() <= JUMP_BYTES).then(|| Self::new(at, bytes))
    }

    /// The bytes.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes[..usize::from(self.length)]
    }
}

/// What leads a function to its stub. All of it is written, or nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HookSite {
    /// The jump at the function.
    pub jump: Patch,
    /// The jump in nearby padding, where the one at the function is a short jump to there.
    pub relay: Option<Patch>,
    /// Where the displaced instructions are now, if each is as far from the first as it was before.
    pub copy: Option<CopiedCode>,
}

/// Instructions in another place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CopiedCode {
    /// The first one.
    pub at: RuntimeAddr,
    /// Bytes of all.
    pub length: u8,
}

impl HookSite {
    /// In the order of [`PatchPlan::patched`].
    pub fn patches(&self) -> impl Iterator<Item = &Patch> {
        [&self.jump].into_iter().chain(&self.relay)
    }
}

/// Stubs being laid out for an arena at a fixed address.
pub struct Arena {
    base: u64,
    /// Up to the displaced instructions.
    front: Vec<u8>,
    /// Where the recorders start, from the arena's start.
    recorders_at: usize,
    recorders: Vec<u8>,
    room: usize,
    common: Common,
    templates: Vec<StubTemplate>,
}

impl Arena {
    /// Enough bytes for an arena with this many functions.
    pub fn room_for(functions: usize) -> usize {
        Self::recorders_at(functions) + (functions * (RECORDER_BYTES + ALIGN)).next_multiple_of(4096)
    }

    fn recorders_at(functions: usize) -> usize {
        const COMMON: usize = 16384;
        let counters = functions * (COUNTER_BYTES + ALIGN + DISPLACED_BYTES);
        (Self::switches_end(functions) + COMMON + counters).next_multiple_of(4096)
    }

    /// Where the switch of function number `index` is, from the arena's start.
    pub const fn switch_offset(index: usize) -> usize {
        SWITCHES + index * SWITCH_BYTES
    }

    /// Where the switches of so many functions end.
    pub const fn switches_end(functions: usize) -> usize {
        Self::switch_offset(functions)
    }

    /// An empty arena at `base` with switches for this many functions.
    pub fn new(
        base: RuntimeAddr,
        entries: &AgentEntries,
        options: &StubOptions,
        functions: usize,
    ) -> Result<Self, ArenaError> {
        let mut front = Vec::with_capacity(Self::recorders_at(functions));
        for address in entries.to_words() {
            front.extend_from_slice(&address.to_le_bytes());
        }
        front.resize(Self::switches_end(functions).next_multiple_of(64), 0);
        let common = Common::new(base.0 + front.len() as u64, base.0, options)?;
        front.extend_from_slice(&common.code);
        let pairs = StubKind::ALL.iter().flat_map(|&kind| [(kind, false), (kind, true)]);
        let templates: Result<_, _> = pairs.map(|(kind, flags)| StubTemplate::new(kind, flags, options)).collect();
        Ok(Self {
            base: base.0,
            front,
            recorders_at: Self::recorders_at(functions),
            recorders: Vec::with_capacity(functions * RECORDER_BYTES),
            room: Self::room_for(functions),
            common,
            templates: templates?,
        })
    }

    /// Adds a stub for a planned function: number `index` in this image, loaded with `bias`, known to the process as
    /// `function`, and the subject of a runtime probe if `probe` says so. Gives the jump that leads to it.
    pub fn add(
        &mut self,
        plan: &PatchPlan,
        bias: u64,
        index: usize,
        function: u32,
        probe: Option<u32>,
    ) -> Result<HookSite, SkipReason> {
        let kind = if probe.is_some() { plan.kind.probed() } else { plan.kind };
        let before = (self.front.len(), self.recorders.len());
        let added = self.add_parts(kind, plan, bias, index, (function, probe.unwrap_or(0)));
        if added.is_err() {
            self.front.truncate(before.0);
            self.recorders.truncate(before.1);
        }
        added
    }

    fn add_parts(
        &mut self,
        kind: StubKind,
        plan: &PatchPlan,
        bias: u64,
        index: usize,
        (function, probe): (u32, u32),
    ) -> Result<HookSite, SkipReason> {
        let Self { base, front, recorders, common, .. } = self;
        let template = &self.templates[2 * kind as usize + usize::from(!plan.flags_are_dead)];
        front.resize(front.len().next_multiple_of(ALIGN), 0xcc);
        recorders.resize(recorders.len().next_multiple_of(ALIGN), 0xcc);
        let counter = *base + front.len() as u64;
        let recorder = *base + (self.recorders_at + recorders.len()) as u64;
        let displaced = counter + template.counter.code.len() as u64;
        let switch = *base + Self::switch_offset(index) as u64;
        let address_of = |external| match external {
            External::Switch => switch,
            External::Displaced => displaced,
            _ => template.place(external, recorder).unwrap_or_else(|| common.address(external)),
        };
        template.counter.emit(counter, function, probe, address_of, front);
        template.recorder.emit(recorder, function, probe, address_of, recorders);
        plan.displaced.relocate(plan.at.at_bias(bias).0, displaced, front)?;
        if front.len() > self.recorders_at || self.recorders_at + recorders.len() > self.room {
            return Err(SkipReason::NoRoom);
        }
        let stub = template.entry(counter, recorder);
        let mut site = site(plan.at.at_bias(bias), plan.relay.map(|relay| relay.at_bias(bias)), stub)?;
        let length = plan.displaced.bytes().len() as u8;
        site.copy = plan.displaced.moves_as_bytes().then_some(CopiedCode { at: RuntimeAddr(displaced), length });
        Ok(site)
    }

    /// The arena's bytes, in pieces with their distance from its base address.
    pub fn finish(self) -> [(usize, Vec<u8>); 2] {
        [(0, self.front), (self.recorders_at, self.recorders)]
    }
}

/// The jumps from a function to its stub.
fn site(function: RuntimeAddr, relay: Option<RuntimeAddr>, stub: u64) -> Result<HookSite, SkipReason> {
    let jump_from = |at: RuntimeAddr| {
        let mut jump = Vec::with_capacity(JUMP_BYTES);
        push_jump(at.0, stub, &mut jump).map(|()| Patch::new(at, &jump))
    };
    let Some(relay) = relay else { return Ok(HookSite { jump: jump_from(function)?, relay: None, copy: None }) };
    let short = short_jump(function.0, relay.0).ok_or(SkipReason::NoRoom)?;
    Ok(HookSite { jump: Patch::new(function, &short), relay: Some(jump_from(relay)?), copy: None })
}

#[cfg(test)]
mod tests {
    use super::*;
    use ada_ring::DetailShape;

    #[test]
    fn every_template_assembles_and_is_small() {
        for (kind, owner_by_word) in StubKind::ALL.into_iter().flat_map(|kind| [(kind, true), (kind, false)]) {
            let detail = owner_by_word.then_some(DetailShape { window: 128, vectors: true });
            let template = StubTemplate::new(kind, owner_by_word, &StubOptions { owner_by_word, detail }).unwrap();
            let (counter, recorder) = (template.counter.code.len(), template.recorder.code.len());
            assert!(counter <= COUNTER_BYTES && recorder <= RECORDER_BYTES, "{kind:?}: {counter} and {recorder} bytes");
        }
    }
}
