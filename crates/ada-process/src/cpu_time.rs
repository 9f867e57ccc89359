//! Processor time of processes.

use std::time::Duration;

use ada_event::ProcessId;

/// Processor time that a process and the children it waited for have used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CpuTime {
    /// In its own code.
    pub user: Duration,
    /// In the kernel.
    pub system: Duration,
}

/// The processor time that all threads of a running process have used, user and system, to the nanosecond.
pub fn cpu_time_of(pid: ProcessId) -> Option<Duration> {
    let mut clock = 0;
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `clock` and `time` live through the calls.
    let is_known = unsafe {
        libc::clock_getcpuclockid(pid.to_raw(), &raw mut clock) == 0 && libc::clock_gettime(clock, &raw mut time) == 0
    };
    is_known.then(|| Duration::new(time.tv_sec as u64, time.tv_nsec as u32))
}

/// The processor time that the calling thread has used, user and system.
pub fn thread_cpu_time() -> Duration {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` lives through the call.
    unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &raw mut time) };
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::this_process::this_process;

    #[test]
    fn work_takes_time_and_a_process_that_is_not_there_takes_none() {
        let own = || cpu_time_of(this_process()).unwrap();
        let before = own();
        while own() < before + Duration::from_millis(1) {}
        // The kernel gives no process this number.
        assert_eq!(cpu_time_of(ProcessId(1 << 22)), None);
    }
}
