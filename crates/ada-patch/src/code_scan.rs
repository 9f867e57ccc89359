//! What one pass over all code of an image shows: where direct branches and unwinders land, and which frames touch their
//! own return slot.

use std::ops::Range;

use ada_event::ImageOffset;
use ada_image::{Fde, UnwindTable};

use crate::leave::{Leave, Outgoing};

/// What branches do at an address, as bits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Landing(pub(crate) u8);

impl Landing {
    pub(crate) const JUMP: u8 = 1;
    pub(crate) const CALL: u8 = 2;
    pub(crate) const CONDITIONAL_FROM_OUTSIDE: u8 = 4;
    pub(crate) const JUMP_FROM_INSIDE: u8 = 8;
    pub(crate) const PAD: u8 = 16;
    /// Code or data has the address: an indirect jump may lead here, or it is data in the text.
    pub(crate) const NAMED: u8 = 32;
    /// The same at the start of a function: whoever has its address calls it.
    pub(crate) const POINTED_TO: u8 = 64;

    /// Something may lead here, beside calls through a pointer.
    pub(crate) fn any(self) -> bool {
        self.0 & !Self::POINTED_TO != 0
    }

    /// A branch leads here, and not only something that has the address.
    pub(crate) fn is_branched_to(self) -> bool {
        self.0 & !(Self::POINTED_TO | Self::NAMED) != 0
    }

    /// Nothing is known to lead here.
    pub(crate) fn is_unknown(self) -> bool {
        self.0 == 0
    }

    pub(crate) fn jumped_to_from_inside(self) -> bool {
        self.0 & Self::JUMP_FROM_INSIDE != 0
    }

    /// Somebody has the address.
    pub(crate) fn is_named(self) -> bool {
        self.0 & Self::NAMED != 0
    }

    /// Unwinders go on here, in the middle of a frame.
    pub(crate) fn is_pad(self) -> bool {
        self.0 & Self::PAD != 0
    }

    /// Reached by a conditional jump from another function, and never called: a cold part.
    pub(crate) fn only_branched_to(self) -> bool {
        self.0 & Self::CONDITIONAL_FROM_OUTSIDE != 0 && self.0 & Self::CALL == 0
    }
}

/// What the code of an unwind entry does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct PieceUse {
    /// It uses the base at which stubs find a thread's state.
    pub(crate) uses_gs: bool,
    pub(crate) end: PieceEnd,
}

/// What comes after the last instruction of a piece of code.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum PieceEnd {
    /// It is not known: the last bytes are no instruction that ends with the piece.
    #[default]
    Unknown,
    /// What lies behind the piece.
    FallsThrough,
    /// The same behind so many bytes of padding, if its last instruction but for that runs.
    RunsOverPadding(u16),
    /// What lies behind the piece, if the call comes back. Compilers end functions with calls that do not.
    Calls,
    /// Something else, for certain.
    Leaves,
}

/// A run of code between two addresses at which something is known to start or to end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Piece {
    /// Among all, by address.
    pub(crate) number: u32,
    pub(crate) start: u64,
    pub(crate) end: u64,
    pub(crate) after: PieceEnd,
}

/// What decoding the whole image showed.
pub struct CodeScan {
    /// For each range of code, sorted: where it starts, and the landings at each of its bytes. Ranges may lie far apart.
    pub(crate) landings: Vec<(u64, Vec<u8>)>,
    /// For each unwind entry.
    pub(crate) uses: Vec<PieceUse>,
    /// Where pieces of code start, sorted: at functions, and where unwind entries start and end.
    pub(crate) starts: Vec<u64>,
    /// What comes after the last instruction of each.
    pub(crate) ends: Vec<PieceEnd>,
    /// Sorted by address.
    pub(crate) leaves: Vec<Leave>,
    /// Conditional jumps out of their piece, sorted by address.
    pub(crate) outgoing: Vec<Outgoing>,
    /// The first of both in each piece: there are too many to search for them.
    pub(crate) firsts: Vec<[u32; 2]>,
    /// The addresses of code in the image's data, sorted, if they are known.
    pub(crate) pointers: Option<Vec<ImageOffset>>,
    /// Code that other code reads, sorted by address.
    pub(crate) reads: Vec<Range<u64>>,
    /// Code between two fences, sorted by address.
    pub(crate) fenced: Vec<Range<u64>>,
    /// Code that may only run where it is.
    pub(crate) restartable: Vec<Range<u64>>,
}

impl CodeScan {
    #[inline]
    pub(crate) fn landing(&self, at: ImageOffset) -> Landing {
        let after = self.landings.partition_point(|(start, _)| *start <= at.0);
        let landing = self.landings[..after]
            .last()
            .and_then(|(start, landings)| landings.get(usize::try_from(at.0 - start).ok()?).copied());
        Landing(landing.unwrap_or(0))
    }

    /// The piece of code that an address lies in.
    pub(crate) fn piece_at(&self, address: u64) -> Option<Piece> {
        let number = self.starts.partition_point(|&start| start <= address).checked_sub(1)?;
        Some(self.piece(number)).filter(|piece| address < piece.end)
    }

    /// The pieces that have some of these addresses.
    pub(crate) fn pieces_in(&self, addresses: Range<u64>) -> impl Iterator<Item = Piece> {
        let first = self.starts.partition_point(|&start| start <= addresses.start).saturating_sub(1);
        let behind = self.starts.partition_point(|&start| start < addresses.end);
        (first..behind).map(|number| self.piece(number)).filter(move |piece| addresses.start < piece.end)
    }

    /// The leaving instructions of a piece, reached or not.
    pub(crate) fn leaves_of(&self, piece: &Piece) -> &[Leave] {
        let [first, _] = self.firsts[piece.number as usize];
        let [behind, _] = self.firsts[piece.number as usize + 1];
        &self.leaves[first as usize..behind as usize]
    }

    /// The conditional jumps out of a piece.
    pub(crate) fn outgoing_of(&self, piece: &Piece) -> &[Outgoing] {
        let [_, first] = self.firsts[piece.number as usize];
        let [_, behind] = self.firsts[piece.number as usize + 1];
        &self.outgoing[first as usize..behind as usize]
    }

    /// Finds the first of each piece.
    pub(crate) fn index_pieces(&mut self) {
        let (mut leave, mut outgoing) = (0, 0);
        self.firsts = Vec::with_capacity(self.starts.len() + 1);
        for &start in self.starts.iter().chain([&u64::MAX]) {
            leave += self.leaves[leave..].iter().take_while(|it| it.at < start).count();
            outgoing += self.outgoing[outgoing..].iter().take_while(|it| it.at < start).count();
            self.firsts.push([leave as u32, outgoing as u32]);
        }
    }

    fn piece(&self, number: usize) -> Piece {
        let start = self.starts[number];
        let (range, landings) = &self.landings[self.landings.partition_point(|(range, _)| *range <= start) - 1];
        let range_end = range + landings.len() as u64;
        let end = self.starts.get(number + 1).map_or(range_end, |&next| next.min(range_end));
        Piece { number: number as u32, start, end, after: self.ends[number] }
    }

    /// Whether anything is known to lead to an address of `from..=to` from elsewhere than the instruction before it.
    pub(crate) fn is_led_to(&self, from: u64, to: u64) -> bool {
        self.has_landing(from, to, !(Landing::NAMED | Landing::POINTED_TO))
    }

    /// The same where something may lead there, because its address is known to somebody.
    pub(crate) fn may_be_led_to(&self, from: u64, to: u64) -> bool {
        self.has_landing(from, to, !Landing::POINTED_TO)
    }

    fn has_landing(&self, from: u64, to: u64, of: u8) -> bool {
        let Some(range) = self.landings.partition_point(|(start, _)| *start <= from).checked_sub(1) else {
            return false;
        };
        let (start, landings) = &self.landings[range];
        let end = (to - start + 1).min(landings.len() as u64) as usize;
        landings
            .get((from - start) as usize..end)
            .is_some_and(|landings| landings.iter().any(|&landing| landing & of != 0))
    }

    /// Whether a call leads to any of these addresses.
    pub(crate) fn is_called(&self, addresses: Range<u64>) -> bool {
        !addresses.is_empty() && self.has_landing(addresses.start, addresses.end - 1, Landing::CALL)
    }

    /// Where the landing at an image's address is kept.
    pub(crate) fn landing_mut(&mut self, at: u64) -> Option<&mut u8> {
        let range = self.landings.partition_point(|(start, _)| *start <= at).checked_sub(1)?;
        let (start, landings) = &mut self.landings[range];
        landings.get_mut((at - *start) as usize)
    }

    /// Whether code reads any of these addresses.
    pub(crate) fn is_read(&self, addresses: Range<u64>) -> bool {
        /// No instruction reads more.
        const MOST: u64 = 4096;
        let first = self.reads.partition_point(|read| read.start.saturating_add(MOST) <= addresses.start);
        let mut near = self.reads[first..].iter().take_while(|read| read.start < addresses.end);
        near.any(|read| addresses.start < read.end)
    }

    pub(crate) fn is_fenced(&self, at: ImageOffset) -> bool {
        self.fenced.iter().any(|fenced| fenced.contains(&at.0))
    }

    /// Whether a restartable sequence lies in some code.
    pub(crate) fn is_restartable(&self, code: &Range<u64>) -> bool {
        self.restartable.iter().any(|it| it.start < code.end && code.start < it.end)
    }

    pub(crate) fn use_of(&self, unwind: &UnwindTable, fde: &Fde) -> PieceUse {
        let number = unwind.fdes().partition_point(|other| other.start < fde.start);
        self.uses.get(number).copied().unwrap_or_default()
    }
}
