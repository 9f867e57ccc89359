//! Signals to ada that are meant for the program: those that a terminal sends to the whole group, and requests to end. Before the
//! program runs, they mean that it is not to.

use std::mem::MaybeUninit;
use std::ptr;
use std::sync::atomic::{AtomicI32, Ordering};
use std::time::Duration;

use ada_event::ProcessId;
use ada_process::Pidfd;

use super::job_control::{self, JobControl, StopsAfter};

/// The signal that asked ada to end; 0 for none.
static ASKED: AtomicI32 = AtomicI32::new(0);
/// How long a program has to end by a signal that went to it too. Whether it did cannot be known.
const GRACE: Duration = Duration::from_millis(100);

/// The program that is being hooked, and has not run yet; 0 for none, or [`NOT_YET`].
static WAITING: AtomicI32 = AtomicI32::new(0);
/// There will be one.
const NOT_YET: i32 = -1;

extern "C" fn carry_on(signal: libc::c_int) {
    end_if_waiting(signal);
    if WAITING.load(Ordering::Acquire) == NOT_YET {
        ASKED.store(signal, Ordering::Relaxed);
    }
}

extern "C" fn note(signal: libc::c_int) {
    end_if_waiting(signal);
    ASKED.store(signal, Ordering::Relaxed);
}

/// Ends the program that waits to be hooked, and ada. Planning can take seconds, and asks nobody meanwhile.
fn end_if_waiting(signal: libc::c_int) {
    const CLEAR_LINE: &str = "\r\x1b[K";
    const SAID: &str = "ada: cancelled before the program ran\n";
    let pid = WAITING.load(Ordering::Acquire);
    if pid <= 0 {
        return;
    }
    // SAFETY: the pid is that of a child that nobody has waited for; all calls are allowed in a handler.
    unsafe {
        libc::kill(pid, libc::SIGKILL);
        let line_is_drawn = libc::isatty(libc::STDERR_FILENO) == 1;
        for text in [if line_is_drawn { CLEAR_LINE } else { "" }, SAID] {
            libc::write(libc::STDERR_FILENO, text.as_ptr().cast(), text.len());
        }
    }
    // As the program would have: a shell then ends the script that has started ada, too, and does not go on with its next line.
    die_by(signal);
    // SAFETY: allowed in a handler.
    unsafe { libc::_exit(128 + signal) };
}

/// A program is being hooked: until this is dropped, a request to end ends both at once.
pub(crate) struct Waiting(());

impl Waiting {
    pub(crate) fn new(pid: ProcessId) -> Self {
        WAITING.store(pid.to_raw(), Ordering::Release);
        // It may have come while there was no program yet.
        let asked = ASKED.swap(0, Ordering::Relaxed);
        if asked != 0 {
            end_if_waiting(asked);
        }
        Self(())
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        WAITING.store(0, Ordering::Release);
    }
}

/// Lets ada outlive an interrupt or quit from the terminal, whose meaning is the program's to say, and signals that ask it
/// to end: the trace is whole only once the program has ended. A handler, unlike an ignored signal, does not pass to
/// the programs that ada starts; and what is ignored already stays ignored for both.
pub fn outlive_terminal_signals() {
    WAITING.store(NOT_YET, Ordering::Release);
    let handlers: [(libc::c_int, extern "C" fn(libc::c_int)); 5] = [
        (libc::SIGINT, carry_on),
        (libc::SIGQUIT, carry_on),
        (libc::SIGTERM, note),
        (libc::SIGHUP, note),
        (libc::SIGTSTP, job_control::stop),
    ];
    for (signal, handler) in handlers {
        let mut current = MaybeUninit::<libc::sigaction>::uninit();
        // SAFETY: asks for the current action, which the kernel fills in; the new one is complete, and its handler
        // does only what handlers may.
        unsafe {
            if libc::sigaction(signal, ptr::null(), current.as_mut_ptr()) != 0 {
                continue;
            }
            let mut action = current.assume_init();
            if action.sa_sigaction == libc::SIG_DFL {
                action.sa_sigaction = handler as *const () as usize;
                action.sa_flags = libc::SA_RESTART;
                libc::sigaction(signal, &raw const action, ptr::null_mut());
            }
        }
    }
}

/// Ends ada by a signal, as it has ended the program; handlers may call it. Leaves no core file: the program's own is the one to look at. Comes back only
/// where the signal does not end.
pub fn die_by(signal: i32) {
    // SAFETY: takes handlers and masks away from a process that is about to end.
    unsafe {
        libc::prctl(libc::PR_SET_DUMPABLE, 0);
        libc::signal(signal, libc::SIG_DFL);
        let mut only = MaybeUninit::<libc::sigset_t>::uninit();
        libc::sigemptyset(only.as_mut_ptr());
        libc::sigaddset(only.as_mut_ptr(), signal);
        libc::pthread_sigmask(libc::SIG_UNBLOCK, only.as_ptr(), ptr::null_mut());
        libc::raise(signal);
    }
}

/// Waits for the end of our own child, as long as `is_over` does not say otherwise; true where it has ended. If ada is asked to
/// end meanwhile, so is the child.
pub(crate) fn wait_for_end(pid: ProcessId, process: &Pidfd, is_over: impl Fn() -> bool) -> bool {
    let (mut job, _stops) = (JobControl::default(), StopsAfter::new(pid));
    while !process.wait(GRACE) {
        if is_over() {
            return false;
        }
        job.look(pid);
        let signal = ASKED.swap(0, Ordering::Relaxed);
        if signal != 0 && !process.wait(GRACE) {
            // SAFETY: a signal to a process that we started and have not waited for.
            unsafe { libc::kill(pid.to_raw(), signal) };
        }
    }
    true
}
