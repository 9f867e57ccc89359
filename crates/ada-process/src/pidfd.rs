//! Descriptors of processes.

use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::time::Duration;

use ada_event::ProcessId;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, pidfd_open};

/// A descriptor of a process. It goes on meaning that process when its id is used again.
pub struct Pidfd {
    descriptor: OwnedFd,
}

impl Pidfd {
    /// Opens the process that has this id now.
    pub fn open(pid: ProcessId) -> io::Result<Self> {
        let pid = i32::try_from(pid.0).ok().and_then(Pid::from_raw).ok_or(io::ErrorKind::InvalidInput)?;
        Ok(Self { descriptor: pidfd_open(pid, PidfdFlags::empty())? })
    }

    pub(crate) fn as_raw(&self) -> i32 {
        self.descriptor.as_raw_fd()
    }

    /// Whether the process has ended.
    pub fn has_ended(&self) -> bool {
        self.wait(Duration::ZERO)
    }

    /// Waits for the process's end, at most for the time. False where it has not ended.
    pub fn wait(&self, time: Duration) -> bool {
        let time = Timespec::try_from(time).ok();
        poll(&mut [PollFd::new(&self.descriptor, PollFlags::IN)], time.as_ref()).is_ok_and(|ready| ready > 0)
    }

    /// The status of a process that somebody has waited for. Kernels before 6.15 do not have it.
    pub(crate) fn exit_status(&self) -> Option<i32> {
        const WITH_EXIT: u64 = 1 << 3;
        /// `_IOWR(0xff, 11, ProcessInfo)`.
        const PIDFD_GET_INFO: libc::c_ulong =
            3 << 30 | (size_of::<ProcessInfo>() as libc::c_ulong) << 16 | 0xff << 8 | 11;
        let mut info = ProcessInfo { mask: WITH_EXIT, ..ProcessInfo::default() };
        // SAFETY: `info` lives through the call and is as large as the request says.
        let result = unsafe { libc::ioctl(self.descriptor.as_raw_fd(), PIDFD_GET_INFO, &raw mut info) };
        (result == 0 && info.mask & WITH_EXIT != 0).then_some(info.exit_code)
    }
}

/// The first version of the kernel's `pidfd_info`.
#[repr(C)]
#[derive(Default)]
struct ProcessInfo {
    mask: u64,
    _ids: [u32; 13],
    exit_code: i32,
}

const _: () = assert!(size_of::<ProcessInfo>() == 64);
