//! How many files ada may have open.

/// Raises the limit as far as this process may: every thread and process of a recording takes a descriptor or two. Called
/// once the program has been started, which has the limit that ada was started with.
pub(crate) fn allow_many() {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: `limit` lives through both calls.
    unsafe {
        if libc::getrlimit(libc::RLIMIT_NOFILE, &raw mut limit) == 0 && limit.rlim_cur < limit.rlim_max {
            limit.rlim_cur = limit.rlim_max;
            libc::setrlimit(libc::RLIMIT_NOFILE, &raw const limit);
        }
    }
}
