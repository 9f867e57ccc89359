//! The FS and GS bases, and the clock.

use core::arch::asm;

use crate::config::{Item, get};

pub(crate) fn fs_base() -> u64 {
    let base;
    // SAFETY: reads a register; the recorder starts a trace only where the instruction is allowed.
    unsafe { asm!("rdfsbase {}", out(reg) base, options(nomem, nostack, preserves_flags)) };
    base
}

/// By what the calling thread is known: see `Item::OwnerByWord`. `None` where the word is not what the C libraries put
/// there, so that two threads could have the same.
pub(crate) fn owner_mark() -> Option<u64> {
    let base = fs_base();
    if get(Item::OwnerByWord) == 0 {
        return Some(base);
    }
    let word: u64;
    // SAFETY: the stub that led here has just read the same word.
    unsafe { asm!("mov {}, fs:[0]", out(reg) word, options(readonly, nostack, preserves_flags)) };
    (word == base).then_some(word)
}

/// Registers as the code in front of the agent has saved them, in the order of their addresses, up to the return slot.
#[repr(C)]
pub(crate) struct Saved {
    pub(crate) r14: u64,
    pub(crate) r13: u64,
    pub(crate) r12: u64,
    pub(crate) rbp: u64,
    pub(crate) r11: u64,
    pub(crate) r10: u64,
    pub(crate) r9: u64,
    pub(crate) r8: u64,
    pub(crate) rdi: u64,
    pub(crate) rsi: u64,
    /// Of the stub, not of the function.
    scratch: u64,
    way_back: u64,
    flags: u64,
    pub(crate) rdx: u64,
    pub(crate) rcx: u64,
    pub(crate) rax: u64,
}

impl Saved {
    /// What lies below the return slot.
    ///
    /// # Safety
    /// `slot` is the return slot that the stub passed, and the stub called the way in directly.
    pub(crate) unsafe fn below<'a>(slot: *const u64) -> &'a Self {
        // SAFETY: the caller's promise.
        unsafe { &*slot.cast::<Self>().sub(1) }
    }
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

/// What glibc hides the pointers in a `jmp_buf` with.
pub(crate) fn pointer_guard() -> u64 {
    let guard: u64;
    // SAFETY: a thread with a state has a thread control block, which is longer than this.
    unsafe { asm!("mov {}, fs:[0x30]", out(reg) guard, options(readonly, nostack, preserves_flags)) };
    guard
}
