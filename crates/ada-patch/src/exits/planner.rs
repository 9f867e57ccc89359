//! Finds room for a jump at each way out of a function.
//!
//! What a jump overwrites behind its first instruction must not be led to. Direct branches and landing pads are known; where
//! indirect jumps may lead, [`Body`] says. Most ways out have room as they are. The others get a closer look: a `ret` between
//! two jumps can be caught where it is led to.

use ada_event::ImageOffset;
use ada_image::Cfa;
use std::collections::HashMap;
use std::ops::Range;

use super::body::{Body, height};
use super::displaced_exit::{DisplacedExit, MOST_BYTES};
use super::exit_plan::ExitPlan;
use super::extent::{Extent, Follower, OwnPiece};
use super::occupied::Occupied;
use crate::PatchPlan;
use crate::arch::{JUMP_BYTES, MOST_INSTRUCTIONS, SHORT_JUMP_BYTES, instruction_number, padding_lengths, short_jump};
use crate::image_code::ImageCode;
use crate::leave::{Leave, LeaveKind, Listed, Listing};
use crate::leaving::Leaving;

/// Padding behind a leaving instruction is not longer.
const LONGEST_PADDING: u64 = 64;
/// Instructions of a function times exits that have no room, at most.
const MOST_LOOKS: usize = 1 << 20;
/// How far a short jump reaches, its own bytes included.
const REACH: u64 = 130;

/// The ways out of a function.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Exits {
    /// Those that are caught, by their numbers among all of the image.
    pub caught: Vec<u32>,
    /// What leaves the function among the instructions that its entry displaces: that stub's to tell of.
    pub at_entry: Leaving,
    /// How many there are that cannot be caught.
    pub missed: u32,
    /// The function may be left in a way that is not known.
    pub is_open: bool,
}

impl Exits {
    /// Whether no call can end unseen.
    pub fn are_complete(&self) -> bool {
        self.missed == 0 && !self.is_open
    }
}

/// How a function is left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ExitKind {
    /// It returns.
    Return,
    /// It goes on in another function.
    Tail,
    /// It goes on in another function if a condition holds, and else behind.
    ConditionalTail,
}

/// Plans the exits of one image's functions.
pub struct ExitPlanner<'a> {
    code: ImageCode<'a>,
    follower: Follower<'a>,
    is_hooked: &'a [bool],
    occupied: Occupied,
    plans: Vec<ExitPlan>,
    /// The plans by the address of the leaving instruction; nothing for those that cannot be caught.
    by_leave: HashMap<u64, Option<u32>>,
    /// Padding that can take a jump.
    paddings: Vec<(u64, u64)>,
    /// Code of other functions gives way to relays too.
    asks_neighbours: bool,
    /// How many more leaving instructions are looked at. In a hostile image every function may lead into the same code.
    patience: usize,
}

/// Where a leaving instruction leads.
enum Way {
    Out(ExitKind),
    Inside,
    Unknown,
}

impl<'a> ExitPlanner<'a> {
    /// `is_part` says of each function whether it is part of another, and `is_hooked` whether its code may change; `entries`
    /// are the jumps at functions' starts.
    pub fn new<'p>(
        code: ImageCode<'a>,
        is_part: &'a [bool],
        is_hooked: &'a [bool],
        entries: impl Iterator<Item = &'p PatchPlan>,
    ) -> Self {
        let mut occupied = Occupied::new(code.ranges);
        for plan in entries {
            occupied.take(plan.at.0, plan.displaced.bytes().len() as u64);
            for patched in plan.patched() {
                occupied.take(patched.start.0, patched.end.0 - patched.start.0);
            }
        }
        // Most functions have their code to themselves.
        let patience = 16 * code.scan.leaves.len() + 65_536;
        let follower = Follower { code, is_part };
        let mut planner = Self {
            code,
            follower,
            is_hooked,
            occupied,
            plans: Vec::new(),
            by_leave: HashMap::new(),
            paddings: Vec::new(),
            asks_neighbours: false,
            patience,
        };
        planner.paddings = code.scan.leaves.iter().filter_map(|leave| planner.padding_behind(leave.end())).collect();
        planner
    }

    /// All exits that are caught.
    pub fn into_plans(self) -> Vec<ExitPlan> {
        self.plans
    }

    /// From now on code of other functions gives way too, where one has no room for its exits. To be said when all have
    /// been planned, so that they have had the first choice.
    pub fn ask_neighbours(&mut self) {
        self.asks_neighbours = true;
    }

    /// Plans the exits of function `index`, whose entry displaces these bytes.
    pub fn plan(&mut self, index: usize, entry: Range<u64>) -> Exits {
        let start = self.code.functions.functions()[index].start;
        let mut extent = self.follower.extent_of(start.0);
        let mut exits = Exits::default();
        let to_look_at: usize = extent.pieces.iter().map(|own| self.follower.leaves(&own.piece).len()).sum();
        let Some(patience) = self.patience.checked_sub(to_look_at) else {
            exits.is_open = true;
            return exits;
        };
        self.patience = patience;
        let (mut body, mut listing) = self.body_of(&extent);
        if !body.parts.is_empty() {
            let parts = std::mem::take(&mut body.parts);
            self.follower.extend(&mut extent, parts);
            (body, listing) = self.body_of(&extent);
        }
        exits.is_open = extent.is_open || !body.parts.is_empty();
        let leaves = self.reached(&extent, &body, &mut exits);
        let ways = self.ways_out(&extent, &leaves, &body, &mut exits);
        let mut missed = Vec::new();
        for &(leave, kind) in &ways {
            if entry.contains(&leave.at) {
                if kind != ExitKind::Return {
                    exits.at_entry.tails |= 1 << self.number_in(&entry, leave.at);
                }
                continue;
            }
            match self.catch(index, &leave, kind, &body) {
                Some(number) => exits.caught.push(number),
                None => missed.push((leave, kind)),
            }
        }
        if !missed.is_empty() {
            let listing = listing.unwrap_or_else(|| self.list(&extent));
            let look = CloseLook { index, extent: &extent, ways: &ways, entry };
            self.look_closely(look, &listing, &body, &missed, &mut exits);
        }
        exits
    }

    /// Where a function's own jumps lead, and its instructions if they were needed for that.
    fn body_of(&self, extent: &Extent) -> (Body, Option<Listing>) {
        let leaves = extent.pieces.iter().flat_map(|own| self.follower.leaves(&own.piece));
        let jumps: Vec<Leave> = leaves.filter(|leave| leave.may_stay()).copied().collect();
        if jumps.is_empty() {
            return (Body::default(), None);
        }
        let listing = self.list(extent);
        (Body::by_tables(&self.follower, extent, &jumps, &listing), Some(listing))
    }

    /// The number of an instruction among those of a range.
    fn number_in(&self, range: &Range<u64>, at: u64) -> usize {
        let bytes = self.code.bytes_from(ImageOffset(range.start)).unwrap_or_default();
        let length = (range.end - range.start).min(bytes.len() as u64) as usize;
        instruction_number(&bytes[..length], (at - range.start) as usize) & 7
    }

    /// What leaves a function, and how.
    fn ways_out(&self, extent: &Extent, leaves: &[Leave], body: &Body, exits: &mut Exits) -> Vec<(Leave, ExitKind)> {
        let mut ways = Vec::with_capacity(leaves.len());
        for leave in leaves {
            match self.exit_kind(leave, extent, body) {
                Way::Out(kind) => ways.push((*leave, kind)),
                Way::Inside => {}
                Way::Unknown => exits.is_open = true,
            }
        }
        for own in &extent.pieces {
            let outgoing = &self.code.scan.outgoing;
            let first = outgoing.partition_point(|branch| branch.at < own.piece.start);
            let branches = outgoing[first..].iter().take_while(|branch| branch.at < own.piece.end);
            ways.extend(branches.filter(|branch| self.follower.is_entry(branch.target)).map(|branch| {
                let kind = LeaveKind::Jump(branch.target);
                let leave = Leave { at: branch.at, length: branch.length, kind, before: Default::default() };
                (leave, ExitKind::ConditionalTail)
            }));
        }
        ways.sort_by_key(|(leave, _)| leave.at);
        ways
    }

    /// The leaving instructions of a function that run.
    fn reached(&self, extent: &Extent, body: &Body, exits: &mut Exits) -> Vec<Leave> {
        let mut reached = Vec::new();
        for own in &extent.pieces {
            let piece = &own.piece;
            let has_rows = self.code.unwind.fde_at(ImageOffset(piece.start)).is_some();
            let leaves = self.follower.leaves(piece);
            // Any code may be a case of a switch whose table is not known; with unwind rows there is no data among it.
            let is_unknown = |leave: &Leave| leave.kind == LeaveKind::Switch && !body.knows(leave.at);
            let by_case = extent.pieces.iter().any(|own| self.follower.leaves(&own.piece).iter().any(is_unknown));
            exits.is_open |= by_case && !has_rows;
            let mut from = piece.start;
            for leave in leaves {
                if by_case && has_rows || self.is_reached(from, leave.at, own) || body.has_label(from, leave.at) {
                    reached.push(*leave);
                }
                from = leave.end();
            }
        }
        reached
    }

    /// Whether something is known to lead to the straight code `from..=to` of a piece.
    fn is_reached(&self, from: u64, to: u64, own: &OwnPiece) -> bool {
        from == own.piece.start && own.starts || self.code.scan.is_led_to(from, to) || self.has_row(from, to)
    }

    /// Whether the unwind table has something to say of `from..=to`, as it has of code only.
    fn has_row(&self, from: u64, to: u64) -> bool {
        let Some(fde) = self.code.unwind.fde_at(ImageOffset(from)) else { return false };
        let rows = self.code.unwind.rows(fde);
        let first = rows.partition_point(|row| row.start.0 < from);
        rows.get(first).is_some_and(|row| row.start.0 <= to)
    }

    /// Where a leaving instruction leads.
    fn exit_kind(&self, leave: &Leave, extent: &Extent, body: &Body) -> Way {
        let is_own = |target: u64| extent.pieces.iter().any(|own| (own.piece.start..own.piece.end).contains(&target));
        match leave.kind {
            LeaveKind::Return(_) => Way::Out(ExitKind::Return),
            LeaveKind::Jump(target) if self.follower.is_entry(target) && !is_own(target) => Way::Out(ExitKind::Tail),
            LeaveKind::JumpThroughLinker | LeaveKind::JumpThroughPointer | LeaveKind::JumpToRegister => {
                match height(&self.code, leave.at) {
                    _ if leave.is_behind_epilogue() => Way::Out(ExitKind::Tail),
                    // Somebody may have stored the address of one of the function's own labels.
                    Some(Cfa::Rsp(8)) if body.names_labels => Way::Unknown,
                    Some(Cfa::Rsp(8)) => Way::Out(ExitKind::Tail),
                    None if leave.kind == LeaveKind::JumpThroughLinker && !body.names_labels => {
                        Way::Out(ExitKind::Tail)
                    }
                    // With a frame still there, it is a computed goto.
                    Some(_) if body.knows(leave.at) => Way::Inside,
                    Some(_) | None => Way::Unknown,
                }
            }
            LeaveKind::JumpToPopped => Way::Unknown,
            LeaveKind::Jump(_) | LeaveKind::Switch | LeaveKind::Trap => Way::Inside,
        }
    }

    /// Plans one exit, once: several functions may share it.
    fn catch(&mut self, index: usize, leave: &Leave, kind: ExitKind, body: &Body) -> Option<u32> {
        if let Some(known) = self.by_leave.get(&leave.at) {
            return *known;
        }
        let number = self.find_room(index, leave, kind, body).map(|plan| self.keep(plan));
        self.by_leave.insert(leave.at, number);
        number
    }

    fn keep(&mut self, plan: ExitPlan) -> u32 {
        let jump = if plan.relay.is_some() { SHORT_JUMP_BYTES } else { JUMP_BYTES };
        let bytes = plan.displaced.bytes().len().max(jump);
        self.occupied.take(plan.at.0, bytes as u64);
        match (plan.relay, plan.evicted) {
            (Some(relay), Some(evicted)) => {
                self.occupied.take(relay.0 - JUMP_BYTES as u64, evicted.bytes().len() as u64);
            }
            (Some(relay), None) => self.occupied.take(relay.0, JUMP_BYTES as u64),
            (None, _) => {}
        }
        self.plans.push(plan);
        self.plans.len() as u32 - 1
    }

    fn find_room(&self, index: usize, leave: &Leave, kind: ExitKind, body: &Body) -> Option<ExitPlan> {
        // Behind a conditional jump the function goes on.
        let padding =
            if kind == ExitKind::ConditionalTail { 0 } else { self.padding_behind(leave.end()).map_or(0, |it| it.1) };
        let starts = self.starts(leave, body);
        let room = starts.iter().enumerate().map(|(before, &start)| {
            let tails = if kind == ExitKind::Return { 0 } else { 1 << (before & 7) };
            (start..leave.end(), Leaving { tails, ..Leaving::default() })
        });
        self.first_fit(index, room, padding)
    }

    /// Whether something may lead into instructions, behind the first byte: also into the middle of one, behind a prefix.
    fn is_entered(&self, run: &Range<u64>) -> bool {
        run.end - run.start > 1 && self.code.scan.may_be_led_to(run.start + 1, run.end - 1)
    }

    /// The first of some runs of instructions that has room for a jump to the stub, or for one to a relay.
    fn first_fit(
        &self,
        index: usize,
        runs: impl Iterator<Item = (Range<u64>, Leaving)> + Clone,
        padding: u64,
    ) -> Option<ExitPlan> {
        let has_room = |run: &Range<u64>, jump: u64| {
            run.end.saturating_add(padding) >= run.start.saturating_add(jump)
                && self.occupied.is_free(run.start, (run.end - run.start).max(jump))
                && !self.is_entered(run)
        };
        let plan = |run: Range<u64>, leaving: Leaving, relay: Option<ImageOffset>| {
            let bytes = self.code.bytes_from(ImageOffset(run.start))?.get(..(run.end - run.start) as usize)?;
            let displaced = DisplacedExit::new(bytes, leaving)?;
            Some(ExitPlan {
                at: ImageOffset(run.start),
                displaced,
                relay,
                evicted: None,
                function: index as u32,
                is_shared: false,
            })
        };
        let jump = JUMP_BYTES as u64;
        if let Some((run, leaving)) = runs.clone().find(|(run, _)| has_room(run, jump)) {
            return plan(run, leaving, None);
        }
        let jump = SHORT_JUMP_BYTES as u64;
        runs.filter(|(run, _)| has_room(run, jump)).find_map(|(run, leaving)| {
            let relay = self.relay(run.start, (run.end - run.start).max(jump))?;
            plan(run, leaving, Some(relay))
        })
    }

    /// Where a jump may go that catches a leaving instruction: there, or further up.
    fn starts(&self, leave: &Leave, body: &Body) -> Vec<u64> {
        let mut starts = vec![leave.at];
        let (mut at, mut inner) = (leave.at, 0);
        for before in leave.before {
            let length = if at == leave.at { leave.length } else { inner };
            if before.length == 0 || !before.is_plain || !body.may_be_inner(&self.code, at, length) {
                break;
            }
            at -= u64::from(before.length);
            inner = before.length;
            starts.push(at);
            if leave.end() - at >= JUMP_BYTES as u64 {
                break;
            }
        }
        starts
    }

    /// Padding that a short jump at `start` reaches, beside the bytes that are displaced there.
    fn relay(&self, start: u64, displaced: u64) -> Option<ImageOffset> {
        let first = self.paddings.partition_point(|(at, _)| at.saturating_add(LONGEST_PADDING + REACH) < start);
        let jump = JUMP_BYTES as u64;
        self.paddings[first..].iter().take_while(|(at, _)| *at <= start.saturating_add(REACH)).find_map(
            |&(at, length)| {
                let last = (at + length).checked_sub(jump)?;
                (at..=last)
                    .find(|&place| {
                        let is_apart = place >= start + displaced || place + jump <= start;
                        is_apart
                            && short_jump(place.wrapping_sub(start)).is_some()
                            && self.occupied.is_free(place, jump)
                    })
                    .map(ImageOffset)
            },
        )
    }

    /// Bytes behind the end of a leaving instruction that nothing can run.
    fn padding_behind(&self, start: u64) -> Option<(u64, u64)> {
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

/// A function whose ways out have no room as they are.
struct CloseLook<'l> {
    index: usize,
    extent: &'l Extent,
    ways: &'l [(Leave, ExitKind)],
    /// The bytes that its entry displaces.
    entry: Range<u64>,
}

impl ExitPlanner<'_> {
    /// Catches what was missed, as far as possible, with all instructions of the function at hand.
    fn look_closely(
        &mut self,
        look: CloseLook<'_>,
        listing: &Listing,
        body: &Body,
        missed: &[(Leave, ExitKind)],
        exits: &mut Exits,
    ) {
        // Of the largest functions, some exits are not looked for: a start must not take minutes.
        if missed.len() * listing.instructions.len() > MOST_LOOKS {
            exits.missed += missed.len() as u32;
            return;
        }
        for (leave, kind) in missed {
            let Ok(number) = listing.instructions.binary_search_by_key(&leave.at, |listed| listed.at) else {
                exits.missed += 1;
                continue;
            };
            let run = Run { first: number, last: number, leaver: number, then_returns: false };
            let is_caught = self.catch_in_run(&look, listing, run, body, exits)
                || *kind == ExitKind::Return
                    && listing.instructions[number].is_return
                    && !body.has_label(leave.at, leave.at)
                    && !self.code.scan.landing(ImageOffset(leave.at)).is_named()
                    && self.catch_before(&look, listing, number, body, exits);
            exits.missed += u32::from(!is_caught);
        }
    }

    fn list(&self, extent: &Extent) -> Listing {
        let mut listing = Listing::default();
        for OwnPiece { piece, starts } in &extent.pieces {
            let bytes = self.code.bytes_from(ImageOffset(piece.start)).unwrap_or_default();
            let length = (piece.end - piece.start).min(bytes.len() as u64) as usize;
            let is_landing = |at: u64| self.code.scan.landing(ImageOffset(at)).any();
            listing.add(&bytes[..length], piece.start, *starts, is_landing);
        }
        listing.instructions.sort_unstable_by_key(|listed| listed.at);
        listing
    }

    /// Catches a `ret` that has no room where it is led to: at the jumps to it, and at what runs on into it.
    fn catch_before(
        &mut self,
        look: &CloseLook<'_>,
        listing: &Listing,
        returning: usize,
        body: &Body,
        exits: &mut Exits,
    ) -> bool {
        let instructions = &listing.instructions;
        let at = instructions[returning].at;
        (0..instructions.len()).all(|number| {
            let listed = &instructions[number];
            let runs_on = listed.falls_through && listed.end() == at && !self.is_padding(instructions, number);
            if listed.target != Some(at) && !runs_on {
                return true;
            }
            if !self.is_proven(look.extent, body, instructions, number) {
                return false;
            }
            let run = Run { first: number, last: number, leaver: number, then_returns: runs_on };
            if look.entry.contains(&listed.at) {
                exits.at_entry.runs_into_return |= runs_on;
                if listed.target == Some(at) {
                    exits.at_entry.returns |= 1 << self.number_in(&look.entry, listed.at);
                }
                return true;
            }
            self.is_added(exits, listed, run.then_returns) || self.catch_in_run(look, listing, run, body, exits)
        })
    }

    /// Whether something is known to lead to an instruction's block, so that it is one.
    fn is_proven(&self, extent: &Extent, body: &Body, instructions: &[Listed], number: usize) -> bool {
        let at = instructions[number].at;
        let Some(own) = extent.pieces.iter().find(|own| (own.piece.start..own.piece.end).contains(&at)) else {
            return false;
        };
        let leaver = instructions[..number].iter().rev().find(|listed| !listed.falls_through);
        let from = leaver.map_or(own.piece.start, |leaver| leaver.end().max(own.piece.start));
        self.is_reached(from, at, own) || body.has_label(from, at)
    }

    /// Whether an instruction is the end of padding that nothing runs.
    fn is_padding(&self, instructions: &[Listed], number: usize) -> bool {
        let Some(leaver) = instructions[..number].iter().rev().find(|listed| !listed.falls_through) else {
            return false;
        };
        let padding = self.padding_behind(leaver.end());
        padding.is_some_and(|(start, length)| start + length >= instructions[number].end())
    }

    /// Whether a jump to a `ret`, or what runs on into it, is part of an exit that is caught already.
    fn is_added(&mut self, exits: &Exits, listed: &Listed, then_returns: bool) -> bool {
        let covers =
            |plan: &ExitPlan| (plan.at.0..plan.at.0 + plan.displaced.bytes().len() as u64).contains(&listed.at);
        let Some(number) = exits.caught.iter().copied().find(|&number| covers(&self.plans[number as usize])) else {
            return false;
        };
        let plan = &mut self.plans[number as usize];
        let bytes = plan.displaced.bytes();
        let mut leaving = plan.displaced.leaving();
        if listed.target.is_some() {
            leaving.returns |= 1 << (instruction_number(bytes, (listed.at - plan.at.0) as usize) & 7);
        }
        leaving.runs_into_return |= then_returns;
        let Some(displaced) = DisplacedExit::new(bytes, leaving) else { return false };
        plan.displaced = displaced;
        true
    }

    /// Catches an exit by a run of instructions around it.
    fn catch_in_run(
        &mut self,
        look: &CloseLook<'_>,
        listing: &Listing,
        start: Run,
        body: &Body,
        exits: &mut Exits,
    ) -> bool {
        let instructions = &listing.instructions;
        let leaver = instructions[start.leaver].at;
        if let Some(Some(known)) = self.by_leave.get(&leaver) {
            exits.caught.push(*known);
            return true;
        }
        let ends = start.then_returns || !instructions[start.leaver].falls_through;
        if instructions[start.leaver].falls_through && !instructions[start.leaver].is_plain {
            return false;
        }
        let padding = match ends && !start.then_returns {
            true => self.padding_behind(instructions[start.leaver].end()).map_or(0, |it| it.1),
            false => 0,
        };
        let mut runs = vec![start];
        let mut run = start;
        while let Some(longer) =
            run.with_one_before(instructions, |inner| body.may_be_inner(&self.code, inner.at, inner.length))
        {
            run = longer;
            runs.push(run);
        }
        if !ends {
            for number in 0..runs.len() {
                let mut run = runs[number];
                while let Some(longer) =
                    run.with_one_behind(instructions, |inner| body.may_be_inner(&self.code, inner.at, inner.length))
                {
                    run = longer;
                    runs.push(run);
                }
            }
        }
        let runs = runs.iter().filter(|run| run.fits(instructions)).map(|run| {
            let range = instructions[run.first].at..instructions[run.last].end();
            (range, run.leaving(instructions, look.ways))
        });
        let plan = self.first_fit(look.index, runs.clone(), padding);
        let Some(plan) =
            plan.or_else(|| self.fit_by_eviction(look.index, runs, padding, look.extent, instructions, body))
        else {
            return false;
        };
        let number = self.keep(plan);
        self.by_leave.insert(leaver, Some(number));
        exits.caught.push(number);
        true
    }
}

/// How many bytes give way to a relay, at the least: room for their own jump, and for the relay.
const EVICTED_BYTES: u64 = 2 * JUMP_BYTES as u64;

impl ExitPlanner<'_> {
    /// Lets other instructions of the function give way to a relay, for the first of some runs that only has room for a
    /// short jump. What gives way costs two jumps each time that it runs, so it should not be in a loop.
    fn fit_by_eviction(
        &self,
        index: usize,
        runs: impl Iterator<Item = (Range<u64>, Leaving)>,
        padding: u64,
        extent: &Extent,
        instructions: &[Listed],
        body: &Body,
    ) -> Option<ExitPlan> {
        let jump = SHORT_JUMP_BYTES as u64;
        let taken = |run: &Range<u64>| (run.end - run.start).max(jump);
        let has_room = |run: &Range<u64>| {
            run.end - run.start + padding >= jump
                && self.occupied.is_free(run.start, taken(run))
                && !self.is_entered(run)
        };
        // They start so near to each other that a relay which one cannot reach is seldom within the others' reach.
        runs.filter(|(run, _)| has_room(run)).take(2).find_map(|(run, leaving)| {
            let taken = taken(&run);
            let used = run.start..run.start + taken;
            let own = |in_loops: bool| self.evict_any(&used, extent, instructions, body, in_loops);
            let (relay, evicted) = match self.asks_neighbours {
                false => own(false),
                true => self.evict_neighbour(&used, extent).or_else(|| own(true)),
            }?;
            let bytes = self.code.bytes_from(ImageOffset(run.start))?.get(..(run.end - run.start) as usize)?;
            let displaced = DisplacedExit::new(bytes, leaving)?;
            let (at, relay) = (ImageOffset(run.start), Some(ImageOffset(relay)));
            Some(ExitPlan { at, displaced, relay, evicted: Some(evicted), function: index as u32, is_shared: false })
        })
    }

    /// Where a relay for a short jump in `used` could go if other instructions of the function gave way to it.
    fn evict_any(
        &self,
        used: &Range<u64>,
        extent: &Extent,
        instructions: &[Listed],
        body: &Body,
        in_loops: bool,
    ) -> Option<(u64, DisplacedExit)> {
        let near = near(used);
        let first = instructions.partition_point(|listed| listed.at < near.start);
        let mut numbers = (first..instructions.len()).take_while(|&number| instructions[number].at < near.end);
        numbers.find_map(|number| self.evict(number, used, extent, instructions, body, in_loops))
    }

    /// The same for functions nearby that make no indirect jumps.
    fn evict_neighbour(&self, used: &Range<u64>, extent: &Extent) -> Option<(u64, DisplacedExit)> {
        let near = near(used);
        let mut at = near.start;
        while at < near.end {
            let piece = self.code.scan.piece_at(at)?;
            at = piece.end;
            let function = self.code.functions.index_at(ImageOffset(piece.start));
            let may_change = function.is_some_and(|index| self.is_hooked[index]);
            if extent.pieces.iter().any(|own| own.piece == piece) || !may_change {
                continue;
            }
            let neighbour = self.follower.extent_of(piece.start);
            let jumps = |own: &OwnPiece| self.follower.leaves(&own.piece).iter().any(Leave::may_stay);
            if neighbour.is_open || neighbour.pieces.iter().any(jumps) {
                continue;
            }
            let listing = self.list(&neighbour);
            let found = self.evict_any(used, &neighbour, &listing.instructions, &Body::default(), false);
            if found.is_some() {
                return found;
            }
        }
        None
    }

    /// Where a relay for a short jump in `used` could go if instructions from this one on gave way to it.
    fn evict(
        &self,
        number: usize,
        used: &Range<u64>,
        extent: &Extent,
        instructions: &[Listed],
        body: &Body,
        in_loops: bool,
    ) -> Option<(u64, DisplacedExit)> {
        let start = instructions[number].at;
        let relay = start + JUMP_BYTES as u64;
        if !instructions[number].is_plain || short_jump(relay.wrapping_sub(used.start)).is_none() {
            return None;
        }
        let mut run = Run { first: number, last: number, leaver: number, then_returns: false };
        while instructions[run.last].end() - start < EVICTED_BYTES {
            run = run.with_one_behind(instructions, |inner| body.may_be_inner(&self.code, inner.at, inner.length))?;
        }
        let range = start..instructions[run.last].end();
        let is_apart = range.end <= used.start || used.end <= range.start;
        let is_looped = |listed: &Listed| listed.target.is_some_and(|target| target <= start) && listed.at >= start;
        let leaves = |listed: &Listed| listed.target.is_some_and(|target| self.follower.is_entry(target));
        if !is_apart
            || self.is_entered(&range)
            || instructions[run.first..=run.last].iter().any(leaves)
            || !self.is_proven(extent, body, instructions, number)
            || !run.leaving(instructions, &[]).is_empty()
            || !self.occupied.is_free(start, range.end - start)
            || !in_loops && instructions.iter().any(is_looped)
        {
            return None;
        }
        let bytes = self.code.bytes_from(ImageOffset(start))?.get(..(range.end - start) as usize)?;
        Some((relay, DisplacedExit::new(bytes, Leaving::default())?))
    }
}

/// Where instructions may start whose relay a short jump reaches.
fn near(used: &Range<u64>) -> Range<u64> {
    used.start.saturating_sub(REACH + MOST_BYTES as u64)..used.start.saturating_add(REACH)
}

/// Some instructions behind one another.
#[derive(Clone, Copy)]
struct Run {
    first: usize,
    last: usize,
    /// The one that leaves the function.
    leaver: usize,
    /// The last one runs on into a `ret`.
    then_returns: bool,
}

impl Run {
    fn with_one_before(self, instructions: &[Listed], may_be_inner: impl Fn(&Listed) -> bool) -> Option<Self> {
        let (before, first) = (instructions.get(self.first.checked_sub(1)?)?, &instructions[self.first]);
        let joins = before.is_plain && before.end() == first.at && may_be_inner(first);
        let run = Self { first: self.first - 1, ..self };
        (joins && run.fits(instructions)).then_some(run)
    }

    fn with_one_behind(self, instructions: &[Listed], may_be_inner: impl Fn(&Listed) -> bool) -> Option<Self> {
        let (last, behind) = (&instructions[self.last], instructions.get(self.last + 1)?);
        let joins = behind.is_plain && last.end() == behind.at && may_be_inner(behind);
        let run = Self { last: self.last + 1, ..self };
        (joins && run.fits(instructions)).then_some(run)
    }

    /// Whether a stub can take so many instructions and bytes.
    fn fits(self, instructions: &[Listed]) -> bool {
        let bytes = instructions[self.last].end() - instructions[self.first].at;
        self.last - self.first < MOST_INSTRUCTIONS && bytes <= MOST_BYTES as u64
    }

    fn leaving(self, instructions: &[Listed], ways: &[(Leave, ExitKind)]) -> Leaving {
        let mut leaving = Leaving { runs_into_return: self.then_returns, ..Leaving::default() };
        for (number, listed) in instructions[self.first..=self.last].iter().enumerate() {
            let way = ways.binary_search_by_key(&listed.at, |(leave, _)| leave.at);
            if way.is_ok_and(|way| ways[way].1 != ExitKind::Return) {
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
