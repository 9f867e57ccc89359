//! The events at hand: those that a thread has written before, and a batch that is about to be written.

use std::collections::{HashMap, VecDeque};

use ada_event::{EventSeq, RuntimeAddr, TraceNanos};
use ada_process::Clock;
use ada_ring::RawRecord;

use crate::drain::detail_lane::{Remembered, ThreadDetails};
use crate::drain::windows::watch::{OpenCalls, Watch};
use crate::drain::windows::{Events, Fired};

/// Events in the order of their positions.
pub(crate) struct BatchEvents<'e> {
    pub(crate) remembered: &'e VecDeque<Remembered>,
    /// The position of the batch's first event.
    pub(crate) base: EventSeq,
    /// The times of the batch.
    pub(crate) times: &'e [TraceNanos],
}

impl Events for BatchEvents<'_> {
    fn first_from(&self, time: TraceNanos) -> EventSeq {
        let before = self.remembered.partition_point(|event| event.time < time);
        match self.remembered.get(before) {
            Some(event) => event.seq,
            None => self.base + self.times.partition_point(|&at| at < time) as u64,
        }
    }

    fn end(&self) -> EventSeq {
        self.base + self.times.len() as u64
    }
}

/// The times that a batch's events will have, none earlier than `last`.
pub(crate) fn event_times(batch: &[RawRecord], times: &[u64], clock: &Clock, mut last: TraceNanos) -> Vec<TraceNanos> {
    let time_of = |(number, record): (usize, &RawRecord)| {
        last = clock.at(times.get(number).copied().unwrap_or(record.tsc)).max(last);
        last
    };
    batch.iter().enumerate().map(time_of).collect()
}

/// Notes which handlers for signals the program has registered in a batch.
pub(crate) fn learn_handlers(batch: &[RawRecord], details: &mut ThreadDetails, watch: &mut Watch) {
    for record in batch {
        if record.is_probed() && watch.is_signal_action(record.function) {
            let handler = details.take(record.tsc).and_then(|captured| captured.registered_handler());
            handler.into_iter().for_each(|handler| watch.handler_registered(RuntimeAddr(handler)));
        }
    }
}

/// The triggers of a batch.
pub(crate) fn triggers_among(
    batch: &[RawRecord],
    events: &BatchEvents<'_>,
    watch: &Watch,
    open_calls: &mut OpenCalls,
    by_values: &HashMap<usize, u8>,
) -> Vec<Fired> {
    let mut fired = Vec::new();
    for (number, record) in batch.iter().enumerate() {
        let trigger = watch.fires(record, open_calls).or_else(|| by_values.get(&number).copied());
        if let Some(trigger) = trigger {
            let (event, time) = (events.base + number as u64, events.times[number]);
            fired.push(Fired { name: watch.name(trigger), event, time });
        }
    }
    fired
}
