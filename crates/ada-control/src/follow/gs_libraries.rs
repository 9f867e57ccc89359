//! Libraries that use the GS base, where stubs find a thread's state. Firefox loads one, and so does Wine.

use std::io;

use ada_process::maps;
use ada_process::procfs::ProcessDir;
use ada_process::ptrace::Halted;

use super::waiting_thread::WaitingThread;
use crate::install::crash_handlers;
use crate::install::memory_layout::MemoryLayout;
use crate::install::sites::{Site, write_original_starts};

/// Takes all hooks out of a process, one of whose threads has loaded such a library and waits: its code has not run yet. Threads that are
/// in a stub finish what they are at, each with its own base. What they run there stays, for them and for whoever they have interrupted.
pub(super) fn leave_process(thread: &WaitingThread, sites: &[Vec<Site>]) -> io::Result<()> {
    let pid = thread.pid();
    let mappings = maps::of_process(pid)?;
    // The handler looks for the state of the thread that it runs on.
    let has_filter = ProcessDir::of(pid).status().is_ok_and(|status| status.has_seccomp());
    if let Some((layout, _)) = MemoryLayout::find(&mappings).filter(|_| !has_filter) {
        crash_handlers::remove(thread, layout)?;
    }
    let halted = Halted::all(pid, &mappings)?;
    for sites in sites {
        write_original_starts(&halted, sites)?;
    }
    halted.release();
    Ok(())
}
