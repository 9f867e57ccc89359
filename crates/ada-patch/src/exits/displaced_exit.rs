//! The instructions that a jump at a way out overwrites.

/// Four bytes are short of a jump, and the instruction that completes it has at most fifteen.
const MOST_BYTES: usize = 19;

/// How a function is left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExitKind {
    /// It returns, and pops so many bytes of arguments.
    Return(u16),
    /// It goes on in another function.
    Tail,
    /// It goes on in another function if a condition holds, and else behind.
    ConditionalTail,
}

/// Whole instructions, the last of which leaves the function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DisplacedExit {
    bytes: [u8; MOST_BYTES],
    length: u8,
    /// How many instructions they are.
    instructions: u8,
    kind: ExitKind,
}

impl DisplacedExit {
    /// `bytes` are so many instructions, the last of which leaves.
    pub(crate) fn new(bytes: &[u8], instructions: u8, kind: ExitKind) -> Option<Self> {
        let mut own = [0; MOST_BYTES];
        own.get_mut(..bytes.len())?.copy_from_slice(bytes);
        Some(Self { bytes: own, length: bytes.len() as u8, instructions, kind })
    }

    /// The instructions' bytes.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes[..usize::from(self.length)]
    }

    /// How the function is left.
    pub fn kind(&self) -> ExitKind {
        self.kind
    }

    /// Which of the instructions are jumps into other functions, as bits.
    pub(crate) fn tails(&self) -> u8 {
        match self.kind {
            ExitKind::Return(_) => 0,
            ExitKind::Tail | ExitKind::ConditionalTail => 1 << (self.instructions.saturating_sub(1) & 7),
        }
    }

    pub(crate) const STORED_BYTES: usize = 2 + 1 + 2 + MOST_BYTES;

    pub(crate) fn store(&self) -> [u8; Self::STORED_BYTES] {
        let (kind, popped) = match self.kind {
            ExitKind::Return(popped) => (0, popped),
            ExitKind::Tail => (1, 0),
            ExitKind::ConditionalTail => (2, 0),
        };
        let mut stored = [0; Self::STORED_BYTES];
        stored[..3].copy_from_slice(&[self.length, self.instructions, kind]);
        stored[3..5].copy_from_slice(&popped.to_le_bytes());
        stored[5..].copy_from_slice(&self.bytes);
        stored
    }

    pub(crate) fn restore(stored: &[u8; Self::STORED_BYTES]) -> Option<Self> {
        let [length, instructions, kind, low, high, bytes @ ..] = *stored;
        let kind = match kind {
            0 => ExitKind::Return(u16::from_le_bytes([low, high])),
            1 => ExitKind::Tail,
            2 => ExitKind::ConditionalTail,
            _ => return None,
        };
        let fits = (1..=MOST_BYTES).contains(&usize::from(length)) && (1..=8).contains(&instructions);
        fits.then_some(Self { bytes, length, instructions, kind })
    }
}
