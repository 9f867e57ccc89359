//! A process stopped at its exec: registers, memory, and system calls made in it.

use std::io;
use std::ops::Range;
use std::os::unix::process::CommandExt;
use std::process::Command;
use std::sync::atomic::{AtomicU64, Ordering};

use ada_event::{ProcessId, RuntimeAddr};

use super::traced_thread::{TracedThread, trace_me};
use crate::arch::{Registers, SYSTEM_CALL, SYSTEM_CALLS};
use crate::procfs::{ProcessDir, ProcessMemory};
use crate::remote::{SystemCall, system_call_result};
use crate::wait::{Halt, is_gone, wait, wait_for_change, wait_for_end};

/// A process that this one traces, stopped.
///
/// Signals are blocked from outside until it is let go: the program's handlers are not there yet, and a default action
/// would hit a program that is half prepared. They take effect then.
pub struct Tracee {
    thread: TracedThread,
    memory: ProcessMemory,
    /// The signals that it blocks itself.
    own_mask: u64,
    /// Signals that came nevertheless: SIGSTOP, which cannot be blocked, and those of faults that somebody has sent.
    held_back: AtomicU64,
}

/// Signals that the program brings upon itself.
const FAULTS: [i32; 6] = [libc::SIGTRAP, libc::SIGSEGV, libc::SIGBUS, libc::SIGILL, libc::SIGFPE, libc::SIGSYS];

const STOPS: [i32; 4] = [libc::SIGSTOP, libc::SIGTSTP, libc::SIGTTIN, libc::SIGTTOU];

const fn bit(signal: i32) -> u64 {
    1 << (signal - 1)
}

/// What starting such a command fails with where the kernel does not allow it to be traced. Only a number comes from the new
/// process, and the kernel's own for this, `EPERM`, is one of exec's too; exec has no such one.
pub const TRACING_REFUSED: i32 = libc::ENOTRECOVERABLE;

/// Has the process of a command stop once its program is loaded, for the thread that spawns it to [take
/// charge](Tracee::after_exec) of.
pub fn stop_at_exec(command: &mut Command) {
    let ask = || trace_me().map_err(|_| io::Error::from_raw_os_error(TRACING_REFUSED));
    // SAFETY: between fork and exec only a system call is made.
    unsafe { command.pre_exec(ask) };
}

impl Tracee {
    /// Takes charge of a child that has asked to be traced and has stopped at its exec.
    pub fn after_exec(pid: ProcessId) -> io::Result<(Self, Halt)> {
        let thread = TracedThread::known(pid.first_thread());
        let halt = wait(pid)?;
        if halt == Halt::Stopped(libc::SIGTRAP) {
            // If ada dies now, nobody can resume the half-prepared process.
            thread.set_options(libc::PTRACE_O_EXITKILL)?;
        }
        Ok((Self::stopped(thread, pid)?, halt))
    }

    /// A process whose only thread is stopped.
    pub(super) fn stopped(thread: TracedThread, pid: ProcessId) -> io::Result<Self> {
        let memory = ProcessDir::of(pid).writable_memory()?;
        let own_mask = thread.signal_mask()?;
        thread.set_signal_mask(FAULTS.iter().fold(u64::MAX, |blocked, fault| blocked & !bit(*fault)))?;
        Ok(Self { thread, memory, own_mask, held_back: AtomicU64::new(0) })
    }

    /// The registers of its thread.
    pub fn registers(&self) -> io::Result<Registers> {
        self.thread.registers()
    }

    /// Changes the registers of its thread.
    pub fn set_registers(&self, registers: &Registers) -> io::Result<()> {
        self.thread.set_registers(registers)
    }

    /// Reads its memory.
    pub fn read(&self, address: RuntimeAddr, bytes: &mut [u8]) -> io::Result<()> {
        self.memory.read(address, bytes)
    }

    /// Reads a word of its memory.
    pub fn read_u64(&self, address: RuntimeAddr) -> io::Result<u64> {
        self.memory.read_u64(address)
    }

    /// Writes its memory, whatever its protection.
    pub fn write(&self, address: RuntimeAddr, bytes: &[u8]) -> io::Result<()> {
        self.memory.write(address, bytes)
    }

    /// Lets the target run until it traps, or ends by a fault of its own.
    pub fn run_to_trap(&self) -> io::Result<Halt> {
        self.go_on(TracedThread::resume)
    }

    /// Lets it run one instruction.
    pub fn step(&self) -> io::Result<Halt> {
        self.go_on(TracedThread::step)
    }

    fn go_on(&self, how: impl Fn(TracedThread, i32) -> io::Result<()>) -> io::Result<Halt> {
        let mut fault = 0;
        loop {
            how(self.thread, fault)?;
            fault = 0;
            let stop = match wait_for_change(self.thread.tid())? {
                Halt::Stopped(stop) => stop,
                ended => return Ok(ended),
            };
            let (signal, event) = (stop & 0xff, stop >> 8);
            match event {
                // A stop of the whole process, or its end.
                libc::PTRACE_EVENT_STOP if signal == libc::SIGTRAP => (),
                libc::PTRACE_EVENT_STOP => self.hold_back(signal),
                _ if signal == libc::SIGTRAP => return Ok(Halt::Stopped(stop)),
                _ if self.is_fault(signal)? => fault = signal,
                _ => self.hold_back(signal),
            }
        }
    }

    fn hold_back(&self, signal: i32) {
        self.held_back.fetch_or(bit(signal), Ordering::Relaxed);
    }

    /// Whether the signal that the target has stopped for is its own doing.
    fn is_fault(&self, signal: i32) -> io::Result<bool> {
        let info = self.thread.signal_info()?;
        Ok(FAULTS.contains(&signal) && info.si_code > 0)
    }

    /// Makes a system call in the target, at its current instruction, and leaves everything else as it was.
    pub fn system_call(&self, number: i64, arguments: [u64; 6]) -> io::Result<u64> {
        let before = self.registers()?;
        let at = before.instruction_pointer();
        let mut code = [0; SYSTEM_CALL.len()];
        self.read(at, &mut code)?;
        self.write(at, &SYSTEM_CALL)?;
        self.set_registers(&before.for_system_call(at, number, arguments))?;
        let made = self.step().and_then(|halt| match halt {
            Halt::Stopped(libc::SIGTRAP) => Ok(self.registers()?.system_call_result()),
            _ => Err(io::Error::other(format!("the target did not come back from a system call: {halt:?}"))),
        });
        // Whatever came of it: the target may go on.
        let restored = self.write(at, &code).and(self.set_registers(&before));
        let returned = made?;
        restored?;
        system_call_result(returned)
    }

    /// Makes several system calls in the target, one after the other, in one go. Gives what each has returned.
    pub fn system_calls(&self, calls: &[SystemCall]) -> io::Result<Vec<io::Result<u64>>> {
        const WORDS: usize = 7;
        const FAR_BELOW: u64 = 2048;
        let before = self.registers()?;
        let at = before.instruction_pointer();
        let words = calls.iter().flat_map(|call| [call.number as u64].into_iter().chain(call.arguments));
        let mut table: Vec<u8> = words.flat_map(u64::to_le_bytes).collect();
        let table_at = (before.stack_pointer() - FAR_BELOW - table.len() as u64).align_down(16);
        let mut code = [0; SYSTEM_CALLS.len()];
        let mut below = vec![0; table.len()];
        self.read(at, &mut code)?;
        self.read(table_at, &mut below)?;
        self.write(table_at, &table)?;
        self.write(at, &SYSTEM_CALLS)?;
        self.set_registers(&before.for_system_calls(at, table_at, calls.len() as u64))?;
        let made = self.run_to_trap().and_then(|halt| {
            let now_at = self.registers()?.instruction_pointer();
            match halt {
                Halt::Stopped(libc::SIGTRAP) if now_at == at + SYSTEM_CALLS.len() as u64 => {
                    self.read(table_at, &mut table)
                }
                _ => Err(io::Error::other(format!("the target did not come back from system calls: {halt:?}"))),
            }
        });
        // Whatever came of it: the target may go on.
        let restored = self.write(at, &code).and(self.write(table_at, &below)).and(self.set_registers(&before));
        made?;
        restored?;
        let (words, _) = table.as_chunks::<8>();
        Ok(words.iter().step_by(WORDS).map(|word| system_call_result(u64::from_le_bytes(*word))).collect())
    }

    /// Whether nobody has written to a part of a file that the target has mapped privately.
    pub fn is_as_in_file(&self, range: &Range<RuntimeAddr>) -> bool {
        ProcessDir::of(self.pid()).has_only_file_pages(range).unwrap_or(false)
    }

    /// Ends the target, which is our own child, and waits for its end.
    pub fn kill(&self) {
        // SAFETY: a signal to a process that we started and have not waited for.
        unsafe { libc::kill(self.pid().to_raw(), libc::SIGKILL) };
        while let Ok(Halt::Stopped(_)) = wait(self.pid()) {}
    }

    /// Lets the target go for good, and lets signals through. One that has been killed meanwhile is waited for, as its parent
    /// waits too.
    pub fn detach(&self) -> io::Result<()> {
        match self.let_go() {
            Err(error) if is_gone(&error) => {
                wait_for_end(self.thread.tid());
                Ok(())
            }
            result => result,
        }
    }

    fn let_go(&self) -> io::Result<()> {
        self.thread.set_signal_mask(self.own_mask)?;
        let mut held_back = self.held_back.load(Ordering::Relaxed);
        let tid = self.thread.tid();
        let pending = ProcessDir::of(self.pid()).status().map_or(0, |status| status.pending_signals());
        // A stop signal discards a pending SIGCONT, so one that is pending came after the stop.
        if pending & bit(libc::SIGCONT) != 0 {
            held_back &= !STOPS.iter().fold(0, |stops, stop| stops | bit(*stop));
        }
        for signal in (1..=64).filter(|signal| held_back & bit(*signal) != 0) {
            // SAFETY: no pointers are passed. Somebody else has sent this signal; it was held back.
            unsafe { libc::syscall(libc::SYS_tgkill, tid.0, tid.0, signal) };
        }
        self.thread.detach(0)
    }

    /// The seccomp filters that it is under, as far as the kernel shows them.
    pub fn filters(&self) -> io::Result<Vec<Vec<u64>>> {
        self.thread.filters()
    }

    /// The process.
    pub fn pid(&self) -> ProcessId {
        ProcessId(self.thread.tid().0)
    }
}
