//! Descriptors of processes.

use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

/// A descriptor that can be read from once the process has ended.
pub fn open(pid: u32) -> io::Result<OwnedFd> {
    // SAFETY: no pointers are passed.
    let descriptor = unsafe { libc::syscall(libc::SYS_pidfd_open, pid, 0) };
    if descriptor < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: a descriptor that nobody else owns.
    Ok(unsafe { OwnedFd::from_raw_fd(descriptor as i32) })
}

/// Waits for a process's end for so many milliseconds; negative for ever.
pub fn wait(process: &OwnedFd, milliseconds: i32) -> bool {
    let mut poll = libc::pollfd { fd: process.as_raw_fd(), events: libc::POLLIN, revents: 0 };
    // SAFETY: `poll` lives through the call.
    unsafe { libc::poll(&raw mut poll, 1, milliseconds) > 0 }
}

/// The first version of what the kernel tells of a process behind a descriptor.
#[repr(C)]
#[derive(Default)]
struct ProcessInfo {
    mask: u64,
    _ids: [u32; 13],
    exit_code: i32,
}

const _: () = assert!(size_of::<ProcessInfo>() == 64);

/// The status of a process that somebody has waited for.
pub(crate) fn waited_status(process: &OwnedFd) -> Option<i32> {
    const WITH_EXIT: u64 = 1 << 3;
    /// `_IOWR(0xff, 11, ProcessInfo)`.
    const PIDFD_GET_INFO: libc::c_ulong = 3 << 30 | (size_of::<ProcessInfo>() as libc::c_ulong) << 16 | 0xff << 8 | 11;
    let mut info = ProcessInfo { mask: WITH_EXIT, ..ProcessInfo::default() };
    // SAFETY: `info` lives through the call and is as large as the request says.
    let result = unsafe { libc::ioctl(process.as_raw_fd(), PIDFD_GET_INFO, &raw mut info) };
    (result == 0 && info.mask & WITH_EXIT != 0).then_some(info.exit_code)
}
