//! A process of a trace: its tables, and what its functions, threads, tasks and blocks are called.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::{Arc, OnceLock};

use ada_event::{EventSeq, FunctionId, ProcessId, ThreadId};
use ada_format::atf::Process;
use ada_span::concurrency::Context;
use ada_span::pthread::PthreadSpan;
use ada_span::table::{FunctionIndex, Meta, Tables};
use ada_span::task::{Suspension, TaskRun, TaskSpan};
use ada_span::{Correction, NONE, ThreadIndex};

use super::call_runtime::call_runtime;
use super::call_signature::{CallSignature, Signatures};
use super::names::Names;
use super::plain_names::closure_name;
use super::recorded_states::RecordedStates;
use super::reference::{Reference, Target};
use super::switched::Switched;

/// A process of a session.
pub struct TraceProcess {
    /// The index of its session.
    pub session: usize,
    /// Its index in the session.
    pub(super) number: usize,
    /// Its id.
    pub pid: ProcessId,
    /// Its spans.
    pub tables: Tables,
    /// Its functions' names.
    pub names: Names,
    /// The runtime of its calls.
    pub runtime: &'static str,
    /// What recording took, where that was measured.
    pub correction: Option<Correction>,
    /// Functions that were not recorded all the time.
    pub switched: Switched,
    /// Whether the session has no other process, so that references need not name it.
    is_alone: bool,
    /// The ids of each thread's first event, and of the process's first logical span, among those of all sessions.
    first_events: Vec<i64>,
    first_logical: i64,
    /// By the functions' indexes; made when they are asked for.
    labels: Vec<OnceLock<FunctionLabel>>,
    logical: OnceLock<HashMap<(ThreadIndex, EventSeq), Target>>,
    /// Indexes of the spans of threads, by the thread and the event that they begin with.
    pthreads: OnceLock<BTreeMap<(ThreadIndex, EventSeq), usize>>,
    /// Runs of tasks and blocks: the events that they begin and end with, by the thread.
    runs: OnceLock<Runs>,
    /// What is captured of functions.
    signatures: OnceLock<Signatures>,
    /// What descriptors stood for, in all processes of the session.
    pub(super) io_objects: Arc<[String]>,
    /// What objects in memory are called that processes of the session share.
    pub(super) shared_objects: Arc<[String]>,
    /// When its threads ran.
    pub(super) states: RecordedStates,
}

/// What a thread ran from one event on: until which, if an event ended it, and on whose behalf.
type Runs = BTreeMap<(ThreadIndex, EventSeq), (Option<EventSeq>, Context)>;

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

/// The ids of the next event and of the next logical span, among those of all sessions.
#[derive(Default)]
pub(super) struct FirstIds {
    event: i64,
    logical: i64,
}

impl TraceProcess {
    pub(super) fn new(
        recorded: &Process,
        tables: Tables,
        names: Names,
        (session, number): (usize, usize),
        is_alone: bool,
        first: &mut FirstIds,
    ) -> Self {
        let meta = tables.meta();
        let mut first_events = Vec::new();
        for thread in &meta.threads {
            first_events.push(first.event);
            first.event += i64::try_from(thread.facts.events).unwrap_or(i64::MAX);
        }
        let first_logical = first.logical;
        let logical = meta.pthreads.len() + meta.callbacks.len() + meta.tasks.len() + meta.dispatched.len();
        first.logical += logical as i64;
        Self {
            session,
            number,
            pid: recorded.pid.unwrap_or_default(),
            names,
            runtime: call_runtime(recorded),
            correction: recorded.manifest.as_ref().and_then(Correction::of),
            switched: Switched::of(recorded.manifest.as_ref()),
            is_alone,
            first_events,
            first_logical,
            labels: meta.functions.iter().map(|_| OnceLock::new()).collect(),
            logical: OnceLock::new(),
            pthreads: OnceLock::new(),
            runs: OnceLock::new(),
            signatures: OnceLock::new(),
            io_objects: Arc::default(),
            shared_objects: Arc::default(),
            states: RecordedStates::in_folder(&recorded.path),
            tables,
        }
    }

    /// What a descriptor stood for, by its number in waits.
    pub fn shared_object(&self, number: u64) -> Option<&str> {
        self.shared_objects.get(usize::try_from(number).ok()?).map(String::as_str)
    }

    /// What a descriptor stood for, by its number.
    pub fn io_object(&self, number: u64) -> Option<&str> {
        self.io_objects.get(usize::try_from(number).ok()?).map(String::as_str)
    }

    /// How the functions that have spans are called, in the order of the tables.
    pub fn labels(&self) -> impl ExactSizeIterator<Item = &FunctionLabel> {
        self.labels.iter().zip(&self.tables.meta().functions).map(|(label, it)| self.made(label, it.function))
    }

    /// How a function of the tables is called.
    #[inline]
    pub fn label_at(&self, index: FunctionIndex) -> Option<&FunctionLabel> {
        let label = self.labels.get(index.as_usize())?;
        Some(label.get().unwrap_or_else(|| self.made(label, self.function(index))))
    }

    /// How any function is called.
    pub fn label(&self, function: FunctionId) -> Cow<'_, FunctionLabel> {
        match self.tables.meta().function_index(function).and_then(|index| self.label_at(index)) {
            Some(label) => Cow::Borrowed(label),
            None => Cow::Owned(self.make_label(function)),
        }
    }

    fn made<'a>(&self, label: &'a OnceLock<FunctionLabel>, function: FunctionId) -> &'a FunctionLabel {
        label.get_or_init(|| self.make_label(function))
    }

    fn make_label(&self, function: FunctionId) -> FunctionLabel {
        FunctionLabel { id: function.to_string(), name: self.names.name(function), module: self.names.module(function) }
    }

    /// What was captured of functions, by their ids.
    pub(crate) fn signatures(&self) -> &Signatures {
        self.signatures.get_or_init(|| CallSignature::captured(&self.names))
    }

    /// What the values that were captured of some functions are called: parameters, fields, the result, the error.
    pub fn value_names(&self, is_wanted: impl Fn(FunctionId) -> bool) -> BTreeSet<String> {
        let mut names = BTreeSet::new();
        let wanted = self.signatures().iter().filter(|(function, _)| is_wanted(**function));
        wanted.for_each(|(_, signature)| signature.add_value_names(&mut names));
        names
    }

    /// The id of a function of the tables; nobody's where there is none.
    pub fn function(&self, index: FunctionIndex) -> FunctionId {
        self.tables.meta().functions.get(index.as_usize()).map_or(FunctionId(NONE), |stats| stats.function)
    }

    /// A number for an event that no other event of all sessions has. The call that it opens has the same among spans.
    pub(crate) fn event_number(&self, thread: ThreadIndex, seq: EventSeq) -> i64 {
        let seq = i64::try_from(seq.0).unwrap_or(i64::MAX);
        self.first_events.get(thread.as_usize()).copied().unwrap_or(0).saturating_add(seq)
    }

    /// A number for a logical span, by its index among all of them, that no other span has.
    pub(crate) fn logical_number(&self, index: usize) -> i64 {
        -1 - self.first_logical - index as i64
    }

    /// The id of a thread.
    pub fn thread_id(&self, thread: ThreadIndex) -> ThreadId {
        id_of(self.tables.meta(), thread)
    }

    /// The id of a thread, if it is known which one.
    pub fn known_thread_id(&self, thread: Option<ThreadIndex>) -> Option<ThreadId> {
        thread.map(|thread| self.thread_id(thread))
    }

    /// What commands call something of the process.
    pub fn reference(&self, target: Target) -> Reference {
        Reference { pid: (!self.is_alone).then_some(self.pid), target }
    }

    /// The same as text.
    pub fn refer(&self, target: Target) -> String {
        self.reference(target).to_string()
    }

    /// The logical span that a call, by its thread and opening event, stands behind.
    pub fn logical_of(&self, thread: ThreadIndex, seq: EventSeq) -> Option<Target> {
        self.logical.get_or_init(|| logical_of_calls(self.tables.meta())).get(&(thread, seq)).copied()
    }

    /// The life of a thread that an event belongs to: the index of its logical span. The first thread of a process has
    /// none.
    pub fn pthread_index(&self, thread: ThreadIndex, seq: EventSeq) -> Option<usize> {
        let spans = self.tables.meta().pthreads.iter().enumerate();
        let indexes =
            self.pthreads.get_or_init(|| spans.map(|(at, span)| ((span.thread, span.begin_seq), at)).collect());
        let (&(found, _), &index) = indexes.range(..=(thread, seq)).next_back()?;
        (found == thread).then_some(index)
    }

    /// The span of that life.
    pub fn pthread(&self, thread: ThreadIndex, seq: EventSeq) -> Option<&PthreadSpan> {
        self.pthread_index(thread, seq).map(|index| &self.tables.meta().pthreads[index])
    }

    /// The thread that was created, by somebody's call, and ran at an event: what spans belong to that no task or block is
    /// around.
    pub fn thread_around(&self, thread: ThreadIndex, seq: EventSeq) -> Option<Target> {
        let life = self.pthread(thread, seq)?;
        Some(Target::Thread(self.thread_id(thread), life.begin_seq))
    }

    /// The task or block that a context means.
    pub fn target_of(&self, context: Context) -> Option<Target> {
        let meta = self.tables.meta();
        match context {
            Context::Thread => None,
            Context::Task(index) => meta.tasks.get(index as usize).map(|task| Target::Task(task.id)),
            Context::Block(index) => {
                let block = meta.dispatched.get(index as usize)?;
                Some(Target::Block(self.thread_id(block.thread), block.seq))
            }
        }
    }

    /// The task or block on whose behalf a thread ran at an event: the innermost.
    pub fn context_at(&self, thread: ThreadIndex, seq: EventSeq) -> Context {
        /// How many runs may be open around an event.
        const NESTED: usize = 64;
        let runs = self.runs.get_or_init(|| runs_of(self.tables.meta()));
        let before = runs.range((thread, EventSeq(0))..=(thread, seq)).rev().take(NESTED);
        before
            .map(|(_, run)| run)
            .find(|(end, _)| end.is_none_or(|end| end >= seq))
            .map_or(Context::Thread, |(_, context)| *context)
    }

    /// What a thread ran, as people know it.
    pub fn thread_name(&self, span: &PthreadSpan) -> String {
        match span.function {
            // Its start routine is not known.
            None => "pthread_start_routine".to_owned(),
            Some(function) => closure_name(&self.label(function).name),
        }
    }

    /// When a task ran.
    pub fn runs_of(&self, task: &TaskSpan) -> &[TaskRun] {
        let (first, count) = (task.first_run as usize, task.runs as usize);
        &self.tables.meta().task_runs[first..first + count]
    }

    /// When a task waited.
    pub fn suspensions_of(&self, task: &TaskSpan) -> &[Suspension] {
        let (first, count) = (task.first_suspension as usize, task.suspensions as usize);
        &self.tables.meta().suspensions[first..first + count]
    }

    /// The ids of the threads that a task ran on, each once, in the order of its first runs there.
    pub fn threads_of(&self, task: &TaskSpan) -> Vec<ThreadId> {
        let mut seen = HashSet::new();
        let mut threads: Vec<ThreadIndex> = self.runs_of(task).iter().map(|run| run.thread).collect();
        threads.retain(|thread| seen.insert(*thread));
        threads.into_iter().map(|thread| self.thread_id(thread)).collect()
    }

    /// A queue's label, or its address where it has none.
    pub fn queue_name(&self, queue: u64) -> Option<String> {
        let meta = self.tables.meta();
        let entry = meta.queues.get(usize::try_from(queue).ok()?)?;
        Some(match entry.label(&meta.texts).filter(|label| !label.is_empty()) {
            Some(label) if entry.is_label_cut == 1 => format!("{label}…"),
            Some(label) => label.to_owned(),
            None => format!("queue at {:#x}", entry.address),
        })
    }
}

/// Calls that are also logical spans, by thread and opening event.
///
/// A call can be found twice. A thread's start routine is its first recorded call where the real one was not hooked:
/// `_dispatch_worker_thread2` of a libdispatch that was left out, so that the worker's first block passes for it. The
/// block is then what the call is: it begins and ends with it, and the thread goes on to run others. So blocks come
/// before threads. Callbacks come last: that an address was handed over and then called says less than what a runtime
/// meant by it.
fn logical_of_calls(meta: &Meta) -> HashMap<(ThreadIndex, EventSeq), Target> {
    let id = |thread: ThreadIndex| id_of(meta, thread);
    let callbacks = meta.callbacks.iter().map(|it| ((it.thread, it.seq), Target::Callback(id(it.thread), it.seq)));
    let routines = meta.pthreads.iter().filter_map(|it| Some((it, it.routine_seq?)));
    let threads = routines.map(|(it, seq)| ((it.thread, seq), Target::Thread(id(it.thread), it.begin_seq)));
    let blocks = meta.dispatched.iter().filter(|it| it.has_run());
    let blocks = blocks.map(|it| ((it.thread, it.seq), Target::Block(id(it.thread), it.seq)));
    // Of several, the last one stays.
    callbacks.chain(threads).chain(blocks).collect()
}

fn id_of(meta: &Meta, thread: ThreadIndex) -> ThreadId {
    meta.threads.get(thread.as_usize()).map(|thread| thread.id).unwrap_or_default()
}

fn runs_of(meta: &Meta) -> Runs {
    let tasks =
        meta.task_runs.iter().map(|run| ((run.thread, run.start_seq), (run.end_seq, Context::Task(run.task as u32))));
    let blocks = meta.dispatched.iter().zip(0..).filter(|(span, _)| span.has_run());
    tasks
        .chain(blocks.map(|(span, index)| ((span.thread, span.seq), (span.close_seq, Context::Block(index)))))
        .collect()
}

#[cfg(test)]
mod tests {
    use ada_span::callback::CallbackSpan;
    use ada_span::gcd::BlockSpan;
    use ada_span::table::ThreadEntry;

    use super::*;

    #[test]
    fn a_call_is_its_block_before_its_thread_and_its_thread_before_a_callback() {
        let mut meta = Meta::default();
        meta.threads = vec![ThreadEntry { id: ThreadId(71), ..ThreadEntry::default() }];
        let callback = |seq| CallbackSpan { thread: ThreadIndex(0), seq: EventSeq(seq), ..CallbackSpan::default() };
        meta.callbacks = vec![callback(3), callback(5), callback(9)];
        let life = |begin_seq, routine_seq: Option<u64>| PthreadSpan {
            thread: ThreadIndex(0),
            begin_seq: EventSeq(begin_seq),
            routine_seq: routine_seq.map(EventSeq),
            ..PthreadSpan::default()
        };
        meta.pthreads = vec![life(0, Some(3)), life(4, Some(5)), life(8, None)];
        meta.dispatched = vec![BlockSpan { thread: ThreadIndex(0), seq: EventSeq(3), ..BlockSpan::default() }];
        let found = logical_of_calls(&meta);
        let of = |seq| found.get(&(ThreadIndex(0), EventSeq(seq))).copied();
        assert_eq!(of(3), Some(Target::Block(ThreadId(71), EventSeq(3))));
        assert_eq!(of(5), Some(Target::Thread(ThreadId(71), EventSeq(4))));
        assert_eq!(of(9), Some(Target::Callback(ThreadId(71), EventSeq(9))));
        assert_eq!(of(8), None);
    }
}
