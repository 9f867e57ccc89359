//! The room of an image: what patches have taken, and where others fit.

use std::collections::HashMap;
use std::ops::Range;

use ada_event::ImageOffset;

use super::exit_plan::ExitPlan;
use super::occupied::Occupied;
use crate::PatchPlan;
use crate::arch::{JUMP_BYTES, SHORT_JUMP_BYTES, padding_lengths, short_jump};
use crate::displaced_exit::DisplacedExit;
use crate::image_code::ImageCode;
use crate::leaving::Leaving;
use crate::relay::Relay;

/// Padding behind a leaving instruction is not longer.
const LONGEST_PADDING: u64 = 64;
/// How far a short jump reaches, its own bytes included.
pub(crate) const REACH: u64 = 130;

/// Instructions that could give way to a jump.
#[derive(Clone)]
pub(crate) struct Candidate {
    pub(crate) bytes: Range<u64>,
    pub(crate) leaving: Leaving,
}

impl Candidate {
    /// How many bytes a jump of this length takes of them, and of padding behind them.
    pub(crate) fn taken_by(&self, jump: usize) -> u64 {
        (self.bytes.end - self.bytes.start).max(jump as u64)
    }
}

/// The room of an image, and the exits that have found theirs.
pub(crate) struct Room<'a> {
    code: ImageCode<'a>,
    pub(crate) occupied: Occupied,
    /// Padding that can take a jump.
    paddings: Vec<(u64, u64)>,
    plans: Vec<ExitPlan>,
    /// The plans by the address of the leaving instruction; nothing for those that cannot be caught.
    by_leave: HashMap<u64, Option<u32>>,
}

impl<'a> Room<'a> {
    /// The room that the jumps at functions' starts leave.
    pub(crate) fn beside<'p>(entries: impl Iterator<Item = &'p PatchPlan>, code: ImageCode<'a>) -> Self {
        let mut occupied = Occupied::new(code.ranges);
        for plan in entries {
            occupied.take(plan.at.0, plan.displaced.bytes().len() as u64);
            for patched in plan.patched() {
                occupied.take(patched.start.0, patched.end.0 - patched.start.0);
            }
        }
        let mut room = Self { code, occupied, paddings: Vec::new(), plans: Vec::new(), by_leave: HashMap::new() };
        room.paddings = code.scan.leaves.iter().filter_map(|leave| room.padding_behind(leave.end())).collect();
        room
    }

    /// All exits that are caught.
    pub(crate) fn into_plans(self) -> Vec<ExitPlan> {
        self.plans
    }

    /// What has become of a leaving instruction: the number of its plan, or nothing where it has no room as it is.
    pub(crate) fn known(&self, leave: u64) -> Option<Option<u32>> {
        self.by_leave.get(&leave).copied()
    }

    /// Remembers that a leaving instruction has no room as it is.
    pub(crate) fn note_missed(&mut self, leave: u64) {
        self.by_leave.insert(leave, None);
    }

    pub(crate) fn plan(&self, number: u32) -> &ExitPlan {
        &self.plans[number as usize]
    }

    pub(crate) fn plan_mut(&mut self, number: u32) -> &mut ExitPlan {
        &mut self.plans[number as usize]
    }

    pub(crate) fn take(&mut self, bytes: &Range<u64>) {
        self.occupied.take(bytes.start, bytes.end - bytes.start);
    }

    /// Takes the room that a plan for a leaving instruction needs.
    pub(crate) fn keep(&mut self, leave: u64, plan: ExitPlan) -> u32 {
        let jump = if plan.relay.is_some() { SHORT_JUMP_BYTES } else { JUMP_BYTES };
        let bytes = plan.displaced.bytes().len().max(jump);
        self.occupied.take(plan.at.0, bytes as u64);
        if let Some(relay) = plan.relay {
            self.take(&relay.occupied());
        }
        self.plans.push(plan);
        let number = self.plans.len() as u32 - 1;
        self.by_leave.insert(leave, Some(number));
        number
    }

    /// The first of some candidates of function `index` that has room for a jump to the stub, or for one to a relay in
    /// padding.
    pub(crate) fn first_fit(
        &self,
        index: usize,
        candidates: impl Iterator<Item = Candidate> + Clone,
        padding: u64,
    ) -> Option<ExitPlan> {
        if let Some(candidate) = candidates.clone().find(|it| self.has_room(it, padding, JUMP_BYTES)) {
            return self.plan_for(index, &candidate, None);
        }
        candidates.filter(|it| self.has_room(it, padding, SHORT_JUMP_BYTES)).find_map(|candidate| {
            let at = self.relay(candidate.bytes.start, candidate.taken_by(SHORT_JUMP_BYTES))?;
            self.plan_for(index, &candidate, Some(Relay { at: ImageOffset(at), evicted: None }))
        })
    }

    /// Whether a jump may go there that uses some padding too.
    pub(crate) fn has_room(&self, candidate: &Candidate, padding: u64, jump: usize) -> bool {
        let bytes = &candidate.bytes;
        bytes.end.saturating_add(padding) >= bytes.start.saturating_add(jump as u64)
            && self.occupied.is_free(bytes.start, candidate.taken_by(jump))
            && !self.is_entered(bytes)
    }

    pub(crate) fn plan_for(&self, index: usize, candidate: &Candidate, relay: Option<Relay>) -> Option<ExitPlan> {
        Some(ExitPlan {
            at: ImageOffset(candidate.bytes.start),
            displaced: DisplacedExit::new(self.code.bytes(&candidate.bytes)?, candidate.leaving)?,
            relay,
            function: index as u32,
            is_shared: false,
        })
    }

    /// Whether something may lead into instructions, behind the first byte: also into the middle of one, behind a prefix.
    pub(crate) fn is_entered(&self, bytes: &Range<u64>) -> bool {
        bytes.end - bytes.start > 1 && self.code.scan.may_be_led_to(bytes.start + 1, bytes.end - 1)
    }

    /// Padding that a short jump at `start` reaches, beside the bytes that are displaced there.
    fn relay(&self, start: u64, displaced: u64) -> Option<u64> {
        let first = self.paddings.partition_point(|(at, _)| at.saturating_add(LONGEST_PADDING + REACH) < start);
        let jump = JUMP_BYTES as u64;
        let mut near = self.paddings[first..].iter().take_while(|(at, _)| *at <= start.saturating_add(REACH));
        near.find_map(|&(at, length)| {
            let last = (at + length).checked_sub(jump)?;
            (at..=last).find(|&relay| {
                let is_apart = relay >= start + displaced || relay + jump <= start;
                is_apart && short_jump(relay.wrapping_sub(start)).is_some() && self.occupied.is_free(relay, jump)
            })
        })
    }

    /// Bytes behind the end of a leaving instruction that nothing can run.
    pub(crate) fn padding_behind(&self, start: u64) -> Option<(u64, u64)> {
        // Behind most, a block begins that something leads to.
        if self.code.scan.may_be_led_to(start, start) {
            return None;
        }
        let bytes = self.code.bytes_from(ImageOffset(start))?;
        let bytes = &bytes[..bytes.len().min(LONGEST_PADDING as usize)];
        let mut length = 0;
        for bytes in padding_lengths(bytes) {
            let at = start + length;
            if self.code.scan.may_be_led_to(at, at + bytes as u64 - 1)
                || self.code.scan.is_read(at..at + bytes as u64)
                || self.code.functions.index_at(ImageOffset(at)).is_some()
            {
                break;
            }
            length += bytes as u64;
        }
        (length > 0).then_some((start, length))
    }
}
