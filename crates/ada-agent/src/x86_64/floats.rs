//! x87's numbers, which the agent leaves alone: they are the program's own when it looks.

use core::arch::x86_64::_fxsave64;

/// What `fxsave` writes.
#[repr(C, align(16))]
struct Area([u64; 64]);

/// Where the status word has the number of the register that is on top of the stack.
const TOP_SHIFT: u32 = 16 + 11;
/// Where one bit a register says whether anything is in it.
const IN_USE_SHIFT: u32 = 32;

/// The number on top of the stack, if there is one: its mantissa, then its sign and exponent. It stays there.
pub(crate) fn newest_float() -> Option<[u64; 2]> {
    let mut area = Area([0; 64]);
    // SAFETY: every x86-64 processor has the instruction; the area is as large and as aligned as it wants.
    unsafe { _fxsave64((&raw mut area).cast()) };
    let top = area.0[0] >> TOP_SHIFT & 7;
    let is_in_use = area.0[0] >> (IN_USE_SHIFT + top as u32) & 1 != 0;
    // The upper six of its sixteen bytes are reserved.
    is_in_use.then_some([area.0[4], area.0[5] & 0xffff])
}

#[cfg(test)]
mod tests {
    use core::arch::asm;

    use super::*;

    #[test]
    fn what_is_on_top_of_the_stack_is_seen_and_stays_there() {
        assert_eq!(newest_float(), None);
        let number = 2.5_f64;
        // SAFETY: pushes a number, and pops it below: nothing in between uses x87.
        unsafe { asm!("fld qword ptr [{}]", in(reg) &raw const number) };
        let seen = newest_float();
        let mut left = 0_f64;
        // SAFETY: as above.
        unsafe { asm!("fstp qword ptr [{}]", in(reg) &raw mut left) };
        assert_eq!((seen, left), (Some([0xa000_0000_0000_0000, 0x4000]), 2.5));
        assert_eq!(newest_float(), None);
    }
}
