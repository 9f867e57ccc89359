//! System calls that the program forbids itself by a seccomp filter: a thread that makes one is killed, and so would the agent be.
//!
//! The functions that install filters are probed. Before one is in place, its code is run on every system call that the agent
//! makes, with the arguments that it passes; the agent does without those that are not allowed. The recorder does the
//! same for filters that were there before the program started.

use core::sync::atomic::Ordering;

use crate::arch::number::{PRCTL, PROCESS_VM_READV, RT_SIGPROCMASK, SECCOMP};
use crate::arch::system_call_instruction;
use crate::bpf::{self, Judged};
use crate::memory::process_block;
use crate::{crash, own_calls, own_stacks, syscall, threads};

const PR_SET_SECCOMP: u64 = 22;
const PR_SET_TSC: u64 = 26;
const PR_TSC_SIGSEGV: u64 = 2;
const MODE_STRICT: u64 = 1;
const MODE_FILTER: u64 = 2;
const SET_MODE_STRICT: u64 = 0;
const SET_MODE_FILTER: u64 = 1;

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
    let allowed =
        own_calls::allowed(syscall::process(), system_call_instruction(), |judged| program.as_ref()?.run(judged));
    let may = |number: u64| own_calls::contains(&allowed, number);
    // A crash must stay one: what the handler needs to let it happen is withdrawn with the handler.
    if !own_calls::FOR_CRASHES.into_iter().all(may) {
        crash::withdraw_all();
    }
    let block = process_block();
    if !may(PROCESS_VM_READV) {
        own_stacks::give_up_reads();
    }
    if !may(RT_SIGPROCMASK) {
        threads::give_up_stacks();
    }
    // Another clock may be used from here on.
    block.seen_at.store(0, Ordering::Relaxed);
    block.looked_at.store(0, Ordering::Relaxed);
    for (word, allowed) in block.forbidden.iter().zip(allowed) {
        word.fetch_or(!allowed, Ordering::Relaxed);
    }
}

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
