//! Instructions behind one another that are displaced together.

use std::ops::Range;

use super::ways::{ExitKind, WayOut};
use crate::arch::MOST_INSTRUCTIONS;
use crate::displaced_exit::MOST_BYTES;
use crate::leave::Listed;
use crate::leaving::{Behind, Leaving};

/// Some instructions behind one another, by their numbers among those of the function.
#[derive(Clone, Copy)]
pub(crate) struct Run {
    pub(crate) first: usize,
    pub(crate) last: usize,
    /// The last one runs on into a `ret`.
    pub(crate) then_returns: bool,
}

impl Run {
    /// The run of one instruction.
    pub(crate) fn of(number: usize) -> Self {
        Self { first: number, last: number, then_returns: false }
    }

    pub(crate) fn with_one_before(
        self,
        instructions: &[Listed],
        may_be_inner: impl Fn(&Listed) -> bool,
    ) -> Option<Self> {
        let (before, first) = (instructions.get(self.first.checked_sub(1)?)?, &instructions[self.first]);
        let joins = before.is_plain && before.end() == first.at && may_be_inner(first);
        let run = Self { first: self.first - 1, ..self };
        (joins && run.fits(instructions)).then_some(run)
    }

    pub(crate) fn with_one_behind(
        self,
        instructions: &[Listed],
        may_be_inner: impl Fn(&Listed) -> bool,
    ) -> Option<Self> {
        let (last, behind) = (&instructions[self.last], instructions.get(self.last + 1)?);
        let joins = behind.is_plain && last.end() == behind.at && may_be_inner(behind);
        let run = Self { last: self.last + 1, ..self };
        (joins && run.fits(instructions)).then_some(run)
    }

    /// Its addresses.
    pub(crate) fn range(self, instructions: &[Listed]) -> Range<u64> {
        instructions[self.first].at..instructions[self.last].end()
    }

    /// Whether a stub can take so many instructions and bytes.
    pub(crate) fn fits(self, instructions: &[Listed]) -> bool {
        let range = self.range(instructions);
        self.last - self.first < MOST_INSTRUCTIONS && range.end - range.start <= MOST_BYTES as u64
    }

    pub(crate) fn leaving(self, instructions: &[Listed], ways: &[WayOut]) -> Leaving {
        let behind = if self.then_returns { Behind::Return } else { Behind::Function };
        let mut leaving = Leaving { behind, ..Leaving::default() };
        for (number, listed) in instructions[self.first..=self.last].iter().enumerate() {
            let way = ways.binary_search_by_key(&listed.at, |way| way.leave.at);
            if way.is_ok_and(|way| !matches!(ways[way].kind, ExitKind::Return | ExitKind::Again)) {
                leaving.tails |= 1 << number;
            } else if let Some(target) = listed.target
                && let Ok(target) = instructions.binary_search_by_key(&target, |listed| listed.at)
                && instructions[target].is_return
            {
                leaving.returns |= 1 << number;
            }
        }
        leaving
    }
}
