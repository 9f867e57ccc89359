//! Programs that nobody here wrote, traced and untraced: same stdout and stderr, byte for byte, same exit code.
//!
//! Each has a number of events that it reaches at least, so that a program that was not really traced does not count;
//! and one that is not installed fails. `scripts/setup` installs them.

mod entry;
mod folder;
mod programs;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use folder::Folder;

/// How many run at the same time.
const AT_ONCE: usize = 2;

#[test]
fn programs_do_the_same_traced_and_untraced() {
    let folder = Folder::new();
    let entries = programs::all(&folder);
    assert!(entries.len() >= 45);
    let next = AtomicUsize::new(0);
    let failures = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..AT_ONCE {
            scope.spawn(|| {
                while let Some(entry) = entries.get(next.fetch_add(1, Ordering::Relaxed)) {
                    // A program that hangs must not hide what the others do.
                    let result = catch_unwind(AssertUnwindSafe(|| entry.check(&folder)));
                    if let Err(problem) = result.unwrap_or_else(|_| Err(format!("{} hangs", entry.program))) {
                        failures.lock().unwrap().push(problem);
                    }
                }
            });
        }
    });
    let failures = failures.into_inner().unwrap();
    assert!(failures.is_empty(), "{} of {} programs:\n{}", failures.len(), entries.len(), failures.join("\n"));
}
