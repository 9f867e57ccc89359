//! Where the C library keeps what a thread ends with, as its `pthread_exit` tells.

use ada_event::ImageOffset;
use iced_x86::{Decoder, DecoderOptions, FlowControl, Instruction, Mnemonic, OpKind, Register};

/// How many instructions of the function are looked at.
const MOST: usize = 32;
/// Where a thread has the address of its own descriptor.
const OWN_ADDRESS: u64 = 0x10;
/// No descriptor is larger.
const LARGEST: u64 = 1 << 14;
/// What a call leaves as it was.
const KEPT: [Register; 6] = [Register::RBX, Register::RBP, Register::R12, Register::R13, Register::R14, Register::R15];

/// How far what a thread ends with is from its thread pointer, from the code, at this address, of `pthread_exit`: that is where it
/// puts its argument.
pub fn thread_result_distance(code: &[u8], at: ImageOffset) -> Option<u64> {
    let (mut with_argument, mut with_descriptor) = (vec![Register::RDI], Vec::new());
    for instruction in Decoder::with_ip(64, code, at.0, DecoderOptions::NONE).iter().take(MOST) {
        let is_move = instruction.mnemonic() == Mnemonic::Mov;
        if is_move && instruction.op0_kind() == OpKind::Memory && with_argument.contains(&instruction.op1_register()) {
            let is_absolute = instruction.segment_prefix() == Register::FS && !has_registers(&instruction);
            let is_in_descriptor = with_descriptor.contains(&instruction.memory_base())
                && instruction.memory_index() == Register::None
                && instruction.segment_prefix() == Register::None;
            let distance = instruction.memory_displacement64();
            let is_place = (is_absolute || is_in_descriptor) && distance < LARGEST && distance.is_multiple_of(8);
            // The stack is where it may be kept meanwhile.
            match instruction.memory_base() {
                _ if is_place => return Some(distance),
                Register::RSP | Register::RBP => continue,
                _ => return None,
            }
        }
        match instruction.flow_control() {
            FlowControl::Next | FlowControl::ConditionalBranch => {}
            FlowControl::Call | FlowControl::IndirectCall => {
                with_argument.retain(|register| KEPT.contains(register));
                with_descriptor.retain(|register| KEPT.contains(register));
                continue;
            }
            _ => return None,
        }
        let is_written = !matches!(instruction.mnemonic(), Mnemonic::Push | Mnemonic::Test | Mnemonic::Cmp);
        if instruction.op_count() == 0 || instruction.op0_kind() != OpKind::Register || !is_written {
            continue;
        }
        let written = instruction.op0_register();
        let is_copy = is_move && with_argument.contains(&instruction.op1_register());
        let is_descriptor = is_move
            && instruction.op1_kind() == OpKind::Memory
            && instruction.segment_prefix() == Register::FS
            && !has_registers(&instruction)
            && instruction.memory_displacement64() == OWN_ADDRESS;
        with_argument.retain(|register| *register != written.full_register());
        with_descriptor.retain(|register| *register != written.full_register());
        if is_copy {
            with_argument.push(written);
        } else if is_descriptor {
            with_descriptor.push(written);
        }
    }
    None
}

fn has_registers(instruction: &Instruction) -> bool {
    instruction.memory_base() != Register::None || instruction.memory_index() != Register::None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_ways_to_put_it_there_are_understood() {
        // push rbx; mov rbx, rdi; call +0; test rax, rax; je +2; mov fs:[0x628], rbx
        let absolute = [
            0x53, 0x48, 0x89, 0xfb, 0xe8, 0, 0, 0, 0, 0x48, 0x85, 0xc0, 0x74, 0x02, 0x64, 0x48, 0x89, 0x1c, 0x25, 0x28,
            0x06, 0, 0,
        ];
        assert_eq!(thread_result_distance(&absolute, ImageOffset(0x1000)), Some(0x628));
        // mov rax, fs:[0x10]; mov [rax + 0x630], rdi
        let relative = [0x64, 0x48, 0x8b, 0x04, 0x25, 0x10, 0, 0, 0, 0x48, 0x89, 0xb8, 0x30, 0x06, 0, 0];
        assert_eq!(thread_result_distance(&relative, ImageOffset(0)), Some(0x630));
    }

    #[test]
    fn what_is_not_understood_has_none() {
        // mov fs:[0x628], rbx, which has not the argument; a return before; an argument that a call may have changed.
        let other = [0x64, 0x48, 0x89, 0x1c, 0x25, 0x28, 0x06, 0, 0, 0xc3];
        let lost = [0xe8, 0, 0, 0, 0, 0x64, 0x48, 0x89, 0x3c, 0x25, 0x28, 0x06, 0, 0, 0xc3];
        let elsewhere = [0x48, 0x89, 0x39, 0xc3];
        for code in [&other[..], &lost, &elsewhere, &[0xc3], &[]] {
            assert_eq!(thread_result_distance(code, ImageOffset(0)), None);
        }
    }
}
