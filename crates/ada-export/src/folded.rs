//! Folded stacks: a line for each call path, with the nanoseconds that were spent in it and in nothing below.

use std::io::{self, BufWriter, Write};

use crate::call_times::CallTimes;
use crate::model::{Argument, Call, Logical, TraceInfo, TraceThread};
use crate::timeline_writer::{ArgumentsAt, TimelineWriter};

pub(crate) struct Folded<'a> {
    out: BufWriter<Box<dyn Write + 'a>>,
    times: CallTimes,
}

impl<'a> Folded<'a> {
    pub(crate) fn new(output: Box<dyn Write + 'a>) -> Self {
        Self { out: BufWriter::new(output), times: CallTimes::default() }
    }
}

/// Semicolons part the functions of a line, and the line's end the lines.
fn plain(name: &str) -> String {
    name.replace(';', ":").replace(char::is_control, "?")
}

impl TimelineWriter for Folded<'_> {
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

    fn finish(&mut self, _: &TraceInfo) -> io::Result<()> {
        let names: Vec<String> = self.times.names().iter().map(|it| plain(&it.name)).collect();
        for (path, sum) in self.times.paths().filter(|(_, sum)| sum.nanos > 0) {
            let path: Vec<&str> = path.iter().map(|&number| names[number as usize].as_str()).collect();
            writeln!(self.out, "{} {}", path.join(";"), sum.nanos)?;
        }
        self.out.flush()
    }
}
