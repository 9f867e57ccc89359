//! Instructions that give way to a relay where no padding is near.
//!
//! A run of them takes their own jump and the relay behind it. What gives way costs two jumps each time that it runs, so it
//! should not be in a loop.

use std::ops::Range;

use ada_event::ImageOffset;

use super::exit_plan::ExitPlan;
use super::extent::{Follower, OwnPiece};
use super::function_code::FunctionCode;
use super::neighbours::Neighbours;
use super::room::{Candidate, REACH, Room};
use super::run::Run;
use crate::arch::{JUMP_BYTES, SHORT_JUMP_BYTES, short_jump};
use crate::displaced_exit::{DisplacedExit, MOST_BYTES};
use crate::leave::Listed;
use crate::leaving::Leaving;
use crate::relay::Relay;

/// How many bytes give way to a relay, at the least: room for their own jump, and for the relay.
const EVICTED_BYTES: u64 = 2 * JUMP_BYTES as u64;

/// Looks for instructions that can give way.
pub(crate) struct Eviction<'e, 'a> {
    pub(crate) room: &'e Room<'a>,
    pub(crate) follower: &'e Follower<'a>,
    /// The code of others that may give way. None, before all have had their choice.
    pub(crate) neighbours: Option<&'e Neighbours>,
}

impl Eviction<'_, '_> {
    /// Makes room for the first of some candidates that only has room for a short jump.
    pub(crate) fn fit(
        &self,
        index: usize,
        candidates: impl Iterator<Item = Candidate>,
        padding: u64,
        function: &FunctionCode,
    ) -> Option<ExitPlan> {
        let short = candidates.filter(|it| self.room.has_room(it, padding, SHORT_JUMP_BYTES));
        // They start so near to each other that a relay which one cannot reach is seldom within the others' reach.
        short.take(2).find_map(|candidate| {
            let start = candidate.bytes.start;
            let used = start..start + candidate.taken_by(SHORT_JUMP_BYTES);
            let relay = self.relay_for(&used, function)?;
            self.room.plan_for(index, &candidate, Some(relay))
        })
    }

    /// A relay for a short jump in `used`, which is in a function.
    pub(crate) fn relay_for(&self, used: &Range<u64>, function: &FunctionCode) -> Option<Relay> {
        match self.neighbours {
            None => self.in_function(used, function, false),
            Some(neighbours) => {
                self.in_neighbour(used, function, neighbours).or_else(|| self.in_function(used, function, true))
            }
        }
    }

    /// Room in a function for the relay of a short jump in `used`.
    fn in_function(&self, used: &Range<u64>, function: &FunctionCode, in_loops: bool) -> Option<Relay> {
        let instructions = &function.instructions;
        let near = near(used);
        let first = instructions.partition_point(|listed| listed.at < near.start);
        let mut numbers = (first..instructions.len()).take_while(|&number| instructions[number].at < near.end);
        numbers.find_map(|number| self.from(number, used, function, in_loops))
    }

    /// The same in code nearby of other functions.
    fn in_neighbour(&self, used: &Range<u64>, function: &FunctionCode, neighbours: &Neighbours) -> Option<Relay> {
        let code = &self.follower.code;
        for piece in code.scan.pieces_in(near(used)) {
            if function.extent.pieces.iter().any(|own| own.piece == piece) || !neighbours.may_change(&piece) {
                continue;
            }
            let starts = code.functions.index_at(ImageOffset(piece.start)).is_some();
            let mut neighbour = FunctionCode::of_piece(OwnPiece { piece, starts });
            neighbour.list(self.follower);
            let room = self.in_function(used, &neighbour, false);
            if room.is_some() {
                return room;
            }
        }
        None
    }

    /// The same if instructions from this one on give way.
    fn from(&self, number: usize, used: &Range<u64>, function: &FunctionCode, in_loops: bool) -> Option<Relay> {
        let instructions = &function.instructions;
        let start = instructions[number].at;
        let relay = start + JUMP_BYTES as u64;
        if !instructions[number].is_plain || short_jump(relay.wrapping_sub(used.start)).is_none() {
            return None;
        }
        let code = &self.follower.code;
        let mut run = Run::of(number);
        while instructions[run.last].end() - start < EVICTED_BYTES {
            run =
                run.with_one_behind(instructions, |inner| function.body.may_be_inner(code, inner.at, inner.length))?;
        }
        let range = run.range(instructions);
        let is_apart = range.end <= used.start || used.end <= range.start;
        let is_looped = |listed: &Listed| listed.target.is_some_and(|target| target <= start) && listed.at >= start;
        let leaves = |listed: &Listed| listed.target.is_some_and(|target| self.follower.is_entry(target));
        if !is_apart
            || self.room.is_entered(&range)
            || instructions[run.first..=run.last].iter().any(leaves)
            || !function.is_proven(number, self.follower)
            || !run.leaving(instructions, &[]).is_empty()
            || !self.room.occupied.is_free(start, range.end - start)
            || code.scan.is_read(range.clone())
            || self.neighbours.is_some_and(|neighbours| neighbours.has_label(start + 1, range.end - 1))
            || !self.follower.patience.spend(instructions.len())
            || !in_loops && instructions.iter().any(is_looped)
        {
            return None;
        }
        let evicted = DisplacedExit::new(code.bytes(&range)?, Leaving::default())?;
        Some(Relay { at: ImageOffset(relay), evicted: Some(evicted) })
    }
}

/// Where instructions may start whose relay a short jump reaches.
fn near(used: &Range<u64>) -> Range<u64> {
    used.start.saturating_sub(REACH + MOST_BYTES as u64)..used.start.saturating_add(REACH)
}
