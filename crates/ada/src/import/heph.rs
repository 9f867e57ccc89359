//! `ada import heph FILE`.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fs::File;
use std::io::BufWriter;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use ada_event::{DetailSeq, Event, EventKind, FunctionId, ImageOffset, ModuleId, ProcessId, ThreadId, TraceNanos};
use ada_format::atf::{
    DetailType, Exit, FunctionRow, Module, Payload, Platform, SessionWriter, SyncPolicy, functions_file,
    write_functions,
};
use ada_format::heph::{Encoder, Packet};
use ada_format::private::create_file;
use anyhow::{Context, bail};
use serde_json::json;

use super::lane::{Interval, Lane, nest};
use super::unfinished::Unfinished;
use crate::exit::{Blame, Outcome, say};
use crate::heph::HEPH_PACKET;
use crate::heph::{Complaints, Input};

const EXAMPLES: &str = "\
Examples:
  ada import heph trace.heph         a session in ada_traces, for `ada view` and all other commands
  nc -l 9000 | ada import heph -

Each stream becomes a thread, and so does each substream other than 0. Events that overlap without one enclosing the \
other are put on extra threads beside it. The packets themselves are kept too: `ada export --to heph` returns them as \
they came. Memory: 64 bytes for each event, and each description once.";

/// The packets that a session was made of, in a process's folder.
pub(crate) const PACKETS_FILE: &str = "packets.heph";

/// A module for all that Heph events describe.
const MODULE: ModuleId = ModuleId(1);
/// A lane of so many calls and returns has a folder of its own; the others share a file.
const LARGE: usize = 4096;
/// Heph does not know processes.
const PID: u32 = 1;

/// Convert a Heph trace to a session
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Args {
    #[command(flatten)]
    input: Input,
    /// Folder that the session is written to
    #[arg(long, value_name = "DIR", default_value = "ada_traces")]
    output: PathBuf,
}

/// What was read.
#[derive(Default)]
struct Read {
    /// The epochs that were said, each with the number of the first event behind it: every peer of a listener has its own.
    epochs: Vec<(usize, u64)>,
    functions: Vec<String>,
    numbers: HashMap<String, u32>,
    events: Vec<Kept>,
    /// How many bytes of packets were kept.
    bytes: u64,
    /// Events of each stream and substream, in the order of their arrival.
    streams: BTreeMap<(u32, u64), Vec<Interval>>,
}

struct Kept {
    function: u32,
    /// Where its packet begins among those that are kept.
    offset: u64,
    /// How long it is; 0 for an event without attributes, whose packet says no more than its call.
    length: u32,
}

pub(super) fn run(args: &Args) -> anyhow::Result<Outcome> {
    let mut trace = args.input.open()?;
    let mut read = Read::default();
    let failed = || format!("cannot write a session into {}", args.output.display());
    let unfinished = Unfinished::begin(&args.output).output_failed(failed)?;
    let kept = unfinished.path().join(PACKETS_FILE);
    let mut packets = BufWriter::new(create_file(&kept).output_failed(failed)?);
    let mut encoder = Encoder::new();
    let mut malformed = Complaints::of("malformed packets");
    while let Some(found) = trace.next_packet()? {
        match found.map(|framed| framed.packet) {
            Ok(packet) => {
                encoder.packet(&packet)?;
                read.take(&packet, encoder.bytes().len() as u64)?;
                encoder.write_to(&mut packets).output_failed(failed)?;
            }
            Err(error) => malformed.add(format_args!("malformed: {error}")),
        }
    }
    drop(malformed);
    if read.events.is_empty() {
        bail!("{} has no events; is it a Heph trace?", args.input);
    }
    let events = read.events.len();
    let packets = packets.into_inner().map_err(|error| error.into_error()).output_failed(failed)?;
    let session = read.write(args, unfinished.path(), &packets).output_failed(failed)?;
    let path = unfinished.finish(&session).output_failed(failed)?;
    say(format_args!("ada: {events} events in {}\n", path.display()));
    Ok(trace.outcome())
}

impl Read {
    /// Takes a packet, of which so many bytes are kept.
    fn take(&mut self, packet: &Packet<'_>, length: u64) -> anyhow::Result<()> {
        let offset = self.bytes;
        self.bytes += length;
        let event = match packet {
            Packet::Metadata(metadata) => {
                let epoch = metadata.epoch().map(|it| (self.events.len(), it.0));
                self.epochs.extend(epoch.filter(|(_, epoch)| self.epochs.last().is_none_or(|(_, last)| last != epoch)));
                return Ok(());
            }
            Packet::Event(event) => event,
        };
        let head = &event.head;
        let function = match self.numbers.get(head.description) {
            Some(&number) => number,
            None => {
                let number = u32::try_from(self.functions.len()).context("more descriptions than there are numbers")?;
                self.functions.push(head.description.to_owned());
                self.numbers.insert(head.description.to_owned(), number);
                number
            }
        };
        let index = self.events.len();
        let length = if event.attributes.is_empty() { 0 } else { length as u32 };
        self.events.push(Kept { function, offset, length });
        let interval = Interval { start: head.start.0, end: head.end.0, event: index };
        self.streams.entry((head.stream.0, head.substream.0)).or_default().push(interval);
        Ok(())
    }

    /// Counts all times from the earliest epoch, and gives it.
    fn rebase(&mut self) -> Option<u64> {
        let epochs = &self.epochs;
        let base = epochs.iter().map(|(_, epoch)| *epoch).min()?;
        let later_by = |event: usize| {
            // What comes before the first one is said by it too.
            let number = epochs.partition_point(|(first, _)| *first <= event).saturating_sub(1);
            epochs[number].1 - base
        };
        for interval in self.streams.values_mut().flatten().filter(|_| epochs.len() > 1) {
            let later_by = later_by(interval.event);
            interval.start = interval.start.saturating_add(later_by);
            interval.end = interval.end.saturating_add(later_by);
        }
        Some(base)
    }

    /// Writes a session into a folder, and moves the packets there.
    fn write(mut self, args: &Args, folder: &Path, packets: &File) -> anyhow::Result<PathBuf> {
        let epoch = self.rebase();
        let mut session = SessionWriter::create(
            folder,
            SystemTime::now(),
            ProcessId(PID),
            Platform::LINUX_X86_64,
            SyncPolicy::OnFinish,
        )?;
        let mut ids = ThreadIds::new(self.streams.keys().map(|&(stream, _)| stream));
        for ((stream, substream), events) in std::mem::take(&mut self.streams) {
            for (number, lane) in nest(events).iter().enumerate() {
                let id = ids.take((substream == 0 && number == 0).then_some(stream));
                let mut name = format!("stream {stream}");
                if substream != 0 {
                    name.push_str(&format!(" substream {substream}"));
                }
                if number > 0 {
                    name.push_str(&format!(" ({})", number + 1));
                }
                self.write_lane(&mut session, ThreadId(id), name, lane, packets)?;
            }
        }
        let rows = self.functions.iter().zip(0..).map(|(name, number)| FunctionRow {
            offset: ImageOffset(number),
            size: 1,
            verdict: "hooked".into(),
            reason: String::new(),
            name: name.clone(),
            values: String::new(),
        });
        let kept = session.process_path().join(PACKETS_FILE);
        std::fs::rename(folder.join(PACKETS_FILE), &kept).with_context(|| kept.display().to_string())?;
        let path = session.process_path().join(functions_file(MODULE));
        let file = create_file(&path).with_context(|| path.display().to_string())?;
        write_functions(BufWriter::new(file), rows)?;
        let manifest = session.manifest_mut();
        manifest.exit = Some(Exit::default());
        manifest.command_line = vec![args.input.to_string()];
        manifest.modules = vec![Module { module_id: MODULE, path: "heph".into(), ..Module::default() }];
        manifest.extra.insert("imported_from".into(), "heph".into());
        if let Some(epoch) = epoch {
            manifest.extra.insert("epoch_unix_ns".into(), json!(epoch));
        }
        Ok(session.finish()?)
    }

    fn write_lane(
        &self,
        session: &mut SessionWriter,
        thread: ThreadId,
        name: String,
        lane: &Lane,
        packets: &File,
    ) -> anyhow::Result<()> {
        let mut bytes = Vec::new();
        let mut writer = match lane.steps.len() {
            0..LARGE => session.small_thread(thread)?,
            _ => session.thread(thread)?,
        };
        writer.entry_mut().name = Some(name);
        for step in &lane.steps {
            let kept = &self.events[step.event];
            let event = Event {
                timestamp: TraceNanos(step.time),
                function: FunctionId::new(MODULE, kept.function),
                thread,
                kind: if step.is_call { EventKind::CALL } else { EventKind::RETURN },
                depth: step.depth,
                detail: DetailSeq::NONE,
            };
            if step.is_call && kept.length > 0 {
                bytes.resize(kept.length as usize, 0);
                packets.read_exact_at(&mut bytes, kept.offset)?;
                let payload = Payload::Unknown { kind: DetailType(HEPH_PACKET), bytes: &bytes };
                writer.append_with_detail(&event, &payload)?;
            } else {
                writer.append(&event)?;
            }
        }
        session.finish_thread(writer)?;
        Ok(())
    }
}

/// Ids of threads: streams keep theirs.
struct ThreadIds {
    kept: BTreeSet<u32>,
    next: u32,
}

impl ThreadIds {
    fn new(streams: impl Iterator<Item = u32>) -> Self {
        Self { kept: streams.collect(), next: 1_000_000 }
    }

    fn take(&mut self, stream: Option<u32>) -> u32 {
        if let Some(stream) = stream {
            return stream;
        }
        while !self.kept.insert(self.next) {
            self.next = self.next.wrapping_add(1);
        }
        self.next
    }
}
