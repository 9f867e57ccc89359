//! Writes a session of any size, for measurements: `synthetic_session FOLDER EVENTS [THREADS]`.
//!
//! Calls nest like a program's: depth wanders between 0 and 30, 2,000 functions of which few are hot, tail calls and
//! exceptions now and then.

use std::path::PathBuf;
use std::time::SystemTime;

use ada_event::{DetailSeq, Event, EventKind, FunctionId, ImageOffset, ModuleId, ProcessId, ThreadId, TraceNanos};
use ada_format::atf::{
    Exit, FunctionRow, Module, Platform, SessionWriter, SyncPolicy, functions_file, write_functions,
};

const FUNCTIONS: u32 = 2000;
const PID: u32 = 1000;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let usage = "usage: synthetic_session FOLDER EVENTS [THREADS]";
    let folder = PathBuf::from(arguments.next().ok_or(usage)?);
    let events: u64 = arguments.next().ok_or(usage)?.parse()?;
    let threads: u32 = arguments.next().map_or(Ok(2), |text| text.parse())?;
    let mut session =
        SessionWriter::create(&folder, SystemTime::now(), ProcessId(PID), Platform::LINUX_X86_64, SyncPolicy::Never)?;
    for number in 0..threads {
        let id = ThreadId(PID + number);
        let mut writer = session.thread(id)?;
        let mut program = Program::new(id, u64::from(number) + 1);
        let mut bytes = Vec::with_capacity(1 << 20);
        let count = events / u64::from(threads);
        for at in 0..count {
            bytes.extend_from_slice(&program.step(at + 40 > count).to_le_bytes());
            if bytes.len() >= 1 << 20 {
                writer.append_raw(&bytes)?;
                bytes.clear();
            }
        }
        writer.append_raw(&bytes)?;
        session.finish_thread(writer)?;
    }
    let rows = (0..FUNCTIONS).map(|number| FunctionRow {
        offset: ImageOffset(0x1000 + u64::from(number) * 64),
        size: 64,
        verdict: "hooked".into(),
        reason: String::new(),
        name: format!("function_{number}"),
        values: String::new(),
    });
    let path = session.path().join(format!("pid_{PID}"));
    write_functions(std::fs::File::create(path.join(functions_file(ModuleId(1))))?, rows)?;
    let manifest = session.manifest_mut();
    manifest.exit = Some(Exit { code: Some(0), ..Exit::default() });
    manifest.modules = vec![Module { module_id: ModuleId(1), path: "/usr/bin/synthetic".into(), ..Module::default() }];
    println!("{}", session.path().display());
    session.finish()?;
    Ok(())
}

struct Program {
    thread: ThreadId,
    random: u64,
    time: u64,
    stack: Vec<u32>,
    tail_call: bool,
}

impl Program {
    fn new(thread: ThreadId, seed: u64) -> Self {
        Self {
            thread,
            random: seed.wrapping_mul(0x9e37_79b9_7f4a_7c15),
            time: 1_000_000,
            stack: Vec::new(),
            tail_call: false,
        }
    }

    fn next_random(&mut self) -> u64 {
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        self.random
    }

    fn event(&self, kind: EventKind, function: u32, depth: usize) -> Event {
        Event {
            timestamp: TraceNanos(self.time),
            function: FunctionId::new(ModuleId(1), function),
            thread: self.thread,
            kind,
            depth: depth as u32,
            detail: DetailSeq::NONE,
        }
    }

    fn step(&mut self, is_ending: bool) -> Event {
        let random = self.next_random();
        self.time += 20 + (random & 63);
        let wants_call = random >> 8 & 63 >= self.stack.len() as u64 * 2;
        if !self.tail_call && (self.stack.is_empty() || wants_call && !is_ending) {
            return self.call(random);
        }
        if std::mem::take(&mut self.tail_call) {
            self.stack.pop();
            return self.call(random);
        }
        let function = self.stack.pop().unwrap_or_default();
        let kind = if random >> 20 & 1023 == 0 { EventKind::EXCEPTION } else { EventKind::RETURN };
        self.event(kind, function, self.stack.len())
    }

    fn call(&mut self, random: u64) -> Event {
        // The square makes small numbers common.
        let share = (random >> 32 & 0xffff) as u32;
        let squared = (share * (share >> 8)) >> 8;
        let function = (squared * FUNCTIONS) >> 16;
        self.stack.push(function.min(FUNCTIONS - 1));
        self.tail_call = random >> 50 & 127 == 0;
        self.event(EventKind::CALL, function.min(FUNCTIONS - 1), self.stack.len() - 1)
    }
}
