//! Ways out that have no room as they are, with all instructions of the function at hand.
//!
//! More instructions around one may be displaced with it, others may give way to a relay, and a `ret` between two jumps can
//! be caught where it is led to.

use std::ops::Range;

use ada_event::ImageOffset;

use super::eviction::Eviction;
use super::exit_plan::ExitPlan;
use super::extent::Follower;
use super::function_code::FunctionCode;
use super::function_exits::FunctionExits;
use super::neighbours::Neighbours;
use super::room::{Candidate, Room};
use super::run::Run;
use super::ways::{ExitKind, WayOut};
use crate::arch::instruction_number;
use crate::displaced_exit::DisplacedExit;
use crate::leave::Listed;
use crate::leaving::Behind;

/// Instructions of a function times exits that have no room, at most.
const MOST_LOOKS: usize = 1 << 20;

/// A function whose ways out have no room as they are.
pub(crate) struct CloseLook<'l, 'a> {
    pub(crate) index: usize,
    pub(crate) function: &'l FunctionCode,
    pub(crate) ways: &'l [WayOut],
    /// The bytes that its entry displaces.
    pub(crate) entry: Range<u64>,
    pub(crate) follower: &'l Follower<'a>,
    /// As in [`Eviction`].
    pub(crate) neighbours: Option<&'l Neighbours>,
    pub(crate) room: &'l mut Room<'a>,
    pub(crate) exits: &'l mut FunctionExits,
}

impl CloseLook<'_, '_> {
    /// Catches what was missed, as far as possible.
    pub(crate) fn catch(&mut self, missed: &[WayOut]) {
        let instructions = &self.function.instructions;
        // Of the largest functions, some exits are not looked for: a start must not take minutes.
        let looks = missed.len() * instructions.len();
        if looks > MOST_LOOKS || !self.follower.patience.spend(looks) {
            self.exits.missed += missed.len() as u32;
            return;
        }
        for way in missed {
            let number = instructions.binary_search_by_key(&way.leave.at, |listed| listed.at);
            let is_caught = number.is_ok_and(|number| {
                self.catch_in_run(Run::of(number)) || way.kind == ExitKind::Return && self.catch_before(number)
            });
            self.exits.missed += u32::from(!is_caught);
        }
    }

    /// Catches a `ret` that has no room where it is led to: at the jumps to it, and at what runs on into it.
    fn catch_before(&mut self, returning: usize) -> bool {
        let instructions = &self.function.instructions;
        let Listed { at, is_return, .. } = instructions[returning];
        let is_named = self.follower.code.scan.landing(ImageOffset(at)).is_named();
        if !is_return || is_named || self.function.body.has_label(at, at) {
            return false;
        }
        (0..instructions.len()).all(|number| {
            let listed = &instructions[number];
            let runs_on = listed.falls_through && listed.end() == at && !self.is_padding(number);
            let jumps = listed.target == Some(at);
            if !jumps && !runs_on {
                return true;
            }
            if !self.function.is_proven(number, self.follower) {
                return false;
            }
            if self.entry.contains(&listed.at) {
                let at_entry = &mut self.exits.at_entry;
                if runs_on {
                    at_entry.behind = Behind::Return;
                }
                at_entry.returns |= u8::from(jumps) << self.follower.number_in(&self.entry, listed.at);
                return true;
            }
            self.is_added(listed, runs_on) || self.catch_in_run(Run { then_returns: runs_on, ..Run::of(number) })
        })
    }

    /// Whether an instruction is the end of padding that nothing runs.
    fn is_padding(&self, number: usize) -> bool {
        let leaver = self.function.leaver_before(number);
        let padding = leaver.and_then(|leaver| self.room.padding_behind(leaver.end()));
        padding.is_some_and(|(start, length)| start + length >= self.function.instructions[number].end())
    }

    /// Whether a jump to a `ret`, or what runs on into it, is part of an exit that is caught already.
    fn is_added(&mut self, listed: &Listed, then_returns: bool) -> bool {
        let covers =
            |plan: &ExitPlan| (plan.at.0..plan.at.0 + plan.displaced.bytes().len() as u64).contains(&listed.at);
        let Some(number) = self.exits.caught.iter().copied().find(|&number| covers(self.room.plan(number))) else {
            return false;
        };
        let plan = self.room.plan_mut(number);
        let bytes = plan.displaced.bytes();
        let mut leaving = plan.displaced.leaving();
        if listed.target.is_some() {
            leaving.returns |= 1 << (instruction_number(bytes, (listed.at - plan.at.0) as usize) & 7);
        }
        if then_returns {
            leaving.behind = Behind::Return;
        }
        let Some(displaced) = DisplacedExit::new(bytes, leaving) else { return false };
        plan.displaced = displaced;
        true
    }

    /// Catches the exit by one instruction with a run of instructions around it.
    fn catch_in_run(&mut self, start: Run) -> bool {
        let FunctionCode { instructions, body, .. } = self.function;
        let leaver = &instructions[start.first];
        if let Some(Some(known)) = self.room.known(leaver.at) {
            self.exits.caught.push(known);
            return true;
        }
        if leaver.falls_through && !leaver.is_plain {
            return false;
        }
        let padding = if leaver.falls_through { None } else { self.room.padding_behind(leaver.end()) };
        let padding = padding.map_or(0, |(_, length)| length);
        let may_be_inner = |inner: &Listed| body.may_be_inner(&self.follower.code, inner.at, inner.length);
        let mut runs = vec![start];
        let mut run = start;
        while let Some(longer) = run.with_one_before(instructions, may_be_inner) {
            run = longer;
            runs.push(run);
        }
        if leaver.falls_through && !start.then_returns {
            for number in 0..runs.len() {
                let mut run = runs[number];
                while let Some(longer) = run.with_one_behind(instructions, may_be_inner) {
                    run = longer;
                    runs.push(run);
                }
            }
        }
        let candidates = runs.iter().filter(|run| run.fits(instructions)).map(|run| {
            let leaving = run.leaving(instructions, self.ways);
            Candidate { bytes: run.range(instructions), leaving }
        });
        let eviction = Eviction { room: &*self.room, follower: self.follower, neighbours: self.neighbours };
        let plan = self.room.first_fit(self.index, candidates.clone(), padding);
        let plan = plan.or_else(|| eviction.fit(self.index, candidates, padding, self.function));
        let Some(plan) = plan else { return false };
        self.exits.caught.push(self.room.keep(leaver.at, plan));
        true
    }
}
