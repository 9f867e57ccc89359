//! How one way out of a function is patched, and how that is stored.

use std::ops::Range;

use ada_event::{ImageOffset, RuntimeAddr};

use super::displaced_exit::DisplacedExit;
use crate::arch::{JUMP_BYTES, SHORT_JUMP_BYTES};
use crate::leaving::Leaving;

/// How one way out is caught.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ExitPlan<Address = ImageOffset> {
    /// Where the jump goes.
    pub at: Address,
    /// What the jump overwrites.
    pub displaced: DisplacedExit,
    /// Padding nearby that takes the jump to the stub, where only a short jump, to there, has room.
    pub relay: Option<Address>,
    /// Where there is no padding: the instructions that give way to the relay. Their own jump is right before it.
    pub evicted: Option<DisplacedExit>,
    /// The number of a function that is left here.
    pub function: u32,
    /// Other functions are left here too.
    pub is_shared: bool,
}

impl ExitPlan {
    /// The plan for an image that is loaded with this bias.
    pub fn at_bias(&self, bias: u64) -> ExitPlan<RuntimeAddr> {
        let &Self { at, displaced, relay, evicted, function, is_shared } = self;
        ExitPlan {
            at: at.at_bias(bias),
            displaced,
            relay: relay.map(|relay| relay.at_bias(bias)),
            evicted,
            function,
            is_shared,
        }
    }

    /// The bytes that change: those of the jump, and those of its relay.
    pub fn patched(&self) -> impl Iterator<Item = Range<ImageOffset>> + use<> {
        let jump = if self.relay.is_some() { SHORT_JUMP_BYTES } else { JUMP_BYTES };
        let range = |start: ImageOffset, bytes: usize| start..ImageOffset(start.0 + bytes as u64);
        let relay = self.relay.map(|relay| match self.evicted {
            Some(_) => range(ImageOffset(relay.0 - JUMP_BYTES as u64), 2 * JUMP_BYTES),
            None => range(relay, JUMP_BYTES),
        });
        [range(self.at, jump)].into_iter().chain(relay)
    }

    /// Bytes of a stored plan.
    pub const STORED_BYTES: usize = 8 + 4 + 2 + 2 * DisplacedExit::STORED_BYTES + 1;

    /// The plan as bytes, so that it need not be made again.
    pub fn store(&self) -> [u8; Self::STORED_BYTES] {
        let mut stored = [0; Self::STORED_BYTES];
        stored[..8].copy_from_slice(&self.at.0.to_le_bytes());
        stored[8..12].copy_from_slice(&self.function.to_le_bytes());
        // A relay is as near as a short jump reaches; 0 is none, since no relay is at the jump itself.
        let distance = self.relay.map_or(0, |relay| relay.0.wrapping_sub(self.at.0) as i16);
        stored[12..14].copy_from_slice(&distance.to_le_bytes());
        stored[Self::STORED_BYTES - 1] = u8::from(self.is_shared);
        let (displaced, evicted) = stored[14..Self::STORED_BYTES - 1].split_at_mut(DisplacedExit::STORED_BYTES);
        displaced.copy_from_slice(&self.displaced.store());
        if let Some(instructions) = &self.evicted {
            evicted.copy_from_slice(&instructions.store());
        }
        stored
    }

    /// The plan that was stored, or nothing where the bytes are not a plan's.
    pub fn restore(stored: &[u8; Self::STORED_BYTES]) -> Option<Self> {
        let (at, rest) = stored.split_first_chunk()?;
        let (function, rest) = rest.split_first_chunk()?;
        let (distance, displaced) = rest.split_first_chunk()?;
        let at = u64::from_le_bytes(*at);
        let relay = match i16::from_le_bytes(*distance) {
            0 => None,
            distance => Some(ImageOffset(at.checked_add_signed(distance.into())?)),
        };
        let (&is_shared, displaced) = displaced.split_last()?;
        let (displaced, evicted) = displaced.split_first_chunk()?;
        let displaced = DisplacedExit::restore(displaced)?;
        let evicted = match evicted.iter().all(|&byte| byte == 0) {
            true => None,
            false => Some(DisplacedExit::restore(evicted.try_into().ok()?)?),
        };
        // What gives way makes room for two jumps, the second of which is the relay.
        if evicted
            .is_some_and(|it| it.bytes().len() < 2 * JUMP_BYTES || relay.is_none_or(|at| at.0 < JUMP_BYTES as u64))
        {
            return None;
        }
        Some(Self {
            at: ImageOffset(at),
            displaced,
            relay,
            evicted,
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
        Some(Self { at, displaced, relay: None, evicted: None, function: 0, is_shared: false })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plan_comes_back_as_it_was() {
        for (leaving, bytes) in [
            (Leaving::default(), &[0x5b, 0xc3][..]),
            (Leaving::default(), &[0xc2, 0x10, 0][..]),
            (Leaving { tails: 1, ..Leaving::default() }, &[0xe9, 1, 2, 3, 4][..]),
            (Leaving { returns: 2, ..Leaving::default() }, &[0x85, 0xff, 0x74, 0x10][..]),
            (Leaving { runs_into_return: true, ..Leaving::default() }, &[0x31, 0xc0][..]),
        ] {
            let displaced = DisplacedExit::new(bytes, leaving).unwrap();
            for relay in [None, Some(ImageOffset(0x1000 + 129)), Some(ImageOffset(0x1000 - 126))] {
                let long = DisplacedExit::new(&[0x90; 12], Leaving::default()).unwrap();
                for evicted in [None, relay.map(|_| long)] {
                    let plan =
                        ExitPlan { at: ImageOffset(0x1000), displaced, relay, evicted, function: 7, is_shared: true };
                    assert_eq!(ExitPlan::restore(&plan.store()), Some(plan));
                }
            }
        }
    }

    #[test]
    fn bytes_that_are_no_plan_are_refused() {
        let displaced = DisplacedExit::new(&[0xc3], Leaving::default()).unwrap();
        let plan =
            ExitPlan { at: ImageOffset(0x1000), displaced, relay: None, evicted: None, function: 7, is_shared: false };
        let good = plan.store();
        // Length, and whether they run into a return.
        for (at, value) in [(14, 0), (14, 20), (17, 2)] {
            let mut stored = good;
            stored[at] = value;
            assert_eq!(ExitPlan::restore(&stored), None, "byte {at}");
        }
        // Instructions that give way to nothing, and too few of them.
        let relay = Some(ImageOffset(0x1020));
        for (relay, evicted) in [(None, &[0x90; 12][..]), (relay, &[0x90; 9][..])] {
            let evicted = DisplacedExit::new(evicted, Leaving::default());
            assert_eq!(ExitPlan::restore(&ExitPlan { relay, evicted, ..plan }.store()), None);
        }
    }
}
