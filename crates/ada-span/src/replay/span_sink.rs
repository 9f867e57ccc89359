//! What a replay finds, and who takes it.

use ada_event::{DetailSeq, EventKind, EventSeq, FunctionId, TraceNanos};

use crate::anomaly::Anomaly;
use crate::outcome::Outcome;
use crate::role::Role;

/// Where a sink keeps an open span; its own business.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SpanHandle(pub u64);

/// A function, as a sink numbers them from 0: [`SpanSink::function`] gives these.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(transparent)]
pub struct FunctionNumber(pub u32);

impl FunctionNumber {
    /// As a position in a list.
    #[inline]
    pub const fn as_usize(self) -> usize {
        self.0 as usize
    }
}

/// The beginning of a span.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Opened {
    /// The position of the event that opened it, and its name within the thread.
    pub seq: EventSeq,
    /// When.
    pub start: TraceNanos,
    /// In which function.
    pub function: FunctionNumber,
    /// At which depth.
    pub depth: u32,
    /// The opening event of the span that encloses it.
    pub parent: Option<EventSeq>,
    /// That one's function.
    pub caller: Option<FunctionNumber>,
    /// The opening event's detail.
    pub detail: DetailSeq,
    /// Whether it stays open.
    pub is_frame: bool,
    /// Its function's part.
    pub role: Role,
}

/// The end of a span.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Closed {
    /// Its opening event.
    pub seq: EventSeq,
    /// When it began.
    pub start: TraceNanos,
    /// Its function.
    pub function: FunctionNumber,
    /// Its depth.
    pub depth: u32,
    /// How long it took.
    pub duration: u64,
    /// The same without the spans that it enclosed.
    pub self_ns: u64,
    /// The event that closed it, if one did.
    pub close_seq: Option<EventSeq>,
    /// How and why.
    pub outcome: Outcome,
    /// The call that made it end so: of the unwinder, of `longjmp`, of `pthread_exit`.
    pub context: Option<EventSeq>,
    /// The closing event's detail.
    pub detail: DetailSeq,
    /// Whether it stayed open for a while.
    pub is_frame: bool,
}

impl Closed {
    /// When it ended.
    pub fn end(&self) -> TraceNanos {
        self.start.saturating_add(self.duration)
    }
}

/// What a sink knows of a function.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct KnownFunction {
    /// The sink's number for it.
    pub number: FunctionNumber,
    /// Whether only its calls are recorded.
    pub is_entry_only: bool,
    /// Its part in unwinding.
    pub role: Role,
}

/// Takes what the replay finds.
pub trait SpanSink {
    /// The thread goes on with a stack. Its own is 0, on which it begins.
    fn change_stack(&mut self, stack: u64);

    /// Numbers a function.
    fn function(&mut self, function: FunctionId) -> KnownFunction;

    /// A function has an event.
    fn event(&mut self, _function: FunctionNumber, _kind: EventKind) {}

    /// A span begins. Spans begin in the order of their opening events.
    fn open(&mut self, opened: &Opened) -> SpanHandle;

    /// A span ends. Spans end before those that enclose them.
    fn close(&mut self, handle: SpanHandle, closed: &Closed);

    /// Events between two times are missing: those of the last event before them and of the first one after.
    fn lost(&mut self, _from: TraceNanos, _to: TraceNanos) {}

    /// Something is odd.
    fn anomaly(&mut self, anomaly: Anomaly);

    /// Whether the sink wants to move its open spans before the next one begins.
    fn wants_to_move(&self) -> bool {
        false
    }

    /// Moves open spans: all handles that [`Self::open`] gave out since the last time, newest first.
    fn move_open(&mut self, handles: &mut dyn Iterator<Item = &mut SpanHandle>) {
        handles.for_each(drop);
    }
}
