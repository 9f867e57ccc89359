//! The functions without names that Swift's runtime puts into new tasks, to be called last: what their code does with the error
//! that a task has thrown. By Swift's convention it comes in r13, which is 0 where none was thrown.

use ada_event::ImageOffset;
use iced_x86::{Decoder, DecoderOptions, FlowControl, Instruction, Mnemonic, OpKind, Register};

use crate::ErrorUse;

/// Where the error is kept, seen from a task's first context, which is in r14.
const ERROR_RESULT: i64 = -8;

/// The addresses that a function takes: of data, and of functions.
pub fn addresses_taken(code: &[u8], start: ImageOffset) -> Vec<ImageOffset> {
    let instructions = Decoder::with_ip(64, code, start.0, DecoderOptions::NONE).into_iter();
    let taken = instructions.filter(|it| it.mnemonic() == Mnemonic::Lea && it.is_ip_rel_memory_operand());
    taken.map(|it| ImageOffset(it.ip_rel_memory_address())).collect()
}

/// What a function does with the error in its register; nothing where it may have another value there by then, or is not
/// such a function at all.
pub fn error_use(code: &[u8], start: ImageOffset) -> Option<ErrorUse> {
    /// They keep it at once.
    const FARTHEST: usize = 24;
    for instruction in Decoder::with_ip(64, code, start.0, DecoderOptions::NONE).into_iter().take(FARTHEST) {
        if keeps_error(&instruction) {
            return Some(ErrorUse::Kept);
        }
        match instruction.flow_control() {
            FlowControl::Next | FlowControl::Call => {}
            FlowControl::UnconditionalBranch => {
                return Some(ErrorUse::PassedTo(ImageOffset(instruction.near_branch_target())));
            }
            _ => return None,
        }
        let is_written =
            instruction.op0_kind() == OpKind::Register && instruction.op0_register().full_register() == Register::R13;
        if is_written || instruction.is_invalid() {
            return None;
        }
    }
    None
}

/// `mov [r14 - 8], r13`.
fn keeps_error(instruction: &Instruction) -> bool {
    instruction.mnemonic() == Mnemonic::Mov
        && instruction.op0_kind() == OpKind::Memory
        && instruction.memory_base() == Register::R14
        && instruction.memory_index() == Register::None
        && instruction.memory_displacement64() as i64 == ERROR_RESULT
        && instruction.op1_kind() == OpKind::Register
        && instruction.op1_register() == Register::R13
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The beginning of Swift 6.0.3's function: `push rbp; push r14; lea rbp, [rsp+8]; sub rsp, 8; push r15; push rbx;
    /// sub rsp, 16; call …; mov r15, rax; mov [r14-8], r13`.
    const COMPLETES: [u8; 31] = [
        0x55, 0x41, 0x56, 0x48, 0x8d, 0x6c, 0x24, 0x08, 0x48, 0x83, 0xec, 0x08, 0x41, 0x57, 0x53, 0x48, 0x83, 0xec,
        0x10, 0xe8, 0xe8, 0xbc, 0xff, 0xff, 0x49, 0x89, 0xc7, 0x4d, 0x89, 0x6e, 0xf8,
    ];

    #[test]
    fn an_error_is_kept_or_passed_on() {
        assert_eq!(error_use(&COMPLETES, ImageOffset(0x1000)), Some(ErrorUse::Kept));
        // The same, ending in a jump before that.
        let mut passes = COMPLETES[..24].to_vec();
        passes.extend([0xe9, 0x10, 0, 0, 0]);
        let after = 0x1000 + passes.len() as u64;
        assert_eq!(error_use(&passes, ImageOffset(0x1000)), Some(ErrorUse::PassedTo(ImageOffset(after + 0x10))));
    }

    #[test]
    fn a_register_that_has_something_else_is_no_error() {
        // `mov r13, rax` instead of `mov r15, rax`: the function of tasks that are run inline, which never throw.
        let mut overwritten = COMPLETES;
        overwritten[24..27].copy_from_slice(&[0x49, 0x89, 0xc5]);
        // Another place, a return, and nothing at all.
        let mut elsewhere = COMPLETES;
        elsewhere[30] = 0xf0;
        for code in [&overwritten[..], &elsewhere, &[0xc3], &[0xff, 0xe0], &COMPLETES[..29], &[]] {
            assert_eq!(error_use(code, ImageOffset(0)), None, "{code:x?}");
        }
    }

    #[test]
    fn addresses_are_counted_from_where_they_are_taken() {
        // `lea rax, [rip+0xca1]; lea rcx, [rsp+8]`.
        let code = [0x48, 0x8d, 0x05, 0xa1, 0x0c, 0, 0, 0x48, 0x8d, 0x4c, 0x24, 0x08];
        assert_eq!(addresses_taken(&code, ImageOffset(0x6ba08)), [ImageOffset(0x6c6b0)]);
    }
}
