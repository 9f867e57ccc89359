//! Folded stacks: a line for each call path, with the nanoseconds that were spent in it and in nothing below.

use std::collections::HashMap;
use std::io::{self, BufWriter, Write};

use crate::model::{Argument, Call, FunctionIndex, Logical, TraceInfo, TraceThread};
use crate::paths::Paths;
use crate::timeline_writer::{ArgumentsAt, TimelineWriter};

pub(crate) struct Folded<'a> {
    out: BufWriter<Box<dyn Write + 'a>>,
    paths: Paths,
    /// Self time by path.
    times: Vec<u64>,
    open: Vec<OpenCall>,
    /// Names in the order of their numbers: threads by their indexes, then functions.
    numbers: HashMap<(usize, FunctionIndex), u32>,
    names: Vec<String>,
    root: Option<u32>,
}

struct OpenCall {
    node: Option<u32>,
    /// Spent in calls below it.
    below: u64,
}

impl<'a> Folded<'a> {
    pub(crate) fn new(output: Box<dyn Write + 'a>) -> Self {
        Self {
            out: BufWriter::new(output),
            paths: Paths::default(),
            times: Vec::new(),
            open: Vec::new(),
            numbers: HashMap::new(),
            names: Vec::new(),
            root: None,
        }
    }

    fn add(&mut self, node: Option<u32>, nanos: u64) {
        let Some(node) = node else { return };
        let node = node as usize;
        if self.times.len() <= node {
            self.times.resize(node + 1, 0);
        }
        self.times[node] = self.times[node].saturating_add(nanos);
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
        for thread in &trace.threads {
            self.names.push(plain(&format!("{} {}", thread.name, thread.id)));
        }
        Ok(())
    }

    fn begin_thread(&mut self, _: &TraceInfo, thread: TraceThread) -> io::Result<()> {
        self.root = self.paths.below(None, thread.0 as u32);
        Ok(())
    }

    fn open(&mut self, trace: &TraceInfo, thread: TraceThread, call: &Call, _: &[Argument]) -> io::Result<()> {
        let key = (trace.thread(thread).process, call.function);
        let names = &mut self.names;
        let number = *self.numbers.entry(key).or_insert_with(|| {
            names.push(plain(&trace.function(thread, call.function).name));
            names.len() as u32 - 1
        });
        let above = self.open.last().map_or(self.root, |it| it.node);
        let node = self.paths.below(above, number);
        self.open.push(OpenCall { node, below: 0 });
        Ok(())
    }

    fn close(&mut self, _: &TraceInfo, _: TraceThread, call: &Call, _: &[Argument]) -> io::Result<()> {
        let duration = call.end - call.start;
        if let Some(closed) = self.open.pop() {
            self.add(closed.node, duration.saturating_sub(closed.below));
        }
        if let Some(above) = self.open.last_mut() {
            above.below = above.below.saturating_add(duration);
        }
        Ok(())
    }

    fn end_thread(&mut self, _: &TraceInfo, _: TraceThread) -> io::Result<()> {
        Ok(())
    }

    fn logical(&mut self, _: &TraceInfo, _: &Logical) -> io::Result<()> {
        Ok(())
    }

    fn finish(&mut self, _: &TraceInfo) -> io::Result<()> {
        for (node, nanos) in self.times.iter().enumerate().filter(|(_, nanos)| **nanos > 0) {
            let path = self.paths.path(node as u32);
            let names: Vec<&str> = path.iter().map(|&number| self.names[number as usize].as_str()).collect();
            writeln!(self.out, "{} {nanos}", names.join(";"))?;
        }
        self.out.flush()
    }
}
