//! What all writers have in common.

use std::io;

use crate::model::{Argument, Call, Logical, TraceInfo, TraceThread};

/// When a writer wants to know the arguments of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ArgumentsAt {
    /// Never: the format cannot hold them.
    Never,
    /// When the call opens.
    Open,
    /// When it closes.
    Close,
}

/// Writes a trace, which it is given in one pass.
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
    fn begin_thread(&mut self, trace: &TraceInfo, thread: TraceThread) -> io::Result<()>;

    /// A call begins, inside those that are open.
    fn open(&mut self, trace: &TraceInfo, thread: TraceThread, call: &Call, arguments: &[Argument]) -> io::Result<()>;

    /// The newest open call ends.
    fn close(&mut self, trace: &TraceInfo, thread: TraceThread, call: &Call, arguments: &[Argument]) -> io::Result<()>;

    /// The thread's calls are complete.
    fn end_thread(&mut self, trace: &TraceInfo, thread: TraceThread) -> io::Result<()>;

    /// A logical span.
    fn logical(&mut self, trace: &TraceInfo, span: &Logical) -> io::Result<()>;

    /// The trace is complete. Everything is handed to the output.
    fn finish(&mut self, trace: &TraceInfo) -> io::Result<()>;
}
