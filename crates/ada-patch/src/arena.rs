//! An arena: the memory near an image that holds its stubs.
//!
//! ```text
//! 0       addresses of the agent's entry points
//! 128     one switch byte per function: not 0 turns its hook off
//! …       code that all stubs share
//! …       per function: stub, then its displaced instructions
//! ```

use ada_event::RuntimeAddr;
use iced_x86::IcedError;

pub use crate::common::AgentEntries;
use crate::common::{Common, entry_table};
use crate::displaced::{Displaced, JUMP_BYTES, push_jump, short_jump};
use crate::stub::{External, StubKind, StubOptions, Template};
use crate::{PatchPlan, SkipReason};

const SWITCHES: usize = 128;
const STUB_ALIGN: usize = 16;

/// No template is longer.
const STUB_BYTES: usize = 368;

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
    bytes: Vec<u8>,
    common: Common,
    templates: Vec<Template>,
}

impl Arena {
    /// Enough bytes for an arena with this many functions.
    pub fn room_for(functions: usize) -> usize {
        // Most displaced sequences are under 16 bytes; a few of the longest fit between them.
        (16384 + functions * (1 + STUB_BYTES + STUB_ALIGN + Displaced::MOST_BYTES / 4)).next_multiple_of(4096)
    }

    /// No function takes more.
    pub const MOST_FOR_ONE: usize = STUB_ALIGN + STUB_BYTES + Displaced::MOST_BYTES;

    /// How many of `room` bytes are left.
    pub fn remaining(&self, room: usize) -> usize {
        room.saturating_sub(self.bytes.len())
    }

    /// An empty arena at `base` with switches for this many functions.
    pub fn new(
        base: RuntimeAddr,
        entries: &AgentEntries,
        options: &StubOptions,
        functions: usize,
    ) -> Result<Self, ArenaError> {
        let mut bytes = Vec::with_capacity(Self::room_for(functions));
        for address in entry_table(entries) {
            bytes.extend_from_slice(&address.to_le_bytes());
        }
        bytes.resize((SWITCHES + functions).next_multiple_of(64), 0);
        let common = Common::new(base.0 + bytes.len() as u64, base.0, options)?;
        bytes.extend_from_slice(&common.code);
        let templates: Result<_, _> = StubKind::ALL.iter().map(|&kind| Template::new(kind, options)).collect();
        Ok(Self { base: base.0, bytes, common, templates: templates? })
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
        let start = self.bytes.len().next_multiple_of(STUB_ALIGN);
        let unchanged = self.bytes.len();
        self.bytes.resize(start, 0xcc);
        let at = self.base + start as u64;
        let kind = if probe.is_some() { plan.kind.probed() } else { plan.kind };
        let template = &self.templates[kind as usize];
        let (switch, common) = (self.base + (SWITCHES + index) as u64, &self.common);
        template.emit(
            at,
            function,
            probe.unwrap_or(0),
            |external| if external == External::Switch { switch } else { common.address(external) },
            &mut self.bytes,
        );
        let original = plan.at.at_bias(bias);
        let copy = self.base + self.bytes.len() as u64;
        let stub = at + template.entry as u64;
        let result = plan.displaced.relocate(original.0, copy, &mut self.bytes);
        let result = result.and_then(|()| site(original, plan.relay.map(|relay| relay.at_bias(bias)), stub));
        if result.is_err() {
            self.bytes.truncate(unchanged);
        }
        result
    }

    /// The arena's bytes, for its base address.
    pub fn finish(self) -> Vec<u8> {
        self.bytes
    }
}

/// The jumps from a function to its stub.
fn site(function: RuntimeAddr, relay: Option<RuntimeAddr>, stub: u64) -> Result<HookSite, SkipReason> {
    let jump_from = |at: RuntimeAddr| {
        let mut jump = Vec::with_capacity(JUMP_BYTES);
        push_jump(at.0, stub, &mut jump).map(|()| Patch::new(at, &jump))
    };
    let Some(relay) = relay else { return Ok(HookSite { jump: jump_from(function)?, relay: None }) };
    let short = short_jump(function.0, relay.0).ok_or(SkipReason::NoRoom)?;
    Ok(HookSite { jump: Patch::new(function, &short), relay: Some(jump_from(relay)?) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use ada_ring::DetailShape;

    #[test]
    fn every_template_assembles_and_is_small() {
        for (kind, owner_by_word) in StubKind::ALL.into_iter().flat_map(|kind| [(kind, true), (kind, false)]) {
            let detail = owner_by_word.then_some(DetailShape { window: 128, vectors: true });
            let template = Template::new(kind, &StubOptions { owner_by_word, detail }).unwrap();
            assert!(template.code.len() <= STUB_BYTES, "{kind:?} has {} bytes", template.code.len());
            assert!(template.entry < template.code.len());
        }
    }
}
