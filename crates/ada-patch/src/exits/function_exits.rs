//! The ways out of a function, as they are planned.

use crate::leaving::Leaving;

/// The ways out of a function.
#[derive(Debug, Default)]
pub(crate) struct FunctionExits {
    /// Those that are caught, by their numbers among all of the image.
    pub(crate) caught: Vec<u32>,
    /// What leaves the function among the instructions that its entry displaces: that stub records it.
    pub(crate) at_entry: Leaving,
    /// How many there are that cannot be caught.
    pub(crate) missed: u32,
    /// The function may be left in a way that is not known.
    pub(crate) is_open: bool,
}

impl FunctionExits {
    /// Whether no call can end unseen.
    pub(crate) fn are_complete(&self) -> bool {
        self.missed == 0 && !self.is_open
    }
}
