//! Running on another stack.

use core::arch::naked_asm;

/// Calls a function with a word, on the stack that ends at `stack`.
///
/// # Safety
/// The stack has room, and the function does not unwind.
#[unsafe(naked)]
pub(crate) unsafe extern "C" fn call_on_stack(stack: u64, function: extern "C" fn(u64), word: u64) {
    naked_asm!(
        "push rbp",
        "mov rbp, rsp",
        "mov rsp, rdi",
        "and rsp, -16",
        "mov rdi, rdx",
        "call rsi",
        "mov rsp, rbp",
        "pop rbp",
        "ret"
    )
}
