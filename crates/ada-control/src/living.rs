//! Which of the traced processes still live.

use std::collections::HashMap;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

/// Processes by their id, each held by a descriptor of ada's so that an id that is used again means nobody else.
#[derive(Default)]
pub(crate) struct Living {
    /// `None` for one that has ended.
    processes: HashMap<u32, Option<OwnedFd>>,
}

impl Living {
    /// Takes note of a process. True if it was not known.
    pub(crate) fn saw(&mut self, pid: u32) -> bool {
        let mut is_new = false;
        self.processes.entry(pid).or_insert_with(|| {
            is_new = true;
            open(pid).ok()
        });
        is_new
    }

    /// Whether any process that was seen still lives.
    pub(crate) fn any(&mut self) -> bool {
        for process in self.processes.values_mut() {
            if process.as_ref().is_some_and(has_ended) {
                *process = None;
            }
        }
        self.processes.values().any(Option::is_some)
    }
}

/// A descriptor that can be read from once the process has ended.
pub(crate) fn open(pid: u32) -> io::Result<OwnedFd> {
    // SAFETY: no pointers are passed.
    let descriptor = unsafe { libc::syscall(libc::SYS_pidfd_open, pid, 0) };
    if descriptor < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: a descriptor that nobody else owns.
    Ok(unsafe { OwnedFd::from_raw_fd(descriptor as i32) })
}

fn has_ended(process: &OwnedFd) -> bool {
    wait(process, 0)
}

/// Waits for a process's end for so many milliseconds; negative for ever.
pub(crate) fn wait(process: &OwnedFd, milliseconds: i32) -> bool {
    let mut poll = libc::pollfd { fd: process.as_raw_fd(), events: libc::POLLIN, revents: 0 };
    // SAFETY: `poll` lives through the call.
    unsafe { libc::poll(&raw mut poll, 1, milliseconds) > 0 }
}
