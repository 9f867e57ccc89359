//! `main` of programs without symbols: the code at the entry point hands its address to the C library.

use ada_event::ImageOffset;

use crate::Image;

/// As much of the entry's code as the C library's `_start` has.
const LONGEST: usize = 64;

/// The address that an image's `_start` calls `__libc_start_main` with.
pub(crate) fn main_of(image: &Image<'_>) -> Option<ImageOffset> {
    let entry = image.entry();
    let code = image.code_range_at(entry)?.bytes_from(entry)?;
    main_in(&code[..code.len().min(LONGEST)], entry).filter(|main| image.code_range_at(*main).is_some())
}

/// glibc's `_start` clears the frame pointer first, and fills the first argument right before its call.
fn main_in(code: &[u8], entry: ImageOffset) -> Option<ImageOffset> {
    let begin = code.strip_prefix(&[0xf3, 0x0f, 0x1e, 0xfa]).unwrap_or(code);
    if !begin.starts_with(&[0x31, 0xed]) {
        return None;
    }
    (0..code.len()).find_map(|at| {
        let word = |from: usize| Some(i32::from_le_bytes(code.get(from..from + 4)?.try_into().ok()?));
        let (main, next) = match &code[at..] {
            // lea rdi, [rip + distance]
            [0x48, 0x8d, 0x3d, ..] => {
                (entry.0.checked_add(at as u64 + 7)?.checked_add_signed(word(at + 3)?.into())?, at + 7)
            }
            // mov rdi, address
            [0x48, 0xc7, 0xc7, ..] => (u64::try_from(word(at + 3)?).ok()?, at + 7),
            // mov edi, address
            [0xbf, ..] => (u64::try_from(word(at + 1)?).ok()?, at + 5),
            _ => return None,
        };
        // call [rip + distance], call
        let is_call = matches!(code.get(next..)?, [0xff, 0x15, ..] | [0xe8, ..] | [0x67, 0xe8, ..]);
        is_call.then_some(ImageOffset(main))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn main_is_the_first_argument() {
        // Debian 12: xor ebp, ebp; …; lea rdi, [rip + 0xce]; call [rip + 0x2f5b]
        let pie = [
            0x31, 0xed, 0x49, 0x89, 0xd1, 0x5e, 0x48, 0x89, 0xe2, 0x45, 0x31, 0xc0, 0x31, 0xc9, 0x48, 0x8d, 0x3d, 0xce,
            0, 0, 0, 0xff, 0x15, 0x5b, 0x2f, 0, 0,
        ];
        assert_eq!(main_in(&pie, ImageOffset(0x1050)), Some(ImageOffset(0x1050 + 21 + 0xce)));
        let fixed = [0xf3, 0x0f, 0x1e, 0xfa, 0x31, 0xed, 0x48, 0xc7, 0xc7, 0x36, 0x11, 0x40, 0, 0xe8, 0, 0, 0, 0];
        assert_eq!(main_in(&fixed, ImageOffset(0x401_000)), Some(ImageOffset(0x401_136)));
        // Another runtime's start, and one that is cut off.
        assert_eq!(main_in(&pie[2..], ImageOffset(0x1050)), None);
        for end in 0..pie.len() - 5 {
            assert_eq!(main_in(&pie[..end], ImageOffset(0x1050)), None, "{end}");
        }
    }
}
