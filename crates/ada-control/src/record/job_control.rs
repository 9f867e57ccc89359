//! A program that stops itself stops ada too, where both are a shell's job in the foreground: the shell waits for ada, and has to
//! hear of it.

use std::ffi::{CStr, CString};
use std::fs;

use ada_event::ProcessId;
use rustix::process::{Pid, getpgid, getpgrp};
use rustix::termios::tcgetpgrp;

/// What is known of a program's stops.
#[derive(Default)]
pub(super) struct JobControl {
    /// It was stopped when last looked at. What a terminal stops, it stops with ada, and continues with it a moment apart.
    was_stopped: bool,
}

impl JobControl {
    /// Stops ada where the program was stopped twice in a row. Goes on when the program or ada is continued.
    pub(super) fn look(&mut self, pid: ProcessId) {
        let is_stopped = fs::read(format!("/proc/{pid}/stat")).is_ok_and(|line| is_stopped(&line));
        let stays = std::mem::replace(&mut self.was_stopped, is_stopped) && is_stopped;
        if stays && is_foreground_job(pid) {
            self.was_stopped = false;
            stop_with(pid);
        }
    }
}

/// Whether a shell waits for ada and the program together.
fn is_foreground_job(pid: ProcessId) -> bool {
    let group = getpgrp();
    let of_program = Pid::from_raw(pid.to_raw()).and_then(|pid| getpgid(Some(pid)).ok());
    of_program == Some(group) && tcgetpgrp(std::io::stdin()).is_ok_and(|foreground| foreground == group)
}

/// Stops this process until it is continued, which continues the program too, or the program is by somebody else.
fn stop_with(pid: ProcessId) {
    let Ok(stat) = CString::new(format!("/proc/{pid}/stat")) else { return };
    // SAFETY: the new process makes only system calls that are allowed after a fork of one with threads, and ends.
    let watcher = unsafe { libc::fork() };
    if watcher == 0 {
        wake_parent_once_continued(&stat);
    }
    if watcher > 0 {
        // SAFETY: stops this process; then a signal to a program that we started and have not waited for.
        unsafe {
            libc::raise(libc::SIGSTOP);
            libc::kill(pid.to_raw(), libc::SIGCONT);
        }
    }
}

/// Waits until a process is not stopped, by its line in /proc, and continues the parent of this one. Ends where that is gone.
fn wake_parent_once_continued(stat: &CStr) -> ! {
    let step = libc::timespec { tv_sec: 0, tv_nsec: 50_000_000 };
    // SAFETY: nothing but system calls, on memory of this function.
    unsafe {
        // Signals to the job are none of ours.
        libc::setpgid(0, 0);
        let parent = libc::getppid();
        loop {
            libc::nanosleep(&raw const step, std::ptr::null_mut());
            if libc::getppid() != parent {
                libc::_exit(0);
            }
            let mut line = [0_u8; 512];
            let file = libc::open(stat.as_ptr(), libc::O_RDONLY);
            let length = libc::read(file, line.as_mut_ptr().cast(), line.len()).max(0).cast_unsigned();
            libc::close(file);
            if !is_stopped(&line[..length.min(line.len())]) {
                libc::kill(parent, libc::SIGCONT);
                libc::_exit(0);
            }
        }
    }
}

/// Whether a process's line says so. Its name, which stands in parentheses before that, may hold anything.
fn is_stopped(line: &[u8]) -> bool {
    let name_end = line.iter().rposition(|byte| *byte == b')');
    name_end.and_then(|end| line.get(end + 2)) == Some(&b'T')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_state_follows_the_name() {
        assert!(is_stopped(b"7 (a) T b) T 1 7 7"));
        assert!(
            !is_stopped(b"7 (T) S 1 7 7") && !is_stopped(b"7 (T) t 1") && !is_stopped(b"") && !is_stopped(b"7 (x)")
        );
    }
}
