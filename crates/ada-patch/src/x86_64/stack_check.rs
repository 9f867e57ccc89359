//! The check with which functions of Go begin: is there room for the frame? If not, the function calls the runtime, which moves it
//! to a larger stack, and begins anew.
//!
//! What comes behind the check runs once for each call, however often the stack grows.

use iced_x86::{Decoder, DecoderOptions, FlowControl, Instruction, Mnemonic, OpKind, Register};

/// Where a goroutine has the end of its stack, and where the runtime's own functions find the same.
const GUARDS: [u64; 2] = [0x10, 0x18];
/// No check has more instructions: `mov r14, [rip+n]; mov r14, fs:[r14]; mov r12, rsp; sub r12, n; jb …; cmp r12, [r14+16]; jbe …`.
const MOST: usize = 7;

/// How many bytes of a function the check takes; 0 where there is none.
pub(crate) fn stack_check_bytes(code: &[u8]) -> usize {
    let mut compared = false;
    for instruction in Decoder::new(64, code, DecoderOptions::NONE).iter().take(MOST) {
        let end = instruction.next_ip() as usize;
        let leads_on =
            instruction.op0_kind() == OpKind::NearBranch64 && instruction.near_branch64() as i64 >= end as i64;
        match instruction.mnemonic() {
            Mnemonic::Jbe if compared && leads_on => return end,
            // The frame is larger than the address.
            Mnemonic::Jb if !compared && leads_on => {}
            Mnemonic::Cmp if !compared && compares_with_guard(&instruction) => compared = true,
            Mnemonic::Lea | Mnemonic::Mov | Mnemonic::Sub if !compared && computes(&instruction) => {}
            _ => return 0,
        }
    }
    0
}

/// Where the calls and jumps of some code at an address lead.
pub(crate) fn branch_targets(code: &[u8], at: u64) -> Vec<u64> {
    let instructions = Decoder::with_ip(64, code, at, DecoderOptions::NONE);
    let branches = instructions.into_iter().filter(|instruction| instruction.op0_kind() == OpKind::NearBranch64);
    branches.map(|branch| branch.near_branch64()).collect()
}

/// Whether code at an address may go on elsewhere by a jump.
pub(crate) fn leaves_by_jump(code: &[u8], at: u64) -> bool {
    let inside = at..at + code.len() as u64;
    Decoder::with_ip(64, code, at, DecoderOptions::NONE).iter().any(|it| match it.flow_control() {
        FlowControl::UnconditionalBranch | FlowControl::ConditionalBranch => !inside.contains(&it.near_branch64()),
        flow => flow == FlowControl::IndirectBranch,
    })
}

/// `cmp rsp, [r14+16]`, with the goroutine in any register.
fn compares_with_guard(cmp: &Instruction) -> bool {
    cmp.op0_kind() == OpKind::Register
        && cmp.op1_kind() == OpKind::Memory
        && cmp.memory_index() == Register::None
        && matches!(cmp.memory_base(), Register::R14 | Register::RCX)
        && GUARDS.contains(&cmp.memory_displacement64())
}

/// Loads the goroutine from the thread's storage, or computes where the frame will end.
fn computes(instruction: &Instruction) -> bool {
    let is_into_register = instruction.op0_kind() == OpKind::Register && instruction.op0_register() != Register::RSP;
    let from_stack_pointer = match instruction.mnemonic() {
        Mnemonic::Lea => instruction.memory_base() == Register::RSP && instruction.memory_index() == Register::None,
        // In a library, the place in the thread's storage is loaded first.
        Mnemonic::Mov if instruction.op1_kind() == OpKind::Memory => {
            instruction.segment_prefix() == Register::FS
                || matches!(instruction.memory_base(), Register::RCX | Register::RIP)
        }
        Mnemonic::Mov if instruction.op1_kind() == OpKind::Register => instruction.op1_register() == Register::RSP,
        _ => matches!(instruction.op1_kind(), OpKind::Immediate32to64 | OpKind::Immediate8to64),
    };
    is_into_register && from_stack_pointer
}

#[cfg(test)]
mod tests {
    use super::{leaves_by_jump, stack_check_bytes};

    #[test]
    fn checks_of_all_sizes_of_frames_are_known() {
        let cases: [(&[u8], usize, &str); 10] = [
            (&[0x49, 0x3b, 0x66, 0x10, 0x76, 0x57, 0x48], 6, "cmp rsp, [r14+16]; jbe"),
            (&[0x49, 0x3b, 0x66, 0x18, 0x0f, 0x86, 1, 1, 0, 0, 0x48], 10, "cmp rsp, [r14+24]; jbe far"),
            (&[0x4c, 0x8d, 0x64, 0x24, 0xe0, 0x4d, 0x3b, 0x66, 0x10, 0x76, 9], 11, "lea r12, [rsp-32]; cmp; jbe"),
            (
                &[0x49, 0x89, 0xe4, 0x49, 0x81, 0xec, 0, 0, 1, 0, 0x72, 0x20, 0x4d, 0x3b, 0x66, 0x10, 0x76, 0x1a],
                18,
                "mov r12, rsp; sub r12, 65536; jb; cmp r12, [r14+16]; jbe",
            ),
            (
                &[0x64, 0x48, 0x8b, 0x0c, 0x25, 0xf8, 0xff, 0xff, 0xff, 0x48, 0x3b, 0x61, 0x10, 0x76, 0x30],
                15,
                "mov rcx, fs:[-8]; cmp rsp, [rcx+16]; jbe",
            ),
            (
                &[0x4c, 0x8b, 0x35, 0xe9, 0x77, 0x15, 0, 0x64, 0x4d, 0x8b, 0x36, 0x49, 0x3b, 0x66, 0x10, 0x76, 0x71],
                17,
                "mov r14, [rip+n]; mov r14, fs:[r14]; cmp rsp, [r14+16]; jbe",
            ),
            (
                &[
                    0x49, 0xc7, 0xc6, 0xf8, 0xff, 0xff, 0xff, 0x64, 0x4d, 0x8b, 0x36, 0x4c, 0x8d, 0x64, 0x24, 0xf8,
                    0x4d, 0x3b, 0x66, 0x10, 0x76, 0x27,
                ],
                22,
                "mov r14, -8; mov r14, fs:[r14]; lea r12, [rsp-8]; cmp r12, [r14+16]; jbe",
            ),
            (&[0x49, 0x3b, 0x66, 0x10, 0x76, 0xf0], 0, "backwards"),
            (&[0x48, 0x83, 0xec, 0x18, 0x48, 0x39, 0xc3], 0, "sub rsp, 24; cmp rbx, rax"),
            (&[0x49, 0x3b, 0x66, 0x28, 0x76, 0x57], 0, "another field"),
        ];
        for (code, bytes, name) in cases {
            assert_eq!(stack_check_bytes(code), bytes, "{name}");
        }
    }

    #[test]
    fn jumps_out_are_seen() {
        let cases: [(&[u8], bool, &str); 4] = [
            (&[0x75, 0x01, 0xc3, 0xc3], false, "jne inside"),
            (&[0xe8, 0, 1, 0, 0, 0xc3], false, "call"),
            (&[0x75, 0x10, 0xc3], true, "jne outside"),
            (&[0xff, 0xe2], true, "jmp rdx"),
        ];
        for (code, leaves, name) in cases {
            assert_eq!(leaves_by_jump(code, 0x1000), leaves, "{name}");
        }
    }
}
