//! Whose call ended a wait for input: all processes of a session together.

use std::collections::{BTreeMap, HashMap, HashSet};

use ada_event::{EventSeq, ProcessId, TraceNanos};

use super::finder::{Finder, IoWait, IoWaker, piece};
use super::letters::Letters;
use super::objects::{Object, ObjectKind, Objects};
use super::process_io::ProcessIo;
use super::queues::Queues;
use super::rings::{Awaited, operations};
use super::several::{descriptors_of, name_several};
use super::signals::Signals;
use super::streams::{CallPlace, Piece, Source, Stream};
use super::tables::{DescriptorTable, ObjectIndex};
use crate::io_call_span::IoCallSpan;
use crate::role::IoCall;
use crate::thread_index::ThreadIndex;
use crate::wait::{Doubt, Doubts, WaitKind, WaitSpan};

/// What was found out about the waits of a session.
#[derive(Debug, Default)]
pub struct SessionIo {
    /// What descriptors stood for, as people call it.
    pub objects: Vec<String>,
    /// By process.
    pub waits: Vec<Vec<IoWait>>,
}

/// What is not a call but the end of a process.
const END: usize = usize::MAX;

/// Finds what waits for input were for, and who ended them.
pub fn correlate(processes: &[ProcessIo<'_>]) -> SessionIo {
    let mut tables: Vec<DescriptorTable> = processes.iter().map(|it| DescriptorTable::of(&it.io.calls)).collect();
    let objects = Objects::find(processes, &mut tables);
    let mut finder = Finder {
        processes,
        tables,
        objects,
        streams: BTreeMap::new(),
        connects: HashMap::new(),
        letters: Letters::default(),
        controls: vec![Vec::new(); processes.len()],
        listeners: HashSet::new(),
        queues: Queues::default(),
        operations: operations(processes),
        known_until: processes.iter().map(|process| process.known_until.unwrap_or_default()).min().unwrap_or_default(),
    };
    finder.collect();
    let mut waits: Vec<Vec<IoWait>> = (0..processes.len()).map(|process| finder.waits_of(process)).collect();
    let mut objects: Vec<String> = finder.objects.all.into_iter().map(|object| object.label).collect();
    name_several(&mut waits, &mut objects);
    SessionIo { objects, waits }
}

impl Finder<'_> {
    /// Puts all calls where they belong.
    fn collect(&mut self) {
        for (process, io) in self.processes.iter().enumerate() {
            for (call, it) in io.io.calls.iter().enumerate() {
                self.add(CallPlace { process, call }, it);
            }
            let open: Vec<_> = self.tables[process].at_the_end().cloned().collect();
            for it in open {
                let end = self.end_of(process);
                self.add_close(it.object.filter(|_| !it.is_contradictory), it.writes, end);
            }
        }
        self.streams.values_mut().for_each(Stream::finish);
        self.letters.deliver(&self.objects);
    }

    fn add(&mut self, place: CallPlace, call: &IoCallSpan) {
        let table = &self.tables[place.process];
        let own = table.object(table.place(call.descriptor(), call.start));
        match call.what() {
            _ if call.peeks() => {}
            what if what.takes() => {
                let Some(object) = own else { return };
                if self.is_mailbox(object) {
                    let from = self.processes[place.process].io.address_of(call).map(str::to_owned);
                    let remote = || Some(self.object(object).remote.clone()).filter(|it| !it.is_empty());
                    let from = from.or_else(remote);
                    return self.letters.take(object, from, piece(place, call, u64::from(call.bytes_moved())));
                }
                let bytes = self.bytes(object, call);
                let is_counter = self.object(object).kind == ObjectKind::Counter;
                let slept = || (self.processes[place.process].has_slept)(call.thread, call.start, call.end);
                let has_slept = is_counter && if call.is_of_ring() { call.has_waited_in_ring(slept) } else { slept() };
                let stream = self.streams.entry(object).or_default();
                match bytes {
                    Some(bytes) => stream.add_read(Piece { has_slept, ..piece(place, call, bytes) }),
                    None => stream.lose_count(call.start),
                }
            }
            what if what.gives() => {
                if let Some((from, to)) = own.and_then(|own| Some((own, self.addressee(own, place, call)?))) {
                    return self.letters.send(from, to, piece(place, call, u64::from(call.bytes_moved())));
                }
                let Some((object, to)) = own.and_then(|own| Some((own, self.reader_of(own)?))) else { return };
                let bytes = self.bytes(object, call);
                let stream = self.streams.entry(to).or_default();
                match bytes {
                    Some(bytes) => stream.add_write(piece(place, call, bytes)),
                    None => stream.lose_count(call.start),
                }
            }
            IoCall::EpollControl => self.controls[place.process].push(place.call),
            IoCall::Accept => self.add_accept(own, place, call),
            IoCall::Connect => drop(own.map(|own| self.connects.insert(own, place))),
            IoCall::Shutdown if matches!(call.arguments[1] as u32, 1 | 2) => {
                self.add_close(own, Some(true), piece(place, call, 0));
            }
            IoCall::Close => {
                let closed = table.place_before(call.descriptor(), call.start);
                let writes = closed.and_then(|it| table.get(it).writes);
                self.add_close(table.object(closed), writes, piece(place, call, 0));
            }
            _ => {}
        }
    }

    /// How much a call moved: messages count as one.
    fn bytes(&self, object: ObjectIndex, call: &IoCallSpan) -> Option<u64> {
        let bytes = call.bytes()?;
        Some(if self.object(object).is_of_messages { u64::from(bytes > 0) } else { bytes })
    }

    fn add_close(&mut self, object: Option<ObjectIndex>, writes: Option<bool>, piece: Piece) {
        let Some(object) = object.filter(|_| writes != Some(false)) else { return };
        if let Some(reader) = self.reader_of(object) {
            self.streams.entry(reader).or_default().add_close(piece);
        }
    }

    pub(super) fn object(&self, index: ObjectIndex) -> &Object {
        &self.objects.all[index.0]
    }

    /// What is read from of what is written to.
    pub(super) fn reader_of(&self, object: ObjectIndex) -> Option<ObjectIndex> {
        match self.object(object).kind {
            ObjectKind::Pipe | ObjectKind::Counter => Some(object),
            ObjectKind::Socket => self.object(object).peer,
            ObjectKind::File | ObjectKind::Other => None,
        }
    }

    /// Whether nobody but the session's processes can write to what is read from, and all that they do is known.
    pub(super) fn is_among_us(&self, reader: ObjectIndex, time: TraceNanos) -> bool {
        let object = self.object(reader);
        let is_ours = |it: &Object| it.is_made_here;
        time < self.known_until
            && !object.is_lossy
            && match object.kind {
                ObjectKind::Pipe | ObjectKind::Counter => is_ours(object),
                ObjectKind::Socket => is_ours(object) && object.peer.is_some_and(|peer| is_ours(self.object(peer))),
                ObjectKind::File | ObjectKind::Other => false,
            }
    }

    /// How a process ended: the call that did, or its last event.
    fn end_of(&self, process: usize) -> Piece {
        let io = &self.processes[process];
        let exit = io.io.calls.iter().enumerate().rev().find(|(_, call)| call.what() == IoCall::Exit);
        match exit {
            // What it had open is closed some time later.
            Some((call, it)) => Piece { end: TraceNanos::MAX, ..piece(CallPlace { process, call }, it, 0) },
            None => Piece {
                call: CallPlace { process, call: END },
                start: io.end,
                end: TraceNanos::MAX,
                bytes: 0,
                has_slept: false,
            },
        }
    }

    fn waits_of(&self, process: usize) -> Vec<IoWait> {
        let io = &self.processes[process];
        // A signal's handler may call others inside a call that waits, as postgres does inside select: of these only one that took
        // most of the time is what the call itself waits in. The call's own registers go before.
        let mut calls: HashMap<(ThreadIndex, EventSeq), usize> = HashMap::new();
        for (at, call) in io.io.calls.iter().enumerate() {
            let took =
                |at: usize| (io.io.calls[at].seq == call.outer_seq, io.io.calls[at].end.since(io.io.calls[at].start));
            let longest = calls.entry((call.thread, call.outer_seq)).or_insert(at);
            if took(at) > took(*longest) {
                *longest = at;
            }
        }
        let is_it = |call: &IoCallSpan, wait: &WaitSpan| {
            call.seq == wait.seq || call.end.since(call.start).saturating_mul(2) >= wait.duration()
        };
        let waits = io.waits.iter().enumerate().filter(|(_, wait)| wait.kind() == WaitKind::Input);
        let found = waits.filter_map(|(at, wait)| {
            let call = *calls.get(&(wait.thread, wait.seq)).filter(|at| is_it(&io.io.calls[**at], wait))?;
            Some(self.wait(at, wait, CallPlace { process, call }))
        });
        let signals = Signals::of(self, process);
        let signalled = io.waits.iter().enumerate().filter_map(|(at, wait)| self.signalled(at, wait, &signals));
        found.chain(signalled).collect()
    }

    fn wait(&self, at: usize, wait: &WaitSpan, place: CallPlace) -> IoWait {
        let call = &self.processes[place.process].io.calls[place.call];
        let table = &self.tables[place.process];
        let object_of = |descriptor: u32| table.object(table.place(descriptor, call.start));
        let ready = self.processes[place.process].io.ready_in(call);
        let mut doubts = Doubts(wait.doubts);
        let is_ring = call.what() == IoCall::Ring;
        let awaited = if is_ring { self.awaited(place, call, &mut doubts) } else { Awaited::default() };
        let descriptors: Vec<u32> = match (awaited.operation, ready.is_empty()) {
            (Some((descriptor, _)), _) => vec![descriptor],
            (None, true) => call.used().into_iter().collect(),
            (None, false) => descriptors_of(ready),
        };
        let descriptor = descriptors.first().copied();
        let object = awaited.operation.map_or_else(|| descriptor.and_then(object_of), |(_, object)| object);
        let found = |waker, doubts| IoWait {
            wait: at,
            descriptor,
            object: object.map(|it| it.0),
            others: descriptors.iter().skip(1).map(|it| (*it, object_of(*it).map(|it| it.0))).collect(),
            waker,
            doubts,
        };
        let is_unknown = ready.iter().any(|it| it.descriptor.is_none());
        if is_unknown || !is_ring && descriptors.iter().any(|it| object_of(*it).is_none()) {
            doubts.add(Doubt::UnknownObject);
        }
        if wait.has_ended != 1 || call.small_result().is_none() && !is_ring {
            return found(None, doubts);
        }
        let source = match call.what() {
            IoCall::WaitChild => {
                return found(self.child(call), doubts);
            }
            what if what.takes() => object.map(|object| match self.is_mailbox(object) {
                true => self.received(object, place, call),
                false => self.read_from(object, place, call),
            }),
            what if what.gives() => object.and_then(|object| self.room_made(object, place, call)),
            IoCall::Ring => awaited.source,
            IoCall::Accept => object.map(|_| self.accepted(place, call)),
            IoCall::Connect => object.and_then(|object| self.let_in(object, place, call)),
            IoCall::Poll | IoCall::Select if !ready.is_empty() => Some(self.several_ready(ready, place, call)),
            IoCall::Poll if call.small_result() > Some(0) => object.map(|it| self.became_readable(it, place, call)),
            IoCall::EpollWait if call.small_result() > Some(0) => Some(self.one_became_readable(place, call)),
            _ => None,
        };
        let waker = match source {
            None | Some((Source::WasThere, _)) => None,
            Some((Source::Unexplained, _)) => {
                // Nobody is behind a file.
                if object.is_none_or(|it| self.object(it).kind != ObjectKind::File) {
                    doubts.add(Doubt::NoWaker);
                }
                None
            }
            Some((Source::Call(piece), is_among_us)) => {
                if !is_among_us {
                    doubts.add(Doubt::OutsideWaker);
                }
                self.waker(piece)
            }
            Some((Source::Perhaps(piece), _)) => {
                doubts.add(Doubt::SeveralWakers);
                self.waker(piece)
            }
        };
        found(waker, doubts)
    }

    pub(super) fn waker(&self, piece: Piece) -> Option<IoWaker> {
        let process = piece.call.process;
        let io = &self.processes[process];
        match io.io.calls.get(piece.call.call) {
            Some(call) => Some(IoWaker { process, thread: call.thread, seq: Some(call.seq), time: call.start }),
            None => Some(IoWaker { process, thread: io.first_thread?, seq: None, time: piece.start }),
        }
    }

    /// The end of the child that was waited for.
    fn child(&self, call: &IoCallSpan) -> Option<IoWaker> {
        let pid = ProcessId(call.small_result().filter(|pid| *pid > 0)?);
        let is_it = |it: &&(usize, &ProcessIo<'_>)| it.1.pid == pid && it.1.start <= call.end;
        let children = self.processes.iter().enumerate();
        let (process, _) = children.collect::<Vec<_>>().iter().rev().find(is_it).copied()?;
        self.waker(self.end_of(process))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::io_calls::IoCalls;

    const OWN: ThreadIndex = ThreadIndex(0);

    fn call(seq: u64, (start, end): (u64, u64)) -> IoCallSpan {
        IoCallSpan {
            thread: OWN,
            seq: EventSeq(seq),
            outer_seq: EventSeq(5),
            start: TraceNanos(start),
            end: TraceNanos(end),
            what: IoCall::Write as u64,
            arguments: [2, 0, 10, 0],
            word: crate::NONE,
            result: Some(10),
        }
    }

    /// The descriptors that a wait of 100 to 1,000 is found to be for.
    fn descriptors(calls: &[IoCallSpan]) -> Vec<Option<u32>> {
        let wait = WaitSpan {
            thread: OWN,
            seq: EventSeq(5),
            start: TraceNanos(100),
            end: TraceNanos(1000),
            has_ended: 1,
            kind: WaitKind::Input as u64,
            doubts: 0,
            ..WaitSpan::default()
        };
        let io = IoCalls { calls: calls.to_vec(), ..IoCalls::default() };
        let process = ProcessIo {
            pid: ProcessId(1),
            parent: None,
            start: TraceNanos(0),
            end: TraceNanos(2000),
            first_thread: Some(OWN),
            io: &io,
            waits: &[wait],
            seen: Vec::new(),
            has_slept: Box::new(|_, _, _| false),
            thread_of_handle: Box::new(|_, _| None),
            known_until: None,
        };
        correlate(&[process]).waits[0].iter().map(|wait| wait.descriptor).collect()
    }

    #[test]
    fn what_a_handler_calls_is_not_what_was_waited_for() {
        assert_eq!(descriptors(&[call(7, (300, 400))]), []);
        // What implements the call takes most of its time.
        assert_eq!(descriptors(&[call(6, (110, 990)), call(7, (300, 400))]), [Some(2)]);
        assert_eq!(descriptors(&[call(5, (100, 1000)), call(7, (300, 400))]), [Some(2)]);
    }
}
