//! The FS base, by which a thread is known; the GS base, at which its state lies; and the clock.

use core::arch::asm;

use crate::config::{Item, get};

/// The FS base: the thread's `pthread_t` in the C libraries.
pub(crate) fn thread_pointer() -> u64 {
    let base;
    // SAFETY: reads a register; the recorder starts a trace only where the instruction is allowed.
    unsafe { asm!("rdfsbase {}", out(reg) base, options(nomem, nostack, preserves_flags)) };
    base
}

/// By what the calling thread is known: see `Item::OwnerByWord`. `None` where the word is not what the C libraries put
/// there, so that two threads could have the same.
pub(crate) fn owner_mark() -> Option<u64> {
    let base = thread_pointer();
    if get(Item::OwnerByWord) == 0 {
        return Some(base);
    }
    let word: u64;
    // SAFETY: the stub that led here has just read the same word.
    unsafe { asm!("mov {}, fs:[0]", out(reg) word, options(readonly, nostack, preserves_flags)) };
    (word == base).then_some(word)
}

/// The GS base: the state of the thread, or one that it has inherited from its creator.
pub(crate) fn current_state() -> u64 {
    let base;
    // SAFETY: as above.
    unsafe { asm!("rdgsbase {}", out(reg) base, options(nomem, nostack, preserves_flags)) };
    base
}

/// # Safety
/// `base` is a thread state of this process, and no other thread uses it.
pub(crate) unsafe fn set_current_state(base: u64) {
    // SAFETY: only the stubs address memory through GS, and the caller vouches for the base.
    unsafe { asm!("wrgsbase {}", in(reg) base, options(nostack, preserves_flags)) };
}

/// The time-stamp counter.
pub(crate) fn clock() -> u64 {
    // SAFETY: available on every x86-64 processor.
    unsafe { core::arch::x86_64::_rdtsc() }
}
