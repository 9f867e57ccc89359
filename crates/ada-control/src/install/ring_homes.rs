//! Whose rings each process has. A chunk says whose it is, and it is written by processes of one user: what it says of another user's
//! process is not believed.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard};

use ada_event::ProcessId;

/// The number of the rings of each process that is known.
#[derive(Default)]
pub(crate) struct RingHomes {
    homes: Mutex<HashMap<ProcessId, Home>>,
}

#[derive(Clone, Copy)]
struct Home {
    number: usize,
    /// Given by ada. Forks have their parents', and say so.
    is_given: bool,
}

impl RingHomes {
    fn lock(&self) -> MutexGuard<'_, HashMap<ProcessId, Home>> {
        self.homes.lock().expect("nobody panics with the lock")
    }

    /// A process has these from now on.
    pub(super) fn give(&self, pid: ProcessId, number: usize) {
        self.lock().insert(pid, Home { number, is_given: true });
    }

    /// Whether to believe that a chunk of these rings is a process's. `has_them` asks the kernel whether it has them mapped: a process
    /// that is not known to have others may be anybody, and one that is may be another by now.
    pub(crate) fn accepts(&self, pid: ProcessId, number: usize, has_them: impl FnOnce() -> bool) -> bool {
        let mut homes = self.lock();
        match homes.get(&pid).copied() {
            Some(home) if home.number == number => true,
            // What it had recorded before it was given others.
            Some(Home { is_given: true, .. }) if number == 0 => true,
            Some(_) if number != 0 && !has_them() => false,
            _ => {
                homes.insert(pid, Home { number, is_given: false });
                true
            }
        }
    }

    /// Whether a process is known to have these.
    pub(crate) fn has(&self, pid: ProcessId, number: usize) -> bool {
        number == 0 || self.lock().get(&pid).is_some_and(|home| home.number == number)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MASTER: ProcessId = ProcessId(1);
    const WORKER: ProcessId = ProcessId(2);

    #[test]
    fn chunks_in_the_name_of_another_users_process_are_not_believed() {
        let homes = RingHomes::default();
        assert!(homes.accepts(MASTER, 0, || false) && homes.accepts(WORKER, 0, || false));
        assert!(!homes.accepts(MASTER, 1, || false) && !homes.has(MASTER, 1));
        homes.give(WORKER, 1);
        assert!(homes.accepts(WORKER, 1, || false) && homes.has(WORKER, 1));
        assert!(homes.accepts(WORKER, 0, || false), "what it had recorded before");
        assert!(homes.has(WORKER, 1) && !homes.accepts(WORKER, 2, || false));
    }

    #[test]
    fn an_id_that_is_used_again_is_another_process() {
        let homes = RingHomes::default();
        assert!(homes.accepts(WORKER, 0, || false) && homes.accepts(WORKER, 1, || true) && homes.has(WORKER, 1));
        // Who claims the id of a process that is yet to come does not keep it.
        assert!(homes.accepts(MASTER, 1, || false) && homes.accepts(MASTER, 0, || false));
        assert!(!homes.has(MASTER, 1) && !homes.accepts(MASTER, 1, || false));
    }
}
