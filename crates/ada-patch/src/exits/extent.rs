//! Which code belongs to a function.
//!
//! Its piece of code from the start on; pieces that it falls into or jumps into, unless a function starts there that others
//! call: compilers split off what hardly ever runs, and hand-written functions share their ends.

use std::ops::Range;

use ada_event::ImageOffset;

use super::patience::Patience;
use crate::arch::instruction_number;
use crate::code_scan::{Piece, PieceEnd};
use crate::image_code::ImageCode;
use crate::leave::{Leave, LeaveKind};

/// No function has more pieces; one that seems to is not understood.
const MOST_PIECES: usize = 64;

/// Nor more code. Where most functions have neither a name nor an unwind entry (Debian's Chromium 156: 8,852 unwind entries for
/// 236 MB of code), the code up to the next known one is that of thousands, and reading it for each takes minutes.
const MOST_BYTES: u64 = 4 << 20;

/// The pieces of a function.
pub(crate) struct Extent {
    pub(crate) pieces: Vec<OwnPiece>,
    /// Padding over which it runs on into other functions.
    pub(crate) runs_over: Vec<Range<u64>>,
    /// Whether it runs on into what may be another function without any, or is not understood.
    pub(crate) is_open: bool,
}

impl Extent {
    /// The piece that has an address.
    pub(crate) fn piece_at(&self, address: u64) -> Option<&OwnPiece> {
        self.pieces.iter().find(|own| (own.piece.start..own.piece.end).contains(&address))
    }

    pub(crate) fn contains(&self, address: u64) -> bool {
        self.piece_at(address).is_some()
    }
}

/// A piece of a function.
#[derive(Clone, Copy)]
pub(crate) struct OwnPiece {
    pub(crate) piece: Piece,
    /// Its first instruction is known to run.
    pub(crate) starts: bool,
}

/// Follows the code of functions.
pub(crate) struct Follower<'a> {
    pub(crate) code: ImageCode<'a>,
    /// By function number: it is part of another, and nobody calls it.
    pub(crate) is_part: &'a [bool],
    pub(crate) patience: Patience,
}

impl Follower<'_> {
    /// Whether a jump to this address calls a function: one of the image, or of another by way of a stub of the linker's,
    /// which is no code of anybody's.
    pub(crate) fn is_entry(&self, address: u64) -> bool {
        match self.code.functions.index_at(ImageOffset(address)) {
            Some(index) => !self.is_part[index],
            None => self.code.scan.piece_at(address).is_none(),
        }
    }

    /// The number of the function at an address that may be a part of another: it has no name, and nothing is known to lead
    /// there.
    pub(crate) fn unknown_part(&self, address: u64) -> Option<usize> {
        let start = ImageOffset(address);
        let index = self.code.functions.index_at(start).filter(|_| self.code.scan.landing(start).is_unknown())?;
        (!self.is_part[index] && !self.code.functions.functions()[index].sources.has_symbol()).then_some(index)
    }

    pub(crate) fn extent_of(&self, start: u64) -> Extent {
        let mut extent = Extent { pieces: Vec::new(), runs_over: Vec::new(), is_open: false };
        self.extend(&mut extent, vec![start]);
        extent
    }

    /// Adds the pieces that some addresses lie in, and those that they lead to.
    pub(crate) fn extend(&self, extent: &mut Extent, mut to_do: Vec<u64>) {
        while let Some(at) = to_do.pop() {
            let Some(piece) = self.code.scan.piece_at(at) else {
                extent.is_open = true;
                continue;
            };
            if let Some(known) = extent.pieces.iter_mut().find(|known| known.piece == piece) {
                known.starts |= at == piece.start;
                continue;
            }
            let bytes: u64 =
                extent.pieces.iter().map(|own| own.piece).chain([piece]).map(|one| one.end - one.start).sum();
            if extent.pieces.len() == MOST_PIECES || bytes > MOST_BYTES {
                extent.is_open = true;
                return;
            }
            extent.pieces.push(OwnPiece { piece, starts: at == piece.start });
            for leave in self.code.scan.leaves_of(&piece) {
                if let LeaveKind::Jump(target) = leave.kind
                    && !(piece.start..piece.end).contains(&target)
                    && !self.is_entry(target)
                {
                    to_do.push(target);
                }
            }
            let targets = self.code.scan.outgoing_of(&piece).iter().map(|branch| branch.target);
            to_do.extend(targets.filter(|&target| !self.is_entry(target)));
            match piece.after {
                PieceEnd::FallsThrough if self.is_entry(piece.end) => extent.is_open = true,
                PieceEnd::FallsThrough => to_do.push(piece.end),
                PieceEnd::RunsOverPadding(length) => {
                    let own = OwnPiece { piece, starts: at == piece.start };
                    let from = self.code.scan.leaves_of(&piece).last().map_or(piece.start, Leave::end);
                    if self.is_entry(piece.end) && self.is_reached(from, piece.end - 1, &own) {
                        extent.runs_over.push(piece.end - u64::from(length)..piece.end);
                    }
                }
                PieceEnd::Unknown | PieceEnd::Calls | PieceEnd::Leaves => (),
            }
        }
    }

    /// Whether something is known to lead to the straight code `from..=to` of a piece.
    pub(crate) fn is_reached(&self, from: u64, to: u64, own: &OwnPiece) -> bool {
        from == own.piece.start && own.starts || self.code.scan.is_led_to(from, to) || self.has_row(from, to)
    }

    /// Whether the unwind table has something to say of `from..=to`, as it has of code only.
    fn has_row(&self, from: u64, to: u64) -> bool {
        let Some(fde) = self.code.unwind.fde_at(ImageOffset(from)) else { return false };
        let rows = self.code.unwind.rows(fde);
        let first = rows.partition_point(|row| row.start.0 < from);
        rows.get(first).is_some_and(|row| row.start.0 <= to)
    }

    /// The number of an instruction among those of a range.
    pub(crate) fn number_in(&self, range: &Range<u64>, at: u64) -> usize {
        instruction_number(self.code.bytes(range).unwrap_or_default(), (at - range.start) as usize) & 7
    }
}
