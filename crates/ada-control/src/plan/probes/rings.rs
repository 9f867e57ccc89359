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

/// The names of functions about rings.
pub(crate) fn ring_functions() -> impl Iterator<Item = &'static str> {
    PROBES.iter().map(|probe| probe.name)
}

/// The descriptors that a look at a ring names (`ada-agent/rings.rs`).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct RingDescriptors {
    /// The ring's own, and those that it is asked to use.
    pub(crate) used: Vec<u32>,
    /// Those that it is asked to close.
    pub(crate) closed: Vec<u32>,
}

impl RingDescriptors {
    pub(crate) fn of(words: impl Iterator<Item = u64>) -> Self {
        const HEAD: usize = 6;
        const ENTRY: usize = 3;
        const FIXED_FILE: u64 = 1 << 8;
        const CLOSE: u8 = 19;
        let words: Vec<u64> = words.collect();
        let mut found = Self::default();
        let Some((head, rest)) = words.split_first_chunk::<HEAD>() else { return found };
        found.used.push(head[1] as u32);
        let entries = rest.chunks_exact(ENTRY).take((head[5] >> 32 & 0xffff) as usize).map(|entry| entry[0]);
        for entry in entries.filter(|entry| entry & FIXED_FILE == 0) {
            let list = if entry as u8 == CLOSE { &mut found.closed } else { &mut found.used };
            list.push((entry >> 32) as u32);
        }
        found
    }
}

/// A function about the ring in its first argument; `waits_for` says how many completions it waits for.
const fn ring(name: &'static str, waits_for: &'static [Read]) -> Probe {
    Probe { role: Role::Ring, ..probe(name, waits_for, &[]) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_look_names_the_descriptors_that_are_used_and_closed() {
        // Two reads, one of them of a registered file, and a close; a completion is behind them.
        let entries = [22 | 5 << 32, 7, 0, 22 | 1 << 8 | 6 << 32, 8, 0, 19 | 9 << 32, 10, 0];
        let words = [1, 3, 0x1000, 3 << 32, 0, 3 << 32 | 1 << 48].into_iter().chain(entries).chain([22 | 11 << 32, 0]);
        assert_eq!(RingDescriptors::of(words), RingDescriptors { used: vec![3, 5], closed: vec![9] });
        assert_eq!(RingDescriptors::of([1, u64::MAX].into_iter()), RingDescriptors::default());
    }
}
