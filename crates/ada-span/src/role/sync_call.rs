//! Functions by which threads wait for each other, known by their names.

use super::IoCall;

/// What such a function does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SyncCall {
    /// Takes a mutex.
    Lock,
    /// Takes a mutex, or gives up after a while.
    TimedLock,
    /// Takes a mutex if it is free.
    TryLock,
    /// Lets a mutex go.
    Unlock,
    /// Lets a mutex go until a condition is signalled.
    ConditionWait,
    /// The same for a while.
    TimedConditionWait,
    /// Wakes one that waits for a condition.
    Signal,
    /// Wakes all that do.
    Broadcast,
    /// Takes from a semaphore.
    SemaphoreWait,
    /// The same for a while.
    TimedSemaphoreWait,
    /// Gives to a semaphore.
    Post,
    /// Takes a read-write lock to read.
    ReadLock,
    /// Takes it to write.
    WriteLock,
    /// Takes either if it is free, or gives up after a while.
    TryReadWriteLock,
    /// Lets it go.
    ReadWriteUnlock,
    /// Waits for others to come as far.
    Barrier,
    /// Waits on the futex word in its first argument: the contended path of one of the others.
    FutexWait,
    /// Wakes who waits on that word.
    FutexWake,
    /// Gives up its thread's turn.
    Yield,
    /// Any system call; futexes are of interest.
    System,
    /// Waits for time to pass.
    Sleep,
    /// Waits for input, for room for output, or for a child process, if it has to.
    Input(IoCall),
    /// Makes, ends or describes what others wait for, and does not wait.
    Descriptor(IoCall),
}

impl SyncCall {
    /// By what linkers call the function; glibc's internal names have more underscores before them.
    pub(super) fn of(name: &str) -> Option<Self> {
        Some(match name.trim_start_matches('_') {
            "pthread_mutex_lock" => Self::Lock,
            "pthread_mutex_timedlock" | "pthread_mutex_clocklock" => Self::TimedLock,
            "pthread_mutex_trylock" => Self::TryLock,
            "pthread_mutex_unlock" => Self::Unlock,
            "pthread_cond_wait" => Self::ConditionWait,
            "pthread_cond_timedwait" | "pthread_cond_clockwait" => Self::TimedConditionWait,
            "pthread_cond_signal" => Self::Signal,
            "pthread_cond_broadcast" => Self::Broadcast,
            "sem_wait" | "new_sem_wait" => Self::SemaphoreWait,
            "sem_timedwait" | "sem_clockwait" => Self::TimedSemaphoreWait,
            "sem_post" | "new_sem_post" => Self::Post,
            "pthread_rwlock_rdlock" => Self::ReadLock,
            "pthread_rwlock_wrlock" => Self::WriteLock,
            "pthread_rwlock_tryrdlock"
            | "pthread_rwlock_trywrlock"
            | "pthread_rwlock_timedrdlock"
            | "pthread_rwlock_timedwrlock"
            | "pthread_rwlock_clockrdlock"
            | "pthread_rwlock_clockwrlock" => Self::TryReadWriteLock,
            "pthread_rwlock_unlock" => Self::ReadWriteUnlock,
            "pthread_barrier_wait" => Self::Barrier,
            "lll_lock_wait"
            | "lll_lock_wait_private"
            | "futex_abstimed_wait64"
            | "futex_abstimed_wait_cancelable64"
            | "futex_lock_pi64"
            | "(futex wait)" => Self::FutexWait,
            "lll_lock_wake" | "lll_lock_wake_private" | "(futex wake)" => Self::FutexWake,
            "syscall" => Self::System,
            "sched_yield" => Self::Yield,
            "sleep" | "usleep" | "nanosleep" | "clock_nanosleep" => Self::Sleep,
            name => {
                let name = name.trim_start_matches("libc_");
                return match IoCall::of(name) {
                    Some((call, true)) => Some(Self::Input(call)),
                    Some((call, false)) => Some(Self::Descriptor(call)),
                    None => is_other_input(name).then_some(Self::Input(IoCall::Other)),
                };
            }
        })
    }

    /// Whether it gives up after a while.
    pub(crate) const fn is_timed(self) -> bool {
        matches!(
            self,
            Self::TimedLock
                | Self::TimedConditionWait
                | Self::TimedSemaphoreWait
                | Self::TryReadWriteLock
                | Self::Sleep
        )
    }
}

/// Whether it may wait for input or output in another way.
fn is_other_input(name: &str) -> bool {
    const NAMES: &str = " pread pread64 pwrite pwrite64 epoll_pwait2 fsync fdatasync waitid flock \
        recvmmsg sendmmsg splice msgrcv msgsnd mq_receive mq_send eventfd_read ";
    NAMES.split_whitespace().any(|known| known == name)
}
