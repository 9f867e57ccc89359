//! Where the C library keeps a thread's `errno`, as its own function for that tells.

use ada_event::ImageOffset;
use iced_x86::{Decoder, DecoderOptions, Mnemonic, OpKind, Register};

use crate::ErrnoPlace;

/// How many instructions of the function are looked at.
const MOST: usize = 6;

/// Where a C library has `errno`, from the code, at this address, of its `__errno_location`: it adds a distance, which it has or
/// loads, to the thread pointer.
pub fn errno_place(code: &[u8], at: ImageOffset) -> Option<ErrnoPlace> {
    let mut place = None;
    let mut has_thread_pointer = false;
    for instruction in Decoder::with_ip(64, code, at.0, DecoderOptions::NONE).iter().take(MOST) {
        let from_memory = instruction.op_count() == 2 && instruction.op1_kind() == OpKind::Memory;
        let adds_or_moves = matches!(instruction.mnemonic(), Mnemonic::Mov | Mnemonic::Add);
        match instruction.mnemonic() {
            Mnemonic::Endbr64 => {}
            Mnemonic::Ret => return place.filter(|_| has_thread_pointer),
            _ if !adds_or_moves || instruction.op0_register() != Register::RAX => return None,
            _ if from_memory && instruction.segment_prefix() == Register::FS => {
                has_thread_pointer = instruction.memory_displacement64() == 0;
            }
            _ if from_memory && instruction.is_ip_rel_memory_operand() => {
                place = Some(ErrnoPlace::Word(ImageOffset(instruction.ip_rel_memory_address())));
            }
            _ if !from_memory && instruction.op1_kind() != OpKind::Register => {
                place = Some(ErrnoPlace::Distance(instruction.immediate(1) as i64));
            }
            _ => return None,
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_libraries_say_where_it_is() {
        // glibc: mov rax, [rip + 0x10]; add rax, fs:[0]; ret
        let glibc = [0x48, 0x8b, 0x05, 0x10, 0, 0, 0, 0x64, 0x48, 0x03, 0x04, 0x25, 0, 0, 0, 0, 0xc3];
        assert_eq!(errno_place(&glibc, ImageOffset(0x1000)), Some(ErrnoPlace::Word(ImageOffset(0x1017))));
        // musl: mov rax, fs:[0]; add rax, 0x34; ret
        let musl = [0x64, 0x48, 0x8b, 0x04, 0x25, 0, 0, 0, 0, 0x48, 0x83, 0xc0, 0x34, 0xc3];
        assert_eq!(errno_place(&musl, ImageOffset(0)), Some(ErrnoPlace::Distance(0x34)));
        // A static glibc: endbr64; mov rax, -64; add rax, fs:[0]; ret
        let fixed = [
            0xf3, 0x0f, 0x1e, 0xfa, 0x48, 0xc7, 0xc0, 0xc0, 0xff, 0xff, 0xff, 0x64, 0x48, 0x03, 0x04, 0x25, 0, 0, 0, 0,
            0xc3,
        ];
        assert_eq!(errno_place(&fixed, ImageOffset(0)), Some(ErrnoPlace::Distance(-64)));
        for other in [&glibc[..7], &[0xc3], &[0x48, 0x89, 0xf8, 0xc3]] {
            assert_eq!(errno_place(other, ImageOffset(0)), None);
        }
    }
}
