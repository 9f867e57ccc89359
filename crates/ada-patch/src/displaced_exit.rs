//! The instructions that a jump at a way out overwrites.

use crate::leaving::Leaving;

/// Four bytes are short of a jump, and the instruction that completes it has at most fifteen.
pub(crate) const MOST_BYTES: usize = 19;

/// Whole instructions, one of which leaves the function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DisplacedExit {
    bytes: [u8; MOST_BYTES],
    length: u8,
    leaving: Leaving,
}

impl DisplacedExit {
    pub(crate) fn new(bytes: &[u8], leaving: Leaving) -> Option<Self> {
        let mut own = [0; MOST_BYTES];
        own.get_mut(..bytes.len())?.copy_from_slice(bytes);
        Some(Self { bytes: own, length: bytes.len() as u8, leaving })
    }

    /// The instructions' bytes.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes[..usize::from(self.length)]
    }

    /// Which of them leave the function, beside a `ret`.
    pub fn leaving(&self) -> Leaving {
        self.leaving
    }

    pub(crate) const STORED_BYTES: usize = 1 + Leaving::STORED_BYTES + MOST_BYTES;

    pub(crate) fn store(&self) -> [u8; Self::STORED_BYTES] {
        let mut stored = [0; Self::STORED_BYTES];
        stored[0] = self.length;
        stored[1..4].copy_from_slice(&self.leaving.store());
        stored[4..].copy_from_slice(&self.bytes);
        stored
    }

    pub(crate) fn restore(stored: &[u8; Self::STORED_BYTES]) -> Option<Self> {
        let [length, tails, returns, behind, bytes @ ..] = *stored;
        let leaving = Leaving::restore([tails, returns, behind])?;
        (1..=MOST_BYTES).contains(&usize::from(length)).then_some(Self { bytes, length, leaving })
    }
}
