//! How many files ada may have open.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Raises the limit as far as this process may: every thread and process of a recording takes a descriptor or two. Called
/// once the program has been started, which has the limit that ada was started with.
pub(crate) fn allow_many() {
    let limit = getrlimit(Resource::Nofile);
    let _ = setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, ..limit });
}
