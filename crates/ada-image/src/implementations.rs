//! What resolvers (`STT_GNU_IFUNC`) choose from, in files whose local names were removed.
//!
//! Debian's C library has `strlen` among its dynamic symbols, which is the resolver, and no name for the implementations that it
//! chooses one of. The resolver takes the address of each.

use ada_event::ImageOffset;

/// Behind the name of a function of which nothing is known but that it implements this name: `strlen[ifunc]`.
pub const IMPLEMENTATION: &str = "[ifunc]";

/// The addresses that some code takes, by `lea register, [rip + distance]`. Where the bytes of an instruction look like another one,
/// there are some that it does not take.
pub(crate) fn addresses_taken(code: &[u8], start: ImageOffset) -> impl Iterator<Item = ImageOffset> {
    const LENGTH: usize = 7;
    code.windows(LENGTH).enumerate().filter_map(move |(at, bytes)| {
        let [0x48 | 0x4c, 0x8d, operands, distance @ ..] = bytes else { return None };
        let distance = i32::from_le_bytes(distance.try_into().ok()?);
        let next = start.0.checked_add((at + LENGTH) as u64)?;
        (operands & 0xc7 == 0x05).then(|| next.checked_add_signed(distance.into()).map(ImageOffset))?
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_relative_to_the_next_instruction() {
        // endbr64; lea rax, [rip + 0x10]; lea r9, [rip - 0x20]; lea rax, [rsp + 8]; ret
        let code = [
            0xf3, 0x0f, 0x1e, 0xfa, 0x48, 0x8d, 0x05, 0x10, 0, 0, 0, 0x4c, 0x8d, 0x0d, 0xe0, 0xff, 0xff, 0xff, 0x48,
            0x8d, 0x44, 0x24, 0x08, 0xc3,
        ];
        let taken: Vec<_> = addresses_taken(&code, ImageOffset(0x1000)).collect();
        assert_eq!(taken, [ImageOffset(0x1000 + 11 + 0x10), ImageOffset(0x1000 + 18 - 0x20)]);
        assert_eq!(addresses_taken(&code[4..11], ImageOffset(u64::MAX - 8)).count(), 0);
        assert_eq!(addresses_taken(&code[..10], ImageOffset(0)).count(), 0);
    }
}
