//! Which of a few instructions leave their function, beside the `ret`s among them.

/// By number from the first instruction on, as bits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Leaving {
    /// Jumps into other functions.
    pub tails: u8,
    /// Jumps to a `ret` of the function.
    pub returns: u8,
    /// What the last instruction runs on into.
    pub behind: Behind,
}

/// What lies behind some instructions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Behind {
    /// The function goes on, or the last instruction does not run on.
    #[default]
    Function,
    /// A `ret`.
    Return,
    /// Another function.
    Other,
}

impl Leaving {
    /// Whether none of them leaves, unless by a `ret` of its own.
    pub fn is_empty(self) -> bool {
        self == Self::default()
    }

    pub(crate) const STORED_BYTES: usize = 3;

    pub(crate) fn store(self) -> [u8; Self::STORED_BYTES] {
        [self.tails, self.returns, self.behind as u8]
    }

    pub(crate) fn restore([tails, returns, behind]: [u8; Self::STORED_BYTES]) -> Option<Self> {
        let behind = [Behind::Function, Behind::Return, Behind::Other].into_iter().find(|it| *it as u8 == behind)?;
        Some(Self { tails, returns, behind })
    }
}
