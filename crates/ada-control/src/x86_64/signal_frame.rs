//! What the kernel leaves on a stack when it calls a signal handler.

/// From the return address of a signal handler to the interrupted instruction's, in words: `rt_sigframe` of the kernel.
pub(crate) const INTERRUPTED: usize = 22;
/// `mov rax, 15; syscall`: where a signal handler returns to.
pub(crate) const SIGRETURN: [u8; 9] = [0x48, 0xc7, 0xc0, 0x0f, 0, 0, 0, 0x0f, 0x05];
