//! A program that stops itself stops ada too, where both are a shell's job in the foreground: the shell waits for ada, and has to
//! hear of it. It must not hear of it sooner: a program that the terminal has stopped, and that has not noticed yet, would take the
//! first key that is meant for the shell.

use std::ffi::{CStr, CString};
use std::fs;
use std::io::Write;
use std::mem::MaybeUninit;
use std::ptr;
use std::sync::atomic::{AtomicI32, Ordering};

use ada_event::ProcessId;
use rustix::process::{Pid, getpgid, getpgrp};
use rustix::termios::tcgetpgrp;

/// The program that ada stops after; 0 for none.
static PROGRAM: AtomicI32 = AtomicI32::new(0);

/// How long a program may take to notice that it is stopped, in milliseconds. One that takes longer does not stop.
const NOTICES: usize = 300;

/// Until this is dropped, the terminal stops ada only when the program has stopped.
pub(super) struct StopsAfter(());

impl StopsAfter {
    pub(super) fn new(pid: ProcessId) -> Self {
        PROGRAM.store(pid.to_raw(), Ordering::Relaxed);
        Self(())
    }
}

impl Drop for StopsAfter {
    fn drop(&mut self) {
        PROGRAM.store(0, Ordering::Relaxed);
    }
}

/// The handler for the terminal's signal to stop.
pub(super) extern "C" fn stop(signal: libc::c_int) {
    // SAFETY: system calls that handlers may make; the action is put back as it was.
    unsafe {
        let errno = *libc::__errno_location();
        let program = PROGRAM.load(Ordering::Relaxed);
        // One of another group is not meant.
        if program == 0 || libc::getpgid(program) != libc::getpgrp() || is_stopped_soon(program) {
            let (mut own, mut only) =
                (MaybeUninit::<libc::sigaction>::uninit(), MaybeUninit::<libc::sigset_t>::uninit());
            libc::sigaction(signal, ptr::null(), own.as_mut_ptr());
            libc::signal(signal, libc::SIG_DFL);
            libc::sigemptyset(only.as_mut_ptr());
            libc::sigaddset(only.as_mut_ptr(), signal);
            libc::raise(signal);
            // Here it stops, until it is continued.
            libc::pthread_sigmask(libc::SIG_UNBLOCK, only.as_ptr(), ptr::null_mut());
            libc::sigaction(signal, own.as_ptr(), ptr::null_mut());
        }
        *libc::__errno_location() = errno;
    }
}

/// Handlers may call it.
fn is_stopped_soon(pid: i32) -> bool {
    let mut path = [0_u8; 32];
    if write!(&mut path[..], "/proc/{pid}/stat\0").is_err() {
        return false;
    }
    let Ok(stat) = CStr::from_bytes_until_nul(&path) else { return false };
    let step = libc::timespec { tv_sec: 0, tv_nsec: 1_000_000 };
    for _ in 0..NOTICES {
        if is_stopped_now(stat) {
            return true;
        }
        // SAFETY: the time lives through the call.
        unsafe { libc::nanosleep(&raw const step, ptr::null_mut()) };
    }
    false
}

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
            libc::nanosleep(&raw const step, ptr::null_mut());
            if libc::getppid() != parent {
                libc::_exit(0);
            }
            if !is_stopped_now(stat) {
                libc::kill(parent, libc::SIGCONT);
                libc::_exit(0);
            }
        }
    }
}

/// Whether a process is stopped, by its line in /proc. Handlers may call it.
fn is_stopped_now(stat: &CStr) -> bool {
    let mut line = [0_u8; 512];
    // SAFETY: nothing but system calls, on memory of this function.
    let length = unsafe {
        let file = libc::open(stat.as_ptr(), libc::O_RDONLY | libc::O_CLOEXEC);
        let length = libc::read(file, line.as_mut_ptr().cast(), line.len()).max(0).cast_unsigned();
        libc::close(file);
        length
    };
    is_stopped(&line[..length.min(line.len())])
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
