//! Which of a few instructions leave their function, beside the `ret`s among them.

/// By number from the first instruction on, as bits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Leaving {
    /// Jumps into other functions.
    pub tails: u8,
    /// Jumps to a `ret` of the function.
    pub returns: u8,
    /// The last instruction runs on into a `ret` that is not among them.
    pub runs_into_return: bool,
}

impl Leaving {
    /// Whether none of them leaves, unless by a `ret` of its own.
    pub fn is_empty(self) -> bool {
        self == Self::default()
    }

    pub(crate) const STORED_BYTES: usize = 3;

    pub(crate) fn store(self) -> [u8; Self::STORED_BYTES] {
        [self.tails, self.returns, u8::from(self.runs_into_return)]
    }

    pub(crate) fn restore([tails, returns, runs_into_return]: [u8; Self::STORED_BYTES]) -> Option<Self> {
        (runs_into_return <= 1).then_some(Self { tails, returns, runs_into_return: runs_into_return == 1 })
    }
}
