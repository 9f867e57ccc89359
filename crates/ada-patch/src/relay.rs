//! Where the jump to a stub lies, if only a short jump, to there, has room.

use std::ops::Range;

use ada_event::{ImageOffset, RuntimeAddr};

use crate::arch::{JUMP_BYTES, SHORT_JUMP_BYTES};
use crate::displaced_exit::DisplacedExit;

/// A relay, by its address in the image, or in a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Relay<Address = ImageOffset> {
    /// Where the jump to the stub is: in padding, …
    pub at: Address,
    /// … or in the place of instructions that gave way. Their own jump is right before it.
    pub evicted: Option<DisplacedExit>,
}

/// The bytes that change where a jump, or a short one to a relay, is put.
pub(crate) fn patched(at: ImageOffset, relay: Option<Relay>) -> impl Iterator<Item = Range<ImageOffset>> {
    let range = |start: ImageOffset, bytes: usize| start..ImageOffset(start.0 + bytes as u64);
    let relay = relay.map(|relay| match relay.evicted {
        Some(_) => range(ImageOffset(relay.at.0 - JUMP_BYTES as u64), 2 * JUMP_BYTES),
        None => range(relay.at, JUMP_BYTES),
    });
    let jump = if relay.is_some() { SHORT_JUMP_BYTES } else { JUMP_BYTES };
    [range(at, jump)].into_iter().chain(relay)
}

impl Relay {
    /// The relay in a process that has loaded the image with `bias`.
    pub(crate) fn at_bias(self, bias: u64) -> Relay<RuntimeAddr> {
        Relay { at: self.at.at_bias(bias), evicted: self.evicted }
    }

    /// The bytes that are not the program's any more, or are run elsewhere.
    pub(crate) fn occupied(&self) -> Range<u64> {
        let jump = JUMP_BYTES as u64;
        match self.evicted {
            Some(evicted) => self.at.0 - jump..self.at.0 - jump + evicted.bytes().len() as u64,
            None => self.at.0..self.at.0 + jump,
        }
    }

    pub(crate) const STORED_BYTES: usize = 2 + DisplacedExit::STORED_BYTES;

    /// The relay of a jump at an address as bytes. It is as near as a short jump reaches; a distance of 0 is none.
    pub(crate) fn store(relay: Option<&Self>, from: ImageOffset) -> [u8; Self::STORED_BYTES] {
        let mut stored = [0; Self::STORED_BYTES];
        if let Some(relay) = relay {
            let distance = relay.at.0.wrapping_sub(from.0) as i16;
            stored[..2].copy_from_slice(&distance.to_le_bytes());
            if let Some(instructions) = &relay.evicted {
                stored[2..].copy_from_slice(&instructions.store());
            }
        }
        stored
    }

    /// What was stored, or nothing where the bytes are not a relay's.
    pub(crate) fn restore(stored: &[u8; Self::STORED_BYTES], from: ImageOffset) -> Option<Option<Self>> {
        let (distance, evicted) = stored.split_first_chunk()?;
        let evicted = match evicted.iter().all(|&byte| byte == 0) {
            true => None,
            false => Some(DisplacedExit::restore(evicted.try_into().ok()?)?),
        };
        match i16::from_le_bytes(*distance) {
            0 => evicted.is_none().then_some(None),
            distance => {
                let at = ImageOffset(from.0.checked_add_signed(distance.into())?);
                // What gives way makes room for two jumps, the second of which is the relay.
                let has_room = evicted.is_none_or(|it| it.bytes().len() >= 2 * JUMP_BYTES && at.0 >= JUMP_BYTES as u64);
                has_room.then_some(Some(Self { at, evicted }))
            }
        }
    }
}
