//! The functions of C that the compiler calls.

use core::arch::asm;

/// # Safety
/// As C's `memset`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn memset(to: *mut u8, byte: i32, count: usize) -> *mut u8 {
    // SAFETY: the caller's promise.
    unsafe { asm!("rep stosb", inout("rcx") count => _, inout("rdi") to => _, in("al") byte as u8) };
    to
}

/// # Safety
/// As C's `memcpy`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn memcpy(to: *mut u8, from: *const u8, count: usize) -> *mut u8 {
    // SAFETY: the caller's promise.
    unsafe { asm!("rep movsb", inout("rcx") count => _, inout("rdi") to => _, inout("rsi") from => _) };
    to
}

/// # Safety
/// As C's `memmove`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn memmove(to: *mut u8, from: *const u8, count: usize) -> *mut u8 {
    if (to as usize).wrapping_sub(from as usize) >= count {
        // SAFETY: the caller's promise; what is written was read before.
        return unsafe { memcpy(to, from, count) };
    }
    // SAFETY: the caller's promise; from the end on, and the direction flag is as it was.
    unsafe {
        asm!(
            "std", "rep movsb", "cld",
            inout("rcx") count => _,
            inout("rdi") to.add(count).wrapping_sub(1) => _,
            inout("rsi") from.add(count).wrapping_sub(1) => _,
        );
    }
    to
}

/// # Safety
/// As C's `bcmp`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bcmp(one: *const u8, other: *const u8, count: usize) -> i32 {
    let differ: u8;
    // SAFETY: the caller's promise. No bytes are equal bytes: hence the first comparison.
    unsafe {
        asm!(
            "cmp al, al", "repe cmpsb", "setne al",
            inout("rcx") count => _,
            inout("rdi") one => _,
            inout("rsi") other => _,
            out("al") differ,
            options(readonly, nostack),
        );
    }
    differ.into()
}
