//! Hands a thread's events to its replay, and looks functions up once where the events come with a list of them.

use ada_event::{Event, EventKind, EventSeq, FunctionId};
use ada_format::atf::EventVisitor;

use super::span_sink::{KnownFunction, SpanSink};
use super::{Replay, ThreadFacts};

/// A thread's replay, and what is known of its functions.
pub(crate) struct Feed<'a, S> {
    replay: Replay<S>,
    /// By symbol, as far as they were looked up.
    known: Vec<Option<KnownFunction>>,
    progress: &'a (dyn Fn(u64) + Sync),
}

impl<S: SpanSink> EventVisitor for Feed<'_, S> {
    fn begin(&mut self, first: EventSeq, count: u64) {
        self.known.clear();
        self.replay.go_on_at(first);
        (self.progress)(count);
    }

    #[inline(always)]
    fn event(&mut self, event: Event) {
        self.replay.event(event);
    }

    #[inline(always)]
    fn event_of(&mut self, symbol: u16, event: Event) {
        if matches!(event.kind, EventKind::RETURN | EventKind::TAIL) {
            return self.replay.event(event);
        }
        let function = match self.known.get(usize::from(symbol)) {
            Some(Some(known)) => *known,
            _ => self.look_up(symbol, event.function),
        };
        self.replay.call_of(function, event);
    }
}

impl<'a, S: SpanSink> Feed<'a, S> {
    /// `progress` is called with a number of events before they are replayed.
    pub(crate) fn new(replay: Replay<S>, progress: &'a (dyn Fn(u64) + Sync)) -> Self {
        Self { replay, known: Vec::new(), progress }
    }

    /// Ends the thread, of which the file has so many events.
    pub(crate) fn finish(mut self, events: u64) -> (S, ThreadFacts) {
        self.replay.go_on_at(EventSeq(events));
        self.replay.finish()
    }

    #[cold]
    fn look_up(&mut self, symbol: u16, function: FunctionId) -> KnownFunction {
        let known = self.replay.function(function);
        if self.known.len() <= usize::from(symbol) {
            self.known.resize(usize::from(symbol) + 1, None);
        }
        self.known[usize::from(symbol)] = Some(known);
        known
    }
}
