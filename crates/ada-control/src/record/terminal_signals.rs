//! Signals to ada that are meant for the program: those that a terminal sends to the whole group, and requests to end.

use std::mem::MaybeUninit;
use std::ptr;
use std::sync::atomic::{AtomicI32, Ordering};
use std::time::Duration;

use ada_event::ProcessId;
use ada_process::Pidfd;

/// The signal that asked ada to end; 0 for none.
static ASKED: AtomicI32 = AtomicI32::new(0);
/// How long a program has to end by a signal that went to it too. Whether it did cannot be known.
const GRACE: Duration = Duration::from_millis(100);

extern "C" fn carry_on(_signal: libc::c_int) {}

extern "C" fn note(signal: libc::c_int) {
    ASKED.store(signal, Ordering::Relaxed);
}

/// Lets ada outlive an interrupt or quit from the terminal, whose meaning is the program's to say, and signals that ask it
/// to end: the trace is whole only once the program has ended. A handler, unlike an ignored signal, does not pass to
/// the programs that ada starts; and what is ignored already stays ignored for both.
pub fn outlive_terminal_signals() {
    let handlers: [(libc::c_int, extern "C" fn(libc::c_int)); 4] =
        [(libc::SIGINT, carry_on), (libc::SIGQUIT, carry_on), (libc::SIGTERM, note), (libc::SIGHUP, note)];
    for (signal, handler) in handlers {
        let mut current = MaybeUninit::<libc::sigaction>::uninit();
        // SAFETY: asks for the current action, which the kernel fills in; the new one is complete, and its handler
        // does nothing but a store.
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

/// Waits for the end of our own child. If ada is asked to end meanwhile, so is the child.
pub(crate) fn wait_for_end(pid: ProcessId, process: &Pidfd) {
    while !process.wait(GRACE) {
        let signal = ASKED.swap(0, Ordering::Relaxed);
        if signal != 0 && !process.wait(GRACE) {
            // SAFETY: a signal to a process that we started and have not waited for.
            unsafe { libc::kill(pid.to_raw(), signal) };
        }
    }
}
