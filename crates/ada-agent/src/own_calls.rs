//! The system calls that the agent makes, and which of them a seccomp filter allows.

use crate::arch::SECCOMP_ARCHITECTURE;
use crate::arch::number::{
    CLOCK_GETTIME, CLOSE, FSTAT, FUTEX, GETPID, GETTID, MADVISE, MEMFD_CREATE, MMAP, MPROTECT, MREMAP, MUNMAP,
    NANOSLEEP, OPENAT, PROCESS_VM_READV, RECVMSG, RT_SIGACTION, RT_SIGPROCMASK, RT_SIGRETURN, RT_TGSIGQUEUEINFO,
    SIGALTSTACK, SOCKETPAIR, TGKILL, TKILL,
};
use crate::bpf::Judged;

const ACTION: u32 = 0xffff_0000;
const ALLOW: u32 = 0x7fff_0000;
const LOG: u32 = 0x7ffc_0000;

/// What the handler of fatal signals needs to let a crash happen.
pub const FOR_CRASHES: [u64; 6] = [RT_SIGACTION, RT_SIGRETURN, RT_TGSIGQUEUEINFO, TGKILL, GETPID, GETTID];
/// What the recorder has a process do to put the agent into it.
pub const FOR_INSTALLING: [u64; 5] = [OPENAT, CLOSE, MMAP, MUNMAP, MADVISE];
/// The same where the process runs already.
pub const FOR_ATTACHING: [u64; 6] = [MEMFD_CREATE, CLOSE, MMAP, MUNMAP, MADVISE, RT_SIGACTION];

/// What it has a process do that cannot open what it is to have.
pub const FOR_GIVING: [u64; 5] = [MMAP, MUNMAP, SOCKETPAIR, RECVMSG, CLOSE];

/// A bit for each system call, by number.
pub type CallSet = [u64; 8];

/// Stands for the number of the process.
const OWN_PROCESS: u64 = u64::MAX;
/// Stands for an address, which filters cannot look behind.
const ADDRESS: u64 = 0x7fff_f7ff_0000;

/// What the agent asks of the kernel, as it asks it, and what the recorder has a process ask.
const CALLS: &[(u64, [u64; 6])] = &[
    (CLOSE, [5, 0, 0, 0, 0, 0]),
    (FSTAT, [5, ADDRESS, 0, 0, 0, 0]),
    (MMAP, [ADDRESS, 4096, 3, 0x10_4022, u64::MAX, 0]),
    (MPROTECT, [ADDRESS, 4096, 7, 0, 0, 0]),
    (MUNMAP, [ADDRESS, 4096, 0, 0, 0, 0]),
    (RT_SIGACTION, [11, ADDRESS, ADDRESS, 8, 0, 0]),
    (RT_SIGPROCMASK, [2, ADDRESS, ADDRESS, 8, 0, 0]),
    (RT_SIGRETURN, [0; 6]),
    (MREMAP, [ADDRESS, 4096, 8192, 0, 0, 0]),
    (MADVISE, [ADDRESS, 4096, 18, 0, 0, 0]),
    (NANOSLEEP, [ADDRESS, 0, 0, 0, 0, 0]),
    (GETPID, [0; 6]),
    (RECVMSG, [5, ADDRESS, 0x4000_0040, 0, 0, 0]),
    (SOCKETPAIR, [1, 0x8_0002, 0, ADDRESS, 0, 0]),
    (SIGALTSTACK, [0, ADDRESS, 0, 0, 0, 0]),
    (GETTID, [0; 6]),
    (TKILL, [1, 0, 0, 0, 0, 0]),
    (FUTEX, [ADDRESS, 0, 1, ADDRESS, 0, 0]),
    (CLOCK_GETTIME, [1, ADDRESS, 0, 0, 0, 0]),
    (TGKILL, [OWN_PROCESS, 1, 0, 0, 0, 0]),
    (OPENAT, [u64::MAX - 99, ADDRESS, 0x8_0002, 0, 0, 0]),
    (RT_TGSIGQUEUEINFO, [OWN_PROCESS, 1, 11, ADDRESS, 0, 0]),
    (PROCESS_VM_READV, [OWN_PROCESS, ADDRESS, 1, ADDRESS, 1, 0]),
    (MEMFD_CREATE, [ADDRESS, 3, 0, 0, 0, 0]),
];
/// Other forms of the same.
const FURTHER: &[(u64, [u64; 6])] = &[
    (MMAP, [ADDRESS, 4096, 5, 0x10_0002, 5, 4096]),
    (MMAP, [ADDRESS, 4096, 3, 0x10_0001, 5, 4096]),
    (MMAP, [0, 4096, 0, 0x4022, u64::MAX, 0]),
    (MMAP, [ADDRESS, 4096, 0, 0x10_4022, u64::MAX, 0]),
    (MMAP, [0, 4096, 1, 1, 5, 0x1000_0000]),
    (MMAP, [0, 4096, 3, 0x22, u64::MAX, 0]),
    (MMAP, [ADDRESS, 4096, 3, 0x11, 5, 4096]),
    (MREMAP, [ADDRESS, 0, 4096, 3, ADDRESS, 0]),
    (MPROTECT, [ADDRESS, 4096, 5, 0, 0, 0]),
    (MADVISE, [ADDRESS, 4096, 23, 0, 0, 0]),
    (MADVISE, [ADDRESS, 4096, 4, 0, 0, 0]),
    (FUTEX, [ADDRESS, 1, 0x7fff_ffff, 0, 0, 0]),
    (TGKILL, [OWN_PROCESS, 1, 11, 0, 0, 0]),
    (OPENAT, [u64::MAX - 99, ADDRESS, 0x8_0000, 0, 0, 0]),
];

/// Those of the agent's calls that a filter allows a process in all their forms. `judge` runs the filter.
pub fn allowed(process: u32, instruction: u64, judge: impl Fn(&Judged) -> Option<u32>) -> CallSet {
    let is_allowed = |&(number, mut arguments): &(u64, [u64; 6])| {
        // Filters look whom a signal is for.
        if arguments[0] == OWN_PROCESS {
            arguments[0] = process.into();
        }
        let judged = Judged { number: number as u32, architecture: SECCOMP_ARCHITECTURE, instruction, arguments };
        judge(&judged).is_some_and(|verdict| [ALLOW, LOG].contains(&(verdict & ACTION)))
    };
    let mut set = CallSet::default();
    for &(number, _) in CALLS {
        if CALLS.iter().chain(FURTHER).filter(|(other, _)| *other == number).all(is_allowed) {
            set[number as usize / 64] |= 1 << (number % 64);
        }
    }
    set
}

/// Whether a set has a system call.
pub fn contains(set: &CallSet, number: u64) -> bool {
    set[number as usize / 64] >> (number % 64) & 1 != 0
}
