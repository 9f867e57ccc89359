//! A stopped process: registers, memory, and system calls made in it.

use std::fs::{File, OpenOptions};
use std::io;
use std::mem::MaybeUninit;
use std::os::unix::fs::FileExt;
use std::ptr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use crate::programs::parent_of;

/// How a process came to a halt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Halt {
    Stopped(i32),
    Exited(i32),
    Killed(i32),
}

/// A process that this one traces, stopped.
///
/// What is done in it is nothing that a signal may interrupt: its handler is not there yet, and its default action would
/// hit a program that is half prepared. So signals are blocked from outside until it is let go, and have their effect then.
pub(crate) struct Tracee {
    pid: i32,
    memory: File,
    /// The signals that it blocks itself.
    own_mask: u64,
    /// Signals that came although they are blocked: one cannot be, and others are as a fault would bring them.
    held_back: AtomicU64,
}

pub(crate) const PTRACE_GETSIGMASK: libc::c_uint = 0x420a;
pub(crate) const PTRACE_SETSIGMASK: libc::c_uint = 0x420b;
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
    pub(crate) fn after_exec(pid: u32) -> io::Result<(Self, Halt)> {
        let halt = wait(pid as i32)?;
        if halt == Halt::Stopped(libc::SIGTRAP) {
            // Should ada die now, nobody could let the half-prepared target go on.
            request(libc::PTRACE_SETOPTIONS, pid as i32, 0, libc::PTRACE_O_EXITKILL as u64)?;
        }
        Ok((Self::stopped(pid as i32, pid)?, halt))
    }

    /// A process of which thread `tid` is stopped and the only one.
    fn stopped(tid: i32, pid: u32) -> io::Result<Self> {
        let memory = OpenOptions::new().read(true).write(true).open(format!("/proc/{pid}/mem"))?;
        let mut own_mask = 0;
        request(PTRACE_GETSIGMASK, tid, MASK_BYTES, &raw mut own_mask as u64)?;
        let blocked = FAULTS.iter().fold(u64::MAX, |blocked, fault| blocked & !bit(*fault));
        request(PTRACE_SETSIGMASK, tid, MASK_BYTES, &raw const blocked as u64)?;
        Ok(Self { pid: tid, memory, own_mask, held_back: AtomicU64::new(0) })
    }

    pub(crate) fn registers(&self) -> io::Result<libc::user_regs_struct> {
        let mut registers = MaybeUninit::uninit();
        request(libc::PTRACE_GETREGS, self.pid, 0, registers.as_mut_ptr() as u64)?;
        // SAFETY: the kernel has filled it in.
        Ok(unsafe { registers.assume_init() })
    }

    pub(crate) fn set_registers(&self, registers: &libc::user_regs_struct) -> io::Result<()> {
        request(libc::PTRACE_SETREGS, self.pid, 0, ptr::from_ref(registers) as u64)
    }

    pub(crate) fn read(&self, address: u64, bytes: &mut [u8]) -> io::Result<()> {
        self.memory.read_exact_at(bytes, address)
    }

    pub(crate) fn read_u64(&self, address: u64) -> io::Result<u64> {
        let mut bytes = [0; 8];
        self.read(address, &mut bytes)?;
        Ok(u64::from_le_bytes(bytes))
    }

    pub(crate) fn write(&self, address: u64, bytes: &[u8]) -> io::Result<()> {
        self.memory.write_all_at(bytes, address)
    }

    /// Lets the target run until it traps, or ends by a fault of its own.
    pub(crate) fn run_to_trap(&self) -> io::Result<Halt> {
        self.go_on(libc::PTRACE_CONT)
    }

    pub(crate) fn step(&self) -> io::Result<Halt> {
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
    pub(crate) fn system_call(&self, number: i64, arguments: [u64; 6]) -> io::Result<u64> {
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
    pub(crate) fn kill(&self) {
        // SAFETY: a signal to a process that we started and have not waited for.
        unsafe { libc::kill(self.pid, libc::SIGKILL) };
        while let Ok(Halt::Stopped(_)) = wait(self.pid) {}
    }

    /// Lets the target go for good, and signals come.
    pub(crate) fn detach(&self) -> io::Result<()> {
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

    pub(crate) fn pid(&self) -> u32 {
        self.pid as u32
    }
}

/// A thread of another process that is being traced while it runs another program.
pub(crate) struct Seized {
    tid: i32,
}

/// What came of an exec.
pub(crate) enum ExecOutcome {
    /// The new program is loaded, and has not run.
    Loaded(Tracee),
    /// The old program goes on.
    Failed,
    /// The process has ended.
    Ended,
}

const EXEC_STOP: i32 = libc::SIGTRAP | (libc::PTRACE_EVENT_EXEC << 8);

impl Seized {
    /// Takes charge of a thread without stopping it.
    pub(crate) fn take(tid: u32) -> io::Result<Self> {
        let tid = tid as i32;
        request(libc::PTRACE_SEIZE, tid, 0, libc::PTRACE_O_TRACEEXEC as u64)?;
        Ok(Self { tid })
    }

    /// Waits until the thread's process `pid` has loaded the new program, or has not; the thread is then not traced any
    /// more. Signals that come meanwhile are passed on.
    pub(crate) fn wait_for_exec(self, pid: u32, has_failed: impl Fn() -> bool) -> io::Result<ExecOutcome> {
        let mut is_interrupted = false;
        loop {
            let Some((stopped, halt)) = poll_own_tracee([self.tid, pid as i32])? else {
                if has_failed() && !is_interrupted {
                    request(libc::PTRACE_INTERRUPT, self.tid, 0, 0)?;
                    is_interrupted = true;
                }
                std::thread::sleep(Duration::from_micros(50));
                continue;
            };
            match halt {
                Halt::Stopped(EXEC_STOP) => {
                    // Should ada die now, nobody could let the half-prepared target go on.
                    request(libc::PTRACE_SETOPTIONS, stopped, 0, libc::PTRACE_O_EXITKILL as u64)?;
                    return Ok(ExecOutcome::Loaded(Tracee::stopped(stopped, pid)?));
                }
                Halt::Stopped(stop) if stop >> 8 == libc::PTRACE_EVENT_STOP => {
                    if is_interrupted {
                        request(libc::PTRACE_DETACH, stopped, 0, 0)?;
                        return Ok(ExecOutcome::Failed);
                    }
                    // It is told that the process stops, and also that it goes on.
                    let goes_on = stop & 0xff == libc::SIGTRAP;
                    request(if goes_on { libc::PTRACE_CONT } else { libc::PTRACE_LISTEN }, stopped, 0, 0)?;
                }
                Halt::Stopped(signal) => request(libc::PTRACE_CONT, stopped, 0, (signal & 0xff) as u64)?,
                Halt::Exited(_) | Halt::Killed(_) => return Ok(ExecOutcome::Ended),
            }
        }
    }
}

/// A change of a thread that this very thread traces, if there is one; it has either id, before and after its exec.
fn poll_own_tracee(ids: [i32; 2]) -> io::Result<Option<(i32, Halt)>> {
    let mut gone = 0;
    for id in ids {
        match change(id, libc::__WNOTHREAD | libc::WNOHANG) {
            Ok(Some(halt)) => return Ok(Some((id, halt))),
            Ok(None) => (),
            Err(error) if error.raw_os_error() == Some(libc::ECHILD) => gone += 1,
            Err(error) => return Err(error),
        }
    }
    if gone == ids.len() { Err(io::Error::from_raw_os_error(libc::ECHILD)) } else { Ok(None) }
}

/// Waits until a tracee stops or ends.
fn wait_for_change(pid: i32) -> io::Result<Halt> {
    loop {
        if let Some(halt) = change(pid, 0)? {
            return Ok(halt);
        }
    }
}

/// A change of a tracee, if there is one. The end of one that is our own child is only looked at: who started it waits
/// for it, too.
fn change(pid: i32, how: i32) -> io::Result<Option<Halt>> {
    let mut info = MaybeUninit::<libc::siginfo_t>::zeroed();
    let flags = libc::WEXITED | libc::WSTOPPED | libc::__WALL | libc::WNOWAIT | how;
    // SAFETY: `info` lives through the call.
    while unsafe { libc::waitid(libc::P_PID, pid as u32, info.as_mut_ptr(), flags) } < 0 {
        let error = io::Error::last_os_error();
        if error.kind() != io::ErrorKind::Interrupted {
            return Err(error);
        }
    }
    // SAFETY: all zeros are a good value, and the kernel may have written that of a child.
    let (code, changed, status) = unsafe {
        let info = info.assume_init();
        (info.si_code, info.si_pid(), info.si_status())
    };
    if changed == 0 {
        return Ok(None);
    }
    if parent_of(pid as u32) == Some(std::process::id()) {
        match code {
            libc::CLD_EXITED => return Ok(Some(Halt::Exited(status))),
            libc::CLD_KILLED | libc::CLD_DUMPED => return Ok(Some(Halt::Killed(status))),
            _ => (),
        }
    }
    wait(pid).map(Some)
}

fn halt_of(status: i32) -> Halt {
    if libc::WIFEXITED(status) {
        Halt::Exited(libc::WEXITSTATUS(status))
    } else if libc::WIFSIGNALED(status) {
        Halt::Killed(libc::WTERMSIG(status))
    } else {
        Halt::Stopped(status >> 8)
    }
}

/// Processor time that a process and the children it waited for have used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct CpuTime {
    pub(crate) user: Duration,
    pub(crate) system: Duration,
}

/// Waits until a child stops or ends.
pub(crate) fn wait(pid: i32) -> io::Result<Halt> {
    wait_with_time(pid).map(|(halt, _)| halt)
}

/// Waits until a child stops or ends, and says what it has used.
pub(crate) fn wait_with_time(pid: i32) -> io::Result<(Halt, CpuTime)> {
    let mut status = 0;
    let mut usage = MaybeUninit::<libc::rusage>::zeroed();
    loop {
        // SAFETY: `status` and `usage` live through the call.
        if unsafe { libc::wait4(pid, &raw mut status, libc::__WALL, usage.as_mut_ptr()) } >= 0 {
            break;
        }
        let error = io::Error::last_os_error();
        if error.kind() != io::ErrorKind::Interrupted {
            return Err(error);
        }
    }
    let halt = halt_of(status);
    // SAFETY: all zeros are a good value, and the kernel may have written another.
    let usage = unsafe { usage.assume_init() };
    Ok((halt, CpuTime { user: duration(usage.ru_utime), system: duration(usage.ru_stime) }))
}

fn duration(time: libc::timeval) -> Duration {
    Duration::from_secs(time.tv_sec as u64) + Duration::from_micros(time.tv_usec as u64)
}

fn request(operation: libc::c_uint, pid: i32, address: u64, data: u64) -> io::Result<()> {
    // SAFETY: callers pass addresses of live structures of the kind that the operation names.
    if unsafe { libc::ptrace(operation, pid, address, data) } < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    #[test]
    #[expect(clippy::zombie_processes, reason = "the function under test waits")]
    fn a_child_that_worked_has_used_more_time_than_one_that_did_not() {
        let time_of = |rounds: &str| {
            let script = "i=0; while [ $i -lt $1 ]; do i=$((i + 1)); done; exit 3";
            let child = Command::new("sh").args(["-c", script, "sh", rounds]).spawn().unwrap();
            let (halt, time) = wait_with_time(child.id() as i32).unwrap();
            assert_eq!(halt, Halt::Exited(3));
            time.user + time.system
        };
        assert!(time_of("500000") > time_of("1") + Duration::from_millis(20));
    }
}
