//! `ada heph stat`.

use std::collections::BTreeMap;
use std::fmt::{self, Write as _};
use std::io::{self, Write as _};

use ada_format::heph::{
    Event, EventCounters, Interval, Metadata, Nanos, Packet, StreamCount, StreamId, SubstreamId, Totals, UnixNanos,
    depth,
};
use serde::Serialize;

use super::complaints::Complaints;
use super::input::Input;
use super::text::{Hex, OptionText, shown};
use crate::exit::{Blame, Outcome};
use crate::format::Format;
use crate::wall_clock::WallClock;

const EXAMPLES: &str = "\
Examples:
  ada heph stat trace.heph
  ada heph stat - --format json < trace.heph

Up to 100 options are listed, with their first 64 bytes; `ada heph dump --format json` has all of them. Memory: 32 \
bytes for each event, to find how deep events nest, and 256 for each stream. The exit code is 1 if anything is \
malformed.";

/// How many options are kept: they must not fill the memory.
const LISTED_OPTIONS: usize = 100;

/// How many streams are listed for people.
const LISTED_STREAMS: usize = 1000;

/// How many substreams of a stream are listed for people.
const LISTED_SUBSTREAMS: usize = 10;

/// Count what is in a trace, and what is missing
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Args {
    #[command(flatten)]
    input: Input,

    /// Output format: text, or one JSON object
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
}

pub(super) fn run(args: &Args) -> anyhow::Result<Outcome> {
    let mut trace = args.input.open()?;
    let mut seen = Seen::new();
    let mut malformed = Complaints::of("malformed packets");
    while let Some(found) = trace.next_packet()? {
        match found.map(|framed| framed.packet) {
            Ok(Packet::Metadata(metadata)) => seen.metadata(&metadata),
            Ok(Packet::Event(event)) => seen.event(&event),
            Err(error) => malformed.add(format_args!("malformed: {error}")),
        }
    }
    let statistics = seen.finish(trace.totals());
    let text = match args.format {
        Format::Text => statistics.to_string(),
        Format::Json => serde_json::to_string(&statistics)? + "\n",
    };
    io::stdout().write_all(text.as_bytes()).output_failed(|| "cannot write to standard output".into())?;
    Ok(trace.outcome())
}

/// What a trace has shown so far.
struct Seen {
    /// Each option as it was last set.
    options: BTreeMap<String, OptionStatistics>,
    /// Packets with further options.
    unlisted_options: u64,
    epoch: Option<UnixNanos>,
    time: Option<Interval>,
    counters: EventCounters,
    intervals: Vec<(StreamId, SubstreamId, Interval)>,
}

impl Seen {
    fn new() -> Self {
        Self {
            options: BTreeMap::new(),
            unlisted_options: 0,
            epoch: None,
            time: None,
            counters: EventCounters::with_max_streams(usize::MAX),
            intervals: Vec::new(),
        }
    }

    fn metadata(&mut self, metadata: &Metadata<'_>) {
        self.epoch = metadata.epoch().or(self.epoch);
        if self.options.len() >= LISTED_OPTIONS && !self.options.contains_key(metadata.name()) {
            self.unlisted_options += 1;
            return;
        }
        let value = metadata.value();
        let option = OptionStatistics {
            text: OptionText(metadata).to_string(),
            bytes: value.len(),
            value_hex: Hex(shown(value)).to_string(),
        };
        self.options.insert(metadata.name().into(), option);
    }

    fn event(&mut self, event: &Event<'_>) {
        let head = event.head;
        let interval = Interval { start: head.start, end: head.end };
        let time = self.time.get_or_insert(interval);
        *time = Interval { start: time.start.min(head.start), end: time.end.max(head.end) };
        self.counters.record(head.stream, head.counter);
        self.intervals.push((head.stream, head.substream, interval));
    }

    fn finish(mut self, totals: Totals) -> Statistics {
        let counts = self.counters.streams();
        // Events of a substream stay in the order of their arrival, which says who encloses whom.
        self.intervals.sort_by_key(|(stream, substream, _)| (*stream, *substream));
        let of_streams = self.intervals.chunk_by(|one, next| one.0 == next.0);
        let streams: Vec<_> = of_streams
            .zip(counts)
            .map(|(events, (stream, count))| StreamStatistics::new(stream, count, events))
            .collect();
        let events = streams.iter().map(|stream| stream.events).sum();
        Statistics {
            packets: totals.packets,
            events,
            metadata: totals.packets - events,
            malformed: totals.malformed,
            skipped_bytes: totals.skipped,
            start: self.time.map(|time| time.start.0),
            end: self.time.map(|time| time.end.0),
            epoch_unix_nanos: self.epoch.map(|epoch| epoch.0),
            depth: streams.iter().flat_map(|stream| &stream.substreams).map(|it| it.depth).max().unwrap_or(0),
            options: self.options,
            unlisted_options: self.unlisted_options,
            streams,
        }
    }
}

#[derive(Serialize)]
struct Statistics {
    packets: u64,
    events: u64,
    metadata: u64,
    malformed: u64,
    skipped_bytes: u64,
    start: Option<u64>,
    end: Option<u64>,
    epoch_unix_nanos: Option<u64>,
    depth: usize,
    options: BTreeMap<String, OptionStatistics>,
    unlisted_options: u64,
    streams: Vec<StreamStatistics>,
}

#[derive(Serialize)]
struct OptionStatistics {
    #[serde(skip)]
    text: String,
    /// Of the whole value.
    bytes: usize,
    /// The first bytes of it.
    value_hex: String,
}

#[derive(Serialize)]
struct StreamStatistics {
    stream: u32,
    first_counter: u32,
    last_counter: u32,
    events: u64,
    missed: u64,
    reordered: u64,
    repeated: u64,
    substreams: Vec<SubstreamStatistics>,
}

#[derive(Serialize)]
struct SubstreamStatistics {
    substream: u64,
    events: usize,
    depth: usize,
}

impl StreamStatistics {
    fn new(stream: StreamId, count: StreamCount, events: &[(StreamId, SubstreamId, Interval)]) -> Self {
        let StreamCount { first, last, received, missed, reordered, repeated } = count;
        let substreams = events
            .chunk_by(|one, next| one.1 == next.1)
            .map(|events| {
                let intervals: Vec<Interval> = events.iter().map(|(_, _, interval)| *interval).collect();
                SubstreamStatistics { substream: events[0].1.0, events: events.len(), depth: depth(&intervals) }
            })
            .collect();
        Self {
            stream: stream.0,
            first_counter: first.0,
            last_counter: last.0,
            events: received,
            missed,
            reordered,
            repeated,
            substreams,
        }
    }
}

impl fmt::Display for Statistics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "packets    {}: {} events, {} metadata", self.packets, self.events, self.metadata)?;
        writeln!(f, "malformed  {}, {} bytes skipped", self.malformed, self.skipped_bytes)?;
        for option in self.options.values() {
            writeln!(f, "option     {}", option.text)?;
        }
        if self.unlisted_options > 0 {
            writeln!(f, "option     and {} more packets with options", self.unlisted_options)?;
        }
        if let (Some(start), Some(end)) = (self.start, self.end) {
            write!(f, "time       {start}..{end} ns")?;
            if let Some(moment) = self.epoch_unix_nanos.and_then(|epoch| UnixNanos(epoch).after(Nanos(start))) {
                write!(f, ", from {}", WallClock(moment))?;
            }
            f.write_char('\n')?;
        }
        writeln!(f, "nesting    {} deep", self.depth)?;
        self.streams.iter().take(LISTED_STREAMS).try_for_each(|stream| write!(f, "{stream}"))?;
        match self.streams.len().saturating_sub(LISTED_STREAMS) {
            0 => Ok(()),
            more => writeln!(f, "and {more} more streams; --format json has all"),
        }
    }
}

impl fmt::Display for StreamStatistics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { stream, first_counter, last_counter, events, missed, reordered, repeated, substreams } = self;
        writeln!(
            f,
            "stream {stream}: {events} events, {missed} missed, {reordered} reordered, {repeated} repeated, \
             counters {first_counter} to {last_counter}"
        )?;
        let mut busiest: Vec<_> = substreams.iter().collect();
        busiest.sort_by_key(|it| std::cmp::Reverse(it.events));
        for SubstreamStatistics { substream, events, depth } in busiest.iter().take(LISTED_SUBSTREAMS) {
            writeln!(f, "  substream {substream}: {events} events, {depth} deep")?;
        }
        if busiest.len() > LISTED_SUBSTREAMS {
            writeln!(f, "  and {} more substreams", busiest.len() - LISTED_SUBSTREAMS)?;
        }
        Ok(())
    }
}
