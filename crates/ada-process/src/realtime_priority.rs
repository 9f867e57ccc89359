//! SCHED_FIFO while a process is halted: otherwise the first thread that is resumed preempts ada.

use std::mem::MaybeUninit;

/// While it lives, the thread that made it runs under SCHED_FIFO, if that is permitted.
pub(crate) struct RealtimePriority {
    before: Option<(i32, libc::sched_param)>,
}

impl RealtimePriority {
    /// Raises the calling thread, if that is permitted.
    pub(crate) fn raise() -> Self {
        let mut parameters = MaybeUninit::uninit();
        // SAFETY: 0 is the calling thread, and `parameters` lives through the call.
        let (policy, read) = unsafe { (libc::sched_getscheduler(0), libc::sched_getparam(0, parameters.as_mut_ptr())) };
        if policy < 0 || read < 0 {
            return Self { before: None };
        }
        // SAFETY: the kernel has filled it in.
        let before = (policy, unsafe { parameters.assume_init() });
        let fifo = libc::sched_param { sched_priority: 1 };
        // Threads and processes that are started meanwhile do not inherit it.
        // SAFETY: `fifo` lives through the call.
        let set = unsafe { libc::sched_setscheduler(0, libc::SCHED_FIFO | libc::SCHED_RESET_ON_FORK, &raw const fifo) };
        Self { before: (set == 0).then_some(before) }
    }
}

impl Drop for RealtimePriority {
    fn drop(&mut self) {
        if let Some((policy, parameters)) = &self.before {
            // SAFETY: `parameters` lives through the call. Lowering a thread needs no permission.
            unsafe { libc::sched_setscheduler(0, *policy, parameters) };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_has_its_priority_back_afterwards() {
        // SAFETY: asks about the calling thread.
        let policy = || unsafe { libc::sched_getscheduler(0) };
        let before = policy();
        let priority = RealtimePriority::raise();
        let is_raised = policy() == libc::SCHED_FIFO | libc::SCHED_RESET_ON_FORK;
        assert_eq!(is_raised, priority.before.is_some());
        drop(priority);
        assert_eq!(policy(), before);
    }
}
