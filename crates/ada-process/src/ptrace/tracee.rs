//! A stopped process: registers, memory, and system calls made in it.

use std::fs::{File, OpenOptions};
use std::io;
use std::mem::MaybeUninit;
use std::os::unix::fs::FileExt;
use std::ptr;
use std::sync::atomic::{AtomicU64, Ordering};

use super::request::{PTRACE_GETSIGMASK, PTRACE_SETSIGMASK, request};
use crate::wait::{Halt, wait, wait_for_change};

/// A process that this one traces, stopped.
///
/// What is done in it is nothing that a signal may interrupt: its handler is not there yet, and its default action would
/// hit a program that is half prepared. So signals are blocked from outside until it is let go, and have their effect then.
pub struct Tracee {
    pid: i32,
    memory: File,
    /// The signals that it blocks itself.
    own_mask: u64,
    /// Signals that came although they are blocked: one cannot be, and others are as a fault would bring them.
    held_back: AtomicU64,
}

/// Bytes of the kernel's signal mask.
const MASK_BYTES: u64 = 8;
/// What the program brings upon itself.
const FAULTS: [i32; 6] = [libc::SIGTRAP, libc::SIGSEGV, libc::SIGBUS, libc::SIGILL, libc::SIGFPE, libc::SIGSYS];

const STOPS: [i32; 4] = [libc::SIGSTOP, libc::SIGTSTP, libc::SIGTTIN, libc::SIGTTOU];

/// The signals that wait for a process of one thread.
fn pending(pid: i32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let masks = status.lines().filter_map(|line| line.strip_prefix("SigPnd:").or(line.strip_prefix("ShdPnd:")));
    masks.filter_map(|mask| u64::from_str_radix(mask.trim(), 16).ok()).fold(0, |all, mask| all | mask)
}

const fn bit(signal: i32) -> u64 {
    1 << (signal - 1)
}

impl Tracee {
    /// Takes charge of a child that has asked to be traced and has stopped at its exec.
    pub fn after_exec(pid: u32) -> io::Result<(Self, Halt)> {
        let halt = wait(pid as i32)?;
        if halt == Halt::Stopped(libc::SIGTRAP) {
            // Should ada die now, nobody could let the half-prepared target go on.
            request(libc::PTRACE_SETOPTIONS, pid as i32, 0, libc::PTRACE_O_EXITKILL as u64)?;
        }
        Ok((Self::stopped(pid as i32, pid)?, halt))
    }

    /// A process of which thread `tid` is stopped and the only one.
    pub(super) fn stopped(tid: i32, pid: u32) -> io::Result<Self> {
        let memory = OpenOptions::new().read(true).write(true).open(format!("/proc/{pid}/mem"))?;
        let mut own_mask = 0;
        request(PTRACE_GETSIGMASK, tid, MASK_BYTES, &raw mut own_mask as u64)?;
        let blocked = FAULTS.iter().fold(u64::MAX, |blocked, fault| blocked & !bit(*fault));
        request(PTRACE_SETSIGMASK, tid, MASK_BYTES, &raw const blocked as u64)?;
        Ok(Self { pid: tid, memory, own_mask, held_back: AtomicU64::new(0) })
    }

    /// The registers of its thread.
    pub fn registers(&self) -> io::Result<libc::user_regs_struct> {
        let mut registers = MaybeUninit::uninit();
        request(libc::PTRACE_GETREGS, self.pid, 0, registers.as_mut_ptr() as u64)?;
        // SAFETY: the kernel has filled it in.
        Ok(unsafe { registers.assume_init() })
    }

    /// Changes the registers of its thread.
    pub fn set_registers(&self, registers: &libc::user_regs_struct) -> io::Result<()> {
        request(libc::PTRACE_SETREGS, self.pid, 0, ptr::from_ref(registers) as u64)
    }

    /// Reads its memory.
    pub fn read(&self, address: u64, bytes: &mut [u8]) -> io::Result<()> {
        self.memory.read_exact_at(bytes, address)
    }

    /// Reads a word of its memory.
    pub fn read_u64(&self, address: u64) -> io::Result<u64> {
        let mut bytes = [0; 8];
        self.read(address, &mut bytes)?;
        Ok(u64::from_le_bytes(bytes))
    }

    /// Writes its memory, whatever its protection.
    pub fn write(&self, address: u64, bytes: &[u8]) -> io::Result<()> {
        self.memory.write_all_at(bytes, address)
    }

    /// Lets the target run until it traps, or ends by a fault of its own.
    pub fn run_to_trap(&self) -> io::Result<Halt> {
        self.go_on(libc::PTRACE_CONT)
    }

    /// Lets it run one instruction.
    pub fn step(&self) -> io::Result<Halt> {
        self.go_on(libc::PTRACE_SINGLESTEP)
    }

    fn go_on(&self, how: libc::c_uint) -> io::Result<Halt> {
        let mut fault = 0;
        loop {
            request(how, self.pid, 0, fault as u64)?;
            fault = 0;
            let stop = match wait_for_change(self.pid)? {
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
        let mut info = MaybeUninit::<libc::siginfo_t>::zeroed();
        request(libc::PTRACE_GETSIGINFO, self.pid, 0, info.as_mut_ptr() as u64)?;
        // SAFETY: the kernel has filled it in.
        Ok(FAULTS.contains(&signal) && unsafe { info.assume_init() }.si_code > 0)
    }

    /// Makes a system call in the target, at its current instruction, and leaves everything else as it was.
    pub fn system_call(&self, number: i64, arguments: [u64; 6]) -> io::Result<u64> {
        const SYSCALL: [u8; 2] = [0x0f, 0x05];
        let before = self.registers()?;
        let mut code = [0; 2];
        self.read(before.rip, &mut code)?;
        self.write(before.rip, &SYSCALL)?;
        let mut call = before;
        call.rax = number as u64;
        // Not in a system call: the kernel must not try to restart one.
        call.orig_rax = u64::MAX;
        [call.rdi, call.rsi, call.rdx, call.r10, call.r8, call.r9] = arguments;
        self.set_registers(&call)?;
        let made = self.step().and_then(|halt| match halt {
            Halt::Stopped(libc::SIGTRAP) => Ok(self.registers()?.rax as i64),
            _ => Err(io::Error::other(format!("the target did not come back from a system call: {halt:?}"))),
        });
        // Whatever came of it: the target may go on.
        let restored = self.write(before.rip, &code).and(self.set_registers(&before));
        let result = made?;
        restored?;
        if (-4095..0).contains(&result) { Err(io::Error::from_raw_os_error(-result as i32)) } else { Ok(result as u64) }
    }

    /// Ends the target, which is our own child, and waits for its end.
    pub fn kill(&self) {
        // SAFETY: a signal to a process that we started and have not waited for.
        unsafe { libc::kill(self.pid, libc::SIGKILL) };
        while let Ok(Halt::Stopped(_)) = wait(self.pid) {}
    }

    /// Lets the target go for good, and signals come.
    pub fn detach(&self) -> io::Result<()> {
        request(PTRACE_SETSIGMASK, self.pid, MASK_BYTES, &raw const self.own_mask as u64)?;
        let mut held_back = self.held_back.load(Ordering::Relaxed);
        // What stops a process takes back what lets it go on, so whoever waits to do that came later.
        if pending(self.pid) & bit(libc::SIGCONT) != 0 {
            held_back &= !STOPS.iter().fold(0, |stops, stop| stops | bit(*stop));
        }
        for signal in (1..=64).filter(|signal| held_back & bit(*signal) != 0) {
            // SAFETY: a signal to a thread that is stopped by us, which somebody else has sent it.
            unsafe { libc::syscall(libc::SYS_tgkill, self.pid, self.pid, signal) };
        }
        request(libc::PTRACE_DETACH, self.pid, 0, 0)
    }

    /// The process.
    pub fn pid(&self) -> u32 {
        self.pid as u32
    }
}
