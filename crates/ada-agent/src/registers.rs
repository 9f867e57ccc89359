//! The FS and GS bases, and the clock.

use core::arch::asm;

pub(crate) fn fs_base() -> u64 {
    let base;
    // SAFETY: reads a register; the recorder starts a trace only where the instruction is allowed.
    unsafe { asm!("rdfsbase {}", out(reg) base, options(nomem, nostack, preserves_flags)) };
    base
}

pub(crate) fn gs_base() -> u64 {
    let base;
    // SAFETY: as above.
    unsafe { asm!("rdgsbase {}", out(reg) base, options(nomem, nostack, preserves_flags)) };
    base
}

/// # Safety
/// `base` is a thread state of this process, and no other thread uses it.
pub(crate) unsafe fn set_gs_base(base: u64) {
    // SAFETY: only the stubs address memory through GS, and the caller vouches for the base.
    unsafe { asm!("wrgsbase {}", in(reg) base, options(nostack, preserves_flags)) };
}

pub(crate) fn clock() -> u64 {
    // SAFETY: available on every x86-64 processor.
    unsafe { core::arch::x86_64::_rdtsc() }
}
