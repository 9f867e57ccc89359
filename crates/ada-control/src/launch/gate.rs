//! Starting a program so that it stops before any of its own code has run.
//!
//! The program's entry point is too late: library constructors have run by then. The loader calls a notification
//! function for debuggers when all start-up libraries are mapped; there, thread-local storage is set up and every
//! constructor is still to come. A static program has no loader and stops at its entry point.

use std::io;
use std::ops::Range;
use std::process::Command;

use ada_event::{ProcessId, RuntimeAddr};
use ada_process::procfs::ProcessDir;
use ada_process::ptrace::{TRACING_REFUSED, Tracee, stop_at_exec};
use ada_process::{End, Halt, Remote, SystemCall};

use crate::arch::breakpoint::BREAKPOINT;
use crate::error::{ControlError, Doing};
use crate::install::loader_notification::{LoaderNotification, find_loader};
use crate::launch::program_file;
use crate::machine;

/// A program that is loaded, and stopped. Dropping it before it is [let go](Self::release) ends it: it must not run
/// half hooked.
pub(crate) struct Gate {
    pub(crate) tracee: Tracee,
    pub(crate) loader: Option<LoaderNotification>,
    released: bool,
}

const AT_ENTRY: u64 = 9;
const R_STATE: u64 = 24;

impl Gate {
    /// Starts `command` and stops it at the gate.
    pub(crate) fn start(mut command: Command) -> Result<Self, ControlError> {
        let asked_for = program_file::check(command.get_program())?;
        let program = command.get_program().to_string_lossy().into_owned();
        stop_at_exec(&mut command);
        let child = command.spawn().map_err(|source| match source.raw_os_error() {
            Some(TRACING_REFUSED) => ControlError::NotAllowed { program, reason: machine::why_trace_is_refused() },
            _ => ControlError::Spawn { program, source },
        })?;
        let (tracee, halt) = Tracee::after_exec(ProcessId(child.id())).doing("taking charge of the program")?;
        expect_trap(halt)?;
        let mut gate = Self { tracee, loader: None, released: false };
        program_file::check_loaded(&ProcessDir::of(gate.tracee.pid()), asked_for)?;
        gate.reach()?;
        Ok(gate)
    }

    /// Takes a process that has just loaded another program to the gate. Where that cannot be, the program is let go.
    pub(crate) fn of_exec(tracee: Tracee) -> Result<Self, ControlError> {
        let mut gate = Self { tracee, loader: None, released: false };
        let process = ProcessDir::of(gate.tracee.pid());
        let reached = program_file::check_loaded(&process, None).and_then(|()| gate.reach());
        match reached {
            Ok(()) => Ok(gate),
            Err(error) => {
                let _ = gate.release();
                Err(error)
            }
        }
    }

    /// Lets the program run.
    pub(crate) fn release(mut self) -> Result<(), ControlError> {
        self.released = true;
        self.tracee.detach().doing("letting the program go")
    }

    /// Whether the word at the FS base is the base itself, as the C libraries make it before anything else runs.
    pub(crate) fn has_thread_pointer(&self) -> Result<bool, ControlError> {
        let base = self.tracee.registers().doing("reading registers")?.thread_pointer();
        Ok(base.0 != 0 && self.tracee.read_u64(base).is_ok_and(|word| word == base.0))
    }

    fn reach(&mut self) -> Result<(), ControlError> {
        let tracee = &self.tracee;
        let loader = find_loader(tracee.pid(), |address| tracee.read_u64(address))?;
        let stop_at = match loader {
            Some(loader) => loader.function,
            None => {
                let entry = ProcessDir::of(tracee.pid()).auxiliary(AT_ENTRY);
                entry.doing("reading the program's auxiliary vector")?.map(RuntimeAddr).unwrap_or_default()
            }
        };
        let mut original = [0; BREAKPOINT.len()];
        tracee.read(stop_at, &mut original).doing("reading the program's entry")?;
        loop {
            tracee.write(stop_at, &BREAKPOINT).doing("setting a breakpoint")?;
            let halt = tracee.run_to_trap().doing("running to the gate");
            let cleared = tracee.write(stop_at, &original);
            expect_trap(halt?)?;
            cleared.doing("clearing a breakpoint")?;
            let mut registers = tracee.registers().doing("reading registers")?;
            let stopped_at = registers.instruction_pointer();
            if stopped_at != stop_at + BREAKPOINT.len() as u64 {
                return Err(ControlError::Strayed(format!("stopped by itself at {stopped_at:#x}")));
            }
            registers.set_instruction_pointer(stop_at);
            tracee.set_registers(&registers).doing("writing registers")?;
            let is_consistent = match loader {
                None => true,
                Some(loader) => {
                    let mut state = [0; 4];
                    tracee.read(loader.debug + R_STATE, &mut state).doing("reading the loader's state")?;
                    state == [0; 4]
                }
            };
            if is_consistent {
                self.loader = loader;
                return Ok(());
            }
            expect_trap(tracee.step().doing("stepping")?)?;
        }
    }
}

impl Drop for Gate {
    fn drop(&mut self) {
        if !self.released {
            self.tracee.kill();
        }
    }
}

impl Remote for Gate {
    fn read(&self, address: RuntimeAddr, bytes: &mut [u8]) -> io::Result<()> {
        self.tracee.read(address, bytes)
    }

    fn write(&self, address: RuntimeAddr, bytes: &[u8]) -> io::Result<()> {
        self.tracee.write(address, bytes)
    }

    fn system_call(&self, number: i64, arguments: [u64; 6]) -> io::Result<u64> {
        self.tracee.system_call(number, arguments)
    }

    fn system_calls(&self, calls: &[SystemCall]) -> io::Result<Vec<io::Result<u64>>> {
        self.tracee.system_calls(calls)
    }

    fn is_as_in_file(&self, range: &Range<RuntimeAddr>) -> bool {
        self.tracee.is_as_in_file(range)
    }

    /// Below the stack pointer, past the red zone.
    fn put_path(&self, path: &str) -> io::Result<RuntimeAddr> {
        let address = (self.tracee.registers()?.stack_pointer() - 1024_u64).align_down(16);
        let mut bytes = path.as_bytes().to_vec();
        bytes.push(0);
        self.tracee.write(address, &bytes)?;
        Ok(address)
    }
}

fn expect_trap(halt: Halt) -> Result<(), ControlError> {
    match halt {
        Halt::Stopped(signal) if signal & 0xff == libc::SIGTRAP => Ok(()),
        Halt::Stopped(signal) => Err(ControlError::Strayed(format!("was stopped by signal {signal}"))),
        Halt::Exited(code) => Err(ControlError::EndedEarly(End::Exited(code))),
        Halt::Killed(signal) => Err(ControlError::EndedEarly(End::Killed(signal))),
    }
}
