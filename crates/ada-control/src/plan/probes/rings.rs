//! liburing: functions that hand the kernel what it is asked to do, and wait until it is done. Who makes the system calls by their
//! numbers is seen by `syscall`.

use ada_ring::probe::{Base, Read, Role};

use crate::plan::probes::{Probe, probe};

pub(super) const PROBES: &[Probe] = &[
    ring("io_uring_submit_and_wait", &[Read::value(Base::Argument2)]),
    ring("io_uring_submit_and_wait_timeout", &[Read::value(Base::Argument3)]),
    ring("io_uring_wait_cqes", &[Read::value(Base::Argument3)]),
    ring("__io_uring_get_cqe", &[Read::value(Base::Argument4)]),
    // For one.
    ring("io_uring_wait_cqe_timeout", &[]),
    // These do not wait.
    ring("io_uring_submit", &[]),
    ring("io_uring_submit_and_get_events", &[]),
    ring("io_uring_get_events", &[]),
];

/// A function about the ring in its first argument; `waits_for` says how many completions it waits for.
const fn ring(name: &'static str, waits_for: &'static [Read]) -> Probe {
    Probe { role: Role::Ring, ..probe(name, waits_for, &[]) }
}
