//! Sessions that are asked together, with the names of all that is in them.

mod call_runtime;
mod names;
mod plain_names;
mod reference;

pub use call_runtime::call_runtime;
pub use names::{Code, Names};
pub use plain_names::{closure_name, plain_name};
pub use reference::{Reference, Target};

use std::collections::HashMap;
use std::sync::OnceLock;

use ada_event::FunctionId;
use ada_format::atf::{Manifest, Process, Session};
use ada_span::NONE;
use ada_span::concurrency::Context;
use ada_span::pthread::PthreadSpan;
use ada_span::table::Tables;

use crate::relation::signed;

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
    pub start: u64,
    /// The latest one's.
    pub end: u64,
    processes: usize,
}

/// A process of a session.
pub struct TraceProcess {
    /// The place of its session.
    pub session: usize,
    /// Its place in the session.
    number: usize,
    /// Its id.
    pub pid: u32,
    /// Its spans.
    pub tables: Tables,
    /// Its functions' names.
    pub names: Names,
    /// The runtime of its calls.
    pub(crate) runtime: &'static str,
    /// The ids of each thread's first event, and of the process's first logical span, among those of all sessions.
    first_events: Vec<i64>,
    first_logical: i64,
    labels: OnceLock<Vec<FunctionLabel>>,
    logical: OnceLock<HashMap<(u32, u64), Target>>,
}

/// How a function is called.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FunctionLabel {
    /// `module:symbol`.
    pub id: String,
    /// The demangled name, or module and offset.
    pub name: String,
    /// The module's file name.
    pub module: String,
}

impl Trace {
    /// Sessions, each with the derived tables of its processes in their order.
    pub fn new(sessions: Vec<(Session, Vec<Tables>)>) -> Self {
        let mut trace = Self { sessions: Vec::new(), processes: Vec::new() };
        let (mut next_event, mut next_logical) = (0_i64, 0_i64);
        for (place, (session, tables)) in sessions.into_iter().enumerate() {
            let facts =
                || tables.iter().flat_map(|it| &it.meta().threads).map(|it| it.facts).filter(|it| it.events > 0);
            let start = facts().map(|facts| facts.first_time).min().unwrap_or(0);
            let end = facts().map(|facts| facts.last_time).max().unwrap_or(0);
            let all_names: Vec<Names> = session.processes().iter().map(Names::of).collect();
            // A fork's child has its parent's images under the same numbers; the lists are in the parent's folder.
            let lender = all_names.iter().position(|names| !names.is_empty());
            let count = tables.len();
            for (number, (tables, names)) in tables.into_iter().zip(all_names).enumerate() {
                let names = match lender {
                    Some(lender) if names.is_empty() => Names::of(&session.processes()[lender]),
                    _ => names,
                };
                let mut first_events = Vec::new();
                let first_logical = next_logical;
                for thread in &tables.meta().threads {
                    first_events.push(next_event);
                    next_event += signed(thread.facts.events);
                }
                let meta = tables.meta();
                let logical = meta.pthreads.len() + meta.callbacks.len() + meta.tasks.len() + meta.dispatched.len();
                next_logical += logical as i64;
                trace.processes.push(TraceProcess {
                    first_events,
                    first_logical,
                    session: place,
                    number,
                    pid: session.processes()[number].pid.unwrap_or(0),
                    tables,
                    names,
                    runtime: call_runtime(&session.processes()[number]),
                    labels: OnceLock::new(),
                    logical: OnceLock::new(),
                });
            }
            let name = trace.unique_name(&session);
            trace.sessions.push(TraceSession { name, session, start, end, processes: count });
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

    /// What commands call something of a process.
    pub fn refer(&self, process: &TraceProcess, target: Target) -> String {
        let has_many = self.sessions[process.session].processes > 1;
        Reference { pid: has_many.then_some(process.pid), target }.to_string()
    }

    /// The process and place of a thread that is meant; none if there is no such thread, or several.
    pub fn find_thread(&self, session: Option<&str>, pid: Option<u32>, id: u32) -> Option<(usize, usize)> {
        let mut found = self.processes.iter().enumerate().filter_map(|(at, it)| {
            let is_meant = pid.is_none_or(|pid| pid == it.pid)
                && session.is_none_or(|name| self.sessions[it.session].name == name);
            it.tables.meta().thread_index(id).filter(|_| is_meant).map(|thread| (at, thread))
        });
        let first = found.next()?;
        found.next().is_none().then_some(first)
    }
}

impl TraceProcess {
    /// How the functions that have spans are called, by their places in the tables.
    pub fn labels(&self) -> &[FunctionLabel] {
        self.labels.get_or_init(|| self.tables.meta().functions.iter().map(|it| self.make_label(it.function)).collect())
    }

    /// How any function is called.
    pub fn label(&self, function: FunctionId) -> FunctionLabel {
        match self.tables.meta().function_index(function) {
            Some(place) => self.labels()[place].clone(),
            None => self.make_label(function),
        }
    }

    fn make_label(&self, function: FunctionId) -> FunctionLabel {
        FunctionLabel { id: function.to_string(), name: self.names.name(function), module: self.names.module(function) }
    }

    /// A number for an event, by the place of its thread, that no other event of all sessions has. The call that it opens
    /// has the same among spans.
    pub(crate) fn event_number(&self, thread: usize, seq: u64) -> i64 {
        self.first_events.get(thread).copied().unwrap_or(0).saturating_add(signed(seq))
    }

    /// A number for a thread's or callback's span, by its place among both, that no other span has.
    pub(crate) fn logical_number(&self, place: usize) -> i64 {
        -1 - self.first_logical - place as i64
    }

    /// The id of a thread by its place.
    pub fn thread_id(&self, place: usize) -> u32 {
        self.tables.meta().threads.get(place).map_or(0, |thread| thread.id)
    }

    /// The logical span that a call, by its thread's place and opening event, stands behind.
    pub fn logical_of(&self, thread: u32, seq: u64) -> Option<Target> {
        let logical = self.logical.get_or_init(|| {
            let meta = self.tables.meta();
            let id = |place: u64| self.thread_id(place as usize);
            let callbacks =
                meta.callbacks.iter().map(|it| ((it.thread as u32, it.seq), Target::Callback(id(it.thread), it.seq)));
            let routines = meta.pthreads.iter().filter(|it| it.routine_seq != NONE);
            let threads =
                routines.map(|it| ((it.thread as u32, it.routine_seq), Target::Thread(id(it.thread), it.begin_seq)));
            let blocks = meta.dispatched.iter().filter(|it| it.has_run());
            let blocks = blocks.map(|it| ((it.thread as u32, it.seq), Target::Block(id(it.thread), it.seq)));
            callbacks.chain(blocks).chain(threads).collect()
        });
        logical.get(&(thread, seq)).copied()
    }

    /// The task or block that a context means.
    pub fn target_of(&self, context: Context) -> Option<Target> {
        let meta = self.tables.meta();
        match context {
            Context::Thread => None,
            Context::Task(place) => meta.tasks.get(place as usize).map(|task| Target::Task(task.id)),
            Context::Block(place) => {
                let block = meta.dispatched.get(place as usize)?;
                Some(Target::Block(self.thread_id(block.thread as usize), block.seq))
            }
        }
    }

    /// What a thread ran, as people know it.
    pub fn thread_name(&self, span: &PthreadSpan) -> String {
        match span.function {
            NONE => "pthread_start_routine".to_owned(),
            function => closure_name(&self.names.name(FunctionId(function))),
        }
    }
}
