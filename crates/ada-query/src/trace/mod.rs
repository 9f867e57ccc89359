//! An opened trace: sessions that are asked together, with the names of all that is in them.
//!
//! Commands, SQL, agents' tools and the timeline page read the same [`Trace`]. Whoever opens sessions has found them and
//! made their derived tables; from here on nothing is written.

mod call_runtime;
mod call_signature;
mod call_values;
mod causality;
mod executors;
mod io_waits;
mod life;
mod names;
mod plain_names;
mod process;
mod recorded_call;
mod recorded_states;
mod reference;
mod shared_waits;
mod switched;
mod thread_states;
mod unknown_goroutines;

pub use call_values::{CallValues, NamedValue};
pub use causality::{CausalEnd, CausalLink, RemoteLink, causal_links, remote_links};
pub use io_waits::{RemoteHolder, RemoteWaker};
pub use life::Life;
pub use names::{Code, Names};
pub(crate) use plain_names::plain_name;
pub use process::{FunctionLabel, TraceProcess};
pub use recorded_call::Wanted;
pub use reference::{Reference, Target};
pub use switched::{Switched, Unrecorded};

use ada_event::{ProcessId, ThreadId, TraceNanos};
use ada_format::atf::{Manifest, Process, Session};
use ada_span::ThreadIndex;
use ada_span::table::Tables;

use process::FirstIds;

/// Sessions that are asked together.
pub struct Trace {
    sessions: Vec<TraceSession>,
    processes: Vec<TraceProcess>,
}

/// One of them.
pub struct TraceSession {
    /// Its folder's name, unique among the sessions.
    pub name: String,
    /// Its files.
    pub session: Session,
    /// The earliest event's time.
    pub start: TraceNanos,
    /// When the last process ended, or the recording; with the latest event at the earliest.
    pub end: TraceNanos,
}

impl Trace {
    /// Sessions, each with the derived tables of its processes in their order.
    pub fn new(sessions: Vec<(Session, Vec<Tables>)>) -> Self {
        let mut trace = Self { sessions: Vec::new(), processes: Vec::new() };
        let mut first = FirstIds::default();
        for (index, (session, tables)) in sessions.into_iter().enumerate() {
            let facts =
                || tables.iter().flat_map(|it| &it.meta().threads).map(|it| it.facts).filter(|it| it.events > 0);
            let start = facts().map(|facts| facts.first_time).min().unwrap_or_default();
            let end = facts().map(|facts| facts.last_time.max(facts.end_time)).max().unwrap_or_default();
            let all_names: Vec<Names> = session.processes().iter().map(Names::of).collect();
            // A fork's child has its parent's images under the same numbers; the lists are in the parent's folder.
            let lender = all_names.iter().position(|names| !names.is_empty());
            let is_alone = tables.len() == 1;
            let first_process = trace.processes.len();
            for (number, (tables, names)) in tables.into_iter().zip(all_names).enumerate() {
                let names = match lender {
                    Some(lender) if names.is_empty() => Names::of(&session.processes()[lender]),
                    _ => names,
                };
                let recorded = &session.processes()[number];
                trace.processes.push(TraceProcess::new(recorded, tables, names, (index, number), is_alone, &mut first));
            }
            io_waits::resolve(&mut trace.processes[first_process..], first_process, &session);
            shared_waits::resolve(&mut trace.processes[first_process..], first_process, &session);
            let name = trace.unique_name(&session);
            trace.sessions.push(TraceSession { name, session, start, end });
        }
        trace
    }

    fn unique_name(&self, session: &Session) -> String {
        let path = session.path().canonicalize().unwrap_or_else(|_| session.path().to_owned());
        let name = path.file_name().map_or_else(|| "session".to_owned(), |it| it.to_string_lossy().into_owned());
        let is_taken = |name: &str| self.sessions.iter().any(|it| it.name == name);
        let numbered = (2..).map(|number| format!("{name}#{number}"));
        std::iter::once(name.clone()).chain(numbered).find(|name| !is_taken(name)).unwrap_or(name)
    }

    /// The sessions.
    pub fn sessions(&self) -> &[TraceSession] {
        &self.sessions
    }

    /// The processes of all sessions.
    pub fn processes(&self) -> &[TraceProcess] {
        &self.processes
    }

    /// When the earliest event of all sessions happened.
    pub fn start(&self) -> TraceNanos {
        self.sessions.iter().map(|it| it.start).min().unwrap_or_default()
    }

    /// When the last of them ended.
    pub fn end(&self) -> TraceNanos {
        self.sessions.iter().map(|it| it.end).max().unwrap_or_default()
    }

    /// The session of a process.
    pub fn session_of(&self, process: &TraceProcess) -> &TraceSession {
        &self.sessions[process.session]
    }

    /// A process's files.
    pub fn recorded(&self, process: &TraceProcess) -> &Process {
        &self.sessions[process.session].session.processes()[process.number]
    }

    /// A process's manifest, if it has a readable one.
    pub fn manifest(&self, process: &TraceProcess) -> Option<&Manifest> {
        self.recorded(process).manifest.as_ref()
    }

    /// The signal that ended a process.
    pub fn fatal_signal(&self, process: &TraceProcess) -> Option<i32> {
        let manifest = self.manifest(process)?;
        let exit = manifest.exit.as_ref().and_then(|exit| exit.signal);
        exit.or_else(|| manifest.crashes.first().map(|crash| crash.signal))
    }

    /// The process and thread that are meant; none if there is no such thread, or several.
    pub fn find_thread(
        &self,
        session: Option<&str>,
        pid: Option<ProcessId>,
        id: ThreadId,
    ) -> Option<(usize, ThreadIndex)> {
        let mut found = self.processes.iter().enumerate().filter_map(|(at, it)| {
            let is_meant = pid.is_none_or(|pid| pid == it.pid)
                && session.is_none_or(|name| self.sessions[it.session].name == name);
            it.tables.meta().thread_index(id).filter(|_| is_meant).map(|thread| (at, thread))
        });
        let first = found.next()?;
        found.next().is_none().then_some(first)
    }
}
