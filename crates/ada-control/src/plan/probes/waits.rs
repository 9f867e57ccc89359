//! Locks and what else threads wait for. Only what is reached with contention is probed: a lock that is free is as cheap as
//! any other call.

use ada_patch::{FutexCall, Guard};
use ada_ring::probe::{Base, Read};

use crate::plan::probes::{Probe, call_only, probe};

/// From the futex word on: where it is a mutex's or read-write lock's, these words say who has it (glibc).
const LOCK: [Read; 1] = [Read::words(Base::Argument1, 0, 4)];

/// The rows of functions that are known by their code alone. No linker knows such names.
const FUTEX_WAIT: &str = "(futex wait)";
const FUTEX_WAKE: &str = "(futex wake)";

pub(super) const PROBES: &[Probe] = &[
    // glibc's contended paths: the futex word is the first argument.
    call_only("__lll_lock_wait", &LOCK),
    call_only("__lll_lock_wait_private", &LOCK),
    call_only("__futex_abstimed_wait64", &LOCK),
    call_only("__futex_abstimed_wait_cancelable64", &LOCK),
    // Of mutexes that hand their waiters' priority on.
    call_only("__futex_lock_pi64", &LOCK),
    call_only(FUTEX_WAIT, &LOCK),
    call_only("__lll_lock_wake", &[]),
    call_only("__lll_lock_wake_private", &[]),
    call_only(FUTEX_WAKE, &[]),
    // Who waits for these waits nearly always. What a timed wait gives back says whether it gave up.
    call_only("pthread_cond_wait", &[]),
    probe("pthread_cond_timedwait", &[], &[]),
    probe("pthread_cond_clockwait", &[], &[]),
    call_only("pthread_barrier_wait", &[]),
    // Who wakes others, if somebody waits.
    guarded("pthread_cond_signal", CONDITION),
    guarded("pthread_cond_broadcast", CONDITION),
    guarded("sem_post", SEMAPHORE),
    guarded("pthread_rwlock_unlock", READ_WRITE_LOCK),
];

/// Whether anybody waits, as glibc's objects say. `__wrefs` of a condition counts in steps of eight.
const CONDITION: Guard = Guard { offsets: [36, 36], bits: !7 };
/// The upper half of a semaphore counts who waits.
const SEMAPHORE: Guard = Guard { offsets: [4, 4], bits: !0 };
/// Who waits for a read-write lock leaves a mark in one of its two futexes.
const READ_WRITE_LOCK: Guard = Guard { offsets: [8, 12], bits: 2 };

const fn guarded(name: &'static str, guard: Guard) -> Probe {
    Probe { guard: Some(guard), ..call_only(name, &[]) }
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
