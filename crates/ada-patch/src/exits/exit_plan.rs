//! How one way out of a function is patched, and how that is stored.

use std::ops::Range;

use ada_event::{ImageOffset, RuntimeAddr};

use crate::displaced_exit::DisplacedExit;
use crate::leaving::Leaving;
use crate::relay::{self, Relay};

/// How one way out is caught.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ExitPlan<Address = ImageOffset> {
    /// Where the jump goes.
    pub at: Address,
    /// What the jump overwrites.
    pub displaced: DisplacedExit,
    /// What takes the jump to the stub, where only a short jump, to there, has room.
    pub relay: Option<Relay<Address>>,
    /// The number of a function that is left here.
    pub function: u32,
    /// Other functions are left here too.
    pub is_shared: bool,
}

impl ExitPlan {
    /// The plan for an image that is loaded with this bias.
    pub fn at_bias(&self, bias: u64) -> ExitPlan<RuntimeAddr> {
        let &Self { at, displaced, relay, function, is_shared } = self;
        ExitPlan { at: at.at_bias(bias), displaced, relay: relay.map(|relay| relay.at_bias(bias)), function, is_shared }
    }

    /// The bytes that change: those of the jump, and those of its relay.
    pub fn patched(&self) -> impl Iterator<Item = Range<ImageOffset>> + use<> {
        relay::patched(self.at, self.relay)
    }

    /// Bytes of a stored plan.
    pub const STORED_BYTES: usize = 8 + 4 + 1 + DisplacedExit::STORED_BYTES + Relay::STORED_BYTES;

    /// The plan as bytes, so that it need not be made again.
    pub fn store(&self) -> [u8; Self::STORED_BYTES] {
        let mut stored = [0; Self::STORED_BYTES];
        stored[..8].copy_from_slice(&self.at.0.to_le_bytes());
        stored[8..12].copy_from_slice(&self.function.to_le_bytes());
        stored[12] = u8::from(self.is_shared);
        let (displaced, relay) = stored[13..].split_at_mut(DisplacedExit::STORED_BYTES);
        displaced.copy_from_slice(&self.displaced.store());
        relay.copy_from_slice(&Relay::store(self.relay.as_ref(), self.at));
        stored
    }

    /// The plan that was stored, or nothing where the bytes are not a plan's.
    pub fn restore(stored: &[u8; Self::STORED_BYTES]) -> Option<Self> {
        let (at, rest) = stored.split_first_chunk()?;
        let (function, rest) = rest.split_first_chunk()?;
        let (&is_shared, rest) = rest.split_first()?;
        let (displaced, relay) = rest.split_first_chunk()?;
        let at = ImageOffset(u64::from_le_bytes(*at));
        Some(Self {
            at,
            displaced: DisplacedExit::restore(displaced)?,
            relay: Relay::restore(relay.try_into().ok()?, at)?,
            function: u32::from_le_bytes(*function),
            is_shared: is_shared != 0,
        })
    }
}

impl ExitPlan<RuntimeAddr> {
    /// A plan for a return that is not part of a planned image: instructions at an address, the last of which is the
    /// `ret`, with room for a jump.
    pub fn at_runtime(at: RuntimeAddr, bytes: &[u8]) -> Option<Self> {
        let displaced = DisplacedExit::new(bytes, Leaving::default())?;
        Some(Self { at, displaced, relay: None, function: 0, is_shared: false })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::leaving::Behind;

    #[test]
    fn a_plan_comes_back_as_it_was() {
        for (leaving, bytes) in [
            (Leaving::default(), &[0x5b, 0xc3][..]),
            (Leaving::default(), &[0xc2, 0x10, 0][..]),
            (Leaving { tails: 1, ..Leaving::default() }, &[0xe9, 1, 2, 3, 4][..]),
            (Leaving { returns: 2, ..Leaving::default() }, &[0x85, 0xff, 0x74, 0x10][..]),
            (Leaving { behind: Behind::Return, ..Leaving::default() }, &[0x31, 0xc0][..]),
            (Leaving { behind: Behind::Other, ..Leaving::default() }, &[0x0f, 0x1f, 0x44, 0, 0][..]),
        ] {
            let displaced = DisplacedExit::new(bytes, leaving).unwrap();
            let long = DisplacedExit::new(&[0x90; 12], Leaving::default());
            let relays = [0x1000 + 129, 0x1000 - 126]
                .into_iter()
                .flat_map(|at| [None, long].map(|evicted| Relay { at: ImageOffset(at), evicted }));
            for relay in [None].into_iter().chain(relays.map(Some)) {
                let plan = ExitPlan { at: ImageOffset(0x1000), displaced, relay, function: 7, is_shared: true };
                assert_eq!(ExitPlan::restore(&plan.store()), Some(plan));
            }
        }
    }

    #[test]
    fn bytes_that_are_no_plan_are_refused() {
        let displaced = DisplacedExit::new(&[0xc3], Leaving::default()).unwrap();
        let plan = ExitPlan { at: ImageOffset(0x1000), displaced, relay: None, function: 7, is_shared: false };
        // Length, and what they run into.
        for (at, value) in [(13, 0), (13, 20), (16, 3)] {
            let mut stored = plan.store();
            stored[at] = value;
            assert_eq!(ExitPlan::restore(&stored), None, "byte {at}");
        }
        // What gives way is too short for two jumps, or there is no relay that it gives way to.
        let evicted = |bytes: &[u8]| DisplacedExit::new(bytes, Leaving::default());
        let relay = Relay { at: ImageOffset(0x1010), evicted: evicted(&[0x90; 9]) };
        assert_eq!(ExitPlan::restore(&ExitPlan { relay: Some(relay), ..plan }.store()), None);
        let relay = Relay { at: ImageOffset(0x1000), evicted: evicted(&[0x90; 12]) };
        assert_eq!(ExitPlan::restore(&ExitPlan { relay: Some(relay), ..plan }.store()), None);
    }
}
