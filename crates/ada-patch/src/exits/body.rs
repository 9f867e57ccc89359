//! Where the indirect jumps of a function may lead within it.
//!
//! They go by an address that somebody has stored, or by one that is computed. Those that are stored lie in the image's data,
//! or are named by an instruction. Those that are computed are sums of an address that the function names and a distance from
//! a table there: each such table is read. A jump that neither explains leads to any instruction at its own stack height, which
//! is all that is known of it.

use ada_event::ImageOffset;
use ada_image::Cfa;

use super::extent::{Extent, Follower};
use crate::image_code::ImageCode;
use crate::leave::{Leave, LeaveKind, Listing, Through};

/// No function has more cases.
const MOST_CASES: usize = 65_536;
/// Behind so many entries that lead elsewhere, a table is over. What is read beyond its end only forbids a little more.
const MOST_ELSEWHERE: usize = 8;
/// No function has so many cases in parts of its own.
const MOST_PARTS: usize = 64;

/// What is known of where a function's own jumps lead.
#[derive(Default)]
pub(crate) struct Body {
    /// Stack heights at which jumps are made that may lead anywhere within the function.
    heights: Vec<Cfa>,
    /// Such a jump has no height that is known.
    jumps_at_any_height: bool,
    /// Where the other indirect jumps may lead, sorted.
    labels: Vec<u64>,
    /// Those whose targets are not known.
    unknown_jumps: Vec<u64>,
    /// Somebody has the address of an instruction within the function, and may jump there through a pointer.
    pub(crate) names_labels: bool,
    /// Where tables lead to parts of the function that nothing else leads to.
    pub(crate) parts: Vec<u64>,
}

impl Body {
    /// By the tables that the jumps can go by.
    pub(crate) fn by_tables(follower: &Follower<'_>, extent: &Extent, jumps: &[Leave], listing: &Listing) -> Self {
        let mut body = Self::default();
        let pointers = follower.code.scan.pointers.as_deref();
        let cases = Cases::of(follower, extent, listing);
        body.parts = cases.parts;
        for leave in jumps {
            let through = listing.jumps.binary_search_by_key(&leave.at, |(at, _)| *at).ok();
            let is_known = match through.map(|number| listing.jumps[number].1) {
                Some(Through::Pointer) => pointers.is_some() && !cases.names_labels,
                Some(Through::Sum) => !cases.names_labels && !cases.labels.is_empty() && !cases.are_cut,
                Some(Through::Unknown) | None => false,
            };
            if !is_known {
                body.unknown_jumps.push(leave.at);
                body.note_jump(&follower.code, leave.at);
            }
        }
        body.labels = cases.labels;
        let tables_of_addresses = jumps.iter().any(|leave| leave.kind == LeaveKind::Switch);
        for own in &extent.pieces {
            let pointers = pointers.unwrap_or_default();
            let from = pointers.partition_point(|pointer| pointer.0 <= own.piece.start);
            let inner = pointers[from..].iter().map(|it| it.0).take_while(|&it| it < own.piece.end);
            let before = body.labels.len();
            body.labels.extend(inner);
            body.names_labels |= body.labels.len() > before && !tables_of_addresses;
        }
        body.names_labels |= cases.names_labels;
        body.labels.sort_unstable();
        body.labels.dedup();
        body
    }

    fn note_jump(&mut self, code: &ImageCode<'_>, at: u64) {
        match code.height(at) {
            Some(height) => self.heights.push(height),
            None => self.jumps_at_any_height = true,
        }
    }

    /// Whether it is known where all jumps lead.
    pub(crate) fn knows_all(&self) -> bool {
        self.unknown_jumps.is_empty()
    }

    /// Where they may lead, sorted.
    pub(crate) fn labels(&self) -> &[u64] {
        &self.labels
    }

    /// Whether it is known where an indirect jump leads.
    pub(crate) fn knows(&self, jump: u64) -> bool {
        !self.unknown_jumps.contains(&jump)
    }

    /// Whether an indirect jump goes by an address that somebody has stored, and nobody has stored one of this function's: as with a
    /// table of functions.
    pub(crate) fn leaves_by(&self, jump: u64) -> bool {
        self.labels.is_empty() && self.knows(jump)
    }

    /// Whether bytes that begin with an instruction of a block, behind its first, may be overwritten.
    pub(crate) fn may_be_inner(&self, code: &ImageCode<'_>, at: u64, length: u8) -> bool {
        let last = at + u64::from(length.max(1)) - 1;
        if code.scan.may_be_led_to(at, last) || self.has_label(at, last) {
            return false;
        }
        let heights = &self.heights;
        !self.jumps_at_any_height
            && (heights.is_empty() || code.height(at).is_some_and(|height| !heights.contains(&height)))
    }

    /// Whether an indirect jump may lead to an address of `from..=to`.
    pub(crate) fn has_label(&self, from: u64, to: u64) -> bool {
        let first = self.labels.partition_point(|&label| label < from);
        self.labels.get(first).is_some_and(|&label| label <= to)
    }
}

/// Where a function's tables of distances lead, and what other addresses of its own it has.
struct Cases {
    labels: Vec<u64>,
    /// The code has addresses within the function, from which others may be computed.
    names_labels: bool,
    parts: Vec<u64>,
    /// There are more tables than were read.
    are_cut: bool,
}

impl Cases {
    fn of(follower: &Follower<'_>, extent: &Extent, listing: &Listing) -> Self {
        // Where a case cannot occur, a table leads to the end of the function.
        let is_end = |at: u64| extent.pieces.iter().any(|own| own.piece.end == at);
        let mut cases = Self { labels: Vec::new(), names_labels: false, parts: Vec::new(), are_cut: false };
        let has_tables = listing.jumps.iter().any(|(_, through)| *through != Through::Pointer);
        for &address in &listing.addresses {
            if extent.contains(address) {
                if !extent.pieces.iter().any(|own| own.piece.start == address) {
                    cases.labels.push(address);
                    cases.names_labels = true;
                }
                continue;
            }
            let bytes = has_tables.then(|| follower.code.image.bytes_from(ImageOffset(address))).flatten();
            let Some(bytes) = bytes else { continue };
            let (mut elsewhere, known) = (0, cases.labels.len());
            let mut parts = Vec::new();
            for distance in bytes.as_chunks().0 {
                if cases.labels.len() == MOST_CASES || !follower.patience.spend(1) {
                    cases.are_cut = true;
                    return cases;
                }
                let target = address.wrapping_add_signed(i32::from_le_bytes(*distance).into());
                if extent.contains(target) {
                    cases.labels.push(target);
                } else if !is_end(target) {
                    let is_part = || {
                        let piece = follower.code.scan.piece_at(target);
                        piece.is_some_and(|piece| {
                            !follower.is_entry(piece.start) || follower.unknown_part(piece.start).is_some()
                        })
                    };
                    if elsewhere == 0 && parts.len() < MOST_PARTS && is_part() {
                        parts.push(target);
                        continue;
                    }
                    elsewhere += 1;
                    if elsewhere == MOST_ELSEWHERE {
                        break;
                    }
                }
            }
            // What leads nowhere into the function is no table of its.
            if cases.labels.len() - known >= parts.len() {
                cases.parts.append(&mut parts);
            }
        }
        cases
    }
}
