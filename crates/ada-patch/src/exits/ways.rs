//! How a function is left: which of its instructions lead out of it, and whether others may.

use ada_event::ImageOffset;
use ada_image::Cfa;

use super::extent::Follower;
use super::function_code::FunctionCode;
use crate::leave::{Leave, LeaveKind};

/// How a function is left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ExitKind {
    /// It returns.
    Return,
    /// It goes on in another function.
    Tail,
    /// It goes on in another function if a condition holds, and else behind.
    ConditionalTail,
    /// It stays, and jumps back to its own start, where a call would be seen.
    Again,
}

/// An instruction that leaves its function.
#[derive(Clone, Copy, Debug)]
pub(crate) struct WayOut {
    pub(crate) leave: Leave,
    pub(crate) kind: ExitKind,
}

/// The ways out of a function.
pub(crate) struct Ways {
    /// Sorted by address.
    pub(crate) out: Vec<WayOut>,
    /// There may be others.
    pub(crate) is_open: bool,
}

/// Where a leaving instruction leads.
enum Target {
    Outside(ExitKind),
    Inside,
    Unknown,
}

impl Ways {
    pub(crate) fn out_of(function: &FunctionCode, follower: &Follower<'_>) -> Self {
        let mut ways = Self { out: Vec::new(), is_open: false };
        for leave in ways.reached(function, follower) {
            match target(&leave, function, follower) {
                Target::Outside(kind) => ways.out.push(WayOut { leave, kind }),
                Target::Inside => {}
                Target::Unknown => ways.is_open = true,
            }
        }
        for own in &function.extent.pieces {
            let branches =
                follower.code.scan.outgoing_of(&own.piece).iter().filter(|branch| follower.is_entry(branch.target));
            ways.out.extend(branches.map(|branch| {
                let kind = LeaveKind::Jump(branch.target);
                let leave = Leave { at: branch.at, length: branch.length, kind, before: Default::default() };
                WayOut { leave, kind: ExitKind::ConditionalTail }
            }));
        }
        ways.out.sort_by_key(|way| way.leave.at);
        ways
    }

    /// The leaving instructions of a function that run.
    fn reached(&mut self, function: &FunctionCode, follower: &Follower<'_>) -> Vec<Leave> {
        let FunctionCode { extent, body, .. } = function;
        // Any code may be a case of a switch whose table is not known; with unwind rows there is no data among it.
        let is_unknown = |leave: &Leave| leave.kind == LeaveKind::Switch && !body.knows(leave.at);
        let by_case = extent.pieces.iter().any(|own| follower.code.scan.leaves_of(&own.piece).iter().any(is_unknown));
        let mut reached = Vec::new();
        for own in &extent.pieces {
            let has_rows = follower.code.unwind.fde_at(ImageOffset(own.piece.start)).is_some();
            self.is_open |= by_case && !has_rows;
            let mut from = own.piece.start;
            for leave in follower.code.scan.leaves_of(&own.piece) {
                if by_case && has_rows || follower.is_reached(from, leave.at, own) || body.has_label(from, leave.at) {
                    reached.push(*leave);
                }
                from = leave.end();
            }
        }
        reached
    }
}

fn target(leave: &Leave, function: &FunctionCode, follower: &Follower<'_>) -> Target {
    let body = &function.body;
    match leave.kind {
        LeaveKind::Return(_) => Target::Outside(ExitKind::Return),
        LeaveKind::Jump(target) if !function.extent.contains(target) && follower.is_entry(target) => {
            Target::Outside(ExitKind::Tail)
        }
        // With a frame still there, it is a call: what it returns to has been pushed.
        LeaveKind::JumpThroughLinker => match follower.code.height(leave.at) {
            Some(height) if height != Cfa::Rsp(8) && !leave.is_behind_epilogue() => Target::Inside,
            _ => Target::Outside(ExitKind::Tail),
        },
        // A table of cases.
        LeaveKind::Switch if !body.leaves_by(leave.at) => Target::Inside,
        LeaveKind::JumpThroughWord(_)
        | LeaveKind::JumpThroughPointer
        | LeaveKind::JumpToRegister
        | LeaveKind::Switch => {
            match follower.code.height(leave.at) {
                _ if leave.is_behind_epilogue() => Target::Outside(ExitKind::Tail),
                // Somebody may have stored the address of one of the function's own labels.
                Some(Cfa::Rsp(8)) if body.names_labels => Target::Unknown,
                Some(Cfa::Rsp(8)) => Target::Outside(ExitKind::Tail),
                None if matches!(leave.kind, LeaveKind::JumpThroughWord(_)) && !body.names_labels => {
                    Target::Outside(ExitKind::Tail)
                }
                // With a frame still there, it is a computed goto.
                Some(_) if body.knows(leave.at) => Target::Inside,
                Some(_) | None => Target::Unknown,
            }
        }
        LeaveKind::JumpToPopped => Target::Unknown,
        LeaveKind::Jump(_) | LeaveKind::Trap => Target::Inside,
    }
}
