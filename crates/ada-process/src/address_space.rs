//! Processes that share an address space: a child that was made by vfork, until it runs its program.

use ada_event::ProcessId;

/// Whether two processes have the same memory. False for a process and itself.
pub fn share_memory(one: ProcessId, other: ProcessId) -> bool {
    const KCMP_VM: u32 = 1;
    // SAFETY: no pointers are passed.
    one != other && unsafe { libc::syscall(libc::SYS_kcmp, one.0, other.0, KCMP_VM, 0, 0) } == 0
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;
    use crate::this_process::this_process;

    #[test]
    fn threads_have_one_memory_and_a_child_its_own_once_it_runs_a_program() {
        let mut child = Command::new("sleep").arg("60").spawn().unwrap();
        let own = this_process();
        assert!(!share_memory(own, ProcessId(child.id())) && !share_memory(own, own));
        child.kill().unwrap();
        child.wait().unwrap();
        let tid = || ProcessId::from_raw(rustix::thread::gettid().as_raw_nonzero().get());
        std::thread::spawn(move || assert!(share_memory(own, tid()))).join().unwrap();
    }
}
