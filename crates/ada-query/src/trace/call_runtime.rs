//! Whose calls a process has.

use ada_format::atf::Process;

/// The runtime of a process's calls: `sync` where they were recorded, and where they come from another trace, its
/// format. Events that were imported are no functions' calls and returns, and nobody has to take them for such.
pub(super) fn call_runtime(process: &Process) -> &'static str {
    let manifest = process.manifest.as_ref();
    match manifest.and_then(|it| it.extra.get("imported_from")).and_then(|it| it.as_str()) {
        Some("heph") => "heph",
        _ => "sync",
    }
}
