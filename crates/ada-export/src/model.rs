//! What writers are given: plain names, numbers and times on the trace's clock.

use std::borrow::Cow;
use std::collections::HashMap;

use ada_event::{EventSeq, ProcessId, ThreadId, TraceNanos};
use serde_json::{Map, Value};

/// What is known of a trace before its calls.
#[derive(Clone, Debug, Default)]
pub struct TraceInfo {
    /// The session's name.
    pub session: String,
    /// The earliest event's time.
    pub start: TraceNanos,
    /// The latest one's.
    pub end: TraceNanos,
    /// When the trace's clock was 0, in nanoseconds of Unix time, if that is known.
    pub epoch: Option<u64>,
    /// The processes.
    pub processes: Vec<ProcessInfo>,
    /// The threads of all processes.
    pub threads: Vec<ThreadInfo>,
    /// Who caused what.
    pub links: Vec<Link>,
    /// When threads had a processor, where that is known.
    pub runs: Vec<Run>,
}

/// A stretch of time that a thread had a processor.
#[derive(Clone, Copy, Debug)]
pub struct Run {
    /// The thread.
    pub thread: TraceThread,
    /// The processor's number.
    pub cpu: u16,
    /// When it got it.
    pub start: TraceNanos,
    /// When it lost it.
    pub end: TraceNanos,
    /// Why.
    pub then: RunEnd,
}

/// Why a thread lost its processor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RunEnd {
    /// It would have run on.
    Preempted,
    /// It waits for something.
    Blocked,
    /// It has ended, or nothing more is known of it.
    Ended,
}

/// A thread of any process, by its index in [`TraceInfo::threads`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct TraceThread(pub usize);

/// A function of one process, by its index in [`ProcessInfo::functions`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct FunctionIndex(pub u32);

/// A process.
#[derive(Clone, Debug, Default)]
pub struct ProcessInfo {
    /// Its id.
    pub pid: ProcessId,
    /// What it ran.
    pub name: String,
    /// The functions that calls name by their index.
    pub functions: Vec<FunctionInfo>,
}

/// A function.
#[derive(Clone, Debug, Default)]
pub struct FunctionInfo {
    /// Its demangled name.
    pub name: String,
    /// The file name of its module.
    pub module: String,
}

/// A thread.
#[derive(Clone, Debug, Default)]
pub struct ThreadInfo {
    /// Its process, by its index.
    pub process: usize,
    /// Its id.
    pub id: ThreadId,
    /// What it runs.
    pub name: String,
    /// Its earliest event's time.
    pub start: TraceNanos,
    /// Its latest event's.
    pub end: TraceNanos,
}

/// How and why a span ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Ending {
    /// How.
    pub status: &'static str,
    /// Why, if there is something to say.
    pub reason: Option<&'static str>,
    /// Whether the trace also allows another reading.
    pub is_uncertain: bool,
}

impl Ending {
    /// Whether it is as most are: it returned.
    pub fn is_plain(&self) -> bool {
        self.status == "completed" && self.reason.is_none() && !self.is_uncertain
    }

    /// `unmatched (exception)?`; for people.
    pub fn words(&self) -> String {
        let reason = self.reason.map_or_else(String::new, |it| format!(" ({it})"));
        format!("{}{reason}{}", self.status, if self.is_uncertain { "?" } else { "" })
    }
}

/// One call of a function.
#[derive(Clone, Copy, Debug, Default)]
pub struct Call {
    /// The event that opened it: with its thread, its name.
    pub seq: EventSeq,
    /// When it began.
    pub start: TraceNanos,
    /// When it ended, within the call that encloses it.
    pub end: TraceNanos,
    /// The function, by its index in its process.
    pub function: FunctionIndex,
    /// How it ended.
    pub ending: Ending,
    /// On whose behalf the thread made it: 0 is the thread's own, others are those of [`Logical::context`].
    pub context: u64,
}

/// What a call was given or gave back.
#[derive(Clone, Debug, PartialEq)]
pub struct Argument {
    /// Its name.
    pub name: Cow<'static, str>,
    /// Its value.
    pub value: ArgumentValue,
}

/// The value of an argument.
#[derive(Clone, Debug, PartialEq)]
pub enum ArgumentValue {
    /// A register, which may be a number or an address.
    Register(u64),
    /// What an imported event says of itself.
    Attribute(Value),
}

impl ArgumentValue {
    /// As JSON has it.
    pub(crate) fn to_json(&self) -> Value {
        match self {
            Self::Register(value) => format!("{value:#x}").into(),
            Self::Attribute(value) => value.clone(),
        }
    }
}

/// A thread, task, block or callback.
#[derive(Clone, Debug, Default)]
pub struct Logical {
    /// What commands call it.
    pub reference: String,
    /// Its process, by its index.
    pub process: usize,
    /// The thread that it began on, by its index.
    pub thread: TraceThread,
    /// `pthread`, `swift`, `gcd` or `callback`.
    pub runtime: &'static str,
    /// What it ran.
    pub name: String,
    /// When it began.
    pub start: TraceNanos,
    /// When it ended.
    pub end: TraceNanos,
    /// How it ended.
    pub ending: Ending,
    /// The number that calls on its behalf have; 0 where calls are the thread's own.
    pub context: u64,
    /// When it ran and when it waited, where that is known.
    pub parts: Vec<Part>,
    /// What else is known.
    pub attributes: Map<String, Value>,
}

/// A stretch of a logical span.
#[derive(Clone, Debug, Default)]
pub struct Part {
    /// `running`, or what it waited for.
    pub label: String,
    /// Whether it ran.
    pub is_running: bool,
    /// The thread that it ran on, by its index.
    pub thread: TraceThread,
    /// When it began.
    pub start: TraceNanos,
    /// When it ended.
    pub end: TraceNanos,
}

/// Who caused what.
#[derive(Clone, Debug)]
pub struct Link {
    /// `create`, `submit`, `resume`, `join`, …
    pub kind: &'static str,
    /// The cause.
    pub from: LinkEnd,
    /// The effect.
    pub to: LinkEnd,
}

/// One end of a link.
#[derive(Clone, Debug)]
pub struct LinkEnd {
    /// The thread, by its index.
    pub thread: TraceThread,
    /// When.
    pub time: TraceNanos,
    /// The call, if it is one, by its opening event.
    pub call: Option<EventSeq>,
    /// The logical span, if it is one, by its reference.
    pub logical: Option<String>,
}

impl ProcessInfo {
    pub(crate) fn function(&self, function: FunctionIndex) -> &FunctionInfo {
        &self.functions[function.0 as usize]
    }
}

impl TraceInfo {
    pub(crate) fn thread(&self, thread: TraceThread) -> &ThreadInfo {
        &self.threads[thread.0]
    }

    /// A function of a thread's process.
    pub(crate) fn function(&self, thread: TraceThread, function: FunctionIndex) -> &FunctionInfo {
        self.process_of(thread).function(function)
    }

    pub(crate) fn process_of(&self, thread: TraceThread) -> &ProcessInfo {
        &self.processes[self.thread(thread).process]
    }

    /// What caused each logical span, by its reference: how, and the call or span that did.
    pub(crate) fn causes(&self) -> HashMap<String, Vec<(&'static str, String)>> {
        let mut causes: HashMap<String, Vec<(&'static str, String)>> = HashMap::new();
        for link in &self.links {
            let call = link.from.call.map(|seq| format!("frame:{}:{seq}", self.thread(link.from.thread).id));
            if let (Some(effect), Some(cause)) = (&link.to.logical, call.or_else(|| link.from.logical.clone())) {
                causes.entry(effect.clone()).or_default().push((link.kind, cause));
            }
        }
        causes
    }
}
