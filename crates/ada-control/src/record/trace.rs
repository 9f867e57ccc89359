//! Traces a program from its start to its end.

use std::process::Command;
use std::time::Instant;

use ada_event::ProcessId;
use ada_process::maps::LoadedFile;
use ada_process::{CpuTime, End, Halt, Pidfd, wait_with_time};

use super::descriptors;
use super::ending::Ending;
use super::recording::{Beginning, Subject, record};
use super::report::TraceReport;
use super::terminal_signals::{self, Waiting};
use crate::deadline::Deadline;
use crate::detach::{Limits, Unhooked};
use crate::drain::session::SessionFiles;
use crate::error::{ControlError, Doing};
use crate::install::shared_memory::SharedMemory;
use crate::launch::gate::Gate;
use crate::launch::workshop::Workshop;
use crate::live::handlers::StopSwitch;
use crate::options::TraceOptions;
use crate::progress::Progress;
use crate::tracked::{ProcessFacts, Programs};

/// Runs `command` with every function hooked: to its end, or until the recording is over. Then it goes on without hooks, and is
/// for [`wait_for_program`] to wait for.
pub fn trace(command: Command, options: &TraceOptions, progress: &dyn Progress) -> Result<TraceReport, ControlError> {
    let command_line: Vec<String> = [command.get_program()]
        .into_iter()
        .chain(command.get_args())
        .map(|word| word.to_string_lossy().into_owned())
        .collect();
    let beginning = Beginning::now(options);
    let shared = SharedMemory::new(options.chunks, options.on_full, options.detail).doing("making shared memory")?;
    let workshop = Workshop::new(shared, options);
    let gate = Gate::start(command)?;
    let pid = gate.tracee.pid();
    let waiting = Waiting::new(pid);
    descriptors::allow_many();
    let deadline = |files: &[LoadedFile]| Deadline::new(beginning.started, files, options.start_up_timeout);
    let program = workshop.hook(&gate, options, deadline, progress)?;
    // From here on there is a session to be ended in good order.
    drop(waiting);
    let facts = ProcessFacts { command_line, ..ProcessFacts::default() };
    let files = SessionFiles::create(&options.output, pid, options.store)?;
    let stop = StopSwitch::default();
    let memfd = workshop.shared.memfd().doing("looking at the shared memory")?;
    let limits = Limits { stop: &stop, until: options.max_time.map(|time| Instant::now() + time) };
    let subject = Subject { pid, program, facts, files, handlers: &[&stop] };
    let release = || gate.release();
    let wait = |programs: &Programs, process: &Pidfd| {
        // Not by waitpid, which would take the stops that belong to the thread that follows its execs.
        if terminal_signals::wait_for_end(pid, process, || limits.are_reached(programs)) {
            let (end, cpu_time) = end_of(pid)?;
            return Ok(Ending { end, cpu_time: Some(cpu_time), trouble: None });
        }
        let Unhooked { kept, .. } = limits.leave(programs, memfd, pid);
        Ok(Ending { end: End::Detached, cpu_time: None, trouble: (!kept.is_empty()).then(|| kept.join("; ")) })
    };
    record(beginning, subject, &workshop, options, progress, release, wait)
}

/// Waits for a program that goes on without hooks.
pub fn wait_for_program(pid: ProcessId) -> Result<End, ControlError> {
    let process = Pidfd::open(pid).doing("watching the program")?;
    terminal_signals::wait_for_end(pid, &process, || false);
    Ok(end_of(pid)?.0)
}

/// How our own child has ended.
fn end_of(pid: ProcessId) -> Result<(End, CpuTime), ControlError> {
    let (halt, cpu_time) = wait_with_time(pid).doing("waiting for the program")?;
    let end = match halt {
        Halt::Killed(signal) => End::Killed(signal),
        Halt::Exited(code) | Halt::Stopped(code) => End::Exited(code),
    };
    Ok((end, cpu_time))
}
