//! How a function is patched, and how that is stored.

use std::ops::Range;

use ada_event::{ImageOffset, RuntimeAddr};

use crate::arch::{self, Displaced, JUMP_BYTES};
use crate::leaving::Leaving;
use crate::relay::{self, Relay};
use crate::{SkipReason, StubKind};

/// In a stored plan, beside the kind.
const FLAGS_ARE_DEAD: u8 = 1 << 7;
const STARTS_OWN_LOOP: u8 = 1 << 6;

/// How one function is patched: by its addresses in the image, or in a process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PatchPlan<Address = ImageOffset> {
    /// Where the jump goes: the function's start, or behind its `endbr64`.
    pub at: Address,
    /// What kind of stub the jump leads to.
    pub kind: StubKind,
    /// What the jump overwrites.
    pub displaced: Displaced,
    /// What takes the jump to the stub, where only a short jump, to there, has room in the function.
    pub relay: Option<Relay<Address>>,
    /// Whether the function provably does not look at its caller's flags.
    pub flags_are_dead: bool,
    /// Which of the displaced instructions leave the function, where returns are caught at exits.
    pub leaving: Leaving,
    /// Whether the function jumps back to its own start. Such jumps lead to the displaced instructions: a turn of a loop is no call.
    pub starts_own_loop: bool,
}

impl PatchPlan<RuntimeAddr> {
    /// A plan for code that is not part of a planned image, given by its address and bytes in a process.
    pub fn at_runtime(address: RuntimeAddr, code: &[u8], kind: StubKind) -> Result<Self, SkipReason> {
        let skip = arch::marker_bytes(code);
        let displaced = Displaced::decode(&code[skip..], JUMP_BYTES)?;
        let at = RuntimeAddr(address.0 + skip as u64);
        let leaving = Leaving::default();
        Ok(Self { at, kind, displaced, relay: None, flags_are_dead: false, leaving, starts_own_loop: false })
    }
}

impl PatchPlan {
    /// The plan in a process that has loaded the image with `bias`.
    pub fn at_bias(&self, bias: u64) -> PatchPlan<RuntimeAddr> {
        let &Self { at, kind, displaced, relay, flags_are_dead, leaving, starts_own_loop } = self;
        PatchPlan {
            at: at.at_bias(bias),
            kind,
            displaced,
            relay: relay.map(|relay| relay.at_bias(bias)),
            flags_are_dead,
            leaving,
            starts_own_loop,
        }
    }

    /// The bytes that change: those of the jump at the function, and those of its relay.
    pub fn patched(&self) -> impl Iterator<Item = Range<ImageOffset>> + use<> {
        relay::patched(self.at, self.relay)
    }

    /// Bytes of a stored plan.
    pub const STORED_BYTES: usize = 8 + 1 + Leaving::STORED_BYTES + Displaced::STORED_BYTES + Relay::STORED_BYTES;

    /// The plan as bytes, so that it need not be made again.
    pub fn store(&self) -> [u8; Self::STORED_BYTES] {
        let mut stored = [0; Self::STORED_BYTES];
        stored[..8].copy_from_slice(&self.at.0.to_le_bytes());
        let flag = |is_set: bool, flag: u8| if is_set { flag } else { 0 };
        stored[8] =
            self.kind as u8 | flag(self.flags_are_dead, FLAGS_ARE_DEAD) | flag(self.starts_own_loop, STARTS_OWN_LOOP);
        stored[9..12].copy_from_slice(&self.leaving.store());
        let (displaced, relay) = stored[12..].split_at_mut(Displaced::STORED_BYTES);
        displaced.copy_from_slice(&self.displaced.store());
        relay.copy_from_slice(&Relay::store(self.relay.as_ref(), self.at));
        stored
    }

    /// The plan that was stored, or nothing where the bytes are not a plan's.
    pub fn restore(stored: &[u8; Self::STORED_BYTES]) -> Option<Self> {
        let (at, rest) = stored.split_first_chunk()?;
        let (&kind, rest) = rest.split_first()?;
        let (leaving, rest) = rest.split_first_chunk()?;
        let (displaced, relay) = rest.split_first_chunk()?;
        let at = ImageOffset(u64::from_le_bytes(*at));
        let relay = Relay::restore(relay.try_into().ok()?, at)?;
        let [flags_are_dead, starts_own_loop] = [FLAGS_ARE_DEAD, STARTS_OWN_LOOP].map(|flag| kind & flag != 0);
        let kind = kind & !(FLAGS_ARE_DEAD | STARTS_OWN_LOOP);
        let kind = StubKind::ALL.into_iter().find(|known| *known as u8 == kind)?;
        let leaving = Leaving::restore(*leaving)?;
        let displaced = Displaced::restore(displaced)?;
        Some(Self { at, kind, displaced, relay, flags_are_dead, leaving, starts_own_loop })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// endbr64; push rbp; mov rbp, rsp; sub rsp, 16; then padding.
    const CODE: [u8; 16] =
        [0xf3, 0x0f, 0x1e, 0xfa, 0x55, 0x48, 0x89, 0xe5, 0x48, 0x83, 0xec, 0x10, 0x90, 0x90, 0x90, 0x90];

    fn plan(kind: StubKind) -> PatchPlan {
        let displaced = Displaced::decode(&CODE[4..], JUMP_BYTES).unwrap();
        PatchPlan {
            at: ImageOffset(0x1004),
            kind,
            displaced,
            relay: None,
            flags_are_dead: false,
            leaving: Leaving::default(),
            starts_own_loop: false,
        }
    }

    #[test]
    fn a_plan_is_the_same_wherever_the_image_is() {
        let loaded = PatchPlan::at_runtime(RuntimeAddr(0x7000_1000), &CODE, StubKind::Full).unwrap();
        assert_eq!(plan(StubKind::Full).at_bias(0x7000_0000), loaded);
    }

    #[test]
    fn a_plan_comes_back_as_it_was() {
        for kind in StubKind::ALL {
            let plan = plan(kind);
            assert_eq!(plan.displaced.bytes(), &CODE[4..12]);
            for relay in [None, Some(0x1004 + 2 + 127), Some(0x1004 + 2 - 128)] {
                let relay = relay.map(|at| Relay { at: ImageOffset(at), evicted: None });
                let plan = PatchPlan { relay, starts_own_loop: relay.is_some(), ..plan.clone() };
                assert_eq!(PatchPlan::restore(&plan.store()), Some(plan));
            }
        }
    }

    #[test]
    fn bytes_that_are_no_plan_are_refused() {
        let good = plan(StubKind::Full).store();
        // Kind, what they run into, length, end, and whether the bytes can be moved.
        for (at, value) in [(8, StubKind::ALL.len() as u8), (11, 3), (12, 0), (12, 20), (13, 3), (14, 2)] {
            let mut stored = good;
            stored[at] = value;
            assert_eq!(PatchPlan::restore(&stored), None, "byte {at}");
        }
    }
}
