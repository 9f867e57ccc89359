//! Signals that a terminal sends to the whole group: the program and ada get them both.

use std::mem::MaybeUninit;
use std::ptr;

extern "C" fn carry_on(_signal: libc::c_int) {}

/// Lets ada outlive an interrupt or quit from the terminal, whose meaning is the program's to say. A handler, unlike an
/// ignored signal, does not pass to the programs that ada starts; and what is ignored already stays ignored for both.
pub fn outlive_terminal_signals() {
    for signal in [libc::SIGINT, libc::SIGQUIT] {
        let mut current = MaybeUninit::<libc::sigaction>::uninit();
        // SAFETY: asks for the current action, which the kernel fills in; the new one is complete, and its handler
        // does nothing.
        unsafe {
            if libc::sigaction(signal, ptr::null(), current.as_mut_ptr()) != 0 {
                continue;
            }
            let mut action = current.assume_init();
            if action.sa_sigaction == libc::SIG_DFL {
                action.sa_sigaction = carry_on as *const () as usize;
                action.sa_flags = libc::SA_RESTART;
                libc::sigaction(signal, &raw const action, ptr::null_mut());
            }
        }
    }
}
