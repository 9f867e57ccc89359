//! Perfetto's protobuf: a packet for each beginning and end, names interned, flows between causes and effects.

mod fields;
mod interned;
mod schedule;

use std::collections::HashMap;
use std::io::{self, BufWriter, Write};

use ada_event::{EventSeq, TraceNanos};
use serde_json::Value;

use crate::lanes::Lanes;
use crate::message::Message;
use crate::model::{Argument, ArgumentValue, Call, Ending, FunctionIndex, Logical, TraceInfo, TraceThread};
use crate::timeline_writer::{ArgumentsAt, TimelineWriter};
use fields::{annotation, event, interned as names, packet, trace as trace_fields, track};
use interned::Interned;

/// All packets are of one sequence, so that a name is written once.
const SEQUENCE: u64 = 1;

pub(crate) struct Perfetto<'a> {
    out: BufWriter<Box<dyn Write + 'a>>,
    is_first: bool,
    event_names: Interned,
    categories: Interned,
    annotation_names: Interned,
    string_values: Interned,
    /// The numbers of functions' names and categories, by process and index: most events need no look at a text.
    functions: HashMap<(usize, FunctionIndex), (u64, u64)>,
    /// Links that begin at a call, by its thread and opening event; their numbers are their indexes plus one.
    from_calls: HashMap<(TraceThread, EventSeq), Vec<u64>>,
    /// Those that end at a logical span, with the time.
    to_logical: HashMap<String, Vec<(TraceNanos, u64)>>,
    /// Those that begin at the end of one.
    from_logical: HashMap<String, Vec<u64>>,
    lanes: HashMap<(usize, &'static str), Lanes>,
    /// Tracks that are described, by process, runtime and lane.
    tracks: HashMap<(usize, &'static str, usize), u64>,
    next_track: u64,
}

impl<'a> Perfetto<'a> {
    pub(crate) fn new(output: Box<dyn Write + 'a>) -> Self {
        Self {
            out: BufWriter::with_capacity(1 << 20, output),
            is_first: true,
            event_names: Interned::default(),
            categories: Interned::default(),
            annotation_names: Interned::default(),
            string_values: Interned::default(),
            functions: HashMap::new(),
            from_calls: HashMap::new(),
            to_logical: HashMap::new(),
            from_logical: HashMap::new(),
            lanes: HashMap::new(),
            tracks: HashMap::new(),
            next_track: 1 << 40,
        }
    }

    fn packet(&mut self, mut packet: Message) -> io::Result<()> {
        packet.number(packet::SEQUENCE_ID, SEQUENCE);
        let flags = if std::mem::take(&mut self.is_first) { packet::CLEARED } else { 0 };
        packet.number(packet::SEQUENCE_FLAGS, flags | packet::NEEDS_STATE);
        let mut head = Message::default();
        head.varint(trace_fields::PACKET << 3 | 2);
        head.varint(packet.bytes().len() as u64);
        self.out.write_all(head.bytes())?;
        self.out.write_all(packet.bytes())
    }

    fn event(&mut self, time: TraceNanos, event: &Message, news: &Message) -> io::Result<()> {
        let mut packet = Message::default();
        packet.number(packet::TIMESTAMP, time.0);
        if !news.bytes().is_empty() {
            packet.message(packet::INTERNED_DATA, news);
        }
        packet.message(packet::TRACK_EVENT, event);
        self.packet(packet)
    }

    fn track(&mut self, descriptor: &Message) -> io::Result<()> {
        let mut packet = Message::default();
        packet.message(packet::TRACK_DESCRIPTOR, descriptor);
        self.packet(packet)
    }

    /// The beginning of something with a name.
    fn begun(&mut self, track_uuid: u64, name: &str, category: &str, news: &mut Message) -> Message {
        let name = self.event_names.number(name, names::EVENT_NAMES, news);
        let category = self.categories.number(category, names::CATEGORIES, news);
        begun_by(track_uuid, name, category)
    }

    fn end(&mut self, track_uuid: u64, time: TraceNanos) -> io::Result<()> {
        let mut it = Message::default();
        it.number(event::TYPE, event::SLICE_END).number(event::TRACK_UUID, track_uuid);
        self.event(time, &it, &Message::default())
    }

    /// A moment, with the flows that meet in it.
    fn instant(&mut self, track_uuid: u64, time: TraceNanos, name: &str, flows: &[(u64, u64)]) -> io::Result<()> {
        let mut news = Message::default();
        let mut it = Message::default();
        it.number(event::TYPE, event::INSTANT).number(event::TRACK_UUID, track_uuid);
        it.number(event::NAME_IID, self.event_names.number(name, names::EVENT_NAMES, &mut news));
        it.number(event::CATEGORY_IIDS, self.categories.number("link", names::CATEGORIES, &mut news));
        for &(field, flow) in flows {
            it.fixed64(field, flow);
        }
        self.event(time, &it, &news)
    }

    fn annotate(&mut self, event: &mut Message, name: &str, news: &mut Message, value: impl FnOnce(&mut Message)) {
        let mut it = Message::default();
        it.number(annotation::NAME_IID, self.annotation_names.number(name, names::ANNOTATION_NAMES, news));
        value(&mut it);
        event.message(event::DEBUG_ANNOTATIONS, &it);
    }

    /// A text of which there are few.
    fn annotate_word(&mut self, event: &mut Message, name: &str, word: &str, news: &mut Message) {
        let number = self.string_values.number(word, names::STRING_VALUES, news);
        self.annotate(event, name, news, |it| {
            it.number(annotation::STRING_IID, number);
        });
    }

    fn annotate_ending(&mut self, event: &mut Message, ending: &Ending, news: &mut Message) {
        if ending.is_plain() {
            return;
        }
        self.annotate_word(event, "status", ending.status, news);
        if let Some(reason) = ending.reason {
            self.annotate_word(event, "reason", reason, news);
        }
        if ending.is_uncertain {
            self.annotate(event, "uncertain", news, |it| {
                it.number(annotation::BOOL, 1);
            });
        }
    }

    fn annotate_json(&mut self, event: &mut Message, name: &str, value: &Value, news: &mut Message) {
        self.annotate(event, name, news, |it| match value {
            Value::Bool(value) => drop(it.number(annotation::BOOL, (*value).into())),
            Value::Number(number) => match (number.as_u64(), number.as_i64()) {
                (Some(value), _) => drop(it.number(annotation::UINT, value)),
                (None, Some(value)) => drop(it.number(annotation::INT, value as u64)),
                _ => drop(it.double(annotation::DOUBLE, number.as_f64().unwrap_or(0.0))),
            },
            Value::String(text) => drop(it.text(annotation::STRING, text)),
            other => drop(it.text(annotation::STRING, &other.to_string())),
        });
    }

    fn logical_track(&mut self, span: &Logical) -> io::Result<u64> {
        let lane = self.lanes.entry((span.process, span.runtime)).or_default().take(span.start, span.end);
        if let Some(&uuid) = self.tracks.get(&(span.process, span.runtime, lane)) {
            return Ok(uuid);
        }
        let uuid = self.next_track;
        self.next_track += 1;
        self.tracks.insert((span.process, span.runtime, lane), uuid);
        // Tracks of one name are shown as one, with as many lines as it takes.
        let title = match span.runtime {
            "pthread" => "Threads",
            "swift" => "Tasks",
            "gcd" => "Blocks",
            "go" => "Goroutines",
            _ => "Callbacks",
        };
        let mut descriptor = Message::default();
        descriptor.number(track::UUID, uuid).number(track::PARENT, process_uuid(span.process));
        descriptor.text(track::NAME, title);
        self.track(&descriptor)?;
        Ok(uuid)
    }
}

/// The beginning of a slice, with the numbers of its name and category.
fn begun_by(track_uuid: u64, name: u64, category: u64) -> Message {
    let mut it = Message::default();
    it.number(event::TYPE, event::SLICE_BEGIN).number(event::TRACK_UUID, track_uuid);
    it.number(event::NAME_IID, name).number(event::CATEGORY_IIDS, category);
    it
}

fn process_uuid(process: usize) -> u64 {
    1 + process as u64
}

fn thread_uuid(thread: TraceThread) -> u64 {
    (1 << 32) + thread.0 as u64
}

impl TimelineWriter for Perfetto<'_> {
    fn arguments(&self) -> ArgumentsAt {
        ArgumentsAt::Open
    }

    fn begin(&mut self, trace: &TraceInfo) -> io::Result<()> {
        for (number, link) in (1..).zip(&trace.links) {
            match (link.from.call, &link.from.logical) {
                (Some(seq), _) => self.from_calls.entry((link.from.thread, seq)).or_default().push(number),
                (None, Some(logical)) => self.from_logical.entry(logical.clone()).or_default().push(number),
                (None, None) => (),
            }
            if let Some(logical) = &link.to.logical {
                self.to_logical.entry(logical.clone()).or_default().push((link.to.time, number));
            }
        }
        for (index, process) in trace.processes.iter().enumerate() {
            let mut inner = Message::default();
            inner.number(track::PROCESS_PID, process.pid.into()).text(track::PROCESS_NAME, &process.name);
            let mut descriptor = Message::default();
            descriptor.number(track::UUID, process_uuid(index)).message(track::PROCESS, &inner);
            self.track(&descriptor)?;
        }
        for (index, thread) in trace.threads.iter().enumerate() {
            let mut inner = Message::default();
            inner.number(track::THREAD_PID, trace.processes[thread.process].pid.into());
            inner.number(track::THREAD_TID, thread.id.into()).text(track::THREAD_NAME, &thread.name);
            let mut descriptor = Message::default();
            descriptor
                .number(track::UUID, thread_uuid(TraceThread(index)))
                .number(track::PARENT, process_uuid(thread.process));
            descriptor.message(track::THREAD, &inner);
            self.track(&descriptor)?;
        }
        schedule::packets(trace).into_iter().try_for_each(|packet| self.packet(packet))
    }

    fn begin_thread(&mut self, _: &TraceInfo, _: TraceThread) -> io::Result<()> {
        Ok(())
    }

    fn open(&mut self, trace: &TraceInfo, thread: TraceThread, call: &Call, arguments: &[Argument]) -> io::Result<()> {
        let mut news = Message::default();
        let key = (trace.thread(thread).process, call.function);
        let mut it = match self.functions.get(&key) {
            Some(&(name, category)) => begun_by(thread_uuid(thread), name, category),
            None => {
                let function = trace.function(thread, call.function);
                let name = self.event_names.number(&function.name, names::EVENT_NAMES, &mut news);
                let category = self.categories.number(&function.module, names::CATEGORIES, &mut news);
                self.functions.insert(key, (name, category));
                begun_by(thread_uuid(thread), name, category)
            }
        };
        for argument in arguments {
            match &argument.value {
                ArgumentValue::Register(value) => self.annotate(&mut it, &argument.name, &mut news, |it| {
                    it.number(annotation::POINTER, *value);
                }),
                ArgumentValue::Attribute(value) => self.annotate_json(&mut it, &argument.name, value, &mut news),
            }
        }
        self.annotate_ending(&mut it, &call.ending, &mut news);
        for &flow in self.from_calls.get(&(thread, call.seq)).map_or(&[][..], |them| them) {
            it.fixed64(event::FLOW_IDS, flow);
        }
        self.event(call.start, &it, &news)
    }

    fn close(&mut self, _: &TraceInfo, thread: TraceThread, call: &Call, _: &[Argument]) -> io::Result<()> {
        self.end(thread_uuid(thread), call.end)
    }

    fn end_thread(&mut self, _: &TraceInfo, _: TraceThread) -> io::Result<()> {
        Ok(())
    }

    fn logical(&mut self, _: &TraceInfo, span: &Logical) -> io::Result<()> {
        let uuid = self.logical_track(span)?;
        let mut incoming = self.to_logical.remove(&span.reference).unwrap_or_default();
        let mut news = Message::default();
        let mut it = self.begun(uuid, &span.name, span.runtime, &mut news);
        self.annotate(&mut it, "span_id", &mut news, |it| {
            it.text(annotation::STRING, &span.reference);
        });
        self.annotate_ending(&mut it, &span.ending, &mut news);
        for (name, value) in span.attributes.iter().filter(|(_, value)| !value.is_null()) {
            self.annotate_json(&mut it, name, value, &mut news);
        }
        // A resume is about the part that it begins, everything else about the whole.
        let part_starts: Vec<TraceNanos> = span.parts.iter().skip(1).map(|part| part.start).collect();
        incoming.retain(|&(time, flow)| {
            let is_of_part = part_starts.contains(&time);
            if !is_of_part {
                it.fixed64(event::TERMINATING_FLOW_IDS, flow);
            }
            is_of_part
        });
        self.event(span.start, &it, &news)?;
        for part in &span.parts {
            let mut news = Message::default();
            let mut it = self.begun(uuid, &part.label, "part", &mut news);
            for &(_, flow) in incoming.iter().filter(|&&(time, _)| time == part.start && part.is_running) {
                it.fixed64(event::TERMINATING_FLOW_IDS, flow);
            }
            self.event(part.start, &it, &news)?;
            self.end(uuid, part.end)?;
        }
        for flow in self.from_logical.remove(&span.reference).unwrap_or_default() {
            self.instant(uuid, span.end, "end", &[(event::FLOW_IDS, flow)])?;
        }
        self.end(uuid, span.end)
    }

    fn finish(&mut self, trace: &TraceInfo) -> io::Result<()> {
        // What ends at a call ends when the call has what it waited for, and that may be long after its beginning.
        for (number, link) in (1..).zip(&trace.links).filter(|(_, link)| link.to.logical.is_none()) {
            let flows = [(event::TERMINATING_FLOW_IDS, number)];
            self.instant(thread_uuid(link.to.thread), link.to.time, link.kind, &flows)?;
        }
        self.out.flush()
    }
}
