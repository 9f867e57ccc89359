//! Functions that take something, that give it back, and that wait.

/// What takes, and what gives back, by what linkers call them.
pub(super) struct Pair {
    pub(super) what: &'static str,
    pub(super) takers: &'static [&'static str],
    pub(super) givers: &'static [&'static str],
}

impl Pair {
    /// Whether it takes memory too, of which a part may be taken later, and which is given back with it: `printf` makes the buffer of a
    /// stream that `fclose` frees.
    pub(super) fn comes_with_memory(&self) -> bool {
        matches!(self.what, "files" | "folders")
    }
}

pub(super) const PAIRS: [Pair; 6] = [
    Pair {
        what: "memory",
        takers: &[
            "malloc",
            "calloc",
            "aligned_alloc",
            "posix_memalign",
            "memalign",
            "strdup",
            "__strdup",
            "strndup",
            "_Znwm",
            "_Znam",
            "_ZnwmSt11align_val_t",
            "_ZnamSt11align_val_t",
            "__rust_alloc",
            "__rust_alloc_zeroed",
        ],
        givers: &[
            "free",
            "cfree",
            "_ZdlPv",
            "_ZdaPv",
            "_ZdlPvm",
            "_ZdaPvm",
            "_ZdlPvmSt11align_val_t",
            "__rust_dealloc",
        ],
    },
    Pair { what: "files", takers: &["fopen", "fopen64", "fdopen", "tmpfile"], givers: &["fclose"] },
    Pair { what: "folders", takers: &["opendir", "fdopendir"], givers: &["closedir"] },
    Pair { what: "mappings", takers: &["mmap", "mmap64"], givers: &["munmap"] },
    Pair {
        what: "descriptors",
        takers: &["open", "open64", "openat", "openat64", "socket", "accept"],
        givers: &["close"],
    },
    Pair { what: "libraries", takers: &["dlopen", "dlmopen"], givers: &["dlclose"] },
];

/// Whether a function of the program's own only hands on what an allocator gives or takes (`xmalloc`, `my::alloc_node`,
/// `free_list`): who calls it is who takes. By its name, for `remember` does the same and keeps what it took.
pub(super) fn hands_on(name: &str) -> bool {
    const PARTS: [&str; 6] = ["alloc", "strdup", "strndup", "free", "operator new", "operator delete"];
    let plain = ada_image::without_arguments(name);
    let last = plain.rsplit("::").next().unwrap_or(plain).to_ascii_lowercase();
    // Without symbols it is the module that has the name: `xmalloc_test+0x1181`.
    if last.contains("+0x") {
        return false;
    }
    PARTS.iter().any(|part| last.contains(part))
}

/// What a function waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Wait {
    Lock,
    Thread,
    Condition,
    Input,
    /// A signal of the system's: from whom, it does not know.
    Signal,
    /// Whatever comes next, as servers do.
    Events,
    Child,
    Sleep,
}

impl Wait {
    /// What it waited for, in words.
    pub(super) const fn words(self) -> &'static str {
        match self {
            Self::Lock => "a lock",
            Self::Thread => "a thread to end",
            Self::Condition => "another thread's signal",
            Self::Signal => "a signal",
            Self::Input => "input or output",
            Self::Events => "whatever comes next",
            Self::Child => "a child process",
            Self::Sleep => "time to pass",
        }
    }

    /// By what linkers call the function.
    pub(super) fn of(raw: &str) -> Option<Self> {
        let raw = raw.split('@').next().unwrap_or_default();
        let name = raw.trim_start_matches('_').trim_start_matches("libc_").trim_start_matches("GI_");
        Some(match name {
            "pthread_mutex_lock"
            | "pthread_mutex_timedlock"
            | "pthread_mutex_clocklock"
            | "pthread_rwlock_rdlock"
            | "pthread_rwlock_wrlock"
            | "pthread_spin_lock"
            | "lll_lock_wait"
            | "lll_lock_wait_private"
            | "lll_mutex_lock_optimized"
            | "mtx_lock"
            | "flock"
            | "lockf"
            | "lockf64" => Self::Lock,
            "pthread_join" | "pthread_timedjoin_np" | "pthread_clockjoin_np" | "pthread_clockjoin_ex" | "thrd_join" => {
                Self::Thread
            }
            "pthread_cond_wait"
            | "pthread_cond_timedwait"
            | "pthread_cond_clockwait"
            | "cnd_wait"
            | "cnd_timedwait"
            | "sem_wait"
            | "sem_timedwait"
            | "sem_clockwait"
            | "new_sem_wait"
            | "pthread_barrier_wait"
            | "futex_wait"
            | "futex_abstimed_wait64"
            | "futex_abstimed_wait_cancelable64" => Self::Condition,
            "sigwait" | "sigwaitinfo" | "sigtimedwait" | "pause" | "sigsuspend" => Self::Signal,
            "read" | "recv" | "recvfrom" | "recvmsg" | "connect" | "fsync" | "fdatasync" | "write" | "send"
            | "sendto" | "sendmsg" | "pread64" | "pwrite64" | "pread" | "pwrite" => Self::Input,
            "accept" | "accept4" | "poll" | "ppoll" | "select" | "pselect" | "epoll_wait" | "epoll_pwait"
            | "epoll_pwait2" => Self::Events,
            "wait" | "wait3" | "wait4" | "waitpid" | "waitid" | "system" | "pclose" => Self::Child,
            "nanosleep" | "clock_nanosleep" | "usleep" | "sleep" | "thrd_sleep" => Self::Sleep,
            _ => return None,
        })
    }
}

/// Whether a function waits for something, by what linkers call it.
pub fn is_wait(raw: &str) -> bool {
    Wait::of(raw).is_some()
}

/// Whether a function waits for whatever comes next, or for work: how long says nothing of the program. Rust's threads wait by
/// `syscall`.
pub(super) fn is_idle(raw: &str) -> bool {
    matches!(Wait::of(raw), Some(Wait::Events | Wait::Condition | Wait::Signal)) || raw == "syscall"
}

/// Whether a function waits for what another thread or process does: how long says more of these than of who waits.
pub fn waits_for_others(raw: &str) -> bool {
    matches!(Wait::of(raw), Some(Wait::Thread | Wait::Child | Wait::Condition | Wait::Signal))
}

/// Whether a function takes a lock, and waits until it has it.
pub fn takes_lock(raw: &str) -> bool {
    Wait::of(raw) == Some(Wait::Lock)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wrappers_of_allocators_are_known_by_name() {
        for name in ["xmalloc", "my::alloc_node(int)", "Pool::Allocate", "safe_strdup", "list_free"] {
            assert!(hands_on(name), "{name}");
        }
        for name in ["remember_request", "allow", "main", "malloc_user::push(int)", "jemalloc_test+0x1181"] {
            assert!(!hands_on(name), "{name}");
        }
    }
}
