//! What all functions of an image say of its code, before any of them is changed.
//!
//! A table leads into parts that compilers split off because they hardly ever run, and nothing else may: with an unwind entry
//! of its own and no name, such a part looks like a function. And where an exit has no padding near, code of other functions
//! gives way to its relay, for which all that leads into that code has to be known.

use super::extent::Follower;
use super::function_code::FunctionCode;
use super::occupied::Occupied;
use crate::code_scan::Piece;

/// What is known of a piece of code.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Owner {
    /// No function that was looked at has it.
    None,
    /// It may change, and all that lead into it are known.
    Known,
    /// Somebody may lead anywhere in it, or it must not change.
    Unknown,
}

/// The pieces of all functions.
pub(crate) struct Neighbours {
    /// By number of the piece.
    owners: Vec<Owner>,
    /// Where tables lead.
    labels: Occupied,
    /// The numbers of functions that are parts of others, and were not known to be.
    pub(crate) parts: Vec<usize>,
}

impl Neighbours {
    /// `may_change` says of which functions the code may change.
    pub(crate) fn of(follower: &Follower<'_>, may_change: &[bool]) -> Self {
        let (scan, functions) = (follower.code.scan, follower.code.functions.functions());
        let mut neighbours = Self {
            owners: vec![Owner::None; scan.starts.len()],
            labels: Occupied::new(follower.code.ranges),
            parts: Vec::new(),
        };
        for (index, function) in functions.iter().enumerate() {
            if !follower.is_part[index] && !follower.patience.is_over() {
                let function = FunctionCode::of(follower.extent_of(function.start.0), follower);
                function.iter().for_each(|function| neighbours.note(function, may_change[index], follower));
            }
        }
        neighbours
    }

    fn note(&mut self, function: &FunctionCode, may_change: bool, follower: &Follower<'_>) {
        let is_closed = !function.extent.is_open && function.extent.runs_over.is_empty();
        let is_known = may_change && is_closed && function.body.knows_all();
        for (number, own) in function.extent.pieces.iter().enumerate() {
            let owner = &mut self.owners[own.piece.number as usize];
            *owner = if is_known && *owner != Owner::Unknown { Owner::Known } else { Owner::Unknown };
            if number > 0 {
                self.parts.extend(follower.unknown_part(own.piece.start));
            }
        }
        function.body.labels().iter().for_each(|&label| self.labels.take(label, 1));
    }

    /// Whether a piece may give way to relays of other functions.
    pub(crate) fn may_change(&self, piece: &Piece) -> bool {
        self.owners[piece.number as usize] == Owner::Known
    }

    /// Whether a table leads to one of these addresses.
    pub(crate) fn has_label(&self, from: u64, to: u64) -> bool {
        !self.labels.is_free(from, to - from + 1)
    }
}
