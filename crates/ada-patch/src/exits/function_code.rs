//! The code of one function, and what is known of its jumps.

use ada_event::ImageOffset;

use super::body::Body;
use super::extent::{Extent, Follower, OwnPiece};
use crate::leave::{Leave, Listed, Listing};

/// A leaving instruction takes as long as so many bytes of code.
const LEAVE_PATIENCE: usize = 16;

/// The code of a function.
pub(crate) struct FunctionCode {
    pub(crate) extent: Extent,
    pub(crate) body: Body,
    /// Sorted by address; none before somebody has asked for them, since most functions are planned without.
    pub(crate) instructions: Vec<Listed>,
}

impl FunctionCode {
    /// The code of an extent, and of the parts that only its tables lead to. Nothing where that takes too long.
    pub(crate) fn of(mut extent: Extent, follower: &Follower<'_>) -> Option<Self> {
        let (mut body, mut instructions) = body_of(&extent, follower)?;
        if !body.parts.is_empty() {
            follower.extend(&mut extent, std::mem::take(&mut body.parts));
            (body, instructions) = body_of(&extent, follower)?;
            extent.is_open |= !body.parts.is_empty();
        }
        Some(Self { extent, body, instructions })
    }

    /// One piece of a function none of whose jumps leads into it.
    pub(crate) fn of_piece(own: OwnPiece) -> Self {
        let extent = Extent { pieces: vec![own], runs_over: Vec::new(), is_open: false };
        Self { extent, body: Body::default(), instructions: Vec::new() }
    }

    /// Lists the instructions, unless that is done or takes too long.
    pub(crate) fn list(&mut self, follower: &Follower<'_>) {
        if self.instructions.is_empty() {
            self.instructions = list(&self.extent, follower).unwrap_or_default().instructions;
        }
    }

    /// Whether something is known to lead to an instruction's block, so that it is one.
    pub(crate) fn is_proven(&self, number: usize, follower: &Follower<'_>) -> bool {
        let at = self.instructions[number].at;
        let Some(own) = self.extent.piece_at(at) else { return false };
        let leaver = self.leaver_before(number);
        let from = leaver.map_or(own.piece.start, |leaver| leaver.end().max(own.piece.start));
        follower.is_reached(from, at, own) || self.body.has_label(from, at)
    }

    /// The last instruction before one behind which the next does not run.
    pub(crate) fn leaver_before(&self, number: usize) -> Option<&Listed> {
        self.instructions[..number].iter().rev().find(|listed| !listed.falls_through)
    }
}

/// Where a function's own jumps lead, and its instructions if they were needed for that.
fn body_of(extent: &Extent, follower: &Follower<'_>) -> Option<(Body, Vec<Listed>)> {
    let leaves = || extent.pieces.iter().flat_map(|own| follower.code.scan.leaves_of(&own.piece));
    if !follower.patience.spend(LEAVE_PATIENCE * leaves().count()) {
        return None;
    }
    let jumps: Vec<Leave> = leaves().filter(|leave| leave.may_stay()).copied().collect();
    if jumps.is_empty() {
        return Some((Body::default(), Vec::new()));
    }
    let listing = list(extent, follower)?;
    Some((Body::by_tables(follower, extent, &jumps, &listing), listing.instructions))
}

fn list(extent: &Extent, follower: &Follower<'_>) -> Option<Listing> {
    let bytes: u64 = extent.pieces.iter().map(|own| own.piece.end - own.piece.start).sum();
    if !follower.patience.spend(bytes as usize) {
        return None;
    }
    let mut pieces = extent.pieces.clone();
    pieces.sort_unstable_by_key(|own| own.piece.start);
    let mut listing = Listing::default();
    for OwnPiece { piece, starts } in &pieces {
        let bytes = follower.code.bytes(&(piece.start..piece.end)).unwrap_or_default();
        listing.add(bytes, piece.start, *starts, |at| follower.code.scan.landing(ImageOffset(at)).any());
    }
    // The same strings and tables are named again and again.
    listing.addresses.sort_unstable();
    listing.addresses.dedup();
    Some(listing)
}
