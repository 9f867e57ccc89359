//! Serves a thread that has loaded a library and waits, in the agent, until it is hooked.

use std::io;
use std::mem::offset_of;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use ada_event::{ProcessId, RuntimeAddr};
use ada_process::procfs::{ProcessDir, ProcessMemory};
use ada_process::{MemfdId, Remote, futex, system_call_result, this_process};
use ada_ring::control::{Control, LoaderCall};
use ada_ring::{LoaderStage, Pool};

use crate::program_id::ProgramId;

/// How long a waiting thread may take for a system call.
const PATIENCE: Duration = Duration::from_secs(5);

/// A waiting thread's process. While this lives the thread waits; dropping it lets the thread go on.
pub(crate) struct WaitingThread {
    pool: Pool,
    pool_in_target: RuntimeAddr,
    memory: ProcessMemory,
    pid: ProcessId,
}

impl WaitingThread {
    /// Sleeps until a thread asks, or for the time. Who asks is the target's word: only a process that has `memfd`, the
    /// memory of this trace, is served.
    pub(crate) fn next(pool: Pool, memfd: MemfdId, pool_in_target: RuntimeAddr, time: Duration) -> Option<Self> {
        let word = &pool.control().loader.waiting;
        let mut pid = word.load(Ordering::Acquire);
        if pid == 0 {
            futex::wait(word, 0, time);
            pid = word.load(Ordering::Acquire);
        }
        if pid == 0 || pid == u32::MAX {
            return None;
        }
        let pid = ProcessId(pid);
        let is_traced = pid != this_process() && memfd.is_used_by(pid);
        match ProcessDir::of(pid).writable_memory() {
            Ok(memory) if is_traced => Some(Self { pool, pool_in_target, memory, pid }),
            _ => {
                release(&pool);
                None
            }
        }
    }

    pub(crate) fn pid(&self) -> ProcessId {
        self.pid
    }

    /// The program that the process runs.
    pub(crate) fn program(&self) -> ProgramId {
        ProgramId(self.call().program.load(Ordering::Relaxed))
    }

    fn call(&self) -> &LoaderCall {
        &self.pool.control().loader
    }
}

impl Drop for WaitingThread {
    fn drop(&mut self) {
        release(&self.pool);
    }
}

fn release(pool: &Pool) {
    let call = &pool.control().loader;
    call.stage.store(LoaderStage::Idle as u32, Ordering::Relaxed);
    call.waiting.store(0, Ordering::Release);
    // The next one in line sleeps on this word.
    futex::wake(&call.waiting);
    say(call);
}

fn say(call: &LoaderCall) {
    call.said.fetch_add(1, Ordering::Release);
    futex::wake(&call.said);
}

impl Remote for WaitingThread {
    fn read(&self, address: RuntimeAddr, bytes: &mut [u8]) -> io::Result<()> {
        self.memory.read(address, bytes)
    }

    fn write(&self, address: RuntimeAddr, bytes: &[u8]) -> io::Result<()> {
        self.memory.write(address, bytes)
    }

    fn system_call(&self, number: i64, arguments: [u64; 6]) -> io::Result<u64> {
        let call = self.call();
        call.call[0].store(number as u64, Ordering::Relaxed);
        for (word, argument) in call.call[1..].iter().zip(arguments) {
            word.store(argument, Ordering::Relaxed);
        }
        call.stage.store(LoaderStage::CallWanted as u32, Ordering::Release);
        say(call);
        let deadline = Instant::now() + PATIENCE;
        while call.stage.load(Ordering::Acquire) != LoaderStage::CallMade as u32 {
            if Instant::now() > deadline {
                return Err(io::Error::from(io::ErrorKind::TimedOut));
            }
            futex::wait(&call.stage, LoaderStage::CallWanted as u32, Duration::from_millis(100));
        }
        call.stage.store(LoaderStage::Idle as u32, Ordering::Relaxed);
        system_call_result(call.result.load(Ordering::Relaxed))
    }

    fn put_path(&self, path: &str) -> io::Result<RuntimeAddr> {
        let address = self.pool_in_target + (offset_of!(Control, loader) + offset_of!(LoaderCall, path)) as u64;
        let mut bytes = path.as_bytes().to_vec();
        bytes.push(0);
        if bytes.len() > size_of_val(&self.call().path) {
            return Err(io::Error::from(io::ErrorKind::InvalidInput));
        }
        self.write(address, &bytes)?;
        Ok(address)
    }
}

#[cfg(test)]
mod tests {
    use ada_ring::{DetailMode, OnFull};

    use super::*;
    use crate::install::shared_memory::SharedMemory;

    #[test]
    fn a_process_that_is_not_traced_is_not_served() {
        let shared = SharedMemory::new(2, OnFull::Wait, DetailMode::Off).unwrap();
        let (pool, memfd) = (shared.pool(), shared.memfd().unwrap());
        let mut other = std::process::Command::new("sleep").arg("60").spawn().unwrap();
        for forged in [other.id(), this_process().0] {
            pool.control().loader.waiting.store(forged, Ordering::Release);
            assert!(WaitingThread::next(pool, memfd, RuntimeAddr(0), Duration::ZERO).is_none());
            assert_eq!(pool.control().loader.waiting.load(Ordering::Acquire), 0, "the next one may ask");
        }
        other.kill().unwrap();
        other.wait().unwrap();
    }
}
