//! Finds room for a jump at each way out of a function.
//!
//! What a jump overwrites behind its first instruction must not be led to. Direct branches and landing pads are known; where
//! indirect jumps may lead, [`Body`](super::body::Body) says. Most ways out have room as they are; the others get a
//! [closer look](CloseLook).

use std::ops::Range;

use super::close_look::CloseLook;
use super::eviction::Eviction;
use super::exit_plan::ExitPlan;
use super::extent::Follower;
use super::function_code::FunctionCode;
use super::function_exits::FunctionExits;
use super::neighbours::Neighbours;
use super::room::{Candidate, Room};
use super::ways::{ExitKind, WayOut, Ways};
use crate::PatchPlan;
use crate::arch::{JUMP_BYTES, padding_lengths};
use crate::leave::{Leave, LeaveKind};
use crate::leaving::{Behind, Leaving};
use crate::relay::Relay;

/// Plans the exits of one image's functions.
pub(crate) struct ExitPlanner<'a> {
    follower: Follower<'a>,
    room: Room<'a>,
    neighbours: &'a Neighbours,
    /// Code of other functions gives way to relays too.
    asks_neighbours: bool,
}

impl<'a> ExitPlanner<'a> {
    /// `entries` are the jumps at functions' starts.
    pub(crate) fn new<'p>(
        follower: Follower<'a>,
        neighbours: &'a Neighbours,
        entries: impl Iterator<Item = &'p PatchPlan>,
    ) -> Self {
        let room = Room::beside(entries, follower.code);
        Self { follower, room, neighbours, asks_neighbours: false }
    }

    /// All exits that are caught.
    pub(crate) fn into_plans(self) -> Vec<ExitPlan> {
        self.room.into_plans()
    }

    /// From now on code of other functions gives way too, where one has no room for its exits. To be said when all have
    /// been planned, so that they have had the first choice.
    pub(crate) fn ask_neighbours(&mut self) {
        self.asks_neighbours = true;
    }

    /// Plans the exits of function `index`, whose entry displaces these bytes; and its jumps to its own start, if it has some.
    pub(crate) fn plan(&mut self, index: usize, entry: Range<u64>, starts_own_loop: bool) -> FunctionExits {
        let not_understood = FunctionExits { is_open: true, ..FunctionExits::default() };
        if self.follower.patience.is_over() {
            return not_understood;
        }
        let start = self.follower.code.functions.functions()[index].start;
        let Some(mut function) = FunctionCode::of(self.follower.extent_of(start.0), &self.follower) else {
            return not_understood;
        };
        let ways = Ways::out_of(&function, &self.follower);
        let is_open = function.extent.is_open || ways.is_open;
        let mut exits = FunctionExits { is_open, ..FunctionExits::default() };
        let mut missed = Vec::new();
        for way in &ways.out {
            if entry.contains(&way.leave.at) {
                if way.kind != ExitKind::Return {
                    exits.at_entry.tails |= 1 << self.follower.number_in(&entry, way.leave.at);
                }
                continue;
            }
            match self.catch(index, way, &function) {
                Some(number) => exits.caught.push(number),
                None => missed.push(*way),
            }
        }
        if starts_own_loop {
            function.list(&self.follower);
            let turns = own_turns(&function, start.0);
            // A jump among what the entry displaces would lead to the hook.
            exits.is_open |= turns.is_empty()
                || turns.iter().any(|turn| entry.contains(&turn.leave.at))
                || function.body.has_label(start.0, start.0)
                || !function.body.knows_all();
            missed.extend(turns);
        }
        for padding in &function.extent.runs_over {
            exits.is_open |= !self.catch_at_padding(index, padding, &entry, &mut exits);
        }
        if !missed.is_empty() {
            function.list(&self.follower);
            let neighbours = self.asks_neighbours.then_some(self.neighbours);
            CloseLook {
                index,
                function: &function,
                ways: &ways.out,
                entry,
                follower: &self.follower,
                neighbours,
                room: &mut self.room,
                exits: &mut exits,
            }
            .catch(&missed);
        }
        exits
    }

    /// Has instructions give way to a relay for a short jump over the start of function `index`, which displaces these bytes.
    pub(crate) fn relay_for_entry(&mut self, index: usize, entry: &Range<u64>) -> Option<Relay> {
        let start = self.follower.code.functions.functions()[index].start;
        let is_free = self.room.occupied.is_free(entry.start, entry.end - entry.start);
        if !is_free || self.follower.patience.is_over() {
            return None;
        }
        let mut function = FunctionCode::of(self.follower.extent_of(start.0), &self.follower)?;
        function.list(&self.follower);
        let eviction = Eviction { room: &self.room, follower: &self.follower, neighbours: Some(self.neighbours) };
        let relay = eviction.relay_for(entry, &function)?;
        self.room.take(entry);
        self.room.take(&relay.occupied());
        Some(relay)
    }

    /// Plans one exit, once: several functions may share it.
    fn catch(&mut self, index: usize, way: &WayOut, function: &FunctionCode) -> Option<u32> {
        let leave = &way.leave;
        if let Some(known) = self.room.known(leave.at) {
            return known;
        }
        // Behind a conditional jump the function goes on.
        let goes_on = way.kind == ExitKind::ConditionalTail;
        let padding = if goes_on { None } else { self.room.padding_behind(leave.end()) };
        let starts = self.starts(leave, function);
        let candidates = starts.iter().enumerate().map(|(before, &start)| {
            let tails = if way.kind == ExitKind::Return { 0 } else { 1 << (before & 7) };
            Candidate { bytes: start..leave.end(), leaving: Leaving { tails, ..Leaving::default() } }
        });
        let plan = self.room.first_fit(index, candidates, padding.map_or(0, |(_, length)| length));
        if plan.is_none() {
            self.room.note_missed(leave.at);
        }
        plan.map(|plan| self.room.keep(leave.at, plan))
    }

    /// Catches that a function runs on into another one where it runs over the padding between them.
    fn catch_at_padding(
        &mut self,
        index: usize,
        padding: &Range<u64>,
        entry: &Range<u64>,
        exits: &mut FunctionExits,
    ) -> bool {
        let Some(bytes) = self.follower.code.bytes(padding) else { return false };
        // All that runs there must come by its first byte.
        if padding.end - padding.start > 1 && self.follower.code.scan.may_be_led_to(padding.start + 1, padding.end - 1)
        {
            return false;
        }
        // The jump at the start may have taken the first part of the padding: then that stub is all of the function.
        if entry.contains(&padding.start) {
            exits.at_entry.behind = Behind::Other;
            return entry.end <= padding.end;
        }
        if let Some(known) = self.room.known(padding.start) {
            exits.caught.extend(known);
            return known.is_some();
        }
        let leaving = Leaving { behind: Behind::Other, ..Leaving::default() };
        let mut end = padding.start;
        let candidates: Vec<Candidate> = padding_lengths(bytes)
            .map(|length| {
                end += length as u64;
                Candidate { bytes: padding.start..end, leaving }
            })
            .collect();
        let plan = self.room.first_fit(index, candidates.into_iter(), 0);
        exits.caught.extend(plan.map(|plan| self.room.keep(padding.start, plan)));
        plan.is_some()
    }

    /// Where a jump may go that catches a leaving instruction: there, or further up.
    fn starts(&self, leave: &Leave, function: &FunctionCode) -> Vec<u64> {
        let mut starts = vec![leave.at];
        let (mut at, mut inner) = (leave.at, 0);
        for before in leave.before {
            let length = if at == leave.at { leave.length } else { inner };
            if before.length == 0 || !before.is_plain || !function.body.may_be_inner(&self.follower.code, at, length) {
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
}

/// The jumps of a function to its own start.
fn own_turns(function: &FunctionCode, start: u64) -> Vec<WayOut> {
    let turns = function.instructions.iter().filter(|listed| listed.target == Some(start));
    turns
        .map(|listed| {
            let kind = LeaveKind::Jump(start);
            let leave = Leave { at: listed.at, length: listed.length, kind, before: Default::default() };
            WayOut { leave, kind: ExitKind::Again }
        })
        .collect()
}
