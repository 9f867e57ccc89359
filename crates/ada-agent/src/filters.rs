//! System calls that the program forbids itself by a seccomp filter: whoever makes one is killed, and so would the agent be.
//!
//! The functions that install filters are probed. Before one is in place, its code is run on every system call that the agent
//! makes, with the arguments that it passes; whatever is not allowed, the agent goes without from then on. A filter that was
//! there before the program started is not known.

use core::sync::atomic::Ordering;

use crate::arch::number::{
    CLOCK_GETTIME, CLOSE, FUTEX, GETPID, GETTID, MADVISE, MMAP, MPROTECT, MREMAP, MUNMAP, NANOSLEEP, OPENAT, PRCTL,
    PROCESS_VM_READV, RT_SIGACTION, RT_SIGPROCMASK, RT_SIGRETURN, RT_TGSIGQUEUEINFO, SECCOMP, SIGALTSTACK, TGKILL,
};
use crate::arch::{SECCOMP_ARCHITECTURE, system_call_instruction};
use crate::bpf::{self, Judged};
use crate::memory::process_block;
use crate::{crash, syscall, threads};

const PR_SET_SECCOMP: u64 = 22;
const PR_SET_TSC: u64 = 26;
const PR_TSC_SIGSEGV: u64 = 2;
const MODE_STRICT: u64 = 1;
const MODE_FILTER: u64 = 2;
const SET_MODE_STRICT: u64 = 0;
const SET_MODE_FILTER: u64 = 1;
const ACTION: u32 = 0xffff_0000;
const ALLOW: u32 = 0x7fff_0000;
const LOG: u32 = 0x7ffc_0000;

/// What the thread can do with its state from now on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Afterwards {
    Records,
    /// The thread may not even read the clock.
    HasNoClock,
}

/// Looks at a system call that is about to be made.
pub(crate) fn before(number: u64, [first, second, third, ..]: [u64; 6]) -> Afterwards {
    let filter = match (number, first as u32 as u64, second) {
        (PRCTL, PR_SET_SECCOMP, MODE_STRICT) | (PRCTL, PR_SET_TSC, PR_TSC_SIGSEGV) | (SECCOMP, SET_MODE_STRICT, _) => {
            None
        }
        (PRCTL, PR_SET_SECCOMP, MODE_FILTER) | (SECCOMP, SET_MODE_FILTER, _) => Some(third),
        _ => return Afterwards::Records,
    };
    install(filter);
    if filter.is_none() { Afterwards::HasNoClock } else { Afterwards::Records }
}

/// A filter is installed: the `sock_fprog` at an address, or the strict one, which allows `read`, `write`, `exit` and
/// `sigreturn`.
fn install(filter: Option<u64>) {
    let program = filter.and_then(Program::at);
    if filter.is_some() && program.is_none() {
        // The kernel finds nothing there either. Programs ask so whether there are filters at all.
        return;
    }
    let process = syscall::process().into();
    let is_allowed = |number: u64, mut arguments: [u64; 6]| {
        // Filters look whom a signal is for.
        if arguments[0] == OWN_PROCESS {
            arguments[0] = process;
        }
        let judged = Judged {
            number: number as u32,
            architecture: SECCOMP_ARCHITECTURE,
            instruction: system_call_instruction(),
            arguments,
        };
        let verdict = program.as_ref().and_then(|program| program.run(&judged));
        verdict.is_some_and(|verdict| [ALLOW, LOG].contains(&(verdict & ACTION)))
    };
    let mut allowed = [0_u64; WORDS];
    for &(number, _) in CALLS {
        let mut forms = CALLS.iter().chain(FURTHER).filter(|(other, _)| *other == number);
        if forms.all(|(_, arguments)| is_allowed(number, *arguments)) {
            allowed[number as usize / 64] |= 1 << (number % 64);
        }
    }
    let may = |number: u64| allowed[number as usize / 64] >> (number % 64) & 1 != 0;
    // A crash must stay one: what the handler needs to let it happen is withdrawn with the handler.
    if ![RT_SIGACTION, RT_SIGRETURN, RT_TGSIGQUEUEINFO, TGKILL, GETPID, GETTID].into_iter().all(may) {
        crash::withdraw_all();
    }
    let block = process_block();
    if !may(RT_SIGPROCMASK) {
        threads::give_up_stacks();
    }
    // Another clock may be used from here on.
    block.seen_at.store(0, Ordering::Relaxed);
    for (word, allowed) in block.forbidden.iter().zip(allowed) {
        word.fetch_or(!allowed, Ordering::Relaxed);
    }
}

const WORDS: usize = 8;
/// Stands for the number of the process.
const OWN_PROCESS: u64 = u64::MAX;
/// Stands for an address, which filters cannot look behind.
const ADDRESS: u64 = 0x7fff_f7ff_0000;

/// What the agent asks of the kernel, as it asks it.
const CALLS: &[(u64, [u64; 6])] = &[
    (CLOSE, [5, 0, 0, 0, 0, 0]),
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
    (SIGALTSTACK, [0, ADDRESS, 0, 0, 0, 0]),
    (GETTID, [0; 6]),
    (FUTEX, [ADDRESS, 0, 1, ADDRESS, 0, 0]),
    (CLOCK_GETTIME, [1, ADDRESS, 0, 0, 0, 0]),
    (TGKILL, [OWN_PROCESS, 1, 0, 0, 0, 0]),
    (OPENAT, [u64::MAX - 99, ADDRESS, 0x8_0002, 0, 0, 0]),
    (RT_TGSIGQUEUEINFO, [OWN_PROCESS, 1, 11, ADDRESS, 0, 0]),
    (PROCESS_VM_READV, [OWN_PROCESS, ADDRESS, 1, ADDRESS, 1, 0]),
];
/// Other forms of the same.
const FURTHER: &[(u64, [u64; 6])] = &[
    (MMAP, [ADDRESS, 4096, 5, 0x10_0001, 5, 4096]),
    (MPROTECT, [ADDRESS, 4096, 5, 0, 0, 0]),
    (FUTEX, [ADDRESS, 1, 0x7fff_ffff, 0, 0, 0]),
    (TGKILL, [OWN_PROCESS, 1, 11, 0, 0, 0]),
    (OPENAT, [u64::MAX - 99, ADDRESS, 0x8_0000, 0, 0, 0]),
];

/// A filter in the program's memory.
struct Program {
    length: usize,
    code: u64,
}

impl Program {
    fn at(address: u64) -> Option<Self> {
        let mut words = [0; 2];
        // Where nothing may be looked at safely, and a filter is there already, the next one is taken for a strict one.
        let is_read = syscall::read_words(address, &mut words);
        (is_read || !syscall::may(PROCESS_VM_READV))
            .then_some(Self { length: words[0] as u16 as usize, code: words[1] })
    }

    fn run(&self, judged: &Judged) -> Option<u32> {
        const STEP: usize = 32;
        let mut window = (usize::MAX, [0_u64; STEP]);
        bpf::run(judged, |at| {
            let start = at - at % STEP;
            if window.0 != start {
                let count = STEP.min(self.length.checked_sub(start)?);
                let from = self.code.checked_add(8 * start as u64)?;
                syscall::read_words(from, &mut window.1[..count]).then_some(())?;
                window.0 = start;
            }
            (at < self.length).then(|| window.1[at - start])
        })
    }
}
