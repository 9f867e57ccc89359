//! Stops a recording and acknowledges the request.

use std::ptr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Condvar, Mutex};
use std::time::Duration;

use crate::live::{Answer, Handler, Request};

/// How long a request waits for the end.
const PATIENCE: Duration = Duration::from_secs(30);

static SIGNALLED: AtomicBool = AtomicBool::new(false);

/// Ends a recording that was attached.
#[derive(Default)]
pub struct StopSwitch {
    wanted: AtomicBool,
    is_done: Mutex<bool>,
    done: Condvar,
}

impl StopSwitch {
    /// Whether somebody wants the recording to end.
    pub fn is_wanted(&self) -> bool {
        self.wanted.load(Ordering::Acquire) || SIGNALLED.load(Ordering::Acquire)
    }

    /// Acknowledges the request: the process is detached.
    pub(crate) fn mark_done(&self) {
        *self.is_done.lock().expect("nobody panics with the lock") = true;
        self.done.notify_all();
    }
}

impl Handler for StopSwitch {
    fn answer(&self, request: &Request) -> Option<Answer> {
        let Request::Detach = request else { return None };
        self.wanted.store(true, Ordering::Release);
        let is_done = self.is_done.lock().expect("nobody panics with the lock");
        let waited = self.done.wait_timeout_while(is_done, PATIENCE, |is_done| !*is_done);
        let is_done = waited.is_ok_and(|(is_done, _)| *is_done);
        Some(if is_done {
            Answer::Detached
        } else {
            Answer::Refused { reason: "the hooks are not removed yet; `ada ps` shows when they are".into() }
        })
    }
}

extern "C" fn signalled(_signal: libc::c_int) {
    SIGNALLED.store(true, Ordering::Release);
}

/// Has SIGINT, SIGTERM, SIGHUP and SIGQUIT end recordings instead of ada: the processes must not keep hooks.
pub fn stop_on_signals() {
    for signal in [libc::SIGINT, libc::SIGTERM, libc::SIGHUP, libc::SIGQUIT] {
        // SAFETY: a complete action, whose handler only stores.
        unsafe {
            let mut action: libc::sigaction = std::mem::zeroed();
            action.sa_sigaction = signalled as *const () as usize;
            action.sa_flags = libc::SA_RESTART;
            libc::sigaction(signal, &raw const action, ptr::null_mut());
        }
    }
}
