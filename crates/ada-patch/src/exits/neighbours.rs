//! Code that may give way to relays of other functions.
//!
//! Whoever may lead into it has to be known: the pieces of all functions are noted with the places that their tables lead
//! to. Many functions end in a part of three bytes among other such parts, with no padding near.

use super::function_code::FunctionCode;
use super::occupied::Occupied;
use crate::code_scan::Piece;
use crate::image_code::ImageCode;

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
}

impl Neighbours {
    pub(crate) fn new(code: &ImageCode<'_>) -> Self {
        Self { owners: vec![Owner::None; code.scan.starts.len()], labels: Occupied::new(code.ranges) }
    }

    /// Notes a function, and whether its code `may_change` as far as it is understood.
    pub(crate) fn note(&mut self, function: &FunctionCode, may_change: bool) {
        let is_known = may_change && !function.extent.is_open && function.body.knows_all();
        for own in &function.extent.pieces {
            let owner = &mut self.owners[own.piece.number as usize];
            *owner = if is_known && *owner != Owner::Unknown { Owner::Known } else { Owner::Unknown };
        }
        function.body.labels().iter().for_each(|&label| self.labels.take(label, 1));
    }

    pub(crate) fn may_change(&self, piece: &Piece) -> bool {
        self.owners[piece.number as usize] == Owner::Known
    }

    /// Whether a table leads to one of these addresses.
    pub(crate) fn has_label(&self, from: u64, to: u64) -> bool {
        !self.labels.is_free(from, to - from + 1)
    }
}
