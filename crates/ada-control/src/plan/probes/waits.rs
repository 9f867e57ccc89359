//! Locks and what else threads wait for. Only what is reached with contention is probed: a lock that is free is as cheap as
//! any other call. Stubs keep what there is to see: a program may wait a million times a minute, and a call into the agent takes
//! longer than all the rest of a wait.

use ada_patch::{AgentPart, FutexCall, Guard, WORDS_BEHIND};
use ada_ring::probe::{Base, Read};

use crate::plan::probes::{Probe, call_only, probe};

/// From the futex word on: where it is a mutex's or read-write lock's, these words say who has it (glibc).
const LOCK: [Read; 1] = [Read::words(Base::Argument1, 0, WORDS_BEHIND as u8)];

/// The rows of functions that are known by their code alone. No linker knows such names.
const FUTEX_WAIT: &str = "(futex wait)";
const FUTEX_WAKE: &str = "(futex wake)";

pub(super) const PROBES: &[Probe] = &[
    // glibc's contended paths: the futex word is the first argument.
    wait("__lll_lock_wait"),
    wait("__lll_lock_wait_private"),
    wait("__futex_abstimed_wait64"),
    wait("__futex_abstimed_wait_cancelable64"),
    // Of mutexes that hand their waiters' priority on.
    wait("__futex_lock_pi64"),
    wait(FUTEX_WAIT),
    registers("__lll_lock_wake"),
    registers("__lll_lock_wake_private"),
    registers(FUTEX_WAKE),
    // Who waits for these waits nearly always. What a timed wait gives back says whether it gave up.
    registers("pthread_cond_wait"),
    registers_and_result("pthread_cond_timedwait"),
    registers_and_result("pthread_cond_clockwait"),
    registers("pthread_barrier_wait"),
    // Who wakes others, if somebody waits.
    registers_if("pthread_cond_signal", CONDITION),
    registers_if("pthread_cond_broadcast", CONDITION),
    registers_if("sem_post", SEMAPHORE),
    registers_if("pthread_rwlock_unlock", READ_WRITE_LOCK),
    // Who is to run something once, and finds that it was not done yet: it runs it, or waits for another one that does.
    registers_if("pthread_once", ONCE),
    // Mutexes whose lock word is their owner's id, from when they are contended: the kernel, or the function that takes them, wakes who waits for
    // them, and no other function is called for that.
    words_if("pthread_mutex_lock", ASKED_FOR),
    words_if("pthread_mutex_trylock", ASKED_FOR),
    words_if("pthread_mutex_timedlock", ASKED_FOR),
    words_if("pthread_mutex_clocklock", ASKED_FOR),
    words_if("pthread_mutex_unlock", LET_GO),
    // Who asks for a lock that is taken, and spins; and who lets go of one that somebody has asked for since.
    words_if("pthread_spin_lock", SPIN_LOCK),
    words_if("pthread_spin_unlock", SPIN_UNLOCK),
];

/// Whether anybody waits, as glibc's objects say. `__wrefs` of a condition counts in steps of eight.
const CONDITION: Guard = Guard::Unlike { offsets: [36, 36], bits: !7, usual: 0 };
/// The upper half of a semaphore counts who waits.
const SEMAPHORE: Guard = Guard::Unlike { offsets: [4, 4], bits: !0, usual: 0 };
/// Who waits for a read-write lock leaves a mark in one of its two futexes.
const READ_WRITE_LOCK: Guard = Guard::Unlike { offsets: [8, 12], bits: 2, usual: 0 };

/// Somebody has it, or had it and died, or it is of no use any more.
const ASKED_FOR: Guard = Guard::OwnedMutex { bits: !0 };
/// Somebody waits, or the one that had it before has died. Ids of threads are smaller.
const LET_GO: Guard = Guard::OwnedMutex { bits: 1 << 31 | 1 << 30 };

/// A lock that threads spin for is 1 where it is free, and less by one for each that has tried to take it since.
const SPIN_LOCK: Guard = Guard::Unlike { offsets: [0, 0], bits: !0, usual: 1 };
const SPIN_UNLOCK: Guard = Guard::Unlike { offsets: [0, 0], bits: !0, usual: 0 };

/// What was done has this bit.
const ONCE: Guard = Guard::Unlike { offsets: [0, 0], bits: 2, usual: 2 };

/// By which programs use futexes themselves: the number of the system call. Call and result are all there is to see.
pub(super) const FUTEX_CALL: Guard = Guard::FirstArgument(202);

const fn wait(name: &'static str) -> Probe {
    Probe { part: AgentPart::CallWords, ..call_only(name, &LOCK) }
}

const fn registers(name: &'static str) -> Probe {
    Probe { part: AgentPart::CallRegisters, ..call_only(name, &[]) }
}

const fn registers_and_result(name: &'static str) -> Probe {
    Probe { part: AgentPart::Nothing, ..probe(name, &[], &[]) }
}

const fn registers_if(name: &'static str, guard: Guard) -> Probe {
    Probe { guard: Some(guard), ..registers(name) }
}

const fn words_if(name: &'static str, guard: Guard) -> Probe {
    Probe { guard: Some(guard), ..wait(name) }
}

/// Whether a function of this name is probed here: its first argument is a lock, or a part of one.
pub(crate) fn is_lock_probe(name: &str) -> bool {
    PROBES.iter().any(|probe| probe.name == name)
}

/// The name of the row for a function that is known by its code.
pub(super) const fn row_of(call: FutexCall) -> &'static str {
    match call {
        FutexCall::Wait => FUTEX_WAIT,
        FutexCall::Wake => FUTEX_WAKE,
    }
}

#[cfg(test)]
mod tests {
    use ada_ring::probe::Role;

    use super::*;
    use crate::plan::probes::{number_of_name, probed};

    /// The agent takes longer than the rest of a wait: the stub alone keeps what there is to see, as far as it may read it.
    #[test]
    fn no_wait_takes_a_call_into_the_agent() {
        for row in PROBES {
            let of = |is_glibc| probed(number_of_name(row.name).unwrap(), is_glibc);
            if row.is_of_few() {
                assert!(of(true).unwrap().part == AgentPart::CallWords && of(false).is_none(), "{}", row.name);
                continue;
            }
            let of = |is_glibc| of(is_glibc).unwrap();
            let is_stubs = |part| matches!(part, AgentPart::CallRegisters | AgentPart::CallWords | AgentPart::Nothing);
            assert!(is_stubs(of(true).part), "{}", row.name);
            // Other functions of these names may take other arguments.
            assert!(of(false).guard.is_none() && of(false).part != AgentPart::CallWords, "{}", row.name);
            assert_eq!(row.role == Role::CallOnly, of(true).part != AgentPart::Nothing, "{}", row.name);
            assert!(row.call.is_empty() || row.call == LOCK && of(true).part == AgentPart::CallWords, "{}", row.name);
        }
    }
}
