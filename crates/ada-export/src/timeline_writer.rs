//! What all writers have in common.

use std::io::{self, Write};

use crate::model::{Argument, Call, Logical, TraceInfo};
use crate::{chrome, firefox, folded, heph, perfetto, speedscope};

/// A format of another tool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// Perfetto's protobuf.
    Perfetto,
    /// Chrome's trace events in JSON.
    Chrome,
    /// Firefox Profiler's processed profile.
    Firefox,
    /// Speedscope's own file format.
    Speedscope,
    /// Heph trace packets.
    Heph,
    /// Folded stacks, as flame graph scripts read them.
    Folded,
}

/// When a writer wants to know the arguments of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ArgumentsAt {
    /// Never: the format has no place for them.
    Never,
    /// When the call opens.
    Open,
    /// When it closes.
    Close,
}

/// Hears of a trace, and writes it.
///
/// [`Self::begin`] comes first. Then each thread that has calls: [`Self::begin_thread`], its calls nested, in the
/// order of their times, and [`Self::end_thread`]. Then all logical spans in the order of their starts, and
/// [`Self::finish`].
pub trait TimelineWriter {
    /// When [`Argument`]s are wanted; elsewhere the list is empty.
    fn arguments(&self) -> ArgumentsAt;

    /// The trace, before all else.
    fn begin(&mut self, trace: &TraceInfo) -> io::Result<()>;

    /// A thread's calls follow.
    fn begin_thread(&mut self, trace: &TraceInfo, thread: usize) -> io::Result<()>;

    /// A call begins, inside those that are open.
    fn open(&mut self, trace: &TraceInfo, thread: usize, call: &Call, arguments: &[Argument]) -> io::Result<()>;

    /// The newest open call ends.
    fn close(&mut self, trace: &TraceInfo, thread: usize, call: &Call, arguments: &[Argument]) -> io::Result<()>;

    /// That were the thread's calls.
    fn end_thread(&mut self, trace: &TraceInfo, thread: usize) -> io::Result<()>;

    /// A logical span.
    fn logical(&mut self, trace: &TraceInfo, span: &Logical) -> io::Result<()>;

    /// That was all. Everything is handed to the output.
    fn finish(&mut self, trace: &TraceInfo) -> io::Result<()>;
}

/// The writer for a format. `spools` makes files for what a format wants in another order than it comes; nobody
/// else needs them, and they may vanish when they are closed.
pub fn writer<'a>(
    format: Format,
    output: Box<dyn Write + 'a>,
    spools: &'a dyn Fn() -> io::Result<std::fs::File>,
) -> Box<dyn TimelineWriter + 'a> {
    match format {
        Format::Perfetto => Box::new(perfetto::Perfetto::new(output)),
        Format::Chrome => Box::new(chrome::Chrome::new(output)),
        Format::Firefox => Box::new(firefox::Firefox::new(output, spools)),
        Format::Speedscope => Box::new(speedscope::Speedscope::new(output)),
        Format::Heph => Box::new(heph::Heph::new(output)),
        Format::Folded => Box::new(folded::Folded::new(output)),
    }
}
