//! Functions about locks for which threads spin, known by their names.

/// What such a function does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SpinCall {
    /// Takes a lock.
    Lock,
    /// Takes a lock if it is free.
    TryLock,
    /// Lets a lock go. What makes one has the same code in glibc.
    Unlock,
}

impl SpinCall {
    /// By what linkers call the function; glibc's internal names have more underscores before them.
    pub(super) fn of(name: &str) -> Option<Self> {
        Some(match name.trim_start_matches('_') {
            "pthread_spin_lock" => Self::Lock,
            "pthread_spin_trylock" => Self::TryLock,
            "pthread_spin_unlock" | "pthread_spin_init" => Self::Unlock,
            _ => return None,
        })
    }
}
