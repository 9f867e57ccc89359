//! Which processes somebody has charge of by ptrace. Several execs of one process may be followed at once; whoever halts all its
//! threads is alone.

use std::collections::HashMap;
use std::sync::{Condvar, Mutex, MutexGuard};

use ada_event::ProcessId;

/// The processes.
#[derive(Default)]
pub(crate) struct InCharge {
    /// How many follow execs of each; none where somebody has all of it.
    processes: Mutex<HashMap<ProcessId, u32>>,
    let_go: Condvar,
}

/// Charge of a process, for as long as this lives.
pub(crate) struct Charge<'a> {
    all: &'a InCharge,
    pid: ProcessId,
}

impl InCharge {
    fn lock(&self) -> MutexGuard<'_, HashMap<ProcessId, u32>> {
        self.processes.lock().expect("nobody panics with the lock")
    }

    /// For an exec. Waits until nobody has all of the process.
    pub(crate) fn share(&self, pid: ProcessId) -> Charge<'_> {
        let mut processes = self.lock();
        while processes.get(&pid) == Some(&0) {
            processes = self.let_go.wait(processes).expect("nobody panics with the lock");
        }
        *processes.entry(pid).or_default() += 1;
        Charge { all: self, pid }
    }

    /// For all of the process; nothing where somebody has charge of it.
    pub(crate) fn take(&self, pid: ProcessId) -> Option<Charge<'_>> {
        let mut processes = self.lock();
        if processes.contains_key(&pid) {
            return None;
        }
        processes.insert(pid, 0);
        Some(Charge { all: self, pid })
    }
}

impl Drop for Charge<'_> {
    fn drop(&mut self) {
        let mut processes = self.all.lock();
        match processes.get_mut(&self.pid) {
            Some(count) if *count > 1 => *count -= 1,
            _ => drop(processes.remove(&self.pid)),
        }
        self.all.let_go.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn execs_share_a_process_and_nobody_shares_all_of_it() {
        let (all, pid) = (InCharge::default(), ProcessId(1));
        let execs = [all.share(pid), all.share(pid)];
        assert!(all.take(pid).is_none() && all.take(ProcessId(2)).is_some());
        drop(execs);
        let whole = all.take(pid).unwrap();
        assert!(all.take(pid).is_none());
        std::thread::scope(|scope| {
            let exec = scope.spawn(|| drop(all.share(pid)));
            drop(whole);
            exec.join().unwrap();
        });
        assert!(all.take(pid).is_some());
    }
}
