//! Functions by which something is run once, however many threads ask for it; known by their names.

/// What such a function does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum OnceCall {
    /// Runs the function in its second argument, or waits for another thread that does.
    TakesFunction,
    /// Lets one caller run it, and has the others wait on a futex.
    ByFutex,
    /// Says that it was run, or that this has failed, and wakes who waits on the futex.
    Done,
}

impl OnceCall {
    /// By what linkers call the function; glibc's internal names have more underscores before them.
    pub(super) fn of(name: &str) -> Option<Self> {
        Some(match name.trim_start_matches('_') {
            "pthread_once" => Self::TakesFunction,
            // Variables of C++ that are made when a function is first called.
            "cxa_guard_acquire" => Self::ByFutex,
            "cxa_guard_release" | "cxa_guard_abort" => Self::Done,
            // Rust's `Once`, on which its cells and lazy values are built.
            _ if name.contains("4once5futex") && name.contains("4Once4call") => Self::ByFutex,
            _ => return None,
        })
    }
}
