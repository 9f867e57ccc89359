//! Who ended a wait for a ring of the kernel's: whoever ended the operation that it waited for.

use std::collections::HashMap;

use super::finder::Finder;
use super::process_io::ProcessIo;
use super::streams::{CallPlace, Source};
use super::tables::ObjectIndex;
use crate::io_call_span::IoCallSpan;
use crate::io_calls::WRITABLE;
use crate::ring::RingEnding;
use crate::role::IoCall;
use crate::wait::{Doubt, Doubts};

/// What a wait for a ring was for.
#[derive(Default)]
pub(super) struct Awaited {
    /// The descriptor of the operation that it ended with, and what that stood for.
    pub(super) operation: Option<(u32, Option<ObjectIndex>)>,
    pub(super) source: Option<(Source, bool)>,
}

/// The places of operations by their numbers, of each process.
pub(super) fn operations(processes: &[ProcessIo<'_>]) -> Vec<HashMap<u64, usize>> {
    let of = |process: &ProcessIo<'_>| {
        let calls = process.io.calls.iter().enumerate().filter(|(_, call)| call.is_of_ring());
        calls.map(|(at, call)| (call.word, at)).collect()
    };
    processes.iter().map(of).collect()
}

impl Finder<'_> {
    /// What a call that waited for a ring has waited for. Where that is known, it is no longer in doubt.
    pub(super) fn awaited(&self, place: CallPlace, call: &IoCallSpan, doubts: &mut Doubts) -> Awaited {
        let io = self.processes[place.process].io;
        let Some((end, how)) = io.ring_end(call).and_then(|end| Some((end, end.how()?))) else {
            return Awaited::default();
        };
        let known = doubts.without(Doubt::UnreadRing);
        let found = end.operation.and_then(|number| self.operations[place.process].get(&number)).copied();
        let operation = found.map(|at| {
            let operation = &io.calls[at];
            let table = &self.tables[place.process];
            let object = table.object(table.place(operation.descriptor(), operation.start));
            (CallPlace { call: at, ..place }, operation, object)
        });
        let named = operation.map(|(_, it, object)| (it.descriptor(), object));
        let source = match (how, operation) {
            (RingEnding::Nobody | RingEnding::WasThere, _) => None,
            (RingEnding::Cancelled, _) => Some((Source::Unexplained, false)),
            (RingEnding::NoDescriptor, _) => {
                *doubts = known;
                doubts.add(Doubt::UnknownObject);
                return Awaited::default();
            }
            (RingEnding::Operation, None) => return Awaited::default(),
            (RingEnding::Operation, Some((_, _, None))) => {
                *doubts = known;
                doubts.add(Doubt::UnknownObject);
                return Awaited { operation: named, source: None };
            }
            (RingEnding::Operation, Some((at, operation, Some(object)))) => {
                self.operation_ended(object, (at, operation), (place, call))
            }
        };
        *doubts = known;
        Awaited { operation: named, source }
    }

    /// Who ended an operation that a call waited for.
    fn operation_ended(
        &self,
        object: ObjectIndex,
        (at, operation): (CallPlace, &IoCallSpan),
        (place, call): (CallPlace, &IoCallSpan),
    ) -> Option<(Source, bool)> {
        let events = u64::from(operation.small_result().unwrap_or(0));
        let (source, is_sure) = match operation.what() {
            // Whether something was there when it was asked for, nobody knows.
            what if what.takes() && self.is_mailbox(object) => (self.received(object, at, operation).0, false),
            what if what.takes() => self.read_from(object, at, operation),
            what if what.gives() => self.room_made(object, place, call)?,
            IoCall::Accept => self.accepted(at, operation),
            IoCall::Poll if events & !WRITABLE != 0 && events & WRITABLE == 0 => {
                self.became_readable(object, place, call)
            }
            IoCall::Poll if events == WRITABLE => self.room_made(object, place, call)?,
            // It may have been for either.
            IoCall::Poll => (Source::Unexplained, false),
            _ => return None,
        };
        // An operation may have begun long before the call that waits for it.
        let source = match source {
            Source::Call(piece) if piece.end < call.start => Source::WasThere,
            source => source,
        };
        Some((source, is_sure))
    }
}
