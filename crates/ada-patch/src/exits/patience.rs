//! How much is looked at before the planner gives up.
//!
//! In a hostile image every function may lead into the same code, and every constant may name the same table. What is looked
//! at again and again so is paid for each time; most functions have their code to themselves.

use std::cell::Cell;

use ada_image::CodeRange;

/// What remains, in bytes of code or entries of tables.
pub(crate) struct Patience(Cell<usize>);

impl Patience {
    /// Enough to look at all code many times. What remains of functions behind that is not understood.
    pub(crate) fn for_code(ranges: &[CodeRange<'_>]) -> Self {
        let bytes: usize = ranges.iter().map(|range| range.bytes.len()).sum();
        Self(Cell::new(bytes.saturating_mul(64).saturating_add(1 << 20)))
    }

    /// Whether there is still enough. Once there is not, nothing remains.
    pub(crate) fn spend(&self, amount: usize) -> bool {
        let remaining = self.0.get().checked_sub(amount);
        self.0.set(remaining.unwrap_or(0));
        remaining.is_some()
    }

    pub(crate) fn is_over(&self) -> bool {
        self.0.get() == 0
    }
}
