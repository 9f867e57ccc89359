//! The report of a finished trace.

use std::path::PathBuf;
use std::time::Duration;

use ada_event::{ProcessId, ThreadId};
use ada_format::atf::Crash;
use ada_process::End;

use crate::overhead::{Advice, Governed};
use crate::plan::module::Module;
use crate::switches::SwitchedFunction;
use crate::tracked::HookedExecs;

/// The outcome of a trace.
pub struct TraceReport {
    /// The session's folder.
    pub session: PathBuf,
    /// Why the session is not complete, if it is not: the disk was full, for instance.
    pub failure: Option<String>,
    /// The first process.
    pub pid: ProcessId,
    /// How the program ended.
    pub end: End,
    /// Events written.
    pub events: u64,
    /// Threads seen.
    pub threads: usize,
    /// Processes seen.
    pub processes: usize,
    /// Records given up, by reason.
    pub drops: Vec<(&'static str, u64)>,
    /// Functions hooked, at the start and later.
    pub hooked: u64,
    /// Functions found.
    pub found: u64,
    /// What the user has asked for in vain; then what is not known of tasks and blocks, because functions of their runtimes are
    /// missing.
    pub limits: Vec<String>,
    /// Functions that were left alone because they did harm before.
    pub quarantined: usize,
    /// From the start of the program to its first instruction.
    pub start_up: Duration,
    /// The programs that its processes ran, and which were hooked too.
    pub execs: HookedExecs,
    /// How long threads waited for room in the rings.
    pub waited: Duration,
    /// Functions that were not recorded all the time, those with most counted calls first.
    pub switched: Vec<SwitchedFunction>,
    /// Functions whose values were left out for a time.
    pub without_values: Vec<String>,
    /// Events that were let go, because only the newest part was to be kept.
    pub let_go: u64,
    /// Fatal signals of the program, with the function that each one hit.
    pub crashes: Vec<CrashSummary>,
    /// What a budget of ten percent would have switched, where there was none and hooks took more.
    pub advice: Option<Advice>,
    /// For how long a process that was attached to stood still.
    pub stood_still: Option<StoodStill>,
    /// With a budget, how it was kept.
    pub governed: Option<Governed>,
}

/// A fatal signal in a few words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CrashSummary {
    /// The thread, by the kernel's id.
    pub tid: ThreadId,
    /// The signal.
    pub signal: i32,
    /// The newest open function, if there is one: its module's file name, and its name where it has one.
    pub function: Option<String>,
}

/// For how long a process stood still.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StoodStill {
    /// While it was hooked.
    pub attaching: Duration,
    /// While the hooks were removed; nothing where it ended before that.
    pub detaching: Option<Duration>,
}

impl CrashSummary {
    pub(crate) fn of(crash: &Crash, modules: &[Module]) -> Self {
        let name = |id: &String| {
            let (module, index) = id.split_once(':')?;
            let (module, index) = (module.parse::<u32>().ok()?, index.parse::<usize>().ok()?);
            let module = modules.iter().find(|known| known.id.0 == module)?;
            (index < module.functions.len()).then(|| module.name_of(index))
        };
        Self {
            tid: crash.tid.unwrap_or(crash.thread),
            signal: crash.signal,
            function: crash.frames.first().and_then(name),
        }
    }
}
