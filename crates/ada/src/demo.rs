//! `ada demo`: a small session of a program that never ran, and what is in it.

use std::io::{self, Write};
use std::path::PathBuf;
use std::time::SystemTime;

use ada_event::{Event, EventKind, FunctionId, ModuleId, RuntimeAddr, ThreadId, TraceNanos};
use ada_format::atf::{
    Exit, Module, Payload, Platform, Session, SessionWriter, SyncPolicy, ThreadWriter, WriteError, X86Call, X86Return,
};

use crate::atf::summary::Summary;
use crate::exit::{Blame, Outcome};

const MODULE: ModuleId = ModuleId(1);
const NAMES: [&str; 6] = ["main", "serve_request", "parse", "parse_value", "look_up", "render"];
const MAIN: u32 = 0;
const SERVE: u32 = 1;
const PARSE: u32 = 2;
const PARSE_VALUE: u32 = 3;
const LOOK_UP: u32 = 4;
const RENDER: u32 = 5;

#[derive(clap::Args)]
pub(crate) struct Args {
    /// Where sessions are kept
    #[arg(long, value_name = "DIR", default_value = "ada_traces")]
    output: PathBuf,
}

pub(crate) fn run(args: &Args) -> anyhow::Result<Outcome> {
    let path = write_session(args).output_failed(|| "the session is not complete; choose another --output".into())?;
    let session = Session::open(&path)?;
    let mut out = io::stdout().lock();
    Summary::of(&session)
        .print(&mut out, function_name)
        .and_then(|()| writeln!(out, "\nsession   {}\nnext      ada atf dump {0} --detail", path.display()))
        .output_failed(|| "cannot write to stdout".into())?;
    Ok(Outcome::Clean)
}

fn write_session(args: &Args) -> Result<PathBuf, WriteError> {
    let pid = std::process::id();
    let mut session =
        SessionWriter::create(&args.output, SystemTime::now(), pid, Platform::LINUX_X86_64, SyncPolicy::Never)?;
    for worker in 0..3 {
        let mut play =
            Play { files: session.thread(ThreadId(pid + worker))?, clock: 1_000_000 * u64::from(worker), depth: 0 };
        play.call(MAIN, 900, |play| (0..40).try_for_each(|request| play.request(request)))?;
        session.finish_thread(play.files)?;
    }
    let manifest = session.manifest_mut();
    manifest.command_line = vec!["demo".into()];
    manifest.exit = Some(Exit { code: Some(0), ..Exit::default() });
    manifest.modules =
        vec![Module { module_id: MODULE.0, path: "demo".into(), symbol_count: Some(6), ..Module::default() }];
    session.finish()
}

/// A thread of the program that never ran.
struct Play {
    files: ThreadWriter,
    clock: u64,
    depth: u32,
}

impl Play {
    fn request(&mut self, request: u64) -> Result<(), WriteError> {
        self.call(SERVE, 700, |play| {
            play.call(PARSE, 1500, |play| play.value(request % 6))?;
            (0..request % 4).try_for_each(|_| play.call(LOOK_UP, 2600, |_| Ok(())))?;
            play.call(RENDER, 9000 + 100 * request, |_| Ok(()))
        })
    }

    fn value(&mut self, nested: u64) -> Result<(), WriteError> {
        self.call(PARSE_VALUE, 300, |play| if nested > 0 { play.value(nested - 1) } else { Ok(()) })
    }

    /// A call that spends so many nanoseconds in itself. Requests are recorded with detail, the rest without.
    fn call(
        &mut self,
        symbol: u32,
        self_ns: u64,
        body: impl FnOnce(&mut Self) -> Result<(), WriteError>,
    ) -> Result<(), WriteError> {
        let function = FunctionId::new(MODULE, symbol);
        let return_address = RuntimeAddr(0x5555_5555_0000 + 0x40 * u64::from(symbol));
        let rsp = 0x7fff_ffff_e000 - 0x40 * u64::from(self.depth);
        let stack = return_address.0.to_le_bytes();
        let entry = X86Call { function, rdi: self_ns, return_address, rsp, stack: &stack, ..X86Call::default() };
        self.event(EventKind::CALL, function, Payload::X86Call(entry))?;
        self.clock += self_ns / 2;
        self.depth += 1;
        body(self)?;
        self.depth -= 1;
        self.clock += self_ns - self_ns / 2;
        let back = X86Return { function, rax: 0, return_address, rsp: rsp + 8, ..X86Return::default() };
        self.event(EventKind::RETURN, function, Payload::X86Return(back))
    }

    fn event(&mut self, kind: EventKind, function: FunctionId, detail: Payload<'_>) -> Result<(), WriteError> {
        let event = Event {
            timestamp: TraceNanos(self.clock),
            function,
            thread: self.files.thread(),
            kind,
            depth: self.depth,
            ..Event::default()
        };
        match function.symbol_index() {
            SERVE => self.files.append_with_detail(&event, &detail).map(drop),
            _ => self.files.append(&event).map(drop),
        }
    }
}

fn function_name(function: FunctionId) -> String {
    NAMES.get(function.symbol_index() as usize).map_or_else(|| function.to_string(), |name| (*name).to_owned())
}
