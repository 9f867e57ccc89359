//! The processes that this one has started, and those that they have.

use std::io;
use std::time::{Duration, Instant};

use ada_event::ProcessId;
use rustix::process::{Pid, Signal, WaitOptions, getpid, kill_process, set_child_subreaper, waitpid};

use crate::procfs::ProcessDir;
use crate::this_process::this_process;

/// Has processes whose parent ends become children of this one, so that none of them is lost sight of.
pub fn adopt_orphans() -> io::Result<()> {
    Ok(set_child_subreaper(Some(getpid()))?)
}

/// Kills the processes below one, and not itself.
pub fn kill_below(pid: ProcessId) {
    // Listed before any is killed: with that, its children get another parent.
    below(pid).into_iter().for_each(kill);
}

/// The processes below one, parents before their children.
pub fn below(pid: ProcessId) -> Vec<ProcessId> {
    let mut all = ProcessDir::of(pid).children();
    let mut next = 0;
    while let Some(&child) = all.get(next) {
        all.extend(ProcessDir::of(child).children());
        next += 1;
    }
    all
}

/// Kills everything that this process has started, and waits until it is gone, at most for the time. False where something
/// remains: it does not end while the kernel waits for a device.
pub fn end_all(time: Duration) -> bool {
    let deadline = Instant::now() + time;
    loop {
        kill_below(this_process());
        let is_any_left = loop {
            match waitpid(None, WaitOptions::NOHANG) {
                Ok(Some(_)) => {}
                Ok(None) => break true,
                Err(_) => break false,
            }
        };
        if !is_any_left {
            return true;
        }
        if Instant::now() > deadline {
            return false;
        }
        std::thread::sleep(Duration::from_millis(1));
    }
}

fn kill(pid: ProcessId) {
    if let Some(pid) = i32::try_from(pid.0).ok().and_then(Pid::from_raw) {
        let _ = kill_process(pid, Signal::KILL);
    }
}
