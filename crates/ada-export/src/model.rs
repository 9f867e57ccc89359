//! What writers are given: plain names, numbers and times on the trace's clock.

use std::collections::HashMap;

use serde_json::{Map, Value};

/// What is known of a trace before its calls.
#[derive(Clone, Debug, Default)]
pub struct TraceInfo {
    /// The session's name.
    pub session: String,
    /// The earliest event's time.
    pub start: u64,
    /// The latest one's.
    pub end: u64,
    /// The processes.
    pub processes: Vec<ProcessInfo>,
    /// The threads of all processes.
    pub threads: Vec<ThreadInfo>,
    /// Who caused what.
    pub links: Vec<Link>,
}

/// A process.
#[derive(Clone, Debug, Default)]
pub struct ProcessInfo {
    /// Its id.
    pub pid: u32,
    /// What it ran.
    pub name: String,
    /// The functions that calls name by their place.
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
    /// The place of its process.
    pub process: usize,
    /// Its id.
    pub id: u32,
    /// What it runs.
    pub name: String,
    /// Its earliest event's time.
    pub start: u64,
    /// Its latest event's.
    pub end: u64,
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
    pub seq: u64,
    /// When it began.
    pub start: u64,
    /// When it ended, within the call that encloses it.
    pub end: u64,
    /// The function's place in its process.
    pub function: u32,
    /// How it ended.
    pub ending: Ending,
    /// On whose behalf the thread made it: 0 is the thread's own, others are those of [`Logical::context`].
    pub context: u64,
}

/// A register or other number that a call was given or gave back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Argument {
    /// Its name.
    pub name: &'static str,
    /// Its value.
    pub value: u64,
}

/// A thread, task, block or callback.
#[derive(Clone, Debug, Default)]
pub struct Logical {
    /// What commands call it.
    pub reference: String,
    /// The place of its process.
    pub process: usize,
    /// The place of the thread that it began on.
    pub thread: usize,
    /// `pthread`, `swift`, `gcd` or `callback`.
    pub runtime: &'static str,
    /// What it ran.
    pub name: String,
    /// When it began.
    pub start: u64,
    /// When it ended.
    pub end: u64,
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
    /// The place of the thread that it ran on.
    pub thread: usize,
    /// When it began.
    pub start: u64,
    /// When it ended.
    pub end: u64,
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
    /// The place of the thread.
    pub thread: usize,
    /// When.
    pub time: u64,
    /// The call, if it is one, by its opening event.
    pub call: Option<u64>,
    /// The logical span, if it is one, by its reference.
    pub logical: Option<String>,
}

impl TraceInfo {
    /// A function of a thread's process.
    pub(crate) fn function(&self, thread: usize, place: u32) -> &FunctionInfo {
        &self.processes[self.threads[thread].process].functions[place as usize]
    }

    pub(crate) fn process_of(&self, thread: usize) -> &ProcessInfo {
        &self.processes[self.threads[thread].process]
    }

    /// What caused each logical span, by its reference: how, and the call or span that did.
    pub(crate) fn causes(&self) -> HashMap<String, Vec<(&'static str, String)>> {
        let mut causes: HashMap<String, Vec<(&'static str, String)>> = HashMap::new();
        for link in &self.links {
            let call = link.from.call.map(|seq| format!("frame:{}:{seq}", self.threads[link.from.thread].id));
            if let (Some(effect), Some(cause)) = (&link.to.logical, call.or_else(|| link.from.logical.clone())) {
                causes.entry(effect.clone()).or_default().push((link.kind, cause));
            }
        }
        causes
    }
}
