//! A sink that keeps everything, so that tests can look at it.

use std::collections::HashMap;

use ada_event::{Event, FunctionId, TraceNanos};
use ada_span::{
    Anomaly, Closed, FunctionNumber, FunctionTraits, KnownFunction, Opened, Replay, ReplayOptions, SpanHandle, SpanSink,
};

/// All spans of a thread by opening event, and what was odd.
#[derive(Default)]
pub(crate) struct Collected {
    pub(crate) spans: Vec<Span>,
    pub(crate) anomalies: Vec<Anomaly>,
    functions: Vec<FunctionId>,
    numbers: HashMap<FunctionId, FunctionNumber>,
    traits: FunctionTraits,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Span {
    pub(crate) function: FunctionId,
    pub(crate) opened: Opened,
    pub(crate) closed: Option<Closed>,
}

impl Span {
    pub(crate) fn closed(&self) -> &Closed {
        self.closed.as_ref().expect("every span ends, at the latest with its thread")
    }

    pub(crate) fn end(&self) -> TraceNanos {
        self.closed().end()
    }
}

impl SpanSink for Collected {
    fn change_stack(&mut self, _: u64) {}

    fn function(&mut self, function: FunctionId) -> KnownFunction {
        let next = FunctionNumber(self.functions.len() as u32);
        let number = *self.numbers.entry(function).or_insert(next);
        if number == next {
            self.functions.push(function);
        }
        let known = self.traits.get(function);
        KnownFunction { number, is_entry_only: known.is_entry_only, role: known.role }
    }

    fn open(&mut self, opened: &Opened) -> SpanHandle {
        let function = self.functions[opened.function.as_usize()];
        self.spans.push(Span { function, opened: *opened, closed: None });
        SpanHandle(self.spans.len() as u64 - 1)
    }

    fn close(&mut self, handle: SpanHandle, closed: &Closed) {
        let span = &mut self.spans[handle.0 as usize];
        assert_eq!(span.opened.seq, closed.seq);
        assert!(span.closed.replace(*closed).is_none(), "a span ends once");
    }

    fn anomaly(&mut self, anomaly: Anomaly) {
        self.anomalies.push(anomaly);
    }
}

impl Collected {
    pub(crate) fn new(traits: &FunctionTraits) -> Self {
        Self { traits: traits.clone(), ..Self::default() }
    }
}

/// Replays a thread.
pub(crate) fn replay(events: &[Event], traits: &FunctionTraits, options: ReplayOptions) -> Collected {
    replay_with_losses(events, traits, options, &[])
}

/// Replays a thread of which events were lost before the first ones at these times.
pub(crate) fn replay_with_losses(
    events: &[Event],
    traits: &FunctionTraits,
    options: ReplayOptions,
    losses: &[u64],
) -> Collected {
    let mut replay =
        Replay::new(Collected::new(traits), options).with_losses(losses.iter().copied().map(TraceNanos).collect());
    events.iter().for_each(|event| replay.event(*event));
    let (collected, facts) = replay.finish();
    assert_eq!(facts.events, events.len() as u64);
    collected
}
