//! Calls of generated functions, for the calibration.

use std::arch::asm;

use ada_event::RuntimeAddr;

/// `lea eax, [rdi + 1]`, padding, `ret`.
pub(crate) const FUNCTION: [u8; 10] = [0x8d, 0x47, 0x01, 0x66, 0x90, 0x66, 0x90, 0xc3, 0x90, 0x90];

/// Where the return is, with padding before it, so that a jump fits.
pub(crate) const EXIT: std::ops::Range<usize> = 5..8;

const CALL: u8 = 0xe8;
const CALL_BYTES: usize = 5;
const RETURN: u8 = 0xc3;

/// Room for a row of so many calls.
pub(crate) const fn row_bytes(calls: usize) -> usize {
    calls * CALL_BYTES + 16
}

/// A function at `start` that calls all of these, one after the other.
pub(crate) fn row(start: RuntimeAddr, targets: impl Iterator<Item = RuntimeAddr>) -> Vec<u8> {
    let mut code = Vec::new();
    for target in targets {
        let from = start + (code.len() + CALL_BYTES) as u64;
        code.push(CALL);
        code.extend_from_slice(&(target.wrapping_sub(from) as u32).to_le_bytes());
    }
    code.push(RETURN);
    code
}

/// Whether the kernel allows programs to change their GS base themselves.
pub(crate) fn can_set_state_pointer() -> bool {
    const FSGSBASE: u64 = 1 << 1;
    // SAFETY: the call only looks up a value.
    unsafe { libc::getauxval(libc::AT_HWCAP2) & FSGSBASE != 0 }
}

/// Calls `function` `count` times with `state` as GS base.
///
/// # Safety
/// `function` is code of a C function with one integer argument, and `state` what that code needs.
#[inline(never)]
pub(crate) unsafe fn run(function: RuntimeAddr, state: RuntimeAddr, count: usize) {
    let before = state_pointer();
    set_state_pointer(state.0);
    // SAFETY: the caller's promise.
    let function: extern "C" fn(usize) -> u32 = unsafe { std::mem::transmute(function.0) };
    for number in 0..count {
        std::hint::black_box(function(number));
    }
    set_state_pointer(before);
}

// By system calls and not by instructions: a program with code that uses the GS base is left alone, and ada is a program too.

fn state_pointer() -> u64 {
    const ARCH_GET_GS: u64 = 0x1004;
    let mut word = 0_u64;
    // SAFETY: the kernel writes to the word.
    unsafe { libc::syscall(libc::SYS_arch_prctl, ARCH_GET_GS, &raw mut word) };
    word
}

fn set_state_pointer(state: u64) {
    const ARCH_SET_GS: u64 = 0x1001;
    // SAFETY: nothing but the hooks of generated functions uses GS.
    unsafe { libc::syscall(libc::SYS_arch_prctl, ARCH_SET_GS, state) };
}

/// The calling thread's.
pub(crate) fn own_thread_pointer() -> u64 {
    let word: u64;
    // SAFETY: the C library keeps the thread pointer there.
    unsafe { asm!("mov {}, fs:[0]", out(reg) word, options(readonly, nostack, preserves_flags)) };
    word
}
