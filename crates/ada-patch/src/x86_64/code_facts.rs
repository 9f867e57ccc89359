//! What is notable about a stretch of code.

use iced_x86::{Decoder, DecoderOptions, FlowControl, Instruction, Mnemonic, OpKind, Register};

/// What some instructions do.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CodeFacts {
    /// One reads or writes memory beside the stack, or divides: it may fault.
    pub may_fault: bool,
    /// One is a trap.
    pub traps: bool,
    /// One jumps by a pointer or a table.
    pub jumps_indirectly: bool,
    /// One makes a system call.
    pub makes_system_calls: bool,
    /// One calls the first of them.
    pub calls_itself: bool,
    /// The first one does nothing.
    pub starts_idle: bool,
}

impl CodeFacts {
    /// Of these bytes, as far as they are instructions.
    pub fn of(bytes: &[u8]) -> Self {
        let mut facts = Self::default();
        for instruction in Decoder::new(64, bytes, DecoderOptions::NONE).iter() {
            facts.starts_idle |= instruction.ip() == 0 && instruction.mnemonic() == Mnemonic::Nop;
            facts.calls_itself |= instruction.is_call_near() && instruction.near_branch64() == 0;
            match instruction.flow_control() {
                FlowControl::Exception | FlowControl::Interrupt => facts.traps = true,
                FlowControl::IndirectBranch => facts.jumps_indirectly = true,
                _ => {}
            }
            facts.makes_system_calls |= matches!(instruction.mnemonic(), Mnemonic::Syscall | Mnemonic::Sysenter);
            facts.may_fault |= may_fault(&instruction);
        }
        facts
    }
}

fn may_fault(instruction: &Instruction) -> bool {
    if matches!(instruction.mnemonic(), Mnemonic::Div | Mnemonic::Idiv) {
        return true;
    }
    // Addresses that are only computed, and what is in the program's own image or on its stack.
    let is_safe = matches!(instruction.mnemonic(), Mnemonic::Lea | Mnemonic::Nop)
        || instruction.is_ip_rel_memory_operand()
        || matches!(instruction.memory_base(), Register::RSP | Register::RBP);
    (0..instruction.op_count()).any(|operand| is_memory(instruction.op_kind(operand))) && !is_safe
}

fn is_memory(kind: OpKind) -> bool {
    use OpKind::{Memory, MemoryESRDI, MemorySegRSI};
    matches!(kind, Memory | MemoryESRDI | MemorySegRSI)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn instructions_are_distinguished() {
        let none = CodeFacts::default();
        // push rbp; mov rbp, rsp; mov [rsp+8], rax; lea rax, [rdi+4]; nop [rax]; ret
        let quiet = [0x55, 0x48, 0x89, 0xe5, 0x48, 0x89, 0x44, 0x24, 8, 0x48, 0x8d, 0x47, 4, 0x0f, 0x1f, 0, 0xc3];
        assert_eq!(CodeFacts::of(&quiet), none);
        let may_fault = CodeFacts { may_fault: true, ..none };
        // mov eax, [rdi]; div ecx; rep stosb
        for bytes in [&[0x8b, 7][..], &[0xf7, 0xf1], &[0xf3, 0xaa]] {
            assert_eq!(CodeFacts::of(bytes), may_fault, "{bytes:x?}");
        }
        assert_eq!(CodeFacts::of(&[0x0f, 0x0b]), CodeFacts { traps: true, ..none });
        assert_eq!(CodeFacts::of(&[0x0f, 5]), CodeFacts { makes_system_calls: true, ..none });
        assert_eq!(CodeFacts::of(&[0xff, 0xe0]), CodeFacts { jumps_indirectly: true, ..none });
        // call -5; then nop; nop
        assert_eq!(CodeFacts::of(&[0xe8, 0xfb, 0xff, 0xff, 0xff, 0x90]), CodeFacts { calls_itself: true, ..none });
        assert_eq!(CodeFacts::of(&[0x90, 0xe8, 0, 0, 0, 0]), CodeFacts { starts_idle: true, ..none });
        assert_eq!(CodeFacts::of(&[]), none);
    }
}
