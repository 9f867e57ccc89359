//! Whether a function looks at the flags that its caller has left.
//!
//! Compiled code never does, but hand-written code may. What its first instructions say is a proof where it is there:
//! most functions compare, subtract or clear something before they branch or call.

use iced_x86::{Decoder, DecoderOptions, FlowControl, Mnemonic, RflagsBits};

/// Longer beginnings without a word about flags are rare.
const LOOKED_AT: usize = 24;
const ARITHMETIC: u32 =
    RflagsBits::OF | RflagsBits::SF | RflagsBits::ZF | RflagsBits::AF | RflagsBits::CF | RflagsBits::PF;

/// Whether the code overwrites all arithmetic flags before anything can look at them.
pub(crate) fn flags_are_dead(code: &[u8]) -> bool {
    for instruction in Decoder::new(64, code, DecoderOptions::NONE).iter().take(LOOKED_AT) {
        if instruction.is_invalid() || instruction.rflags_read() & ARITHMETIC != 0 {
            return false;
        }
        // Those that always write all of them: a shift by zero, for one, writes none.
        if matches!(
            instruction.mnemonic(),
            Mnemonic::Add
                | Mnemonic::Sub
                | Mnemonic::Cmp
                | Mnemonic::Test
                | Mnemonic::And
                | Mnemonic::Or
                | Mnemonic::Xor
                | Mnemonic::Neg
        ) {
            return true;
        }
        if instruction.flow_control() != FlowControl::Next {
            return false;
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::flags_are_dead;

    #[test]
    fn only_a_whole_overwrite_before_any_look_counts() {
        let cases: [(&[u8], bool, &str); 8] = [
            (&[0x55, 0x48, 0x89, 0xe5, 0x48, 0x83, 0xec, 0x10], true, "push rbp; mov rbp, rsp; sub rsp, 16"),
            (&[0x31, 0xc0, 0xc3], true, "xor eax, eax; ret"),
            (&[0x89, 0xf8, 0xc3], false, "mov eax, edi; ret: the caller may look"),
            (&[0x72, 0x00, 0x31, 0xc0], false, "jc: looks"),
            (&[0x11, 0xc0], false, "adc eax, eax: looks"),
            (&[0xd3, 0xe0, 0x31, 0xc0], true, "shl eax, cl, which may write none; xor eax, eax"),
            (&[0xff, 0xc0, 0xc3], false, "inc eax leaves the carry; ret"),
            (&[0xe8, 0, 0, 0, 0, 0x31, 0xc0], false, "call: the callee may look"),
        ];
        for (code, expected, words) in cases {
            assert_eq!(flags_are_dead(code), expected, "{words}");
        }
    }
}
