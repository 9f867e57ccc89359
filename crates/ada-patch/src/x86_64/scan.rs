//! One pass over all code of an image: where direct branches and unwinders land, and which frames touch their own return
//! slot.

use ada_event::ImageOffset;
use ada_image::{Cfa, CodeRange, Fde, FunctionTable, Row, UnwindTable};
use iced_x86::{Code, Decoder, DecoderOptions, FlowControl, Instruction, Mnemonic, OpKind, Register};

/// What branches do at an address, as bits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Landing(u8);

impl Landing {
    const JUMP: u8 = 1;
    const CALL: u8 = 2;
    const CONDITIONAL_FROM_OUTSIDE: u8 = 4;
    const JUMP_FROM_INSIDE: u8 = 8;
    const PAD: u8 = 16;

    pub(crate) fn any(self) -> bool {
        self.0 != 0
    }

    pub(crate) fn jumped_to_from_inside(self) -> bool {
        self.0 & Self::JUMP_FROM_INSIDE != 0
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
    /// It reads or writes its own return slot.
    pub(crate) reads_slot: bool,
    pub(crate) pops_arguments: bool,
    /// It moves the stack pointer by a distance that it has computed, upwards: no compiler does that.
    pub(crate) moves_stack: bool,
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
    /// What lies behind the piece, if the call comes back. Compilers end functions with calls that do not.
    Calls,
    /// Something else, for certain.
    Leaves,
}

/// What decoding the whole image showed.
pub struct CodeScan {
    /// For each range of code, sorted: where it starts, and the landings at each of its bytes. Ranges may lie far apart.
    landings: Vec<(u64, Vec<u8>)>,
    /// For each unwind entry.
    uses: Vec<PieceUse>,
}

impl CodeScan {
    /// Decodes every instruction of `ranges`, starting anew at each known function and unwind entry, since what
    /// lies between them may be data.
    pub fn of(ranges: &[CodeRange<'_>], functions: &FunctionTable, unwind: &UnwindTable) -> Self {
        let mut scan = Self {
            landings: ranges.iter().map(|range| (range.start.0, vec![0; range.bytes.len()])).collect(),
            uses: vec![PieceUse::default(); unwind.fdes().len()],
        };
        let mut starts: Vec<u64> = functions.functions().iter().map(|function| function.start.0).collect();
        starts.extend(unwind.fdes().iter().flat_map(|fde| [fde.start.0, fde.end.0]));
        starts.sort_unstable();
        starts.dedup();
        for range in ranges {
            scan.scan_range(range, &starts, unwind);
        }
        for pad in unwind.landing_pads() {
            if let Some(landing) = scan.landing_mut(pad.0) {
                *landing |= Landing::PAD;
            }
        }
        scan
    }

    fn scan_range(&mut self, range: &CodeRange<'_>, starts: &[u64], unwind: &UnwindTable) {
        let (low, high) = (range.start.0, range.start.0 + range.bytes.len() as u64);
        let inner = &starts[starts.partition_point(|&at| at <= low)..starts.partition_point(|&at| at < high)];
        let fdes = unwind.fdes();
        let mut next_fde = fdes.partition_point(|fde| fde.end.0 <= low);
        let mut from = low;
        for to in inner.iter().copied().chain([high]) {
            while next_fde < fdes.len() && fdes[next_fde].end.0 <= from {
                next_fde += 1;
            }
            let fde = fdes.get(next_fde).filter(|fde| fde.start.0 <= from && from < fde.end.0);
            let bytes = &range.bytes[(from - low) as usize..(to - low) as usize];
            let rows = fde.map_or(&[][..], |fde| unwind.rows(fde));
            let found = self.scan_piece(bytes, from, to, fde, rows);
            if fde.is_some() {
                let known = &mut self.uses[next_fde];
                known.reads_slot |= found.reads_slot;
                known.pops_arguments |= found.pops_arguments;
                known.moves_stack |= found.moves_stack;
                known.end = found.end;
            }
            from = to;
        }
    }

    fn scan_piece(&mut self, bytes: &[u8], from: u64, to: u64, fde: Option<&Fde>, rows: &[Row]) -> PieceUse {
        let inside = fde.map_or(from..to, |fde| fde.start.0..fde.end.0);
        let mut found = PieceUse::default();
        let mut row = 0;
        let mut instruction = Instruction::default();
        let mut decoder = Decoder::with_ip(64, bytes, from, DecoderOptions::NONE);
        while decoder.can_decode() {
            decoder.decode_out(&mut instruction);
            if instruction.op0_kind() == OpKind::NearBranch64 {
                self.note_branch(&instruction, inside.contains(&instruction.near_branch64()));
            }
            if fde.is_none() {
                continue;
            }
            if instruction.mnemonic() == Mnemonic::Ret && instruction.op_count() == 1 {
                found.pops_arguments = true;
            }
            if instruction.code() == Code::Add_rm64_r64 || instruction.code() == Code::Add_r64_rm64 {
                found.moves_stack |= instruction.op0_register() == Register::RSP;
            }
            while row < rows.len() && rows[row].end.0 <= instruction.ip() {
                row += 1;
            }
            if let Some(row) = rows.get(row) {
                found.reads_slot |= touches_return_slot(&instruction, row.cfa);
            }
        }
        found.end = end_of(&instruction);
        found
    }

    fn note_branch(&mut self, branch: &Instruction, from_inside: bool) {
        let Some(landing) = self.landing_mut(branch.near_branch64()) else { return };
        *landing |= if branch.code() == Code::Call_rel32_64 {
            Landing::CALL
        } else if from_inside {
            Landing::JUMP | Landing::JUMP_FROM_INSIDE
        } else if branch.is_jcc_short_or_near() {
            Landing::JUMP | Landing::CONDITIONAL_FROM_OUTSIDE
        } else {
            Landing::JUMP
        };
    }

    #[inline]
    pub(crate) fn landing(&self, at: ImageOffset) -> Landing {
        let after = self.landings.partition_point(|(start, _)| *start <= at.0);
        let landing = self.landings[..after]
            .last()
            .and_then(|(start, landings)| landings.get(usize::try_from(at.0 - start).ok()?).copied());
        Landing(landing.unwrap_or(0))
    }

    fn landing_mut(&mut self, at: u64) -> Option<&mut u8> {
        let range = self.landings.partition_point(|(start, _)| *start <= at).checked_sub(1)?;
        let (start, landings) = &mut self.landings[range];
        landings.get_mut((at - *start) as usize)
    }

    pub(crate) fn use_of(&self, unwind: &UnwindTable, fde: &Fde) -> PieceUse {
        let number = unwind.fdes().partition_point(|other| other.start < fde.start);
        self.uses.get(number).copied().unwrap_or_default()
    }
}

fn end_of(last: &Instruction) -> PieceEnd {
    // Behind a nop may be anything: some assembler files pad before they end the entry.
    if last.is_invalid() || last.mnemonic() == Mnemonic::Nop {
        return PieceEnd::Unknown;
    }
    match last.flow_control() {
        FlowControl::Return | FlowControl::UnconditionalBranch | FlowControl::IndirectBranch => PieceEnd::Leaves,
        FlowControl::Call | FlowControl::IndirectCall => PieceEnd::Calls,
        FlowControl::Next | FlowControl::ConditionalBranch => PieceEnd::FallsThrough,
        FlowControl::Exception | FlowControl::Interrupt | FlowControl::XbeginXabortXend => PieceEnd::Unknown,
    }
}

/// A memory operand at CFA − 8, or a pop where nothing but the return address is on the stack.
fn touches_return_slot(instruction: &Instruction, cfa: Cfa) -> bool {
    let (base, offset) = match cfa {
        Cfa::Rsp(offset) => (Register::RSP, offset),
        Cfa::Rbp(offset) => (Register::RBP, offset),
        Cfa::Other => return false,
    };
    if base == Register::RSP && offset == 8 && instruction.mnemonic() == Mnemonic::Pop {
        return true;
    }
    instruction.memory_base() == base
        && instruction.memory_index() == Register::None
        && instruction.memory_displacement64() as i64 == i64::from(offset) - 8
        && (0..instruction.op_count()).any(|operand| instruction.op_kind(operand) == OpKind::Memory)
        && instruction.mnemonic() != Mnemonic::Nop
        // A stack probe: `or [rsp], 0` changes nothing.
        && !(instruction.mnemonic() == Mnemonic::Or && instruction.op1_kind() == OpKind::Immediate8to64)
}
