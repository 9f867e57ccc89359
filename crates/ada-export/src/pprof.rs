//! pprof's `profile.proto`: calls and nanoseconds by call path, threads as labels. Not compressed, which readers take too.

use std::collections::HashMap;
use std::io::{self, BufWriter, Write};

use crate::call_times::CallTimes;
use crate::message::Message;
use crate::model::{Argument, Call, Logical, TraceInfo, TraceThread};
use crate::timeline_writer::{ArgumentsAt, TimelineWriter};

pub(crate) struct Pprof<'a> {
    out: BufWriter<Box<dyn Write + 'a>>,
    times: CallTimes,
}

impl<'a> Pprof<'a> {
    pub(crate) fn new(output: Box<dyn Write + 'a>) -> Self {
        Self { out: BufWriter::new(output), times: CallTimes::default() }
    }
}

/// The profile's strings, each once; the first is empty.
struct Strings {
    known: HashMap<String, u64>,
    all: Vec<String>,
}

impl Strings {
    fn number(&mut self, text: &str) -> u64 {
        if let Some(&number) = self.known.get(text) {
            return number;
        }
        let number = self.all.len() as u64;
        self.known.insert(text.to_owned(), number);
        self.all.push(text.to_owned());
        number
    }
}

/// Field numbers of `perftools.profiles.Profile`.
mod profile {
    pub(super) const SAMPLE_TYPE: u64 = 1;
    pub(super) const SAMPLE: u64 = 2;
    pub(super) const LOCATION: u64 = 4;
    pub(super) const FUNCTION: u64 = 5;
    pub(super) const STRING: u64 = 6;
    pub(super) const DURATION_NANOS: u64 = 10;
    pub(super) const DEFAULT_SAMPLE_TYPE: u64 = 14;
}

impl TimelineWriter for Pprof<'_> {
    fn arguments(&self) -> ArgumentsAt {
        ArgumentsAt::Never
    }

    fn begin(&mut self, trace: &TraceInfo) -> io::Result<()> {
        self.times.begin(trace);
        Ok(())
    }

    fn begin_thread(&mut self, _: &TraceInfo, thread: TraceThread) -> io::Result<()> {
        self.times.begin_thread(thread);
        Ok(())
    }

    fn open(&mut self, trace: &TraceInfo, thread: TraceThread, call: &Call, _: &[Argument]) -> io::Result<()> {
        self.times.open(trace, thread, call);
        Ok(())
    }

    fn close(&mut self, _: &TraceInfo, _: TraceThread, call: &Call, _: &[Argument]) -> io::Result<()> {
        self.times.close(call);
        Ok(())
    }

    fn end_thread(&mut self, _: &TraceInfo, _: TraceThread) -> io::Result<()> {
        Ok(())
    }

    fn logical(&mut self, _: &TraceInfo, _: &Logical) -> io::Result<()> {
        Ok(())
    }

    /// Messages of a list may stand anywhere: each is written as it is made.
    fn finish(&mut self, trace: &TraceInfo) -> io::Result<()> {
        let mut strings = Strings { known: HashMap::from([(String::new(), 0)]), all: vec![String::new()] };
        let mut write = |field: u64, message: &Message| {
            let mut outer = Message::default();
            outer.message(field, message);
            self.out.write_all(outer.bytes())
        };
        for (kind, unit) in [("calls", "count"), ("time", "nanoseconds")] {
            let mut value_type = Message::default();
            value_type.number(1, strings.number(kind)).number(2, strings.number(unit));
            write(profile::SAMPLE_TYPE, &value_type)?;
        }
        let thread_label = strings.number("thread");
        // A function is one location; both are numbered from 1.
        let threads = trace.threads.len();
        for (id, name) in (1..).zip(&self.times.names()[threads..]) {
            let mut function = Message::default();
            let text = strings.number(&name.name);
            function.number(1, id).number(2, text).number(3, text).number(4, strings.number(&name.module));
            write(profile::FUNCTION, &function)?;
            let (mut line, mut location) = (Message::default(), Message::default());
            line.number(1, id);
            location.number(1, id).message(4, &line);
            write(profile::LOCATION, &location)?;
        }
        for (path, sum) in self.times.paths() {
            let mut sample = Message::default();
            // The innermost call comes first, and the thread is no call.
            for number in path[1..].iter().rev() {
                sample.number(1, u64::from(*number) + 1 - threads as u64);
            }
            sample.number(2, sum.calls).number(2, sum.nanos);
            let mut label = Message::default();
            let thread = strings.number(&self.times.names()[path[0] as usize].name);
            label.number(1, thread_label).number(2, thread);
            sample.message(3, &label);
            write(profile::SAMPLE, &sample)?;
        }
        let mut rest = Message::default();
        rest.number(profile::DEFAULT_SAMPLE_TYPE, strings.number("time"));
        rest.number(profile::DURATION_NANOS, trace.end.since(trace.start));
        for text in &strings.all {
            rest.text(profile::STRING, text);
        }
        self.out.write_all(rest.bytes())?;
        self.out.flush()
    }
}
