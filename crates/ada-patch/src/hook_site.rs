//! What is written over a function's code.

use ada_event::RuntimeAddr;

use crate::SkipReason;
use crate::arch::{JUMP_BYTES, push_jump, short_jump};

/// The most bytes that one patch has: a jump for the instructions that gave way, and a relay behind it.
pub const PATCH_BYTES: usize = 2 * JUMP_BYTES;

/// Bytes to write over code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Patch {
    /// Where.
    pub at: RuntimeAddr,
    bytes: [u8; PATCH_BYTES],
    length: u8,
}

impl Patch {
    fn new(at: RuntimeAddr, code: &[u8]) -> Self {
        let mut bytes = [0; PATCH_BYTES];
        bytes[..code.len()].copy_from_slice(code);
        Self { at, bytes, length: code.len() as u8 }
    }

    /// A patch as it was: no more bytes than one can have.
    pub fn of(at: RuntimeAddr, bytes: &[u8]) -> Option<Self> {
        (bytes.len() <= PATCH_BYTES).then(|| Self::new(at, bytes))
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

/// Instructions that were copied elsewhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CopiedCode {
    /// The first one.
    pub at: RuntimeAddr,
    /// Bytes of all.
    pub length: u8,
}

impl HookSite {
    /// The jumps from a function to its stub, by way of a relay where there is one.
    pub(crate) fn leading_to(
        stub: RuntimeAddr,
        function: RuntimeAddr,
        relay: Option<RuntimeAddr>,
    ) -> Result<Self, SkipReason> {
        let jump_from = |at: RuntimeAddr| {
            let mut jump = Vec::with_capacity(JUMP_BYTES);
            push_jump(at, stub, &mut jump).map(|()| Patch::new(at, &jump))
        };
        let Some(relay) = relay else { return Ok(Self { jump: jump_from(function)?, relay: None, copy: None }) };
        let short = short_jump(relay.0.wrapping_sub(function.0)).ok_or(SkipReason::NoRoom)?;
        Ok(Self { jump: Patch::new(function, &short), relay: Some(jump_from(relay)?), copy: None })
    }

    /// The same by way of a relay that instructions have given way to, which run at `evicted` now.
    pub(crate) fn through_evicted(
        stub: RuntimeAddr,
        function: RuntimeAddr,
        relay: RuntimeAddr,
        evicted: RuntimeAddr,
    ) -> Result<Self, SkipReason> {
        let mut site = Self::leading_to(stub, function, Some(relay))?;
        let at = RuntimeAddr(relay.0 - JUMP_BYTES as u64);
        let mut jumps = Vec::with_capacity(PATCH_BYTES);
        push_jump(at, evicted, &mut jumps)?;
        push_jump(relay, stub, &mut jumps)?;
        site.relay = Some(Patch::new(at, &jumps));
        Ok(site)
    }

    /// In the order of [`crate::PatchPlan::patched`].
    pub fn patches(&self) -> impl Iterator<Item = &Patch> {
        [&self.jump].into_iter().chain(&self.relay)
    }
}
