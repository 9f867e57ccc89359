//! Saving and restoring what a stub uses itself: see [`StubFrame`].

use std::mem::offset_of;

use ada_ring::arch::StubFrame;
use iced_x86::IcedError;
use iced_x86::code_asm::{AsmRegister64, CodeAssembler, al, rax, rcx, rdx};

/// Where the return slot is, from what a stub has pushed.
pub(super) const SLOT: i32 = size_of::<StubFrame>() as i32;

/// The registers that are saved, in the order in which they are pushed, and where [`StubFrame`] has them. The flags follow.
const PUSHED: [(AsmRegister64, usize); 3] =
    [(rax, offset_of!(StubFrame, rax)), (rcx, offset_of!(StubFrame, rcx)), (rdx, offset_of!(StubFrame, rdx))];

const _: () = {
    let mut number = 0;
    while number < PUSHED.len() {
        assert!(PUSHED[number].1 == size_of::<StubFrame>() - 8 * (number + 1));
        number += 1;
    }
    assert!(offset_of!(StubFrame, flags) == 0);
};

pub(super) fn save(a: &mut CodeAssembler) -> Result<(), IcedError> {
    for (register, _) in PUSHED {
        a.push(register)?;
    }
    a.lahf()?;
    a.seto(al)?;
    a.push(rax)
}

pub(super) fn restore(a: &mut CodeAssembler) -> Result<(), IcedError> {
    a.pop(rax)?;
    restore_flags(a)?;
    for (register, _) in PUSHED.into_iter().rev() {
        a.pop(register)?;
    }
    Ok(())
}

/// From what `lahf` and `seto` have left in rax.
pub(super) fn restore_flags(a: &mut CodeAssembler) -> Result<(), IcedError> {
    // 1 + 0x7f overflows, 0 + 0x7f does not; sahf leaves the overflow flag alone.
    a.add(al, 0x7f)?;
    a.sahf()
}

/// What [`save`] does behind the start of a stub that counts.
pub(super) fn save_rest(a: &mut CodeAssembler, keeps_flags: bool) -> Result<(), IcedError> {
    if !keeps_flags {
        a.push(rcx)?;
    }
    a.push(rdx)?;
    a.push(rax)
}
