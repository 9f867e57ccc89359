//! Code that reads code: it copies functions, or sums them up, and would find the jumps of hooks.

use std::ops::Range;

use iced_x86::{FlowControl, Instruction, Mnemonic, OpKind, Register};

/// Finds instructions that read or write bytes of the code that they belong to, by address or by a register that was loaded
/// with one a few instructions before.
pub(crate) struct CodeReads {
    code: Range<u64>,
    /// Registers that hold addresses of code.
    pointers: [Option<(Register, u64)>; 2],
    found: Vec<Range<u64>>,
}

impl CodeReads {
    /// Of reads within `code`.
    pub(crate) fn of(code: Range<u64>) -> Self {
        Self { code, pointers: [None; 2], found: Vec::new() }
    }

    pub(crate) fn found(self) -> Vec<Range<u64>> {
        self.found
    }

    pub(super) fn start_piece(&mut self) {
        self.pointers = [None; 2];
    }

    #[inline]
    pub(super) fn note(&mut self, instruction: &Instruction) {
        if instruction.is_ip_rel_memory_operand() {
            let target = instruction.ip_rel_memory_address();
            if self.code.contains(&target) {
                self.note_target(instruction, target);
                return;
            }
        }
        if self.pointers != [None; 2] {
            self.follow(instruction);
        }
    }

    fn note_target(&mut self, instruction: &Instruction, target: u64) {
        match instruction.mnemonic() {
            Mnemonic::Nop => {}
            Mnemonic::Lea => {
                self.forget(instruction.op0_register());
                self.pointers.rotate_right(1);
                self.pointers[0] = Some((instruction.op0_register().full_register(), target));
            }
            _ => self.found.push(target..target + instruction.memory_size().size().max(1) as u64),
        }
    }

    /// Whether a pointer is used, and whether it lasts.
    fn follow(&mut self, instruction: &Instruction) {
        let base = instruction.memory_base();
        let is_read = base != Register::None && !matches!(instruction.mnemonic(), Mnemonic::Lea | Mnemonic::Nop);
        for (register, target) in self.pointers.into_iter().flatten() {
            if is_read && base == register {
                let at = target.wrapping_add(instruction.memory_displacement64());
                self.found.push(at..at.saturating_add(1));
            }
        }
        match instruction.flow_control() {
            FlowControl::Next | FlowControl::ConditionalBranch => {}
            FlowControl::Call | FlowControl::IndirectCall => {
                for pointer in &mut self.pointers {
                    *pointer = pointer.filter(|(register, _)| outlives_calls(*register));
                }
            }
            _ => self.start_piece(),
        }
        let steps_on = matches!(
            instruction.mnemonic(),
            Mnemonic::Add | Mnemonic::Sub | Mnemonic::Inc | Mnemonic::Cmp | Mnemonic::Test | Mnemonic::Push
        );
        if instruction.op_count() > 0 && instruction.op0_kind() == OpKind::Register && !steps_on {
            self.forget(instruction.op0_register());
        }
    }

    fn forget(&mut self, register: Register) {
        for pointer in &mut self.pointers {
            *pointer = pointer.filter(|(held, _)| *held != register.full_register());
        }
    }
}

fn outlives_calls(register: Register) -> bool {
    use Register::{R12, R13, R14, R15, RBP, RBX};
    [RBX, RBP, R12, R13, R14, R15].contains(&register)
}

#[cfg(test)]
mod tests {
    use super::*;
    use iced_x86::{Decoder, DecoderOptions};

    fn reads(bytes: &[u8]) -> Vec<(u64, u64)> {
        let mut reads = CodeReads::of(0x1000..0x2000);
        Decoder::with_ip(64, bytes, 0x1100, DecoderOptions::NONE).iter().for_each(|it| reads.note(&it));
        reads.found().into_iter().map(|read| (read.start, read.end)).collect()
    }

    #[test]
    fn copies_and_sums_of_code_are_found() {
        // movdqu xmm0, [rip - 0x80]
        assert_eq!(reads(&[0xf3, 0x0f, 0x6f, 0x05, 0x80, 0xff, 0xff, 0xff]), [(0x1088, 0x1098)]);
        // lea rax, [rip - 7]; mov edx, ebx; add rax, 1; movzx ebx, byte [rax]
        let sum = [0x48, 0x8d, 5, 0xf9, 0xff, 0xff, 0xff, 0x89, 0xda, 0x48, 0x83, 0xc0, 1, 0x0f, 0xb6, 0x18];
        assert_eq!(reads(&sum), [(0x1100, 0x1101)]);
    }

    #[test]
    fn pointers_to_functions_are_no_reads() {
        // lea rdi, [rip - 7]; call [rip + 0x2000]; mov al, [rdi]
        let call = [0x48, 0x8d, 0x3d, 0xf9, 0xff, 0xff, 0xff, 0xff, 0x15, 0, 0x20, 0, 0, 0x8a, 7];
        assert!(reads(&call).is_empty());
        // lea rax, [rip - 7]; mov rax, rdi; mov al, [rax]
        assert!(reads(&[0x48, 0x8d, 5, 0xf9, 0xff, 0xff, 0xff, 0x48, 0x89, 0xf8, 0x8a, 0]).is_empty());
        // mov rax, [rip + 0x2000]
        assert!(reads(&[0x48, 0x8b, 5, 0, 0x20, 0, 0]).is_empty());
    }
}
