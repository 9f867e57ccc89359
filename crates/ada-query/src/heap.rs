//! SQLite's memory, which it counts for the whole program.

/// Sets how many bytes SQLite may use; requests beyond fail inside it, and the question with them.
pub(crate) fn limit(bytes: u64) {
    let bytes = i64::try_from(bytes.max(1 << 20)).unwrap_or(i64::MAX);
    // SAFETY: the function takes a number, and may be called at any time from any thread.
    unsafe { rusqlite::ffi::sqlite3_hard_heap_limit64(bytes) };
}
