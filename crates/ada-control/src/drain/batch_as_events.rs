//! Makes events of records: the clock is scaled, function numbers become ids, depth follows from the shadow stack's top.

use std::ops::Range;

use ada_event::{DetailSeq, Event, EventKind, EventSeq, FunctionId, ThreadId, TraceNanos};
use ada_process::Clock;
use ada_ring::RawRecord;
use ada_ring::record::RecordKind;

use super::own_stack::OwnStack;
use crate::drain::detail_lane::{Remembered, ThreadDetails};
use crate::install::function_numbers::FunctionNumbers;

/// A batch of one thread's records, in their order.
pub(super) struct BatchAsEvents<'a> {
    pub(super) records: &'a [RawRecord],
    /// The time stamps by which the records are in order; none where these are their own.
    pub(super) times: &'a [u64],
    pub(super) clock: Clock,
    /// The time of the thread's last event before.
    pub(super) not_before: TraceNanos,
    pub(super) thread: ThreadId,
    /// The thread's own stack: see [`RawRecord::stack`].
    pub(super) own_stack: OwnStack,
    /// Which function each number stands for.
    pub(super) known: &'a FunctionNumbers,
    /// The detail of each; none where none has any.
    pub(super) links: &'a [DetailSeq],
}

impl<'a> BatchAsEvents<'a> {
    /// The time of an event. Time stamps are in order, so that no event comes before the one before it.
    #[inline(always)]
    pub(super) fn time(&self, number: usize) -> TraceNanos {
        let own = self.records[number].tsc;
        let tsc = if self.times.is_empty() { own } else { self.times.get(number).copied().unwrap_or(own) };
        self.clock.at(tsc).max(self.not_before)
    }

    #[inline(always)]
    pub(super) fn event(&self, number: usize) -> Event {
        let record = &self.records[number];
        Event {
            timestamp: self.time(number),
            function: match record.kind() {
                RecordKind::Stack => stack_number(record, self.own_stack),
                _ => self.known.get(record.function),
            },
            thread: self.thread,
            kind: match record.kind() {
                RecordKind::EntryOnly if record.is_uncaught() => EventKind::ENTRY,
                RecordKind::Call | RecordKind::EntryOnly => EventKind::CALL,
                RecordKind::Return if record.is_tail() => EventKind::TAIL,
                RecordKind::Return => EventKind::RETURN,
                RecordKind::Unwound => EventKind::EXCEPTION,
                RecordKind::Stack => EventKind::STACK,
            },
            depth: record.depth(),
            detail: self.link(number),
        }
    }

    #[inline(always)]
    fn link(&self, number: usize) -> DetailSeq {
        self.links.get(number).copied().unwrap_or(DetailSeq::NONE)
    }

    /// Some of the events.
    pub(super) fn range(&'a self, numbers: Range<usize>) -> EventRange<'a> {
        EventRange { batch: self, rest: numbers }
    }

    /// Remembers an event that has none, if its thread may have detail of it. `base` is the position of the batch's first.
    pub(super) fn remember(&self, number: usize, base: EventSeq, details: &mut ThreadDetails) {
        let record = &self.records[number];
        if record.has_detail() && self.link(number) == DetailSeq::NONE {
            let (seq, time) = (base + number as u64, self.time(number));
            details.remember(Remembered { tsc: record.tsc, seq, time, function: record.function });
        }
    }
}

/// How a stack is called in events: 0 is the thread's own. Those that the agent names come behind all others.
fn stack_number(record: &RawRecord, own: OwnStack) -> FunctionId {
    const NAMED: u64 = 1 << 32;
    FunctionId(match record.named_stack() {
        Some(0) => 0,
        Some(name) => NAMED + u64::from(name),
        None if own.stack_of(record) == own.number() => 0,
        None => u64::from(own.stack_of(record)) + 1,
    })
}

/// Events of a batch that follow each other.
pub(super) struct EventRange<'a> {
    batch: &'a BatchAsEvents<'a>,
    rest: Range<usize>,
}

impl Iterator for EventRange<'_> {
    type Item = Event;

    // Always inlined into whoever encodes it: an event that comes back through memory, in parts, holds its reader up for
    // longer than making it takes.
    #[inline(always)]
    fn next(&mut self) -> Option<Event> {
        let number = self.rest.next()?;
        Some(self.batch.event(number))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ada_event::ModuleId;

    #[test]
    fn records_become_events_by_their_functions_kinds_depths_and_times() {
        const BASE: u32 = 0x4000_0000;
        let record = |tsc, function, bits: u32, frames: u32| RawRecord {
            tsc,
            function,
            top_and_kind: (BASE + 32 * frames) | bits,
        };
        let mut known = FunctionNumbers::default();
        known.add(ModuleId(7), 0, 2);
        let records =
            [record(5, 1, 0, 3), record(7, 0, 1, 4), record(9, 999, 2, 4), record(10, 1, 3, 3), record(10, 1, 19, 3)];
        let events = BatchAsEvents {
            records: &records,
            times: &[],
            clock: Clock::in_nanoseconds(1000),
            not_before: TraceNanos(1006),
            thread: ThreadId(4),
            own_stack: OwnStack::with_number(BASE >> 20),
            known: &known,
            links: &[DetailSeq::NONE, DetailSeq(8)],
        };
        let second = FunctionId::new(ModuleId(7), 1);
        let made: Vec<_> = events.range(0..5).map(|it| (it.timestamp.0, it.function, it.kind, it.depth)).collect();
        assert_eq!(
            made,
            [
                (1006, second, EventKind::CALL, 3),
                (1007, FunctionId::new(ModuleId(7), 0), EventKind::RETURN, 3),
                (1009, FunctionId::default(), EventKind::EXCEPTION, 3),
                (1010, second, EventKind::CALL, 3),
                (1010, second, EventKind::ENTRY, 3),
            ]
        );
        let links: Vec<u32> = events.range(0..3).map(|event| event.detail.0).collect();
        assert_eq!(links, [DetailSeq::NONE.0, 8, DetailSeq::NONE.0]);
        let moved = BatchAsEvents { times: &[6, 6, 9, 9, 12], not_before: TraceNanos(0), ..events };
        let times: Vec<u64> = moved.range(1..5).map(|event| event.timestamp.0).collect();
        assert_eq!(times, [1006, 1009, 1009, 1012]);
    }
}
