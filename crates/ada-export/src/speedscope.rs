//! Speedscope's own format: a profile for each thread, with each call's opening and closing.

use std::collections::{BTreeMap, HashMap};
use std::io::{self, BufWriter, Write};

use ada_event::TraceNanos;
use serde_json::json;

use crate::json_text::text;
use crate::lanes::Lanes;
use crate::model::{Argument, Call, Ending, FunctionIndex, Logical, TraceInfo, TraceThread};
use crate::timeline_writer::{ArgumentsAt, TimelineWriter};

const SCHEMA: &str = "https://www.speedscope.app/file-format-schema.json";

/// What is a frame of its own: a function, and how it ended where that is not as usual.
type FrameKey = (usize, FunctionIndex, Option<Ending>);

/// A profile of logical spans: process, runtime and lane.
type LaneKey = (usize, &'static str, usize);

pub(crate) struct Speedscope<'a> {
    out: BufWriter<Box<dyn Write + 'a>>,
    frames: HashMap<FrameKey, usize>,
    /// Names and files, in the order of their numbers.
    listed: Vec<(String, Option<String>)>,
    is_first_profile: bool,
    is_first_event: bool,
    /// Logical spans by process, runtime and lane; a profile's events must be in order.
    lanes: HashMap<(usize, &'static str), Lanes>,
    logical: BTreeMap<LaneKey, Vec<(usize, TraceNanos, TraceNanos)>>,
}

impl<'a> Speedscope<'a> {
    pub(crate) fn new(output: Box<dyn Write + 'a>) -> Self {
        Self {
            out: BufWriter::with_capacity(1 << 20, output),
            frames: HashMap::new(),
            listed: Vec::new(),
            is_first_profile: true,
            is_first_event: true,
            lanes: HashMap::new(),
            logical: BTreeMap::new(),
        }
    }

    fn frame(&mut self, trace: &TraceInfo, thread: TraceThread, call: &Call) -> usize {
        let odd = (!call.ending.is_plain()).then_some(call.ending);
        let key = (trace.thread(thread).process, call.function, odd);
        let listed = &mut self.listed;
        *self.frames.entry(key).or_insert_with(|| {
            let function = trace.function(thread, call.function);
            let ending = odd.map_or_else(String::new, |it| format!(" [{}]", it.words()));
            listed.push((format!("{}{ending}", function.name), Some(function.module.clone())));
            listed.len() - 1
        })
    }

    fn begin_profile(&mut self, trace: &TraceInfo, name: &str) -> io::Result<()> {
        let separator = if std::mem::take(&mut self.is_first_profile) { "\n" } else { ",\n" };
        self.is_first_event = true;
        write!(self.out, "{separator}{{\"type\":\"evented\",\"name\":")?;
        text(&mut self.out, name)?;
        let end = trace.end.since(trace.start);
        write!(self.out, ",\"unit\":\"nanoseconds\",\"startValue\":0,\"endValue\":{end},\"events\":[")
    }

    fn event(&mut self, trace: &TraceInfo, kind: char, frame: usize, time: TraceNanos) -> io::Result<()> {
        let separator = if std::mem::take(&mut self.is_first_event) { "" } else { "," };
        let time = time.since(trace.start);
        write!(self.out, "{separator}{{\"type\":\"{kind}\",\"frame\":{frame},\"at\":{time}}}")
    }
}

impl TimelineWriter for Speedscope<'_> {
    fn arguments(&self) -> ArgumentsAt {
        ArgumentsAt::Never
    }

    fn begin(&mut self, trace: &TraceInfo) -> io::Result<()> {
        let (name, exporter) = (json!(trace.session), concat!("ada@", env!("CARGO_PKG_VERSION")));
        write!(self.out, "{{\"$schema\":\"{SCHEMA}\",\"exporter\":\"{exporter}\",\"name\":{name},\"profiles\":[")
    }

    fn begin_thread(&mut self, trace: &TraceInfo, thread: TraceThread) -> io::Result<()> {
        let it = &trace.thread(thread);
        let process = match &trace.processes[..] {
            [_] => String::new(),
            _ => format!("{} ", trace.process_of(thread).pid),
        };
        self.begin_profile(trace, &format!("{process}{} {}", it.name, it.id))
    }

    fn open(&mut self, trace: &TraceInfo, thread: TraceThread, call: &Call, _: &[Argument]) -> io::Result<()> {
        let frame = self.frame(trace, thread, call);
        self.event(trace, 'O', frame, call.start)
    }

    fn close(&mut self, trace: &TraceInfo, thread: TraceThread, call: &Call, _: &[Argument]) -> io::Result<()> {
        let frame = self.frame(trace, thread, call);
        self.event(trace, 'C', frame, call.end)
    }

    fn end_thread(&mut self, _: &TraceInfo, _: TraceThread) -> io::Result<()> {
        self.out.write_all(b"]}")
    }

    fn logical(&mut self, _: &TraceInfo, span: &Logical) -> io::Result<()> {
        let lane = self.lanes.entry((span.process, span.runtime)).or_default().take(span.start, span.end);
        let ending = if span.ending.is_plain() { String::new() } else { format!(" [{}]", span.ending.words()) };
        self.listed.push((format!("{} {}{ending}", span.reference, span.name), None));
        let frame = self.listed.len() - 1;
        self.logical.entry((span.process, span.runtime, lane)).or_default().push((frame, span.start, span.end));
        Ok(())
    }

    fn finish(&mut self, trace: &TraceInfo) -> io::Result<()> {
        for ((process, runtime, lane), spans) in std::mem::take(&mut self.logical) {
            self.begin_profile(trace, &format!("{} {runtime} {}", trace.processes[process].pid, lane + 1))?;
            for (frame, start, end) in spans {
                self.event(trace, 'O', frame, start)?;
                self.event(trace, 'C', frame, end)?;
            }
            self.out.write_all(b"]}")?;
        }
        self.out.write_all(b"],\"shared\":{\"frames\":[")?;
        for (index, (name, file)) in self.listed.iter().enumerate() {
            let separator = if index == 0 { "\n" } else { ",\n" };
            write!(self.out, "{separator}{{\"name\":")?;
            text(&mut self.out, name)?;
            if let Some(file) = file {
                self.out.write_all(b",\"file\":")?;
                text(&mut self.out, file)?;
            }
            self.out.write_all(b"}")?;
        }
        self.out.write_all(b"]}}\n")?;
        self.out.flush()
    }
}
