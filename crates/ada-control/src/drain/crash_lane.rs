//! The drain's side of the crash records.

use std::sync::atomic::Ordering;

use ada_event::{ProcessId, ThreadId};
use ada_format::atf::{Crash, HexAddr};
use ada_process::Clock;
use ada_ring::CrashSlot;
use ada_ring::arch::CRASH_REGISTER_NAMES;
use ada_ring::crash::CRASH_FRAMES;

use crate::install::function_numbers::FunctionNumbers;
use crate::install::rings::Rings;

/// A crash as its thread recorded it.
pub(crate) struct CrashRecord {
    pub(crate) pid: ProcessId,
    pub(crate) tid: ThreadId,
    pub(crate) tsc: u64,
    pub(crate) signal: i32,
    code: i32,
    address: u64,
    registers: Vec<u64>,
    frames: Vec<u32>,
    depth: u64,
    /// The thread in the session, once that is known.
    thread: Option<ThreadId>,
}

/// Signals whose information has an address, where the kernel found them.
const FAULTS: [i32; 5] = [libc::SIGILL, libc::SIGTRAP, libc::SIGBUS, libc::SIGFPE, libc::SIGSEGV];

impl CrashRecord {
    fn read(slot: &CrashSlot) -> Self {
        let frame_count = (slot.frame_count.load(Ordering::Relaxed) as usize).min(CRASH_FRAMES);
        Self {
            pid: ProcessId(slot.pid.load(Ordering::Relaxed)),
            tid: ThreadId(slot.tid.load(Ordering::Relaxed)),
            tsc: slot.tsc.load(Ordering::Relaxed),
            signal: slot.signal.load(Ordering::Relaxed),
            code: slot.code.load(Ordering::Relaxed),
            address: slot.address.load(Ordering::Relaxed),
            registers: slot.registers.iter().map(|register| register.load(Ordering::Relaxed)).collect(),
            frames: slot.frames[..frame_count].iter().map(|frame| frame.load(Ordering::Relaxed)).collect(),
            depth: slot.depth.load(Ordering::Relaxed),
            thread: None,
        }
    }

    /// What the manifest says of it.
    fn describe(&self, clock: &Clock, numbers: &FunctionNumbers) -> Crash {
        let function = |&number: &u32| numbers.get(number).to_string();
        let is_fault = self.code > 0 && FAULTS.contains(&self.signal);
        let names = CRASH_REGISTER_NAMES.iter().map(|&name| name.to_owned());
        Crash {
            thread: self.thread.unwrap_or(self.tid),
            tid: Some(self.tid),
            time_ns: clock.at(self.tsc),
            signal: self.signal,
            code: self.code,
            address: is_fault.then_some(HexAddr(self.address)),
            sender_pid: (self.code <= 0).then_some(ProcessId(self.address as u32)),
            registers: names.zip(self.registers.iter().copied().map(HexAddr)).collect(),
            frames: self.frames.iter().map(function).collect(),
            depth: self.depth,
            ..Crash::default()
        }
    }
}

/// All crashes of a recording.
#[derive(Default)]
pub(crate) struct CrashLane {
    records: Vec<CrashRecord>,
    /// Those before are known to the session.
    named: usize,
}

impl CrashLane {
    /// Takes what has come. Gives how many records are new.
    pub(crate) fn collect(&mut self, rings: &Rings) -> &[CrashRecord] {
        let before = self.records.len();
        for (number, pool) in rings.pools().enumerate() {
            pool.control().crashes.drain(|slot| {
                let record = CrashRecord::read(slot);
                if rings.is_word_of(number, record.pid) {
                    self.records.push(record);
                }
            });
        }
        &self.records[before..]
    }

    /// Notes which threads of the session new records belong to; called when these threads' events have been read.
    pub(crate) fn name_threads(&mut self, thread_of: impl Fn(ProcessId, ThreadId) -> Option<ThreadId>) {
        for record in &mut self.records[self.named..] {
            record.thread = thread_of(record.pid, record.tid);
        }
        self.named = self.records.len();
    }

    /// What the manifest of a process says.
    pub(crate) fn of_process(&self, pid: ProcessId, clock: &Clock, numbers: &FunctionNumbers) -> Vec<Crash> {
        let own = self.records.iter().filter(|record| record.pid == pid);
        own.map(|record| record.describe(clock, numbers)).collect()
    }
}
