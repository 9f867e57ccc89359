//! Who made something readable: bytes, counts, connections, or the end of them.

use std::collections::BTreeMap;

use super::finder::{Finder, piece};
use super::objects::ObjectKind;
use super::several::Candidates;
use super::streams::{CallPlace, Source};
use super::tables::ObjectIndex;
use crate::NONE;
use crate::io_call_span::IoCallSpan;
use crate::io_calls::{READABLE, WRITABLE};
use crate::role::IoCall;

/// Changes of sets that are followed. Who watches more is not told what it was.
const MOST_WATCHED: usize = 1024;
/// Calls that are looked through for the one that takes a connection.
const MANY: usize = 64;

impl Finder<'_> {
    pub(super) fn read_from(&self, object: ObjectIndex, place: CallPlace, call: &IoCallSpan) -> (Source, bool) {
        let is_among_us = self.is_among_us(object, call.end);
        let Some(stream) = self.streams.get(&object) else { return (Source::Unexplained, false) };
        let source = match self.object(object).kind {
            _ if call.bytes() == Some(0) => stream.source_of_end(call.start, call.end),
            ObjectKind::Counter => self.counted(object, stream.source_of_count(place, call.start, call.end)),
            _ if is_among_us => stream.source_of_read(place, call.start, call.end),
            _ => stream.source_by_time(call.start, call.end),
        };
        (source, is_among_us)
    }

    fn counted(&self, object: ObjectIndex, source: Source) -> Source {
        match source {
            Source::Call(piece) if self.object(object).is_semaphore => Source::Perhaps(piece),
            source => source,
        }
    }

    pub(super) fn became_readable(&self, object: ObjectIndex, place: CallPlace, call: &IoCallSpan) -> (Source, bool) {
        let is_among_us = self.is_among_us(object, call.end);
        if let Some(accepted) = self.next_accept(object, place, call) {
            return accepted;
        }
        if self.is_mailbox(object) {
            // What was taken later may be another one.
            return (self.letters.sent_meanwhile(object, call.start, call.end), false);
        }
        let Some(stream) = self.streams.get(&object) else { return (Source::Unexplained, false) };
        let source = match self.object(object).kind {
            ObjectKind::Counter => self.counted(object, stream.source_of_counting(call.start, call.end)),
            _ if is_among_us => stream.source_of_readiness(call.start, call.end),
            _ => stream.source_by_time(call.start, call.end),
        };
        match source {
            Source::Unexplained => (stream.source_of_end(call.start, call.end), is_among_us),
            source => (source, is_among_us),
        }
    }

    /// The connection that the same process took next, after a wait that ended for it.
    fn next_accept(&self, listener: ObjectIndex, place: CallPlace, call: &IoCallSpan) -> Option<(Source, bool)> {
        if !self.listeners.contains(&listener) {
            return None;
        }
        let io = &self.processes[place.process];
        let table = &self.tables[place.process];
        let first = io.io.calls.partition_point(|it| it.start < call.end);
        let is_it = |it: &IoCallSpan| {
            it.what() == IoCall::Accept && table.object(table.place(it.descriptor(), it.start)) == Some(listener)
        };
        let next = io.io.calls[first..].iter().enumerate().take(MANY).find(|(_, it)| is_it(it))?;
        let place = CallPlace { process: place.process, call: first + next.0 };
        match self.accepted(place, next.1) {
            (Source::Call(piece) | Source::Perhaps(piece), sure)
                if piece.start <= call.end && piece.end >= call.start =>
            {
                Some((Source::Call(piece), sure))
            }
            _ => None,
        }
    }

    /// The call that made a connection which was taken.
    pub(super) fn accepted(&self, place: CallPlace, call: &IoCallSpan) -> (Source, bool) {
        let table = &self.tables[place.process];
        let taken = call.small_result().and_then(|descriptor| table.object(table.place(descriptor, call.end)));
        let peer = taken.and_then(|taken| self.object(taken).peer);
        let Some(&connect) = peer.and_then(|peer| self.connects.get(&peer)) else {
            return (Source::Unexplained, false);
        };
        let made = &self.processes[connect.process].io.calls[connect.call];
        let source = if made.end < call.start { Source::WasThere } else { Source::Call(piece(connect, made, 0)) };
        // A connection has two ends, and both are known.
        (source, true)
    }

    /// Of a set of descriptors, what became readable.
    pub(super) fn one_became_readable(&self, place: CallPlace, call: &IoCallSpan) -> (Source, bool) {
        let table = &self.tables[place.process];
        let set = table.place(call.descriptor(), call.start);
        let io = &self.processes[place.process];
        // What is asked after of each; nothing where it is no longer.
        let mut watched: BTreeMap<u32, Option<u64>> = BTreeMap::new();
        let controls = self.controls[place.process].iter().map(|at| &io.io.calls[*at]);
        for (count, it) in controls.take_while(|it| it.start < call.end).enumerate() {
            const DELETE: u64 = 2;
            if count > MOST_WATCHED {
                return (Source::Unexplained, false);
            }
            if it.descriptor() == call.descriptor() && table.place(it.descriptor(), it.start) == set {
                let events = if it.word == NONE { READABLE } else { it.word };
                let is_in = it.arguments[1] & 0xffff_ffff != DELETE;
                watched.insert(it.arguments[2] as u32, is_in.then_some(events));
            }
        }
        let mut found = Candidates::default();
        for (descriptor, events) in watched.into_iter().filter_map(|(descriptor, events)| Some((descriptor, events?))) {
            let Some(object) = table.object(table.place(descriptor, call.start)) else {
                found.is_among_us = false;
                continue;
            };
            if events & WRITABLE != 0 && self.was_full(object, call) {
                let made = self.room_made(object, place, call);
                made.filter(|(source, _)| *source != Source::Unexplained).into_iter().for_each(|it| found.add_room(it));
            }
            if events & READABLE == 0 {
                continue;
            }
            match self.became_readable(object, place, call) {
                // A socket that nobody has connected to meanwhile.
                (Source::Unexplained, _) if self.listeners.contains(&object) => {}
                // This one was not ready, or not for the first time.
                (Source::WasThere | Source::Unexplained, is_sure) => found.is_among_us &= is_sure,
                readable => found.add(readable),
            }
        }
        found.first()
    }
}
