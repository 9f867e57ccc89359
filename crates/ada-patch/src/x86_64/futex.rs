//! Functions that make one futex call, known by their code: a C library's contended paths have no names where it is stripped.

use iced_x86::{Decoder, DecoderOptions, Instruction, Mnemonic, OpKind, Register};

use crate::FutexCall;

/// The kernel's number of the call.
const FUTEX: u64 = 202;
/// The kernel's commands, without the flags for private words and for the clock.
const WAIT: u64 = 0;
const WAKE: u64 = 1;
const WAIT_BITSET: u64 = 9;
const LOCK_PI: u64 = 6;
const LOCK_PI2: u64 = 13;
const COMMAND: u64 = 0x7f;

/// What a function does to the futex word that is its first argument, before anything else: nothing where its first system
/// call is another one, or is about another address.
pub fn futex_call(code: &[u8]) -> Option<FutexCall> {
    /// Their prologues are short.
    const FARTHEST: usize = 40;
    let mut command = None;
    let mut number = None;
    // A flag for private words comes as the second argument, or as the fourth.
    let mut fourth = None;
    for instruction in Decoder::with_ip(64, code, 0, DecoderOptions::NONE).into_iter().take(FARTHEST) {
        match instruction.mnemonic() {
            Mnemonic::INVALID | Mnemonic::Call => return None,
            Mnemonic::Syscall if number == Some(FUTEX) => {
                return match command? & COMMAND {
                    WAIT | WAIT_BITSET | LOCK_PI | LOCK_PI2 => Some(FutexCall::Wait),
                    WAKE => Some(FutexCall::Wake),
                    _ => None,
                };
            }
            Mnemonic::Syscall => return None,
            // It compares and does not write.
            Mnemonic::Cmp | Mnemonic::Test => continue,
            _ => {}
        }
        match written(&instruction) {
            Some(Register::RDI) => return None,
            Some(Register::RAX) => number = constant(&instruction),
            // `xor sil, 0x81` on the flag for private words: the command is in the constant.
            Some(Register::RSI) if copies(&instruction, Register::RCX) => command = fourth.or(command),
            Some(Register::RSI) => command = constant(&instruction).or(command),
            Some(Register::RCX) => fourth = constant(&instruction),
            _ => {}
        }
    }
    None
}

/// The register that an instruction writes to first, in full width.
fn written(instruction: &Instruction) -> Option<Register> {
    (instruction.op0_kind() == OpKind::Register).then(|| instruction.op0_register().full_register())
}

/// Whether it copies this register, in whatever width.
fn copies(instruction: &Instruction, register: Register) -> bool {
    instruction.mnemonic() == Mnemonic::Mov
        && instruction.op1_kind() == OpKind::Register
        && instruction.op1_register().full_register() == register
}

fn constant(instruction: &Instruction) -> Option<u64> {
    let is_constant = matches!(
        instruction.op1_kind(),
        OpKind::Immediate8 | OpKind::Immediate8to32 | OpKind::Immediate32 | OpKind::Immediate32to64
    );
    (instruction.op_count() == 2 && is_constant).then(|| instruction.immediate(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `__lll_lock_wait` of glibc 2.36.
    const LOCK_WAIT: [u8; 43] = [
        0x8b, 0x07, 0x41, 0x89, 0xf0, 0x83, 0xf8, 0x02, 0x74, 0x0b, 0xb8, 0x02, 0, 0, 0, 0x87, 0x07, 0x85, 0xc0, 0x74,
        0x3b, 0x44, 0x89, 0xc6, 0x45, 0x31, 0xd2, 0xba, 0x02, 0, 0, 0, 0xb8, 0xca, 0, 0, 0, 0x40, 0x80, 0xf6, 0x80,
        0x0f, 0x05,
    ];

    #[test]
    fn waits_and_wakes_are_known_by_their_code() {
        assert_eq!(futex_call(&LOCK_WAIT), Some(FutexCall::Wait));
        // `__lll_lock_wake`.
        let wake = [0x40, 0x80, 0xf6, 0x81, 0x45, 0x31, 0xd2, 0xba, 1, 0, 0, 0, 0xb8, 0xca, 0, 0, 0, 0x0f, 0x05, 0xc3];
        assert_eq!(futex_call(&wake), Some(FutexCall::Wake));
        // `__futex_lock_pi64`.
        let lock_pi = [
            0x49, 0x89, 0xd2, 0x85, 0xf6, 0x75, 0x49, 0x80, 0xf1, 0x86, 0x89, 0xce, 0x31, 0xd2, 0xb8, 0xca, 0, 0, 0,
            0x0f, 0x05,
        ];
        assert_eq!(futex_call(&lock_pi), Some(FutexCall::Wait));
    }

    #[test]
    fn others_are_not() {
        // Another call, another address, another command, and no call at all.
        let mut other_number = LOCK_WAIT;
        other_number[33] = 0xcb;
        let mut other_command = LOCK_WAIT;
        other_command[40] = 0x83;
        let other_address = [&[0x48, 0x8d, 0x7f, 0x08][..], &LOCK_WAIT[..]].concat();
        for code in [&other_number[..], &other_command, &other_address, &LOCK_WAIT[..40], &[0xc3], &[]] {
            assert_eq!(futex_call(code), None, "{code:x?}");
        }
    }
}
