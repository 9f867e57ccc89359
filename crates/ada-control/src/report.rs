//! What a trace tells of itself, while it runs and when it is over.

use std::path::PathBuf;
use std::time::Duration;

use crate::attach::StoodStill;
use crate::overhead::{Advice, Governed};
use crate::switches::SwitchedFunction;

/// How the traced program ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// By itself, with this exit code.
    Exited(i32),
    /// By this signal.
    Killed(i32),
    /// It has ended, and how is not for ada to know: somebody else has started it.
    Unknown,
    /// It lives on: ada has left it.
    Detached,
}

impl End {
    /// As the kernel gives it to whoever waits.
    pub(crate) fn of_status(status: i32) -> Self {
        match status & 0x7f {
            0 => Self::Exited(status >> 8 & 0xff),
            signal => Self::Killed(signal),
        }
    }

    /// In a few words.
    pub fn words(&self) -> String {
        match self {
            Self::Exited(code) => format!("exit code {code}"),
            Self::Killed(signal) => format!("killed by signal {signal}"),
            Self::Unknown => "the process has ended".to_owned(),
            Self::Detached => "detached".to_owned(),
        }
    }
}

/// What a trace came to.
pub struct TraceReport {
    /// The session's folder.
    pub session: PathBuf,
    /// Why the session is not complete, if it is not: the disk was full, for instance.
    pub failure: Option<String>,
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
    pub hooked: usize,
    /// Functions found.
    pub found: usize,
    /// From the start of the program to its first instruction.
    pub start_up: Duration,
    /// How long threads waited for room in the rings.
    pub waited: Duration,
    /// Functions that were not recorded all the time, those with most counted calls first.
    pub switched: Vec<SwitchedFunction>,
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
    pub tid: u32,
    /// The signal.
    pub signal: i32,
    /// The newest open function, if there is one: its module's file name, and its name where it has one.
    pub function: Option<String>,
}

/// Hears how a trace goes on. Called from several threads.
pub trait Progress: Sync {
    /// The program is loaded, and its files are about to be hooked; that may take so long.
    fn hooking(&self, files: usize, allowed: Duration) {
        let _ = (files, allowed);
    }
    /// So many processes had hooks of an ada that was killed; these are removed.
    fn cleaned_up(&self, processes: usize) {
        let _ = processes;
    }
    /// The program runs.
    fn running(&self) {}
    /// So many events were written, on so many threads, and so many were given up.
    fn recorded(&self, events: u64, threads: usize, dropped: u64) {
        let _ = (events, threads, dropped);
    }
}

/// Hears nothing.
impl Progress for () {}
