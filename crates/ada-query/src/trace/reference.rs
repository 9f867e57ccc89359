//! References: short names of spans, events, threads and functions that all commands print and accept.

use std::fmt;
use std::str::FromStr;

use ada_event::{EventSeq, FunctionId, ModuleId, ProcessId, ThreadId};

/// What a reference means, and in which process if that is said.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Reference {
    /// The process; needed where a session has several.
    pub pid: Option<ProcessId>,
    /// What is meant in it.
    pub target: Target,
}

/// What a reference means.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Target {
    /// A frame span, by its thread and opening event: `frame:4712:90`.
    Frame(ThreadId, EventSeq),
    /// The callback span of the same events: `callback:4712:90`.
    Callback(ThreadId, EventSeq),
    /// A thread, and its logical span: `thread:4712`; with the event that it begins with, `thread:4712:90`, where it is
    /// not the first under its id.
    Thread(ThreadId, EventSeq),
    /// A Swift task, by the runtime's id: `task:7`.
    Task(u64),
    /// A dispatched block, by the thread and event of its run, or of its submission if it never ran: `block:4712:90`.
    Block(ThreadId, EventSeq),
    /// An event, by its thread and position: `event:4712:91`.
    Event(ThreadId, EventSeq),
    /// A function: `function:1:42`.
    Function(FunctionId),
}

impl fmt::Display for Reference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(pid) = self.pid {
            write!(f, "{pid}/")?;
        }
        match self.target {
            Target::Frame(thread, seq) => write!(f, "frame:{thread}:{seq}"),
            Target::Callback(thread, seq) => write!(f, "callback:{thread}:{seq}"),
            Target::Thread(thread, EventSeq(0)) => write!(f, "thread:{thread}"),
            Target::Thread(thread, seq) => write!(f, "thread:{thread}:{seq}"),
            Target::Task(id) => write!(f, "task:{id}"),
            Target::Block(thread, seq) => write!(f, "block:{thread}:{seq}"),
            Target::Event(thread, seq) => write!(f, "event:{thread}:{seq}"),
            Target::Function(function) => write!(f, "function:{function}"),
        }
    }
}

impl FromStr for Reference {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || {
            "a reference is frame:THREAD:N, callback:THREAD:N, block:THREAD:N, event:THREAD:N, thread:THREAD, task:ID or \
             function:MODULE:N, after PID/ where a session has several processes"
                .to_owned()
        };
        let (pid, rest) = match text.split_once('/') {
            Some((pid, rest)) => (Some(pid.parse().map_err(|_| wrong())?), rest),
            None => (None, text),
        };
        let mut parts = rest.split(':');
        let kind = parts.next().unwrap_or_default();
        let mut number = || parts.next().and_then(|part| part.parse::<u64>().ok()).ok_or_else(wrong);
        let whole = number()?;
        let first = u32::try_from(whole).or(if kind == "task" { Ok(0) } else { Err(wrong()) })?;
        let thread = ThreadId(first);
        let target = match kind {
            "task" => Target::Task(whole),
            "block" | "b" => Target::Block(thread, EventSeq(number()?)),
            "frame" | "f" => Target::Frame(thread, EventSeq(number()?)),
            "callback" | "c" => Target::Callback(thread, EventSeq(number()?)),
            "event" | "e" => Target::Event(thread, EventSeq(number()?)),
            "thread" | "t" if rest.matches(':').count() == 1 => Target::Thread(thread, EventSeq(0)),
            "thread" | "t" => Target::Thread(thread, EventSeq(number()?)),
            "function" => {
                Target::Function(FunctionId::new(ModuleId(first), u32::try_from(number()?).map_err(|_| wrong())?))
            }
            _ => return Err(wrong()),
        };
        if parts.next().is_some() {
            return Err(wrong());
        }
        Ok(Self { pid, target })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_printed_is_accepted() {
        for text in [
            "frame:4712:90",
            "7/callback:1:2",
            "thread:9",
            "thread:9:5",
            "task:4294967297",
            "7/block:1:2",
            "event:1:18446744073709551615",
            "7/function:1:42",
        ] {
            assert_eq!(text.parse::<Reference>().unwrap().to_string(), text);
        }
        assert_eq!("f:1:2".parse::<Reference>().unwrap().to_string(), "frame:1:2");
        for wrong in
            ["", "frame", "frame:1", "frame:1:2:3", "x/frame:1:2", "frame:-1:2", "span:1:2", "thread:1:2:3", "task:1:2"]
        {
            assert!(wrong.parse::<Reference>().is_err(), "{wrong}");
        }
    }
}
