//! Firefox Profiler's processed profile, version 48.
//!
//! Calls are samples that weigh as much time as passes until the next one (`tracing-ms`): one at each opening and one
//! at each closing, so that stack chart, call tree and flame graph are exact. What a stack cannot hold (arguments,
//! how a call ended, threads, tasks and blocks) are markers.

mod column;
mod texts;

use std::collections::HashMap;
use std::fs::File;
use std::io::{self, BufWriter, Write};

use ada_event::TraceNanos;
use serde_json::{Map, Value, json};

use crate::json_text::millis;
use crate::model::{Argument, Call, Ending, FunctionIndex, FunctionInfo, Logical, TraceInfo, TraceThread};
use crate::paths::Paths;
use crate::timeline_writer::{ArgumentsAt, TimelineWriter};
use column::Column;
use texts::Texts;

/// The version of the processed format.
const PROCESSED: u32 = 48;
/// The version of the format that Firefox itself writes, which belongs to it.
const GECKO: u32 = 29;

type Spools<'a> = &'a dyn Fn() -> io::Result<File>;

pub(crate) struct Firefox<'a> {
    out: BufWriter<Box<dyn Write + 'a>>,
    spools: Spools<'a>,
    columns: Option<Columns>,
    thread: ThreadTables,
    is_first_thread: bool,
    /// Logical spans, whose markers make a thread of their own for each process.
    logical: Vec<Vec<(String, TraceNanos, TraceNanos, Value)>>,
    causes: HashMap<String, Vec<(&'static str, String)>>,
}

struct Columns {
    stacks: Column,
    times: Column,
    weights: Column,
    marker_data: Column,
    marker_names: Column,
    marker_starts: Column,
    marker_ends: Column,
}

/// What is kept of the current thread.
#[derive(Default)]
struct ThreadTables {
    texts: Texts,
    paths: Paths,
    open: Vec<Option<u32>>,
    /// The numbers of functions in the thread's tables, and their indexes in the process.
    functions: HashMap<FunctionIndex, u32>,
    used: Vec<FunctionIndex>,
    samples: u64,
    markers: u64,
    /// The time of the newest sample, whose weight is not known yet.
    last: Option<TraceNanos>,
}

impl<'a> Firefox<'a> {
    pub(crate) fn new(output: Box<dyn Write + 'a>, spools: Spools<'a>) -> Self {
        Self {
            out: BufWriter::with_capacity(1 << 20, output),
            spools,
            columns: None,
            thread: ThreadTables::default(),
            is_first_thread: true,
            logical: Vec::new(),
            causes: HashMap::new(),
        }
    }

    fn columns(&mut self) -> io::Result<&mut Columns> {
        if self.columns.is_none() {
            let column = || (self.spools)().map(Column::new);
            self.columns = Some(Columns {
                stacks: column()?,
                times: column()?,
                weights: column()?,
                marker_data: column()?,
                marker_names: column()?,
                marker_starts: column()?,
                marker_ends: column()?,
            });
        }
        self.columns.as_mut().ok_or_else(|| io::Error::other("the columns were just made"))
    }

    /// From this time on the stack is this.
    fn sample(&mut self, trace: &TraceInfo, time: TraceNanos) -> io::Result<()> {
        let stack = self.thread.open.last().copied().flatten();
        let last = self.thread.last.replace(time);
        self.thread.samples += 1;
        let columns = self.columns()?;
        if let Some(last) = last {
            millis(columns.weights.next()?, time.since(last))?;
        }
        match stack {
            Some(stack) => write!(columns.stacks.next()?, "{stack}")?,
            None => write!(columns.stacks.next()?, "null")?,
        }
        millis(columns.times.next()?, time.since(trace.start))
    }

    fn marker(
        &mut self,
        trace: &TraceInfo,
        name: &str,
        start: TraceNanos,
        end: TraceNanos,
        data: &Value,
    ) -> io::Result<()> {
        let name = self.thread.texts.number(name);
        self.thread.markers += 1;
        let columns = self.columns()?;
        write!(columns.marker_names.next()?, "{name}")?;
        write!(columns.marker_data.next()?, "{data}")?;
        millis(columns.marker_starts.next()?, start.since(trace.start))?;
        millis(columns.marker_ends.next()?, end.since(trace.start))
    }

    /// Writes the current thread.
    fn put_thread(&mut self, about: &Value, functions: &[&FunctionInfo]) -> io::Result<()> {
        let mut thread = std::mem::take(&mut self.thread);
        if thread.last.is_some() {
            write!(self.columns()?.weights.next()?, "0")?;
        }
        let separator = if std::mem::take(&mut self.is_first_thread) { "\n" } else { ",\n" };
        let head = about.to_string();
        write!(self.out, "{separator}{}", head.trim_end_matches('}'))?;
        self.columns()?;
        let out = &mut self.out;
        let Some(columns) = &mut self.columns else { return Ok(()) };
        write!(out, ",\"samples\":{{\"length\":{},\"weightType\":\"tracing-ms\",\"stack\":", thread.samples)?;
        columns.stacks.write_to(&mut *out)?;
        out.write_all(b",\"time\":")?;
        columns.times.write_to(&mut *out)?;
        out.write_all(b",\"weight\":")?;
        columns.weights.write_to(&mut *out)?;
        write!(out, "}},\"markers\":{{\"length\":{},\"data\":", thread.markers)?;
        columns.marker_data.write_to(&mut *out)?;
        out.write_all(b",\"name\":")?;
        columns.marker_names.write_to(&mut *out)?;
        out.write_all(b",\"startTime\":")?;
        columns.marker_starts.write_to(&mut *out)?;
        out.write_all(b",\"endTime\":")?;
        columns.marker_ends.write_to(&mut *out)?;
        // All are intervals (1), of the one category.
        write!(out, ",\"phase\":")?;
        repeated(out, thread.markers, "1")?;
        write!(out, ",\"category\":")?;
        repeated(out, thread.markers, "0")?;
        out.write_all(b"}")?;
        put_stacks(out, &mut thread, functions)?;
        write!(out, ",\"stringArray\":")?;
        serde_json::to_writer(&mut *out, thread.texts.listed())?;
        out.write_all(b"}")
    }
}

fn repeated(out: &mut dyn Write, count: u64, value: &str) -> io::Result<()> {
    out.write_all(b"[")?;
    for number in 0..count {
        if number > 0 {
            out.write_all(b",")?;
        }
        out.write_all(value.as_bytes())?;
    }
    out.write_all(b"]")
}

/// Tables of stacks, frames, functions and the libraries that they are of. A frame is a function, so that the two have
/// the same numbers.
fn put_stacks(out: &mut dyn Write, thread: &mut ThreadTables, functions: &[&FunctionInfo]) -> io::Result<()> {
    let nodes = thread.paths.nodes();
    let prefixes: Vec<Option<u32>> = nodes.iter().map(|node| node.parent).collect();
    let frames: Vec<u32> = nodes.iter().map(|node| node.what).collect();
    let zeros = vec![0_u8; nodes.len()];
    let stacks = json!({
        "length": nodes.len(), "prefix": prefixes, "frame": frames, "category": zeros, "subcategory": zeros,
    });
    let count = functions.len();
    let nothing = vec![Value::Null; count];
    let zeros = vec![0_u8; count];
    let addresses = vec![-1_i8; count];
    let numbers: Vec<usize> = (0..count).collect();
    let frames = json!({
        "length": count, "address": addresses, "inlineDepth": zeros, "category": zeros, "subcategory": zeros,
        "func": numbers, "nativeSymbol": nothing, "innerWindowID": nothing, "implementation": nothing,
        "line": nothing, "column": nothing,
    });
    let mut modules: Vec<usize> = Vec::new();
    let (mut names, mut resources) = (Vec::new(), Vec::new());
    for function in functions {
        names.push(thread.texts.number(&function.name));
        let module = thread.texts.number(&function.module);
        let index = modules.iter().position(|&it| it == module).unwrap_or_else(|| {
            modules.push(module);
            modules.len() - 1
        });
        resources.push(index);
    }
    let no = vec![false; count];
    let funcs = json!({
        "length": count, "name": names, "isJS": no, "relevantForJS": no, "resource": resources,
        "fileName": nothing, "lineNumber": nothing, "columnNumber": nothing,
    });
    let nothing = vec![Value::Null; modules.len()];
    // Type 1 is a library.
    let resources = json!({
        "length": modules.len(), "lib": nothing, "name": modules, "host": nothing, "type": vec![1_u8; modules.len()],
    });
    let symbols = json!({ "length": 0, "libIndex": [], "address": [], "name": [], "functionSize": [] });
    write!(out, ",\"stackTable\":{stacks},\"frameTable\":{frames},\"funcTable\":{funcs}")?;
    write!(out, ",\"resourceTable\":{resources},\"nativeSymbols\":{symbols}")
}

fn put_ending(data: &mut Map<String, Value>, ending: &Ending) {
    data.insert("status".into(), ending.status.into());
    if let Some(reason) = ending.reason {
        data.insert("reason".into(), reason.into());
    }
    if ending.is_uncertain {
        data.insert("uncertain".into(), "yes".into());
    }
}

/// Registers have fields of their own. What else a function gets may have any name, that of another field too.
fn put_arguments(data: &mut Map<String, Value>, arguments: &[Argument]) {
    let mut values = Vec::new();
    for argument in arguments {
        let value = argument.value.to_json();
        if REGISTERS.contains(&&*argument.name) {
            data.insert(argument.name.clone().into(), value);
        } else {
            let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
            values.push(format!("{}: {text}", argument.name));
        }
    }
    if !values.is_empty() {
        data.insert("values".into(), values.join(", ").into());
    }
}

const REGISTERS: [&str; 7] = ["rdi", "rsi", "rdx", "rcx", "r8", "r9", "rax"];

/// How the two kinds of marker are shown.
fn marker_schema() -> Value {
    let field = |key: &str| json!({ "key": key, "label": key, "format": "string", "searchable": true });
    let schema = |name: &str, keys: &[&str]| {
        let fields: Vec<Value> = keys.iter().map(|key| field(key)).collect();
        json!({
            "name": name, "display": ["marker-chart", "marker-table", "timeline-overview"],
            "tooltipLabel": "{marker.name}", "tableLabel": "{marker.data.status} {marker.data.reason}", "data": fields,
        })
    };
    let call: Vec<&str> = ["status", "reason", "uncertain", "values"].into_iter().chain(REGISTERS).collect();
    let logical = ["status", "reason", "uncertain", "span_id", "runtime", "cause", "parts", "attributes"];
    json!([schema("AdaCall", &call), schema("AdaLogical", &logical)])
}

fn thread_head(
    trace: &TraceInfo,
    process: usize,
    name: &str,
    tid: u64,
    times: (TraceNanos, TraceNanos),
    is_main: bool,
) -> Value {
    let millis = |time: TraceNanos| time.since(trace.start) as f64 / 1e6;
    let it = &trace.processes[process];
    json!({
        "processType": "default", "processName": it.name, "processStartupTime": 0.0,
        "processShutdownTime": millis(trace.end), "registerTime": millis(times.0), "unregisterTime": millis(times.1),
        "pausedRanges": [], "name": name, "isMainThread": is_main, "pid": it.pid.to_string(), "tid": tid,
    })
}

impl TimelineWriter for Firefox<'_> {
    fn arguments(&self) -> ArgumentsAt {
        ArgumentsAt::Open
    }

    fn begin(&mut self, trace: &TraceInfo) -> io::Result<()> {
        self.logical.resize_with(trace.processes.len(), Vec::new);
        self.causes = trace.causes();
        let product = trace.processes.first().map_or("", |it| it.name.as_str());
        let meta = json!({
            "version": GECKO, "preprocessedProfileVersion": PROCESSED, "startTime": 0.0, "interval": 0.000_001,
            "processType": 0, "product": product, "stackwalk": 1, "debug": false, "symbolicated": true,
            "importedFrom": "ada", "misc": trace.session, "oscpu": "Linux", "platform": "Linux", "toolkit": "",
            "categories": [{ "name": "Other", "color": "grey", "subcategories": ["Other"] }],
            "markerSchema": marker_schema(),
        });
        write!(self.out, "{{\"meta\":{meta},\"libs\":[],\"threads\":[")
    }

    fn begin_thread(&mut self, _: &TraceInfo, _: TraceThread) -> io::Result<()> {
        Ok(())
    }

    fn open(&mut self, trace: &TraceInfo, thread: TraceThread, call: &Call, arguments: &[Argument]) -> io::Result<()> {
        let above = self.thread.open.last().copied().flatten();
        let used = &mut self.thread.used;
        let function = *self.thread.functions.entry(call.function).or_insert_with(|| {
            used.push(call.function);
            used.len() as u32 - 1
        });
        let node = self.thread.paths.below(above, function);
        self.thread.open.push(node);
        self.sample(trace, call.start)?;
        if arguments.is_empty() && call.ending.is_plain() {
            return Ok(());
        }
        let mut data = Map::from_iter([("type".to_owned(), Value::from("AdaCall"))]);
        put_ending(&mut data, &call.ending);
        put_arguments(&mut data, arguments);
        let name = &trace.function(thread, call.function).name;
        self.marker(trace, name, call.start, call.end, &data.into())
    }

    fn close(&mut self, trace: &TraceInfo, _: TraceThread, call: &Call, _: &[Argument]) -> io::Result<()> {
        self.thread.open.pop();
        self.sample(trace, call.end)
    }

    fn end_thread(&mut self, trace: &TraceInfo, thread: TraceThread) -> io::Result<()> {
        let it = &trace.thread(thread);
        let process = &trace.processes[it.process];
        let is_main = it.id == process.pid.first_thread();
        let head = thread_head(trace, it.process, &it.name, it.id.into(), (it.start, it.end), is_main);
        let used = self.thread.used.iter().map(|&index| process.function(index));
        let functions: Vec<&FunctionInfo> = used.collect();
        self.put_thread(&head, &functions)
    }

    fn logical(&mut self, trace: &TraceInfo, span: &Logical) -> io::Result<()> {
        let mut data = Map::from_iter([("type".to_owned(), Value::from("AdaLogical"))]);
        put_ending(&mut data, &span.ending);
        data.insert("span_id".into(), span.reference.as_str().into());
        data.insert("runtime".into(), span.runtime.into());
        if !span.parts.is_empty() {
            let parts = span.parts.iter().map(|part| {
                let (start, length) = (part.start.since(span.start), part.end.since(part.start));
                format!("{} +{start} ns for {length} ns on {}", part.label, trace.thread(part.thread).id)
            });
            data.insert("parts".into(), parts.collect::<Vec<_>>().join("; ").into());
        }
        let mut attributes = span.attributes.clone();
        attributes.retain(|_, value| !value.is_null());
        let causes = self.causes.remove(&span.reference).unwrap_or_default();
        if !causes.is_empty() {
            let words: Vec<String> = causes.iter().map(|(kind, cause)| format!("{kind} by {cause}")).collect();
            data.insert("cause".into(), words.join(", ").into());
        }
        data.insert("attributes".into(), Value::Object(attributes).to_string().into());
        self.logical[span.process].push((span.name.clone(), span.start, span.end, data.into()));
        Ok(())
    }

    fn finish(&mut self, trace: &TraceInfo) -> io::Result<()> {
        for (process, spans) in std::mem::take(&mut self.logical).into_iter().enumerate() {
            if spans.is_empty() {
                continue;
            }
            for (name, start, end, data) in &spans {
                self.marker(trace, name, *start, *end, data)?;
            }
            let tid = u64::from(u32::MAX) + 1 + process as u64;
            let head = thread_head(trace, process, "logical spans", tid, (trace.start, trace.end), false);
            self.put_thread(&head, &[])?;
        }
        self.out.write_all(b"\n]}\n")?;
        self.out.flush()
    }
}
