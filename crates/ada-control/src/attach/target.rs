//! Looks at a process before it is touched: what cannot be attached to is refused in words that help.

use std::fs;
use std::io;
use std::path::Path;

use crate::ControlError;
use crate::live::{self, Request};
use crate::maps::Mapping;
use crate::program_file;
use crate::target_memory;

/// Refuses a process that cannot be attached to.
pub(crate) fn check(pid: u32) -> Result<(), ControlError> {
    let refused = |reason: &str| Err(ControlError::NotAttached { pid, reason: reason.to_owned() });
    if pid == std::process::id() {
        return refused("this is ada itself");
    }
    let Ok(status) = fs::read_to_string(format!("/proc/{pid}/status")) else {
        return refused("there is no such process; `ps` lists what runs");
    };
    let field = |name: &str| status.lines().find_map(|line| line.strip_prefix(name)).map(str::trim).unwrap_or("");
    if field("Tgid:").parse() != Ok(pid) {
        return refused(&format!("it is a thread; give its process, {}", field("Tgid:")));
    }
    if field("State:").starts_with(['Z', 'X']) {
        return refused("it has ended");
    }
    if live::ask(pid, &Request::Status).is_ok() {
        return refused("it is being traced already; `ada ps` shows by whom, and `ada detach` ends that");
    }
    match field("TracerPid:") {
        "0" | "" => {}
        tracer => return refused(&format!("process {tracer} is tracing it, perhaps a debugger; end that first")),
    }
    let folder = format!("/proc/{pid}");
    match fs::read_link(format!("{folder}/exe")) {
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
            return refused("permission is denied; run ada as root, or as the user of that process");
        }
        Err(_) => return refused("it is a thread of the kernel, or has just ended"),
        Ok(_) => {}
    }
    if fs::read_link(format!("{folder}/ns/mnt")).ok() != fs::read_link("/proc/self/ns/mnt").ok() {
        // The files that it has loaded are not those that ada finds under the same names.
        return refused("it is in a container; run ada in there");
    }
    program_file::check_loaded(Path::new(&folder), None)
}

/// Refuses a process that still has what an earlier trace left in it.
pub(crate) fn check_memory(pid: u32, mappings: &[Mapping]) -> Result<(), ControlError> {
    if mappings.iter().any(|mapping| target_memory::OURS.contains(&mapping.start)) {
        let reason =
            "it still has the hooks of a trace whose ada was killed; they do no harm, but start it anew to trace it";
        return Err(ControlError::NotAttached { pid, reason: reason.to_owned() });
    }
    Ok(())
}

/// What the kernel's refusal to halt a thread means.
pub(crate) fn refused(pid: u32, error: &io::Error) -> ControlError {
    let reason = match (error.raw_os_error(), error.kind()) {
        (Some(libc::ESRCH), _) => "it has ended".to_owned(),
        (Some(libc::EPERM | libc::EACCES), _) => {
            "permission is denied; run ada as root, or as the user of that process with kernel.yama.ptrace_scope at 0"
                .to_owned()
        }
        (_, io::ErrorKind::TimedOut) => "one of its threads does not come to a halt; try again later".to_owned(),
        _ => error.to_string(),
    };
    ControlError::NotAttached { pid, reason }
}
