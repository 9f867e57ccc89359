//! Traces a program from its start to its end.

use std::process::Command;

use ada_process::maps::LoadedFile;
use ada_process::{End, Halt, Pidfd, wait_with_time};

use super::descriptors;
use super::ending::Ending;
use super::recording::{Beginning, Subject, record};
use super::report::TraceReport;
use super::terminal_signals::{self, Waiting};
use crate::deadline::Deadline;
use crate::drain::session::SessionFiles;
use crate::error::{ControlError, Doing};
use crate::install::shared_memory::SharedMemory;
use crate::launch::gate::Gate;
use crate::launch::workshop::Workshop;
use crate::options::TraceOptions;
use crate::progress::Progress;
use crate::tracked::{ProcessFacts, Programs};

/// Runs `command` to its end with every function hooked.
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
    let subject = Subject { pid, program, facts, files, handlers: &[] };
    let release = || gate.release();
    let wait = |_: &Programs, process: &Pidfd| {
        // Not by waitpid, which would take the stops that belong to the thread that follows its execs.
        terminal_signals::wait_for_end(pid, process);
        let (halt, cpu_time) = wait_with_time(pid).doing("waiting for the program")?;
        let end = match halt {
            Halt::Killed(signal) => End::Killed(signal),
            Halt::Exited(code) | Halt::Stopped(code) => End::Exited(code),
        };
        Ok(Ending { end, cpu_time: Some(cpu_time), trouble: None })
    };
    record(beginning, subject, &workshop, options, progress, release, wait)
}
