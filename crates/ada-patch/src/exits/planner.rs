//! Finds room for a jump at each way out of a function.
//!
//! What a jump overwrites behind its first instruction must not be led to. Direct branches and landing pads are known. An
//! indirect jump leads to places of the same stack height only, so that what lies behind an instruction that takes words
//! off the stack is none of its targets, if no indirect jump is made at that height.

use ada_event::ImageOffset;
use ada_image::Cfa;
use std::collections::HashMap;
use std::ops::Range;

use super::displaced_exit::{DisplacedExit, ExitKind};
use super::exit_plan::ExitPlan;
use super::extent::{Extent, Follower, OwnPiece};
use super::occupied::Occupied;
use crate::PatchPlan;
use crate::arch::{JUMP_BYTES, SHORT_JUMP_BYTES, padding_lengths, short_jump};
use crate::image_code::ImageCode;
use crate::leave::{Leave, LeaveKind};

/// Padding behind a leaving instruction is not longer.
const LONGEST_PADDING: u64 = 64;
/// How far a short jump reaches, its own bytes included.
const REACH: u64 = 130;

/// The ways out of a function.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Exits {
    /// Those that are caught, by their numbers among all of the image.
    pub caught: Vec<u32>,
    /// Jumps into other functions that the function's entry displaces: that stub's to tell of.
    pub displaced_tails: Vec<u64>,
    /// How many are known, but for those that the entry displaces.
    pub known: u32,
    /// The function may be left in a way that is not known.
    pub is_open: bool,
}

impl Exits {
    /// Whether no call can end unseen.
    pub fn are_complete(&self) -> bool {
        self.caught.len() as u32 == self.known && !self.is_open
    }
}

/// Plans the exits of one image's functions.
pub struct ExitPlanner<'a> {
    code: ImageCode<'a>,
    follower: Follower<'a>,
    occupied: Occupied,
    plans: Vec<ExitPlan>,
    /// The plans by the address of the leaving instruction; nothing for those that cannot be caught.
    by_leave: HashMap<u64, Option<u32>>,
    /// Padding that can take a jump.
    paddings: Vec<(u64, u64)>,
    /// How many more leaving instructions are looked at. In a hostile image every function may lead into the same code.
    patience: usize,
}

/// What is known of a function while its exits are planned.
struct Body {
    /// Stack heights at which jumps are made that may lead anywhere within the function.
    heights: Vec<Cfa>,
    /// Such a jump has no height that is known.
    jumps_at_any_height: bool,
}

/// Where a leaving instruction leads.
enum Way {
    Out(ExitKind),
    Inside,
    Unknown,
}

impl<'a> ExitPlanner<'a> {
    /// `is_part` says of each function whether it is part of another; `entries` are the jumps at functions' starts.
    pub fn new<'p>(code: ImageCode<'a>, is_part: &'a [bool], entries: impl Iterator<Item = &'p PatchPlan>) -> Self {
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
            occupied,
            plans: Vec::new(),
            by_leave: HashMap::new(),
            paddings: Vec::new(),
            patience,
        };
        planner.paddings = code.scan.leaves.iter().filter_map(|leave| planner.padding_behind(leave)).collect();
        planner
    }

    /// All exits that are caught.
    pub fn into_plans(self) -> Vec<ExitPlan> {
        self.plans
    }

    /// Plans the exits of function `index`. Those within the `displaced` bytes of its entry are that stub's.
    pub fn plan(&mut self, index: usize, displaced: Range<u64>) -> Exits {
        let start = self.code.functions.functions()[index].start;
        let extent = self.follower.extent_of(start.0);
        let mut exits = Exits { is_open: extent.is_open, ..Exits::default() };
        let to_look_at: usize = extent.pieces.iter().map(|own| self.follower.leaves(&own.piece).len()).sum();
        let Some(patience) = self.patience.checked_sub(to_look_at) else {
            exits.is_open = true;
            return exits;
        };
        self.patience = patience;
        let leaves = self.reached(&extent);
        let body = self.body(&leaves);
        for leave in &leaves {
            let kind = match self.exit_kind(leave, &extent) {
                Way::Out(kind) => kind,
                Way::Inside => continue,
                Way::Unknown => {
                    exits.is_open = true;
                    continue;
                }
            };
            if displaced.contains(&leave.at) {
                exits.displaced_tails.extend((kind == ExitKind::Tail).then_some(leave.at));
                continue;
            }
            exits.known += 1;
            exits.caught.extend(self.catch(index, leave, kind, &body));
        }
        for own in &extent.pieces {
            let outgoing = &self.code.scan.outgoing;
            let first = outgoing.partition_point(|branch| branch.at < own.piece.start);
            for branch in outgoing[first..].iter().take_while(|branch| branch.at < own.piece.end) {
                if self.follower.is_entry(branch.target) {
                    if displaced.contains(&branch.at) {
                        exits.displaced_tails.push(branch.at);
                        continue;
                    }
                    exits.known += 1;
                    let leave = Leave {
                        at: branch.at,
                        length: branch.length,
                        kind: LeaveKind::Jump(branch.target),
                        before: Default::default(),
                    };
                    exits.caught.extend(self.catch(index, &leave, ExitKind::ConditionalTail, &body));
                }
            }
        }
        exits
    }

    /// The leaving instructions of a function that run.
    fn reached(&self, extent: &Extent) -> Vec<Leave> {
        let has_switch =
            extent.pieces.iter().any(|own| self.follower.leaves(&own.piece).iter().any(|leave| leave.kind.may_stay()));
        let mut reached = Vec::new();
        for OwnPiece { piece, starts } in &extent.pieces {
            let has_rows = self.code.unwind.fde_at(ImageOffset(piece.start)).is_some();
            let mut from = piece.start;
            for leave in self.follower.leaves(piece) {
                let is_first = from == piece.start && *starts;
                let by_case = has_switch && has_rows;
                if is_first || self.code.scan.is_led_to(from, leave.at) || by_case || self.has_row(from, leave.at) {
                    reached.push(*leave);
                }
                from = leave.end();
            }
        }
        reached
    }

    /// Whether the unwind table has something to say of `from..=to`, as it has of code only.
    fn has_row(&self, from: u64, to: u64) -> bool {
        let Some(fde) = self.code.unwind.fde_at(ImageOffset(from)) else { return false };
        let rows = self.code.unwind.rows(fde);
        let first = rows.partition_point(|row| row.start.0 < from);
        rows.get(first).is_some_and(|row| row.start.0 <= to)
    }

    fn body(&self, leaves: &[Leave]) -> Body {
        let mut body = Body { heights: Vec::new(), jumps_at_any_height: false };
        for leave in leaves.iter().filter(|leave| leave.kind.may_stay()) {
            match self.height(leave.at) {
                Some(height) => body.heights.push(height),
                None => body.jumps_at_any_height = true,
            }
        }
        body
    }

    fn height(&self, at: u64) -> Option<Cfa> {
        self.code.unwind.row_at(ImageOffset(at)).map(|row| row.cfa).filter(|cfa| *cfa != Cfa::Other)
    }

    /// Whether an instruction behind another of its block may be overwritten.
    fn may_be_inner(&self, at: u64, body: &Body) -> bool {
        if self.code.scan.landing(ImageOffset(at)).any() || body.jumps_at_any_height {
            return false;
        }
        body.heights.is_empty() || self.height(at).is_some_and(|height| !body.heights.contains(&height))
    }

    /// Where a leaving instruction leads.
    fn exit_kind(&self, leave: &Leave, extent: &Extent) -> Way {
        let is_own = |target: u64| extent.pieces.iter().any(|own| (own.piece.start..own.piece.end).contains(&target));
        match leave.kind {
            LeaveKind::Return(popped) => Way::Out(ExitKind::Return(popped)),
            LeaveKind::Jump(target) if self.follower.is_entry(target) && !is_own(target) => Way::Out(ExitKind::Tail),
            LeaveKind::JumpThroughLinker => Way::Out(ExitKind::Tail),
            LeaveKind::JumpThroughPointer | LeaveKind::JumpToRegister => match self.height(leave.at) {
                Some(Cfa::Rsp(8)) => Way::Out(ExitKind::Tail),
                // With a frame still there, it is a computed goto.
                Some(_) => Way::Inside,
                None => Way::Unknown,
            },
            LeaveKind::Jump(_) | LeaveKind::Switch | LeaveKind::Trap => Way::Inside,
        }
    }

    /// Plans one exit, once: several functions may share it.
    fn catch(&mut self, index: usize, leave: &Leave, kind: ExitKind, body: &Body) -> Option<u32> {
        if let Some(known) = self.by_leave.get(&leave.at) {
            return *known;
        }
        let plan = self.find_room(index, leave, kind, body);
        let number = plan.map(|plan| {
            let jump = if plan.relay.is_some() { SHORT_JUMP_BYTES } else { JUMP_BYTES };
            let bytes = plan.displaced.bytes().len().max(jump);
            self.occupied.take(plan.at.0, bytes as u64);
            if let Some(relay) = plan.relay {
                self.occupied.take(relay.0, JUMP_BYTES as u64);
            }
            self.plans.push(plan);
            self.plans.len() as u32 - 1
        });
        self.by_leave.insert(leave.at, number);
        number
    }

    fn find_room(&self, index: usize, leave: &Leave, kind: ExitKind, body: &Body) -> Option<ExitPlan> {
        let end = leave.end();
        // Behind a conditional jump the function goes on.
        let padding =
            if kind == ExitKind::ConditionalTail { 0 } else { self.padding_behind(leave).map_or(0, |it| it.1) };
        let starts = self.starts(leave, body);
        let displaced = |start: u64, before: usize| {
            let bytes = self.code.bytes_from(ImageOffset(start))?;
            DisplacedExit::new(bytes.get(..(end - start) as usize)?, before as u8 + 1, kind)
        };
        let is_free = |start: u64, jump: u64| self.occupied.is_free(start, (end - start).max(jump));
        for (before, &start) in starts.iter().enumerate() {
            let jump = JUMP_BYTES as u64;
            if end.saturating_add(padding) >= start.saturating_add(jump) && is_free(start, jump) {
                return Some(ExitPlan {
                    at: ImageOffset(start),
                    displaced: displaced(start, before)?,
                    relay: None,
                    function: index as u32,
                });
            }
        }
        for (before, &start) in starts.iter().enumerate() {
            let jump = SHORT_JUMP_BYTES as u64;
            if end.saturating_add(padding) >= start.saturating_add(jump)
                && is_free(start, jump)
                && let Some(relay) = self.relay(start, (end - start).max(jump))
            {
                return Some(ExitPlan {
                    at: ImageOffset(start),
                    displaced: displaced(start, before)?,
                    relay: Some(relay),
                    function: index as u32,
                });
            }
        }
        None
    }

    /// Where a jump may go that catches a leaving instruction: there, or further up.
    fn starts(&self, leave: &Leave, body: &Body) -> Vec<u64> {
        let mut starts = vec![leave.at];
        let mut at = leave.at;
        for before in leave.before {
            if before.length == 0 || !before.is_plain || !self.may_be_inner(at, body) {
                break;
            }
            at -= u64::from(before.length);
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

    /// Bytes behind a leaving instruction that nothing can run.
    fn padding_behind(&self, leave: &Leave) -> Option<(u64, u64)> {
        let start = leave.end();
        let bytes = self.code.bytes_from(ImageOffset(start))?;
        let bytes = &bytes[..bytes.len().min(LONGEST_PADDING as usize)];
        let mut length = 0;
        for bytes in padding_lengths(bytes) {
            let at = start + length;
            if self.code.scan.is_led_to(at, at + bytes as u64 - 1)
                || self.code.functions.index_at(ImageOffset(at)).is_some()
            {
                break;
            }
            length += bytes as u64;
        }
        (length > 0).then_some((start, length))
    }
}
