//! Checks a process before it is touched. A refusal says why, and what to do.

use std::fs;
use std::io;

use ada_event::{ProcessId, RuntimeAddr};
use ada_process::maps::{self, Mapping};
use ada_process::procfs::{ProcessDir, ProcessMemory};
use ada_process::this_process;

use crate::error::ControlError;
use crate::launch::program_file;
use crate::live::{self, Request};
use crate::machine;

/// Refuses a process that cannot be attached to.
pub(crate) fn check(pid: ProcessId) -> Result<(), ControlError> {
    let refused = |reason: &str| Err(ControlError::NotAttached { pid, reason: reason.to_owned() });
    if pid == this_process() {
        return refused("this is ada itself");
    }
    let process = ProcessDir::of(pid);
    let Ok(status) = process.status() else {
        return refused("there is no such process; `ps` lists what runs");
    };
    if status.field("Tgid").parse() != Ok(pid) {
        return refused(&format!("it is a thread; give its process, {}", status.field("Tgid")));
    }
    if status.field("State").starts_with(['Z', 'X']) {
        return refused("it has ended");
    }
    if live::ask(pid, &Request::Status).is_ok() {
        return refused("it is being traced already; `ada ps` shows by whom, and `ada detach` ends that");
    }
    match status.field("TracerPid") {
        "0" | "" => {}
        tracer => return refused(&format!("process {tracer} is tracing it, perhaps a debugger; end that first")),
    }
    match fs::read_link(process.executable()) {
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
            return refused(&machine::why_attach_is_refused());
        }
        Err(_) => return refused("it is a thread of the kernel, or has just ended"),
        Ok(_) => {}
    }
    if process.mount_namespace() != ProcessDir::own().mount_namespace() {
        // The files that it has loaded are not those that ada finds under the same names.
        return refused("it is in a container; run ada in there");
    }
    program_file::check_loaded(&process, None)
}

/// How often to begin anew with a process that has run another program meanwhile.
const TRIES: u32 = 5;

/// The program that a process runs, known by its memory: that of one that it ran before is gone.
pub(crate) struct RunningProgram {
    pid: ProcessId,
    memory: ProcessMemory,
    mapped: RuntimeAddr,
    /// The kernel may not have mapped all of it yet.
    is_loading: bool,
}

impl RunningProgram {
    fn of(pid: ProcessId) -> Result<Self, ControlError> {
        let memory = ProcessDir::of(pid).memory().map_err(|error| refused(pid, &error))?;
        let mappings = maps::of_process(pid).map_err(|error| refused(pid, &error))?;
        // The loader of a program reads it, and nobody unmaps it.
        let is_lasting = |mapping: &&Mapping| mapping.path == "[vdso]" || mapping.path == "[stack]";
        let mapping = mappings.iter().find(is_lasting).or(mappings.first());
        let mapped = mapping.map(|mapping| mapping.start).unwrap_or_default();
        // The kernel maps it last, after the program's code and its loader's.
        let is_loading = !mappings.iter().any(|mapping| mapping.path == "[vdso]");
        Ok(Self { pid, memory, mapped, is_loading })
    }

    /// Refuses to go on where the process runs another one by now.
    pub(crate) fn check(&self) -> Result<(), ControlError> {
        if self.is_over() { Err(refused(self.pid, &io::Error::from_raw_os_error(libc::ESRCH))) } else { Ok(()) }
    }

    fn is_over(&self) -> bool {
        self.memory.is_abandoned(self.mapped)
    }
}

/// Begins a recording, and again where the process runs another program before it is hooked.
pub(crate) fn while_one_program_runs<T>(
    pid: ProcessId,
    mut begin: impl FnMut(&RunningProgram) -> Result<T, ControlError>,
) -> Result<T, ControlError> {
    for tried in 1..=TRIES {
        let running = RunningProgram::of(pid)?;
        let error = match begin(&running) {
            Ok(begun) => return Ok(begun),
            Err(error) => error,
        };
        let is_worth_a_try = running.is_over() || running.is_loading && tried < TRIES;
        if !is_worth_a_try {
            return Err(error);
        }
        if ProcessDir::of(pid).is_gone() {
            return Err(ControlError::NotAttached { pid, reason: "it has ended".to_owned() });
        }
    }
    let reason = "it runs one program after the other, none for long enough to be hooked; attach when it has come to the \
                  one you are after, or have it run by `ada trace`, which follows it from one to the next";
    Err(ControlError::NotAttached { pid, reason: reason.to_owned() })
}

/// What the kernel's refusal to halt a thread means.
pub(crate) fn refused(pid: ProcessId, error: &io::Error) -> ControlError {
    ControlError::NotAttached { pid, reason: machine::why_not(error) }
}
