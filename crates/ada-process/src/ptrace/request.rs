//! Requests to the kernel about a tracee.

use std::io;

pub(super) fn request(operation: libc::c_uint, pid: i32, address: u64, data: u64) -> io::Result<()> {
    // SAFETY: callers pass addresses of live structures of the kind that the operation names.
    if unsafe { libc::ptrace(operation, pid, address, data) } < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

pub(super) const PTRACE_GETSIGMASK: libc::c_uint = 0x420a;

pub(super) const PTRACE_SETSIGMASK: libc::c_uint = 0x420b;
