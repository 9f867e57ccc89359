//! What a session holds, in a few numbers: for the end of a recording.

use std::collections::HashMap;
use std::io::{self, Write};

use ada_event::{Event, EventKind, FunctionId, TraceNanos};
use ada_format::atf::{Session, ThreadTrace};

/// Frames that are timed on one thread; damaged files claim any depth.
const DEEPEST_TIMED: usize = 1 << 16;
/// Functions in each of the two lists.
const LISTED: usize = 5;

/// The numbers.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Summary {
    pub(crate) threads: usize,
    pub(crate) events: u64,
    pub(crate) duration_ns: u64,
    /// Frames of the deepest stack.
    pub(crate) deepest: u32,
    pub(crate) functions: Vec<FunctionUse>,
}

/// What one function did on all threads.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct FunctionUse {
    pub(crate) function: FunctionId,
    pub(crate) calls: u64,
    /// Time in the function itself, without the traced functions that it called.
    pub(crate) self_ns: u64,
}

/// A function that has not returned yet.
struct Frame {
    function: FunctionId,
    entered: TraceNanos,
    callees_ns: u64,
}

impl Summary {
    /// Reads all events once.
    pub(crate) fn of(session: &Session) -> Self {
        let mut uses = HashMap::new();
        let mut summary = Self::default();
        let mut times: Option<(TraceNanos, TraceNanos)> = None;
        for thread in session.threads() {
            summary.threads += 1;
            summary.events += thread.event_count();
            summary.add_thread(thread, &mut uses);
            let events = thread.index().events();
            if let (Some(first), Some(last)) = (events.clone().next(), events.clone().next_back()) {
                let (start, end) = times.unwrap_or((first.timestamp, last.timestamp));
                times = Some((start.min(first.timestamp), end.max(last.timestamp)));
            }
        }
        summary.duration_ns = times.map_or(0, |(start, end)| end.since(start));
        summary.functions =
            uses.into_iter().map(|(function, (calls, self_ns))| FunctionUse { function, calls, self_ns }).collect();
        summary.functions.sort_by_key(|it| it.function);
        summary
    }

    fn add_thread(&mut self, thread: &ThreadTrace, uses: &mut HashMap<FunctionId, (u64, u64)>) {
        let mut stack: Vec<Frame> = Vec::new();
        let (mut number, mut others) = (0, HashMap::<u64, (Vec<Frame>, TraceNanos)>::new());
        let mut add = |event: Event| {
            if event.kind != EventKind::STACK {
                self.add_event(&event, &mut stack, uses);
            } else if event.function.0 != number {
                let (next, since) = others.remove(&event.function.0).unwrap_or((Vec::new(), event.timestamp));
                let left = std::mem::replace(&mut stack, next);
                others.insert(std::mem::replace(&mut number, event.function.0), (left, event.timestamp));
                // Nobody is busy who waits.
                if let Some(frame) = stack.last_mut() {
                    frame.callees_ns = frame.callees_ns.saturating_add(event.timestamp.since(since));
                }
            }
        };
        for chunk in thread.chunks() {
            chunk.iter().map(Event::from_le_bytes).for_each(&mut add);
        }
    }

    fn add_event(&mut self, event: &Event, stack: &mut Vec<Frame>, uses: &mut HashMap<FunctionId, (u64, u64)>) {
        // Frames that are still open at this depth ended without an event.
        stack.truncate(event.depth as usize + usize::from(!event.kind.is_call()));
        if event.kind.is_call() {
            self.deepest = self.deepest.max(event.depth.saturating_add(1));
            uses.entry(event.function).or_default().0 += 1;
            if event.kind != EventKind::ENTRY && stack.len() < DEEPEST_TIMED {
                stack.push(Frame { function: event.function, entered: event.timestamp, callees_ns: 0 });
            }
        } else if let Some(frame) = stack.pop_if(|frame| frame.function == event.function) {
            let total = event.timestamp.since(frame.entered);
            let self_ns = &mut uses.entry(frame.function).or_default().1;
            *self_ns = self_ns.saturating_add(total.saturating_sub(frame.callees_ns));
            if let Some(caller) = stack.last_mut() {
                caller.callees_ns = caller.callees_ns.saturating_add(total);
            }
        }
    }

    /// Prints a table; `name` knows what functions are called.
    pub(crate) fn print(&self, out: &mut impl Write, name: impl Fn(FunctionId) -> String) -> io::Result<()> {
        writeln!(out, "threads   {}", self.threads)?;
        writeln!(out, "events    {}", self.events)?;
        writeln!(out, "duration  {}", milliseconds(self.duration_ns))?;
        writeln!(out, "deepest   {} frames", self.deepest)?;
        writeln!(out, "\n{:<24} {:>10}", "most called", "calls")?;
        for it in self.top_by(|it| it.calls) {
            writeln!(out, "  {:<22} {:>10}", name(it.function), it.calls)?;
        }
        writeln!(out, "\n{:<24} {:>10}", "most time in itself", "self")?;
        for it in self.top_by(|it| it.self_ns) {
            writeln!(out, "  {:<22} {:>10}", name(it.function), milliseconds(it.self_ns))?;
        }
        Ok(())
    }

    fn top_by(&self, measure: impl Fn(&FunctionUse) -> u64) -> Vec<FunctionUse> {
        let mut top = self.functions.clone();
        top.sort_by_key(|it| std::cmp::Reverse(measure(it)));
        top.truncate(LISTED);
        top
    }
}

fn milliseconds(nanos: u64) -> String {
    format!("{}.{:03} ms", nanos / 1_000_000, nanos / 1000 % 1000)
}
