//! Padding: instructions that do nothing, up to the next aligned address.
//!
//! An assembler file that aligns after `.cfi_startproc` gets an unwind entry that begins in the padding before its
//! function. glibc's `_dl_tlsdesc_undefweak` is one: the entry starts eleven bytes early. Whoever took the padding for
//! the function would count no call; and where it is shorter than a patch, the patch would reach into the function.

const ALIGNMENT: u64 = 16;

/// The bytes of padding with which `code`, at `address`, begins; 0 if what does nothing there is not for alignment.
pub(crate) fn length(code: &[u8], address: u64) -> usize {
    let to_aligned = (address.wrapping_neg() % ALIGNMENT) as usize;
    let mut length = 0;
    while length < to_aligned {
        match code.get(length..).and_then(nop_length) {
            Some(nop) => length += nop,
            None => return 0,
        }
    }
    if length == to_aligned { length } else { 0 }
}

/// The length of the `nop` with which `code` begins, in any of the forms that assemblers fill gaps with.
fn nop_length(code: &[u8]) -> Option<usize> {
    const OPERAND_SIZE: u8 = 0x66;
    const CS: u8 = 0x2e;
    let prefixes = code.iter().take_while(|&&byte| byte == OPERAND_SIZE || byte == CS).count();
    let body = match &code[prefixes..] {
        [0x90, ..] => 1,
        [0x0f, 0x1f, 0x00, ..] => 3,
        [0x0f, 0x1f, 0x40, _, ..] => 4,
        [0x0f, 0x1f, 0x44, _, _, ..] => 5,
        [0x0f, 0x1f, 0x80, _, _, _, _, ..] => 7,
        [0x0f, 0x1f, 0x84, _, _, _, _, _, ..] => 8,
        _ => return None,
    };
    Some(prefixes + body)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What lies before `_dl_tlsdesc_undefweak`, and its first instruction.
    const GLIBC: [u8; 15] = [0x66, 0x66, 0x2e, 0x0f, 0x1f, 0x84, 0, 0, 0, 0, 0, 0x48, 0x8b, 0x40, 8];

    #[test]
    fn padding_ends_at_an_aligned_address() {
        assert_eq!(length(&GLIBC, 0x4695e5), 11);
        assert_eq!(length(&[0x90, 0x66, 0x90, 0xc3], 0x100d), 3);
    }

    #[test]
    fn what_does_nothing_elsewhere_is_the_functions_own() {
        assert_eq!(length(&GLIBC, 0x4695e0), 0);
        assert_eq!(length(&GLIBC, 0x4695e6), 0);
        assert_eq!(length(&GLIBC, 0x4695e4), 0);
        assert_eq!(length(&[0x90], 0x100d), 0);
        assert_eq!(length(&[], u64::MAX), 0);
    }
}
