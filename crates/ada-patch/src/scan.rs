//! One pass over all code of an image: where direct branches and unwinders land, and which frames touch their own return
//! slot.

use ada_event::ImageOffset;
use ada_image::{Cfa, CodeRange, Fde, FunctionTable, Row, UnwindTable};
use iced_x86::{Code, Decoder, DecoderOptions, Instruction, Mnemonic, OpKind, Register};

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

/// How a frame deals with its own return slot.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct SlotUse {
    pub(crate) reads: bool,
    pub(crate) pops_arguments: bool,
}

/// What decoding the whole image showed.
pub struct CodeScan {
    start: u64,
    landings: Vec<u8>,
    slot_uses: Vec<SlotUse>,
}

impl CodeScan {
    /// Decodes every instruction of `ranges`, starting anew at each known function and unwind entry, since what
    /// lies between them may be data.
    pub fn of(ranges: &[CodeRange<'_>], functions: &FunctionTable, unwind: &UnwindTable) -> Self {
        let start = ranges.iter().map(|range| range.start.0).min().unwrap_or(0);
        let end = ranges.iter().map(|range| range.start.0 + range.bytes.len() as u64).max().unwrap_or(0);
        let mut scan = Self {
            start,
            landings: vec![0; (end - start) as usize],
            slot_uses: vec![SlotUse::default(); unwind.fdes().len()],
        };
        let mut starts: Vec<u64> = functions.functions().iter().map(|function| function.start.0).collect();
        starts.extend(unwind.fdes().iter().flat_map(|fde| [fde.start.0, fde.end.0]));
        starts.sort_unstable();
        starts.dedup();
        for range in ranges {
            scan.scan_range(range, &starts, unwind);
        }
        for pad in unwind.landing_pads() {
            if let Some(landing) = scan.landings.get_mut(pad.0.wrapping_sub(start) as usize) {
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
            let slot_use = self.scan_piece(bytes, from, to, fde, rows);
            if fde.is_some() {
                let known = &mut self.slot_uses[next_fde];
                known.reads |= slot_use.reads;
                known.pops_arguments |= slot_use.pops_arguments;
            }
            from = to;
        }
    }

    fn scan_piece(&mut self, bytes: &[u8], from: u64, to: u64, fde: Option<&Fde>, rows: &[Row]) -> SlotUse {
        let inside = fde.map_or(from..to, |fde| fde.start.0..fde.end.0);
        let mut slot_use = SlotUse::default();
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
                slot_use.pops_arguments = true;
            }
            while row < rows.len() && rows[row].end.0 <= instruction.ip() {
                row += 1;
            }
            if let Some(row) = rows.get(row) {
                slot_use.reads |= touches_return_slot(&instruction, row.cfa);
            }
        }
        slot_use
    }

    fn note_branch(&mut self, branch: &Instruction, from_inside: bool) {
        let Some(landing) = self.landings.get_mut(branch.near_branch64().wrapping_sub(self.start) as usize) else {
            return;
        };
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

    pub(crate) fn landing(&self, at: ImageOffset) -> Landing {
        Landing(self.landings.get(at.0.wrapping_sub(self.start) as usize).copied().unwrap_or(0))
    }

    pub(crate) fn slot_use(&self, unwind: &UnwindTable, fde: &Fde) -> SlotUse {
        let number = unwind.fdes().partition_point(|other| other.start < fde.start);
        self.slot_uses.get(number).copied().unwrap_or_default()
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
