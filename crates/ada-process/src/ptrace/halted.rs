//! A running process brought to a halt from outside, one thread or all, and let go as it was.
//!
//! Everything here belongs to the operating system's thread that called [`Halted::all`] or [`Halted::one`]: the kernel
//! takes requests from no other.

use std::fs::{File, OpenOptions};
use std::io;
use std::mem::{MaybeUninit, offset_of};
use std::os::unix::fs::FileExt;
use std::time::{Duration, Instant};

use super::request::{PTRACE_GETSIGMASK, PTRACE_SETSIGMASK, request};
use crate::maps::Mapping;
use crate::realtime_priority::RealtimePriority;
use crate::remote::Remote;

/// How long a thread may take to come to a halt: one in the middle of a vfork does not before its child has left.
const PATIENCE: Duration = Duration::from_secs(10);
/// How often to look whether it has.
const LOOK: Duration = Duration::from_micros(20);
/// How often the threads of a process are listed at most.
const MOST_SCANS: u32 = 10_000;
const SYSCALL: [u8; 2] = [0x0f, 0x05];

/// A process with threads that do not run.
pub struct Halted {
    pid: u32,
    threads: Vec<HaltedThread>,
    /// When the first was asked to halt.
    since: Instant,
    memory: File,
    /// Where the process has a `syscall` instruction.
    syscall_at: u64,
    /// Until all threads are let go: the first of them would take the processor from who lets the others go.
    _priority: RealtimePriority,
}

/// One of them.
#[derive(Clone, Copy, Debug)]
pub struct HaltedThread {
    tid: i32,
    /// A signal that was on its way to the thread.
    signal: i32,
}

impl Halted {
    /// Halts one thread of a process; the others go on.
    pub fn one(pid: u32, mappings: &[Mapping]) -> io::Result<Self> {
        let mut halted = Self::none(pid, mappings)?;
        for tid in threads_of(pid)? {
            if halted.halt(tid)? {
                return Ok(halted);
            }
        }
        Err(io::Error::from_raw_os_error(libc::ESRCH))
    }

    /// Halts all threads of a process.
    pub fn all(pid: u32, mappings: &[Mapping]) -> io::Result<Self> {
        let mut halted = Self::none(pid, mappings)?;
        let mut scans = MOST_SCANS;
        loop {
            // All are asked before any is waited for: each has to be given a processor before it can halt.
            let mut asked = Vec::new();
            let listed = threads_of(pid)?;
            let count = listed.len();
            for tid in listed {
                if halted.threads.iter().all(|known| known.tid != tid) && halted.seize(tid)? {
                    asked.push(tid);
                }
            }
            // Threads that run can start others; once none has been found that runs, none does. A list that is read while
            // threads end may leave others out, which the kernel's count of them tells.
            if asked.is_empty() && (thread_count(pid).is_none_or(|all| all == count) || scans == 0) {
                break;
            }
            scans = scans.saturating_sub(1);
            for (number, tid) in asked.iter().enumerate() {
                if let Err(error) = halted.await_halt(*tid) {
                    asked[number + 1..].iter().for_each(|&tid| leave_running(tid));
                    return Err(error);
                }
            }
        }
        if halted.threads.is_empty() { Err(io::Error::from_raw_os_error(libc::ESRCH)) } else { Ok(halted) }
    }

    fn none(pid: u32, mappings: &[Mapping]) -> io::Result<Self> {
        let memory = OpenOptions::new().read(true).write(true).open(format!("/proc/{pid}/mem"))?;
        let syscall_at = find_syscall(&memory, mappings).ok_or_else(|| io::Error::other("it makes no system calls"))?;
        let _priority = RealtimePriority::new();
        Ok(Self { pid, threads: Vec::new(), since: Instant::now(), memory, syscall_at, _priority })
    }

    /// Those of its threads that are halted.
    pub fn threads(&self) -> &[HaltedThread] {
        &self.threads
    }

    /// Lets all go on. Gives the time for which they stood still, at most.
    pub fn release(self) -> Duration {
        let since = self.since;
        drop(self);
        since.elapsed()
    }

    /// False where the thread has ended.
    fn halt(&mut self, tid: i32) -> io::Result<bool> {
        Ok(self.seize(tid)? && self.await_halt(tid)?)
    }

    /// Asks a thread to halt. False where it has ended.
    fn seize(&self, tid: i32) -> io::Result<bool> {
        let is_gone = |error: &io::Error| error.raw_os_error() == Some(libc::ESRCH) || is_zombie(self.pid, tid);
        match request(libc::PTRACE_SEIZE, tid, 0, 0) {
            // A thread that is about to be gone may not be taken either.
            Err(error) if is_gone(&error) => return Ok(false),
            other => other?,
        }
        match request(libc::PTRACE_INTERRUPT, tid, 0, 0) {
            // It has ended since, or is halted already.
            Err(error) if error.raw_os_error() == Some(libc::ESRCH) => Ok(true),
            other => other.map(|()| true),
        }
    }

    /// Waits until a thread that was asked to has halted. False where it has ended.
    fn await_halt(&mut self, tid: i32) -> io::Result<bool> {
        match wait(tid) {
            Ok(Some(status)) => {
                let is_event = status >> 16 == libc::PTRACE_EVENT_STOP;
                let signal = if is_event { 0 } else { (status >> 8) & 0xff };
                self.threads.push(HaltedThread { tid, signal });
                Ok(true)
            }
            Ok(None) => Ok(false),
            Err(error) => {
                leave_running(tid);
                Err(error)
            }
        }
    }
}

impl HaltedThread {
    /// The kernel's id of the thread.
    pub fn tid(&self) -> u32 {
        self.tid as u32
    }

    /// The registers of the thread.
    pub fn registers(&self) -> io::Result<libc::user_regs_struct> {
        registers(self.tid)
    }

    /// Leaves all other registers alone, and so does not disturb a system call that is to be made again.
    pub fn set_gs_base(&self, base: u64) -> io::Result<()> {
        self.poke(offset_of!(libc::user_regs_struct, gs_base), base)
    }

    /// Has the thread go on elsewhere; leaves all other registers alone.
    pub fn set_instruction_pointer(&self, address: u64) -> io::Result<()> {
        self.poke(offset_of!(libc::user_regs_struct, rip), address)
    }

    fn poke(&self, offset: usize, value: u64) -> io::Result<()> {
        request(libc::PTRACE_POKEUSER, self.tid, offset as u64, value)
    }
}

impl Drop for Halted {
    fn drop(&mut self) {
        for thread in &self.threads {
            // Nothing can be done for one that has been killed meanwhile.
            let _ = request(libc::PTRACE_DETACH, thread.tid, 0, thread.signal as u64);
        }
    }
}

impl Remote for Halted {
    fn read(&self, address: u64, bytes: &mut [u8]) -> io::Result<()> {
        self.memory.read_exact_at(bytes, address)
    }

    fn write(&self, address: u64, bytes: &[u8]) -> io::Result<()> {
        self.memory.write_all_at(bytes, address)
    }

    /// Made at an instruction that the process has, because others may be running; by a thread that no signal is on its
    /// way to, if there is one, because such a signal forgets who sent it.
    fn system_call(&self, number: i64, arguments: [u64; 6]) -> io::Result<u64> {
        let thread = self.threads.iter().min_by_key(|thread| thread.signal != 0);
        let tid = thread.ok_or_else(|| io::Error::from_raw_os_error(libc::ESRCH))?.tid;
        let before = registers(tid)?;
        let mut call = before;
        call.rip = self.syscall_at;
        call.rax = number as u64;
        // Not in a system call: the kernel must not try to restart one.
        call.orig_rax = u64::MAX;
        [call.rdi, call.rsi, call.rdx, call.r10, call.r8, call.r9] = arguments;
        let mut mask = 0_u64;
        let mask_bytes = size_of_val(&mask) as u64;
        request(PTRACE_GETSIGMASK, tid, mask_bytes, &raw mut mask as u64)?;
        // A handler must not run in the middle of this.
        request(PTRACE_SETSIGMASK, tid, mask_bytes, &raw const ALL_SIGNALS as u64)?;
        set_registers(tid, &call)?;
        let result = step_over_syscall(tid, self.syscall_at);
        set_registers(tid, &before)?;
        request(PTRACE_SETSIGMASK, tid, mask_bytes, &raw const mask as u64)?;
        let result = result? as i64;
        if (-4095..0).contains(&result) { Err(io::Error::from_raw_os_error(-result as i32)) } else { Ok(result as u64) }
    }

    /// There is no room in a running program that is certainly nobody's.
    fn stage_path(&self, _path: &str) -> io::Result<u64> {
        Err(io::Error::from(io::ErrorKind::Unsupported))
    }
}

static ALL_SIGNALS: u64 = u64::MAX;

fn step_over_syscall(tid: i32, syscall_at: u64) -> io::Result<u64> {
    loop {
        request(libc::PTRACE_SINGLESTEP, tid, 0, 0)?;
        let status = wait(tid)?.ok_or_else(|| io::Error::from_raw_os_error(libc::ESRCH))?;
        let registers = registers(tid)?;
        if registers.rip == syscall_at + SYSCALL.len() as u64 {
            return Ok(registers.rax);
        }
        // An interruption from before, or the whole process is being stopped: neither has run anything.
        if registers.rip != syscall_at || status >> 8 == libc::SIGTRAP {
            return Err(io::Error::other(format!("a thread went astray in a system call: status {status:#x}")));
        }
    }
}

/// Gives a thread up that has not halted in time. The kernel lets go only of those that have; what does not halt now is let
/// go when ada ends.
fn leave_running(tid: i32) {
    if let Ok(Some(status)) = wait(tid) {
        let is_event = status >> 16 == libc::PTRACE_EVENT_STOP;
        let signal = if is_event { 0 } else { (status >> 8) & 0xff };
        let _ = request(libc::PTRACE_DETACH, tid, 0, signal as u64);
    }
}

/// The status of a thread that has come to a halt; `None` for one that has ended.
fn wait(tid: i32) -> io::Result<Option<i32>> {
    let until = Instant::now() + PATIENCE;
    loop {
        let mut status = 0;
        // SAFETY: `status` lives through the call.
        let waited = unsafe { libc::waitpid(tid, &raw mut status, libc::__WALL | libc::WNOHANG) };
        if waited == tid {
            return Ok(libc::WIFSTOPPED(status).then_some(status));
        }
        if waited < 0 {
            let error = io::Error::last_os_error();
            return if error.raw_os_error() == Some(libc::ECHILD) { Ok(None) } else { Err(error) };
        }
        if Instant::now() > until {
            return Err(io::Error::new(io::ErrorKind::TimedOut, "a thread does not come to a halt"));
        }
        std::thread::sleep(LOOK);
    }
}

fn registers(tid: i32) -> io::Result<libc::user_regs_struct> {
    let mut registers = MaybeUninit::uninit();
    request(libc::PTRACE_GETREGS, tid, 0, registers.as_mut_ptr() as u64)?;
    // SAFETY: the kernel has filled it in.
    Ok(unsafe { registers.assume_init() })
}

fn set_registers(tid: i32, registers: &libc::user_regs_struct) -> io::Result<()> {
    request(libc::PTRACE_SETREGS, tid, 0, std::ptr::from_ref(registers) as u64)
}

/// How many threads the kernel counts, ended ones that nobody has waited for among them.
fn thread_count(pid: u32) -> Option<usize> {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    status.lines().find_map(|line| line.strip_prefix("Threads:"))?.trim().parse().ok()
}

/// The threads of a process, its first one first.
fn threads_of(pid: u32) -> io::Result<Vec<i32>> {
    let entries = std::fs::read_dir(format!("/proc/{pid}/task"))?;
    let mut threads: Vec<i32> = entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok()).collect();
    threads.sort_unstable_by_key(|&tid| (tid as u32 != pid, tid));
    Ok(threads)
}

fn is_zombie(pid: u32, tid: i32) -> bool {
    let status = std::fs::read_to_string(format!("/proc/{pid}/task/{tid}/stat")).unwrap_or_default();
    // The name in parentheses may hold anything.
    status.rsplit_once(')').is_none_or(|(_, rest)| matches!(rest.trim_start().chars().next(), Some('Z' | 'X') | None))
}

/// A `syscall` instruction of a process: the kernel's own page has one, and so has the C library.
fn find_syscall(memory: &File, mappings: &[Mapping]) -> Option<u64> {
    let mut candidates: Vec<&Mapping> = mappings.iter().filter(|mapping| mapping.executable).collect();
    candidates.sort_by_key(|mapping| mapping.path != "[vdso]");
    let mut bytes = vec![0; 1 << 16];
    for mapping in candidates {
        let mut at = mapping.start;
        while at < mapping.end {
            let length = bytes.len().min((mapping.end - at) as usize);
            if memory.read_exact_at(&mut bytes[..length], at).is_err() {
                break;
            }
            if let Some(found) = bytes[..length].windows(2).position(|window| window == SYSCALL) {
                return Some(at + found as u64);
            }
            // An instruction may lie across the border.
            at += length as u64 - u64::from(at + (length as u64) < mapping.end);
        }
    }
    None
}
