//! Calls that are printed while they happen, with their values.
//!
//! A call is a line once it has returned. Where another is printed before that, or it takes long, its line comes when it is
//! called, and another when it returns, as strace does. Lines of one thread are in the order of its calls.

use std::collections::HashMap;
use std::io::Write;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use ada_event::{FunctionId, ProcessId, ThreadId, TraceNanos};
use ada_image::without_arguments;
use ada_patch::Verdict;
use ada_ring::record::RecordKind;
use ada_value::{Outcome, Signature, Value, call_line, result_line};

use super::batch_as_events::BatchAsEvents;
use super::captured_values;
use super::detail_lane::ThreadDetails;
use crate::function_pattern::matches_name;
use crate::options::PrintedFunctions;
use crate::plan::debug_files::{OWN, is_own};
use crate::plan::module::Module;

/// A call that has not returned for so long is printed.
const LONG: Duration = Duration::from_millis(100);

/// Prints calls.
pub(crate) struct PrintedCalls {
    patterns: Vec<String>,
    to: Arc<Mutex<dyn Write + Send>>,
    functions: HashMap<FunctionId, Printed>,
    /// How many of the modules were looked at.
    modules: usize,
    open: HashMap<(ProcessId, ThreadId), Vec<OpenCall>>,
    /// When the first event was.
    start: Option<TraceNanos>,
}

/// A function whose calls are printed.
struct Printed {
    name: String,
    /// What is captured of it; nothing where its types are not known.
    signature: Option<Arc<Signature>>,
}

struct OpenCall {
    stack: u32,
    depth: u32,
    function: FunctionId,
    time: TraceNanos,
    /// What it was called with.
    arguments: Vec<Value>,
    seen: Instant,
    is_printed: bool,
}

impl PrintedCalls {
    pub(crate) fn new(printed: &PrintedFunctions) -> Self {
        Self {
            patterns: printed.patterns.clone(),
            to: printed.to.clone(),
            functions: HashMap::new(),
            modules: 0,
            open: HashMap::new(),
            start: None,
        }
    }

    /// Takes up modules that are new. `modules` only ever grows.
    pub(crate) fn refresh(&mut self, modules: &[Module]) {
        for module in &modules[self.modules.min(modules.len())..] {
            let are_own = self.patterns.iter().any(|pattern| pattern == OWN) && is_own(&module.file.path);
            for index in 0..module.functions.len() {
                let is_hooked = !matches!(module.verdicts.get(index), None | Some(Verdict::Skipped(_)));
                let is_wanted = |name: &str| self.patterns.iter().any(|pattern| matches_name(pattern, name));
                if is_hooked && (are_own || module.functions.names(index).any(is_wanted)) {
                    let name = without_arguments(&module.name_of(index)).to_owned();
                    let signature = module.captured.signature(index).cloned().map(Arc::new);
                    self.functions.insert(FunctionId::new(module.id, index as u32), Printed { name, signature });
                }
            }
        }
        self.modules = modules.len();
    }

    /// Prints what a thread's batch of events has of wanted calls.
    pub(super) fn batch(&mut self, pid: ProcessId, events: &BatchAsEvents<'_>, details: &mut ThreadDetails) {
        if !events.records.is_empty() {
            self.start.get_or_insert(events.time(0));
        }
        for (number, record) in events.records.iter().enumerate() {
            if record.kind() == RecordKind::Stack {
                continue;
            }
            let function = events.known.get(record.function);
            let Some(printed) = self.functions.get(&function) else { continue };
            let captured = if record.is_probed() { details.take(record.tsc) } else { None };
            let payload = captured.map(|captured| captured.probe_payload(function));
            let thread = (pid, events.thread);
            let (stack, depth) = (events.own_stack.stack_of(record), record.depth());
            let time = events.time(number);
            if matches!(record.kind(), RecordKind::Call | RecordKind::EntryOnly) {
                let arguments = captured_values::arguments(printed.signature.as_deref(), payload.as_ref());
                self.print_open(thread);
                let call =
                    OpenCall { stack, depth, function, time, arguments, seen: Instant::now(), is_printed: false };
                if record.kind() == RecordKind::EntryOnly {
                    self.print(thread, time, &printed_call(&self.functions, &call));
                } else {
                    let open = self.open.entry(thread).or_default();
                    open.retain(|it| it.stack != stack || it.depth < depth);
                    open.push(call);
                }
            } else {
                let outcome = captured_values::outcome(printed.signature.as_deref(), payload.as_ref());
                self.end(thread, (stack, depth), function, time, record.kind(), record.is_tail(), outcome);
            }
        }
    }

    /// A call has ended.
    #[allow(clippy::too_many_arguments, reason = "what a record says, word by word")]
    fn end(
        &mut self,
        thread: (ProcessId, ThreadId),
        (stack, depth): (u32, u32),
        function: FunctionId,
        time: TraceNanos,
        kind: RecordKind,
        is_tail: bool,
        outcome: Option<Outcome>,
    ) {
        let Some(open) = self.open.get_mut(&thread) else { return };
        let is_it = |it: &OpenCall| (it.stack, it.depth, it.function) == (stack, depth, function);
        let ended = open.iter().rposition(is_it).map(|at| open.remove(at));
        open.retain(|it| it.stack != stack || it.depth < depth);
        let Some(mut call) = ended else { return };
        let name = self.functions.get(&function).map_or("", |it| it.name.as_str());
        let mut end = match kind {
            RecordKind::Unwound => " <unwound>".to_owned(),
            _ if is_tail => " <goes on in another function>".to_owned(),
            _ => String::new(),
        };
        if let Some(outcome) = outcome.filter(|_| end.is_empty()) {
            for (number, value) in outcome.written {
                call.arguments.get_mut(number).into_iter().for_each(|it| *it = value.clone());
            }
            let result = outcome.value.map(|value| value.shown(&|_| None));
            end = result_line(result.as_deref(), outcome.error.as_ref().map(|(_, name)| name.as_str()));
        }
        let line = match call.is_printed {
            true => format!("<... {name} resumed>{end}"),
            false => printed_call(&self.functions, &call) + &end,
        };
        self.print(thread, if call.is_printed { time } else { call.time }, &line);
    }

    /// Prints the calls of a thread that have not returned, so that what follows comes behind them.
    fn print_open(&mut self, thread: (ProcessId, ThreadId)) {
        self.print_open_if(thread, |_| true);
    }

    fn print_open_if(&mut self, thread: (ProcessId, ThreadId), is_due: impl Fn(&OpenCall) -> bool) {
        let Some(open) = self.open.get_mut(&thread) else { return };
        let mut lines = Vec::new();
        for call in open.iter_mut().filter(|call| !call.is_printed && is_due(call)) {
            call.is_printed = true;
            lines.push((call.time, printed_call(&self.functions, call) + " <unfinished ...>"));
        }
        lines.into_iter().for_each(|(time, line)| self.print(thread, time, &line));
    }

    /// Prints calls that take long; all that are open once nothing more is to come.
    pub(super) fn print_waiting(&mut self, is_end: bool) {
        let threads: Vec<(ProcessId, ThreadId)> = self.open.keys().copied().collect();
        for thread in threads {
            self.print_open_if(thread, |call| is_end || call.seen.elapsed() > LONG);
        }
    }

    /// A line in one piece: others may write to the same file.
    fn print(&self, (_, tid): (ProcessId, ThreadId), time: TraceNanos, line: &str) {
        let since = time.since(self.start.unwrap_or_default());
        let line = format!("[{tid}] {}.{:06} {line}\n", since / 1_000_000_000, since % 1_000_000_000 / 1000);
        // Whoever has opened the file says that it cannot be written.
        let _ = self.to.lock().map(|mut to| to.write_all(line.as_bytes()).and_then(|()| to.flush()));
    }
}

/// A call with its arguments; where these are not known, that there may be some.
fn printed_call(functions: &HashMap<FunctionId, Printed>, call: &OpenCall) -> String {
    let Some(Printed { name, signature }) = functions.get(&call.function) else { return String::new() };
    // Nothing was captured where values are left out.
    let lacks_some = |it: &Signature| call.arguments.len() < it.prototype().parameters.len();
    let has_more = signature.as_ref().is_none_or(|it| lacks_some(it) || it.may_have_more(&call.arguments));
    let arguments = call.arguments.iter().filter(|it| **it != Value::Absent);
    let shown: Vec<String> = arguments.map(|value| value.shown(&|_| None)).collect();
    call_line(name, shown.iter().map(String::as_str), has_more)
}
