//! System calls as the kernel takes them: their numbers, and the instruction.

use core::arch::{asm, naked_asm};

/// The numbers of the system calls that the agent makes.
pub(crate) mod number {
    pub(crate) const CLOSE: u64 = 3;
    pub(crate) const FSTAT: u64 = 5;
    pub(crate) const MMAP: u64 = 9;
    pub(crate) const MPROTECT: u64 = 10;
    pub(crate) const MUNMAP: u64 = 11;
    pub(crate) const RT_SIGACTION: u64 = 13;
    pub(crate) const RT_SIGPROCMASK: u64 = 14;
    pub(crate) const RT_SIGRETURN: u64 = 15;
    pub(crate) const MREMAP: u64 = 25;
    pub(crate) const MADVISE: u64 = 28;
    pub(crate) const NANOSLEEP: u64 = 35;
    pub(crate) const GETPID: u64 = 39;
    pub(crate) const RECVMSG: u64 = 47;
    pub(crate) const SOCKETPAIR: u64 = 53;
    pub(crate) const CLONE: u64 = 56;
    pub(crate) const SIGALTSTACK: u64 = 131;
    pub(crate) const PRCTL: u64 = 157;
    pub(crate) const GETTID: u64 = 186;
    pub(crate) const TKILL: u64 = 200;
    pub(crate) const FUTEX: u64 = 202;
    pub(crate) const CLOCK_GETTIME: u64 = 228;
    pub(crate) const TGKILL: u64 = 234;
    pub(crate) const OPENAT: u64 = 257;
    pub(crate) const RT_TGSIGQUEUEINFO: u64 = 297;
    pub(crate) const PROCESS_VM_READV: u64 = 310;
    pub(crate) const SECCOMP: u64 = 317;
    pub(crate) const MEMFD_CREATE: u64 = 319;
    pub(crate) const USERFAULTFD: u64 = 323;
    pub(crate) const IO_URING_SETUP: u64 = 425;
    pub(crate) const IO_URING_ENTER: u64 = 426;
    pub(crate) const CLONE3: u64 = 435;
}

/// By what filters know the processor: `AUDIT_ARCH_X86_64`.
pub(crate) const SECCOMP_ARCHITECTURE: u32 = 0xc000_003e;

/// Where filters find the agent to make its system calls, or close to it.
pub(crate) fn system_call_instruction() -> u64 {
    raw as *const () as u64
}

/// Makes any system call. Gives what the kernel gives: a negative error number, or a value.
///
/// # Safety
/// Whatever the call asks of its arguments.
pub(crate) unsafe fn raw(number: u64, arguments: [u64; 6]) -> i64 {
    let result;
    // SAFETY: the kernel changes rcx and r11 only; the caller vouches for the arguments.
    unsafe {
        asm!(
            "syscall",
            inout("rax") number => result,
            in("rdi") arguments[0], in("rsi") arguments[1], in("rdx") arguments[2],
            in("r10") arguments[3], in("r8") arguments[4], in("r9") arguments[5],
            out("rcx") _, out("r11") _, options(nostack)
        );
    }
    result
}

/// Where a signal handler returns to: the kernel takes the thread back to where the signal hit.
#[unsafe(no_mangle)]
#[unsafe(naked)]
pub(crate) extern "C" fn ada_crash_restorer() {
    naked_asm!("mov eax, 15", "syscall", "ud2")
}
