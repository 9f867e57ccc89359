//! Serves a thread that has loaded a library and waits, in the agent, until it is hooked.

use std::collections::HashMap;
use std::io;
use std::mem::offset_of;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use ada_event::{ProcessId, RuntimeAddr};
use ada_process::procfs::{ProcessDir, ProcessMemory};
use ada_process::{Remote, futex, maps, system_call_result, this_process};
use ada_ring::control::ASKING;
use ada_ring::orders::LoaderOrder;
use ada_ring::{Orders, Pool};

use crate::install::memory_layout::MemoryLayout;
use crate::install::open_in_target::OpenInTarget;
use crate::install::shared_memory::SharedMemory;
use crate::program_id::ProgramId;

/// How long a waiting thread may take for a system call.
const PATIENCE: Duration = Duration::from_secs(5);

/// How long somebody may be about to ask.
const LONG: Duration = Duration::from_secs(1);

/// A waiting thread's process. While this lives the thread waits; dropping it lets the thread go on.
pub(crate) struct WaitingThread {
    shared: Arc<SharedMemory>,
    /// That of the process's user, …
    pool: Pool,
    /// … and its number.
    number: usize,
    /// Where the process has the orders.
    orders: RuntimeAddr,
    memory: ProcessMemory,
    pid: ProcessId,
}

/// Whom the recorder serves next.
pub(crate) struct Waiting {
    shared: Arc<SharedMemory>,
    /// In which rings, and since when, somebody is about to ask: for a moment, or he was killed in it.
    about_to_ask: HashMap<usize, Instant>,
}

impl Waiting {
    pub(crate) fn new(shared: Arc<SharedMemory>) -> Self {
        Self { shared, about_to_ask: HashMap::new() }
    }

    /// Sleeps until a thread asks, or for the time. Who asks is the target's word: only a process that has the memory of
    /// this trace is served.
    pub(crate) fn next(&mut self, time: Duration) -> Option<WaitingThread> {
        let pools: Vec<Pool> = self.shared.rings.pools().collect();
        let is_asking = |pool: &Pool| !matches!(pool.control().loader.waiting.load(Ordering::Acquire), 0 | ASKING);
        if !pools.iter().any(is_asking) {
            let words = pools.iter().map(|pool| &pool.control().loader.waiting);
            let words: Vec<(&AtomicU32, u32)> = words.map(|word| (word, word.load(Ordering::Acquire))).collect();
            futex::wait_for_any(&words, time);
        }
        pools.iter().zip(0..).for_each(|(pool, number)| self.give_up_for_killed(pool, number));
        let number = pools.iter().position(is_asking)?;
        let asking = self.of(pools[number], number);
        if asking.is_none() {
            release(pools[number], number);
        }
        asking
    }

    /// Nobody is about to ask for long.
    fn give_up_for_killed(&mut self, pool: &Pool, number: usize) {
        if pool.control().loader.waiting.load(Ordering::Acquire) != ASKING {
            self.about_to_ask.remove(&number);
        } else if self.about_to_ask.entry(number).or_insert_with(Instant::now).elapsed() > LONG {
            self.about_to_ask.remove(&number);
            release(*pool, number);
        }
    }

    fn of(&self, pool: Pool, number: usize) -> Option<WaitingThread> {
        let pid = ProcessId(pool.control().loader.waiting.load(Ordering::Acquire));
        let mappings = maps::of_process(pid).ok().filter(|_| pid != this_process())?;
        let (layout, memfd) = MemoryLayout::find(&mappings)?;
        // And of this user.
        let is_of_this_trace =
            self.shared.memfd().is_ok_and(|own| own == memfd) && self.shared.rings.is_used_by(number, pid);
        let memory = ProcessDir::of(pid).writable_memory().ok().filter(|_| is_of_this_trace)?;
        Some(WaitingThread { shared: self.shared.clone(), pool, number, orders: layout.orders(), memory, pid })
    }
}

impl WaitingThread {
    pub(crate) fn pid(&self) -> ProcessId {
        self.pid
    }

    /// The code, as the process can have it without a descriptor.
    pub(crate) fn code(&self) -> OpenInTarget {
        OpenInTarget::Orders(self.orders)
    }

    /// The program that the process runs.
    pub(crate) fn program(&self) -> ProgramId {
        ProgramId(self.pool.control().loader.program.load(Ordering::Relaxed))
    }
}

impl Drop for WaitingThread {
    fn drop(&mut self) {
        release(self.pool, self.number);
    }
}

/// The number is the recorder's own: what the target says of it may be another's.
fn release(pool: Pool, number: usize) {
    let (call, order) = (&pool.control().loader, &pool.orders().loader);
    order.process.store(0, Ordering::Relaxed);
    order.releases[number].fetch_add(1, Ordering::Release);
    call.waiting.store(0, Ordering::Release);
    // The next one in line sleeps on this word.
    futex::wake(&call.waiting);
    say(order);
}

fn say(order: &LoaderOrder) {
    order.said.fetch_add(1, Ordering::Release);
    futex::wake(&order.said);
}

impl Remote for WaitingThread {
    fn read(&self, address: RuntimeAddr, bytes: &mut [u8]) -> io::Result<()> {
        self.memory.read(address, bytes)
    }

    fn write(&self, address: RuntimeAddr, bytes: &[u8]) -> io::Result<()> {
        self.memory.write(address, bytes)
    }

    fn system_call(&self, number: i64, arguments: [u64; 6]) -> io::Result<u64> {
        let (call, order) = (&self.pool.control().loader, &self.pool.orders().loader);
        order.call[0].store(number as u64, Ordering::Relaxed);
        for (word, argument) in order.call[1..].iter().zip(arguments) {
            word.store(argument, Ordering::Relaxed);
        }
        order.process.store(self.pid.0, Ordering::Relaxed);
        // Release: who sees the number sees the call.
        let wanted = order.wanted.fetch_add(1, Ordering::Release).wrapping_add(1);
        say(order);
        let deadline = Instant::now() + PATIENCE;
        loop {
            let made = call.made.load(Ordering::Acquire);
            if made == wanted {
                return system_call_result(call.result.load(Ordering::Relaxed));
            }
            if Instant::now() > deadline {
                return Err(io::Error::from(io::ErrorKind::TimedOut));
            }
            futex::wait(&call.made, made, Duration::from_millis(100));
        }
    }

    fn put_path(&self, path: &str) -> io::Result<RuntimeAddr> {
        if !self.shared.code.write_path(path.as_bytes()) {
            return Err(io::Error::from(io::ErrorKind::InvalidInput));
        }
        Ok(self.orders + (offset_of!(Orders, loader) + offset_of!(LoaderOrder, path)) as u64)
    }
}

#[cfg(test)]
mod tests {
    use ada_ring::{DetailMode, OnFull};

    use super::*;

    #[test]
    fn a_process_that_is_not_traced_is_not_served() {
        let shared = Arc::new(SharedMemory::new(2, OnFull::Wait, DetailMode::Off).unwrap());
        let (pool, mut waiting) = (shared.pool(), Waiting::new(shared.clone()));
        let mut other = std::process::Command::new("sleep").arg("60").spawn().unwrap();
        for forged in [other.id(), this_process().0] {
            pool.control().loader.waiting.store(forged, Ordering::Release);
            assert!(waiting.next(Duration::ZERO).is_none());
            assert_eq!(pool.control().loader.waiting.load(Ordering::Acquire), 0, "the next one may ask");
        }
        other.kill().unwrap();
        other.wait().unwrap();
    }
}
