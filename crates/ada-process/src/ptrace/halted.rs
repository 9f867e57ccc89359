//! A running process brought to a halt from outside, one thread or all, and let go as it was.

use std::io;
use std::time::{Duration, Instant};

use ada_event::{ProcessId, RuntimeAddr, ThreadId};

use super::system_call_site;
use super::traced_thread::TracedThread;
use crate::arch::{RegisterSlot, Registers, SYSTEM_CALL};
use crate::maps::Mapping;
use crate::procfs::{ProcessDir, ProcessMemory};
use crate::realtime_priority::RealtimePriority;
use crate::remote::{Remote, system_call_result};
use crate::wait::{Halt, change};

/// How long a thread may take to halt. One that has called vfork does not before its child has run exec or ended.
const PATIENCE: Duration = Duration::from_secs(10);
/// How often to look whether it has.
const LOOK: Duration = Duration::from_micros(20);
/// How often the threads of a process are listed at most.
const MOST_SCANS: u32 = 10_000;

/// A process with threads that do not run.
pub struct Halted {
    pid: ProcessId,
    threads: Vec<HaltedThread>,
    /// When the first was asked to halt.
    since: Instant,
    memory: ProcessMemory,
    /// Where the process has a system call instruction.
    system_call_at: RuntimeAddr,
    /// Until all threads are let go: the first of them would preempt the thread that lets the others go.
    _priority: RealtimePriority,
}

/// A thread that does not run.
#[derive(Clone, Copy, Debug)]
pub struct HaltedThread {
    thread: TracedThread,
    /// A signal that was about to be delivered to the thread; 0 for none.
    signal: i32,
}

impl Halted {
    /// Halts one thread of a process; the others go on.
    pub fn one(pid: ProcessId, mappings: &[Mapping]) -> io::Result<Self> {
        let mut halted = Self::none(pid, mappings)?;
        for tid in threads_of(pid)? {
            if halted.halt(tid)? {
                return Ok(halted);
            }
        }
        Err(io::Error::from_raw_os_error(libc::ESRCH))
    }

    /// Halts all threads of a process.
    pub fn all(pid: ProcessId, mappings: &[Mapping]) -> io::Result<Self> {
        Self::all_until(pid, mappings, || Instant::now() + PATIENCE)
    }

    /// The same, unless it takes longer than this until the last one has halted: then they all go on.
    pub fn all_within(pid: ProcessId, mappings: &[Mapping], longest: Duration) -> io::Result<Self> {
        let until = Instant::now() + longest;
        Self::all_until(pid, mappings, || until)
    }

    /// `until` is asked for each thread.
    fn all_until(pid: ProcessId, mappings: &[Mapping], until: impl Fn() -> Instant) -> io::Result<Self> {
        let mut halted = Self::none(pid, mappings)?;
        let mut scans = MOST_SCANS;
        loop {
            // All are asked before any is waited for: each has to be given a processor before it can halt.
            let mut asked = Vec::new();
            let listed = threads_of(pid)?;
            let count = listed.len();
            let is_known = |tid: &ThreadId| halted.threads.iter().any(|known| known.thread.tid() == *tid);
            let fresh: Vec<ThreadId> = listed.into_iter().filter(|tid| !is_known(tid)).collect();
            for tid in fresh {
                match halted.seize(tid) {
                    Ok(is_asked) => asked.extend(is_asked.then_some(tid)),
                    Err(error) => return Err(halted.give_up(asked, error)),
                }
            }
            // Running threads can start others; once no running thread is found, none runs. A list that is read while
            // threads end may leave others out, which the kernel's count of them shows.
            let thread_count = || ProcessDir::of(pid).status().ok()?.thread_count();
            if asked.is_empty() && (thread_count().is_none_or(|all| all == count) || scans == 0) {
                break;
            }
            scans = scans.saturating_sub(1);
            let mut late = asked.iter().enumerate().filter_map(|(number, tid)| {
                let error = halted.await_halt(*tid, until()).err()?;
                Some((number, error))
            });
            if let Some((number, error)) = late.next() {
                drop(late);
                return Err(halted.give_up(asked.split_off(number), error));
            }
        }
        if halted.threads.is_empty() { Err(io::Error::from_raw_os_error(libc::ESRCH)) } else { Ok(halted) }
    }

    /// Lets all go on, those first that stand still already. Gives the reason back.
    fn give_up(self, asked: Vec<ThreadId>, why: io::Error) -> io::Error {
        drop(self);
        leave_running(asked);
        why
    }

    fn none(pid: ProcessId, mappings: &[Mapping]) -> io::Result<Self> {
        let memory = ProcessDir::of(pid).writable_memory()?;
        let system_call_at = system_call_site::find(&memory, mappings);
        let system_call_at = system_call_at.ok_or_else(|| io::Error::other("it makes no system calls"))?;
        let _priority = RealtimePriority::raise();
        Ok(Self { pid, threads: Vec::new(), since: Instant::now(), memory, system_call_at, _priority })
    }

    /// Those of its threads that are halted.
    pub fn threads(&self) -> &[HaltedThread] {
        &self.threads
    }

    /// Has each thread that is in some code run on until it has left it, instruction by instruction, for so many at most. One that is
    /// about to make a system call or to handle a signal stays where it is. False where one is still within.
    pub fn step_out(&mut self, is_within: impl Fn(RuntimeAddr) -> bool, most: u32) -> io::Result<bool> {
        let mut is_out = true;
        for thread in &mut self.threads {
            is_out &= thread.step_out(&self.memory, &is_within, most)?;
        }
        Ok(is_out)
    }

    /// Resumes all threads. Gives an upper bound of the time for which they stood still.
    pub fn release(self) -> Duration {
        let since = self.since;
        drop(self);
        since.elapsed()
    }

    /// False where the thread has ended.
    fn halt(&mut self, tid: ThreadId) -> io::Result<bool> {
        if !self.seize(tid)? {
            return Ok(false);
        }
        self.await_halt(tid, Instant::now() + PATIENCE).inspect_err(|_| leave_running(vec![tid]))
    }

    /// Asks a thread to halt. False where it has ended.
    fn seize(&self, tid: ThreadId) -> io::Result<bool> {
        let has_ended = || ProcessDir::of(self.pid).thread(tid).is_gone();
        let thread = match TracedThread::seize(tid, 0) {
            // The kernel also refuses a thread that is about to end.
            Err(error) if error.raw_os_error() == Some(libc::ESRCH) || has_ended() => return Ok(false),
            seized => seized?,
        };
        match thread.interrupt() {
            // It has ended since, or is halted already.
            Err(error) if error.raw_os_error() == Some(libc::ESRCH) => Ok(true),
            other => other.map(|()| true),
        }
    }

    /// Waits until a thread that was asked to has halted. False where it has ended.
    fn await_halt(&mut self, tid: ThreadId, until: Instant) -> io::Result<bool> {
        let halted = wait_until(tid, until)?.map(|stop| HaltedThread::at(tid, stop));
        self.threads.extend(halted);
        Ok(halted.is_some())
    }
}

impl HaltedThread {
    /// A thread that has come to this stop.
    fn at(tid: ThreadId, stop: i32) -> Self {
        let signal = if is_event(stop) { 0 } else { stop & 0xff };
        Self { thread: TracedThread::known(tid), signal }
    }

    /// The kernel's id of the thread.
    pub fn tid(&self) -> ThreadId {
        self.thread.tid()
    }

    fn step_out(
        &mut self,
        memory: &ProcessMemory,
        is_within: &impl Fn(RuntimeAddr) -> bool,
        most: u32,
    ) -> io::Result<bool> {
        for _ in 0..most {
            let registers = self.thread.registers()?;
            let at = registers.instruction_pointer();
            if !is_within(at) {
                return Ok(true);
            }
            let mut code = [0; SYSTEM_CALL.len()];
            let is_call = memory.read(at, &mut code).is_err() || code == SYSTEM_CALL;
            if is_call || registers.is_in_system_call() || self.signal != 0 {
                return Ok(false);
            }
            self.thread.step(0)?;
            let stop = wait_briefly(self.tid())?.ok_or_else(|| io::Error::from_raw_os_error(libc::ESRCH))?;
            // A signal is delivered when the thread is let go.
            if !is_event(stop) && stop & 0xff != libc::SIGTRAP {
                self.signal = stop & 0xff;
            }
        }
        Ok(false)
    }

    /// The registers of the thread.
    pub fn registers(&self) -> io::Result<Registers> {
        self.thread.registers()
    }

    /// The seccomp filters that the thread is under, as far as the kernel shows them.
    pub fn filters(&self) -> io::Result<Vec<Vec<u64>>> {
        self.thread.filters()
    }

    /// Changes the register that the system's ABI leaves unused.
    pub fn set_spare(&self, value: u64) -> io::Result<()> {
        self.thread.set_register(RegisterSlot::SPARE, value)
    }

    /// Has the thread go on elsewhere.
    pub fn set_instruction_pointer(&self, address: RuntimeAddr) -> io::Result<()> {
        self.thread.set_register(RegisterSlot::INSTRUCTION_POINTER, address.0)
    }

    fn release(&self) {
        // Nothing can be done for a thread that has been killed meanwhile.
        let _ = self.thread.detach(self.signal);
    }
}

impl Drop for Halted {
    fn drop(&mut self) {
        self.threads.iter().for_each(HaltedThread::release);
    }
}

impl Remote for Halted {
    fn read(&self, address: RuntimeAddr, bytes: &mut [u8]) -> io::Result<()> {
        self.memory.read(address, bytes)
    }

    fn write(&self, address: RuntimeAddr, bytes: &[u8]) -> io::Result<()> {
        self.memory.write(address, bytes)
    }

    /// Made at an instruction that the process has, because other threads may be running; by a thread that no signal is
    /// about to be delivered to, if there is one, because such a signal loses its sender.
    fn system_call(&self, number: i64, arguments: [u64; 6]) -> io::Result<u64> {
        let thread = self.threads.iter().min_by_key(|thread| thread.signal != 0);
        let thread = thread.ok_or_else(|| io::Error::from_raw_os_error(libc::ESRCH))?.thread;
        let before = thread.registers()?;
        let mask = thread.signal_mask()?;
        // A handler must not run in the middle of this. The step itself ends with a SIGTRAP: where that is blocked, the kernel
        // takes the program's handler of it away.
        thread.set_signal_mask(!(1 << (libc::SIGTRAP - 1)))?;
        thread.set_registers(&before.for_system_call(self.system_call_at, number, arguments))?;
        let returned = step_over_system_call(thread, self.system_call_at);
        thread.set_registers(&before)?;
        thread.set_signal_mask(mask)?;
        system_call_result(returned?)
    }

    /// There is no room in a running program that is certainly nobody's.
    fn put_path(&self, _path: &str) -> io::Result<RuntimeAddr> {
        Err(io::Error::from(io::ErrorKind::Unsupported))
    }
}

fn step_over_system_call(thread: TracedThread, at: RuntimeAddr) -> io::Result<u64> {
    loop {
        thread.step(0)?;
        let stop = wait(thread.tid())?.ok_or_else(|| io::Error::from_raw_os_error(libc::ESRCH))?;
        let registers = thread.registers()?;
        let now_at = registers.instruction_pointer();
        if now_at == at + SYSTEM_CALL.len() as u64 {
            return Ok(registers.system_call_result());
        }
        // An interruption from before, or the whole process is being stopped: neither has run anything.
        if now_at != at || stop == libc::SIGTRAP {
            return Err(io::Error::other(format!("a thread went astray in a system call: stop {stop:#x}")));
        }
    }
}

/// Whether the kernel stopped a thread because it was asked to, and not for a signal.
fn is_event(stop: i32) -> bool {
    stop >> 8 == libc::PTRACE_EVENT_STOP
}

/// Gives up threads that have not halted in time. The kernel detaches only halted threads; one that does not halt now
/// either is let go when ada ends.
fn leave_running(mut threads: Vec<ThreadId>) {
    let until = Instant::now() + PATIENCE;
    while Instant::now() < until {
        threads.retain(|&tid| match look(tid) {
            Ok(None) => true,
            Ok(Some(Halt::Stopped(stop))) => {
                HaltedThread::at(tid, stop).release();
                false
            }
            Ok(Some(Halt::Exited(_) | Halt::Killed(_))) | Err(_) => false,
        });
        if threads.is_empty() {
            break;
        }
        std::thread::sleep(LOOK);
    }
}

/// A stop that a thread has come to, and needs no time for it; `None` for one that has ended.
fn wait_briefly(tid: ThreadId) -> io::Result<Option<i32>> {
    const SHORT: u32 = 200;
    for _ in 0..SHORT {
        if let Some(halt) = look(tid)? {
            return Ok(halt.stop());
        }
        std::thread::yield_now();
    }
    wait(tid)
}

fn wait(tid: ThreadId) -> io::Result<Option<i32>> {
    wait_until(tid, Instant::now() + PATIENCE)
}

/// The same for one that needs time.
fn wait_until(tid: ThreadId, until: Instant) -> io::Result<Option<i32>> {
    loop {
        if let Some(halt) = look(tid)? {
            return Ok(halt.stop());
        }
        if Instant::now() > until {
            return Err(io::Error::new(io::ErrorKind::TimedOut, "a thread does not come to a halt"));
        }
        std::thread::sleep(LOOK);
    }
}

/// What has become of a thread that was asked to halt, if anything has.
fn look(tid: ThreadId) -> io::Result<Option<Halt>> {
    match change(tid, libc::WNOHANG) {
        Err(error) if error.raw_os_error() == Some(libc::ECHILD) => Ok(Some(Halt::Exited(0))),
        other => other,
    }
}

/// The threads of a process, its first one first.
fn threads_of(pid: ProcessId) -> io::Result<Vec<ThreadId>> {
    let mut threads = ProcessDir::of(pid).threads()?;
    threads.sort_unstable_by_key(|&tid| (tid != pid.first_thread(), tid));
    Ok(threads)
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    #[test]
    fn the_end_of_a_child_is_left_to_whoever_started_it() {
        let mut child = Command::new("sh").args(["-c", "exit 3"]).spawn().unwrap();
        let tid = ProcessId(child.id()).first_thread();
        while look(tid).unwrap().is_none() {
            std::thread::sleep(LOOK);
        }
        assert_eq!(look(tid).unwrap(), Some(Halt::Exited(3)));
        assert_eq!(child.wait().unwrap().code(), Some(3));
    }
}
