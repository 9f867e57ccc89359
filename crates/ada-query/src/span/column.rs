//! The columns of a span of any runtime, declared once: for SQL's tables and for the records that commands print.
//!
//! What only records have, because it is a list or an object, is in [`super::record`].

use std::borrow::Cow;

use ada_event::ThreadId;
use ada_span::Reason;
use ada_span::state::ThreadState;
use ada_span::table::Column;

use super::runtime_span::RuntimeSpan;
use super::value::SpanValue;
use crate::doc::{ColumnDoc, Kind, plain, pushed};
use crate::trace::{CallValues, FunctionLabel, Target, Trace, TraceProcess, Wanted};

/// A span whose columns are asked for.
struct Asked<'a, 's, S: ?Sized> {
    trace: &'a Trace,
    process: &'a TraceProcess,
    span: &'s S,
}

impl<'a, S: RuntimeSpan + ?Sized> Asked<'a, '_, S> {
    fn thread_id(&self) -> ThreadId {
        self.process.thread_id(self.span.thread())
    }

    /// What the call was made with, if that was captured.
    fn call(&self) -> Option<CallValues> {
        if self.span.is_logical() {
            return None;
        }
        let (function, open) = (self.span.function(self.process)?, self.span.open_seq()?);
        let events = (open, self.span.outcome().own_end(self.span.close_seq()));
        CallValues::of(self.trace, self.process, function, self.span.thread(), events, Wanted::Captured)
    }

    /// How long its thread was in a state meanwhile, where that is known of the whole time.
    fn in_state(&self, state: ThreadState) -> SpanValue<'a> {
        let (start, thread) = (self.span.start(), self.span.thread());
        let end = start.saturating_add(self.span.duration());
        let stays = thread == self.span.end_thread() && self.span.stays_on_thread(self.process);
        let times = if stays { self.process.known_state_times(thread, start, end) } else { None };
        SpanValue::maybe(times.map(|times| times.of(state)))
    }

    #[inline]
    fn label(&self, of: fn(&FunctionLabel) -> &String) -> SpanValue<'a> {
        match self.span.label(self.process) {
            Some(Cow::Borrowed(label)) => SpanValue::text(of(label)),
            Some(Cow::Owned(label)) => SpanValue::text(of(&label).clone()),
            None => SpanValue::Nothing,
        }
    }
}

macro_rules! span_columns {
    ($($column:ident: $kind:ident, $how:ident, $shown:ident, $name:literal, needs [$($needs:ident)*],
        $about:literal, |$it:ident| $value:expr;)*) => {
        /// A column, by its index in SQL's table.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub(crate) enum SpanColumn {
            $($column,)*
        }

        /// What the columns are, in their order.
        pub(crate) const COLUMNS: &[ColumnDoc] = &[$($how($name, Kind::$kind, $about),)*];

        impl SpanColumn {
            /// All of them, in their order.
            pub(crate) const ALL: &[Self] = &[$(Self::$column,)*];

            /// Whether a record has the column, too.
            fn is_in_record(self) -> bool {
                match self {
                    $(Self::$column => matches!(Shown::$shown, Shown::Everywhere),)*
                }
            }

            /// The columns of the tables' blocks that it is made from, for calls.
            pub(crate) fn needs(self) -> &'static [Column] {
                match self {
                    $(Self::$column => &[$(Column::$needs,)*],)*
                }
            }
        }

        /// The value of a span's column.
        #[inline]
        pub(crate) fn value<'a, S: RuntimeSpan + ?Sized>(
            trace: &'a Trace,
            process: &'a TraceProcess,
            span: &S,
            column: SpanColumn,
        ) -> SpanValue<'a> {
            let asked = Asked { trace, process, span };
            match column {
                $(SpanColumn::$column => {
                    let $it = &asked;
                    $value
                })*
            }
        }
    };
}

/// Who has a column.
enum Shown {
    /// SQL's tables and records.
    Everywhere,
    /// SQL's tables alone: records have it as an attribute, or mean something else by the name.
    Tables,
}

span_columns! {
    Session: Text, pushed, Tables, "session", needs [],
        "the session's folder",
        |it| SpanValue::text(&it.trace.session_of(it.process).name);
    Pid: Integer, pushed, Everywhere, "pid", needs [],
        "the process",
        |it| SpanValue::number(it.process.pid);
    SpanId: Text, pushed, Everywhere, "span_id", needs [OpenSeq],
        "its reference, which ada show and table functions take: frame:THREAD:N, callback:THREAD:N, thread:THREAD, task:ID, block:THREAD:N",
        |it| SpanValue::reference(it.process, Some(it.span.target(it.process)));
    Type: Text, pushed, Everywhere, "type", needs [],
        "frame: one call of a function; logical: what a runtime meant by it",
        |it| SpanValue::text(if it.span.is_logical() { "logical" } else { "frame" });
    Runtime: Text, pushed, Everywhere, "runtime", needs [],
        "sync (calls), pthread (threads), callback, swift (tasks), gcd (dispatched blocks), heph (imported)",
        |it| SpanValue::text(it.span.runtime(it.process));
    FunctionId: Text, pushed, Everywhere, "function_id", needs [Function],
        "the function as module:symbol",
        |it| it.label(|label| &label.id);
    Name: Text, pushed, Everywhere, "name", needs [Function],
        "the function's demangled name, or module+0xoffset",
        |it| SpanValue::maybe_text(it.span.name(it.process));
    Module: Text, pushed, Everywhere, "module", needs [Function],
        "the file name of the function's module",
        |it| it.label(|label| &label.module);
    // A record's parent is the nearest span of any runtime.
    Cause: Text, pushed, Tables, "parent_span_id", needs [OpenSeq ParentDelta],
        "the enclosing call; of a thread, the call that created it; of a callback, the call that was handed its address",
        |it| SpanValue::reference(it.process, it.span.cause(it.process));
    Start: Integer, pushed, Everywhere, "start_ns", needs [Start],
        "when it began, on the trace's clock",
        |it| SpanValue::number(it.span.start());
    End: Integer, pushed, Everywhere, "end_ns", needs [Start Duration],
        "when it ended",
        |it| SpanValue::number(it.span.start().saturating_add(it.span.duration()));
    Duration: Integer, pushed, Everywhere, "duration_ns", needs [Duration],
        "end_ns - start_ns",
        |it| SpanValue::number(it.span.duration());
    SelfTime: Integer, pushed, Everywhere, "self_ns", needs [SelfTime],
        "without the calls that it encloses; null of logical spans",
        |it| SpanValue::maybe(it.span.self_ns());
    Depth: Integer, pushed, Everywhere, "depth", needs [Depth],
        "open calls below it; of a thread, creations that lead to it",
        |it| SpanValue::maybe(it.span.depth());
    Thread: Integer, pushed, Everywhere, "thread_id", needs [],
        "the thread that it began on",
        |it| SpanValue::number(it.thread_id());
    Status: Text, pushed, Everywhere, "status", needs [Outcome],
        "completed, exited, canceled, unmatched, open, pending or entry_only",
        |it| SpanValue::text(it.span.outcome().status.word());
    Reason: Text, pushed, Everywhere, "reason", needs [Outcome],
        "why: tail_call, exception, unwind, canceled, crash, timeout, process_exit, dropped, attached_midway; null for nothing special",
        |it| match it.span.outcome().reason {
            Reason::None => SpanValue::Nothing,
            reason => SpanValue::text(reason.word()),
        };
    IsUncertain: Integer, plain, Tables, "is_uncertain", needs [Outcome],
        "1 where the trace also allows another reading",
        |it| SpanValue::Flag(it.span.outcome().is_uncertain);
    OpenSeq: Integer, plain, Tables, "open_seq", needs [OpenSeq],
        "the position of the event that began it, among its thread's",
        |it| SpanValue::maybe(it.span.open_seq());
    CloseSeq: Integer, plain, Tables, "close_seq", needs [OpenSeq CloseDelta],
        "the position of the event that ended it; null if none did",
        |it| SpanValue::maybe(it.span.close_seq());
    Context: Text, plain, Tables, "context", needs [Context],
        "the event of the throw, longjmp or exit that ended it",
        |it| SpanValue::reference(it.process, it.span.context_seq().map(|seq| Target::Event(it.thread_id(), seq)));
    Other: Text, plain, Tables, "other_span_id", needs [OpenSeq],
        "of a call, the thread or callback that it is; of those, the call",
        |it| SpanValue::reference(it.process, it.span.other(it.process));
    Confidence: Real, plain, Tables, "confidence", needs [],
        "how sure the match of a logical span with its creation is, from 0 to 1",
        |it| it.span.confidence().map_or(SpanValue::Nothing, |percent| SpanValue::Share(percent as f64 / 100.0));
    Call: Text, plain, Everywhere, "call", needs [OpenSeq CloseDelta Function Outcome],
        "the call with its arguments and result, where these were captured: open(\"/etc/passwd\", O_RDONLY) = 3",
        |it| it.call().map_or(SpanValue::Nothing, |call| SpanValue::text(call.line()));
    OnCpu: Integer, plain, Everywhere, "on_cpu_ns", needs [OpenSeq Start Duration],
        "how long its thread was on a processor meanwhile; null where the kernel did not tell, and of what leaves its thread",
        |it| it.in_state(ThreadState::Running);
    Ready: Integer, plain, Everywhere, "ready_ns", needs [OpenSeq Start Duration],
        "how long it could have run, and others had the processors",
        |it| it.in_state(ThreadState::Ready);
    Blocked: Integer, plain, Everywhere, "blocked_ns", needs [OpenSeq Start Duration],
        "how long it waited, until it ran again",
        |it| it.in_state(ThreadState::Blocked);
    TaskOutcome: Text, plain, Tables, "outcome", needs [],
        "of a task of Swift that has ended: returned or threw; null where that is not known, and of all else",
        |it| SpanValue::maybe_text(it.span.task_outcome());
    TaskError: Text, plain, Tables, "error", needs [],
        "what a task has thrown: its type, with the case of an enum",
        |it| SpanValue::maybe_text(it.span.task_error(it.process));
}

impl SpanColumn {
    /// The column at an index of SQL's table.
    pub(crate) fn at(index: usize) -> Option<Self> {
        Self::ALL.get(index).copied()
    }

    /// The columns that records have.
    pub(super) fn in_records() -> impl Iterator<Item = Self> {
        Self::ALL.iter().copied().filter(|column| column.is_in_record())
    }

    /// What it is.
    pub(crate) fn doc(self) -> &'static ColumnDoc {
        &COLUMNS[self as usize]
    }

    /// Its name.
    pub(crate) fn name(self) -> &'static str {
        self.doc().name
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_column_stands_at_its_own_index_under_its_own_name() {
        for (index, &column) in SpanColumn::ALL.iter().enumerate() {
            assert_eq!(SpanColumn::at(index), Some(column));
            assert_eq!(column as usize, index);
            assert_eq!(COLUMNS.iter().filter(|it| it.name == column.name()).count(), 1, "{}", column.name());
        }
        assert_eq!(SpanColumn::at(SpanColumn::ALL.len()), None);
    }
}
