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
    /// Addresses that are some way behind one that was loaded.
    summed: Vec<u64>,
}

impl CodeReads {
    /// Of reads within `code`.
    pub(crate) fn of(code: Range<u64>) -> Self {
        Self { code, pointers: [None; 2], found: Vec::new(), summed: Vec::new() }
    }

    /// What is read, and the addresses that are made by adding to those that were loaded: Go has goroutines return to the
    /// second byte of a function.
    pub(crate) fn found(self) -> (Vec<Range<u64>>, Vec<u64>) {
        (self.found, self.summed)
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
        if let Some((register, distance)) = added(instruction) {
            let held = self.pointers.into_iter().flatten().filter(|(held, _)| *held == register);
            self.summed.extend(held.map(|(_, target)| target.wrapping_add_signed(distance)));
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

/// The register that an instruction adds a constant to, or whose sum with one it computes, and the constant.
fn added(instruction: &Instruction) -> Option<(Register, i64)> {
    let constant = || match instruction.op1_kind() {
        OpKind::Immediate8to64 => Some(instruction.immediate8to64()),
        OpKind::Immediate32to64 => Some(instruction.immediate32to64()),
        _ => None,
    };
    let is_register = instruction.op_count() > 0 && instruction.op0_kind() == OpKind::Register;
    match instruction.mnemonic() {
        Mnemonic::Lea if instruction.memory_index() == Register::None => {
            Some((instruction.memory_base(), instruction.memory_displacement64() as i64))
        }
        Mnemonic::Inc if is_register => Some((instruction.op0_register(), 1)),
        Mnemonic::Dec if is_register => Some((instruction.op0_register(), -1)),
        Mnemonic::Add if is_register => Some((instruction.op0_register(), constant()?)),
        Mnemonic::Sub if is_register => Some((instruction.op0_register(), constant()?.wrapping_neg())),
        _ => None,
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
        reads.found().0.into_iter().map(|read| (read.start, read.end)).collect()
    }

    #[test]
    fn sums_of_an_address_and_a_constant_are_addresses() {
        let mut reads = CodeReads::of(0x1000..0x2000);
        // lea rdx, [rip - 7]; inc rdx; lea rcx, [rip - 0x11]; add rcx, 4; lea rax, [rcx - 2]; inc rbx
        let code = [
            0x48, 0x8d, 0x15, 0xf9, 0xff, 0xff, 0xff, 0x48, 0xff, 0xc2, 0x48, 0x8d, 0x0d, 0xef, 0xff, 0xff, 0xff, 0x48,
            0x83, 0xc1, 4, 0x48, 0x8d, 0x41, 0xfe, 0x48, 0xff, 0xc3,
        ];
        Decoder::with_ip(64, &code, 0x1100, DecoderOptions::NONE).iter().for_each(|it| reads.note(&it));
        assert_eq!(reads.found().1, [0x1101, 0x1104, 0x10fe]);
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
