//! What the instructions of a piece of code do.

use iced_x86::{Code, Decoder, DecoderOptions, FlowControl, Instruction, Mnemonic, OpKind, Register};

use super::code_reads::CodeReads;
use super::leaves::Recent;
use crate::code_scan::{PieceEnd, PieceUse};
use crate::leave::{Leave, Outgoing};

/// A direct branch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Branch {
    Call,
    Jump,
    ConditionalJump,
    /// No branch: the instruction has the address.
    Address,
}

/// Decodes a piece of code at the image's address `from`, gives each direct branch to `branches`, and adds what leaves the
/// straight way to `leaves`.
pub(crate) fn read_piece(
    bytes: &[u8],
    from: u64,
    leaves: &mut Vec<Leave>,
    reads: &mut CodeReads,
    mut branches: impl FnMut(Branch, Outgoing),
) -> PieceUse {
    let mut found = PieceUse::default();
    let mut decoder = Decoder::with_ip(64, bytes, from, DecoderOptions::NONE);
    let mut recent = Recent::new();
    let (mut before_padding, mut padding) = (None, from);
    reads.start_piece();
    while decoder.can_decode() {
        let instruction = recent.decode(&mut decoder);
        if instruction.mnemonic() != Mnemonic::Nop {
            (before_padding, padding) = (Some(instruction.code()), instruction.next_ip());
        }
        reads.note(instruction);
        if instruction.op0_kind() == OpKind::NearBranch64 {
            let target = instruction.near_branch64();
            let branch = Outgoing { at: instruction.ip(), length: instruction.len() as u8, target };
            branches(kind_of(instruction), branch);
        }
        if let Some(target) = named_address(instruction) {
            branches(Branch::Address, Outgoing { at: instruction.ip(), length: instruction.len() as u8, target });
        }
        found.uses_gs |= uses_gs(instruction);
        leaves.extend(recent.leave());
    }
    found.end = end_of(recent.newest(), before_padding, from + bytes.len() as u64 - padding);
    found
}

/// An address that an instruction puts together, or a constant that may be one.
#[inline]
pub(super) fn named_address(instruction: &Instruction) -> Option<u64> {
    if instruction.mnemonic() == Mnemonic::Lea {
        return instruction.is_ip_rel_memory_operand().then(|| instruction.ip_rel_memory_address());
    }
    // A constant is the last operand; which one that is takes longer to find out.
    [instruction.op1_kind(), instruction.op0_kind(), instruction.op2_kind()].into_iter().find_map(|kind| match kind {
        OpKind::Immediate32 => Some(instruction.immediate32().into()),
        OpKind::Immediate32to64 => Some(instruction.immediate32to64() as u64),
        OpKind::Immediate64 => Some(instruction.immediate64()),
        _ => None,
    })
}

#[inline]
fn kind_of(branch: &Instruction) -> Branch {
    if branch.code() == Code::Call_rel32_64 {
        Branch::Call
    } else if branch.is_jcc_short_or_near() {
        Branch::ConditionalJump
    } else {
        Branch::Jump
    }
}

fn end_of(last: &Instruction, before_padding: Option<Code>, padding: u64) -> PieceEnd {
    // Some assembler files pad before they end the entry.
    if last.mnemonic() == Mnemonic::Nop {
        let runs_on = before_padding.is_none_or(|code| {
            matches!(code.flow_control(), FlowControl::Next | FlowControl::ConditionalBranch)
                && !matches!(code, Code::INVALID | Code::Hlt)
        });
        let padding = u16::try_from(padding).unwrap_or(u16::MAX);
        return if runs_on { PieceEnd::RunsOverPadding(padding) } else { PieceEnd::Unknown };
    }
    if last.is_invalid() {
        return PieceEnd::Unknown;
    }
    match last.flow_control() {
        FlowControl::Return | FlowControl::UnconditionalBranch | FlowControl::IndirectBranch => PieceEnd::Leaves,
        FlowControl::Call | FlowControl::IndirectCall => PieceEnd::Calls,
        FlowControl::Next | FlowControl::ConditionalBranch => PieceEnd::FallsThrough,
        FlowControl::Exception | FlowControl::Interrupt | FlowControl::XbeginXabortXend => PieceEnd::Unknown,
    }
}

/// Addresses memory through GS, or reads or writes its base.
#[inline]
fn uses_gs(instruction: &Instruction) -> bool {
    instruction.segment_prefix() == Register::GS && instruction.mnemonic() != Mnemonic::Nop
        || matches!(instruction.mnemonic(), Mnemonic::Rdgsbase | Mnemonic::Wrgsbase)
}
