//! Whose call ended a wait for input: all processes of a session together.

use std::collections::{BTreeMap, HashMap, HashSet};

use ada_event::{EventSeq, ProcessId, TraceNanos};

use super::objects::{Object, ObjectKind, Objects};
use super::process_io::ProcessIo;
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

/// What was found out about a wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IoWait {
    /// Its place in the list of the process's waits.
    pub wait: usize,
    /// The descriptor that was waited for.
    pub descriptor: Option<u32>,
    /// What it stood for, in [`SessionIo::objects`].
    pub object: Option<usize>,
    /// Who ended the wait.
    pub waker: Option<IoWaker>,
    /// What is not certain.
    pub doubts: Doubts,
}

/// Who ended a wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IoWaker {
    /// The process's place in the list.
    pub process: usize,
    /// The thread there.
    pub thread: ThreadIndex,
    /// The call, by its opening event.
    pub seq: Option<EventSeq>,
    /// When that was.
    pub time: TraceNanos,
}

/// What is not a call but the end of a process.
const END: usize = usize::MAX;

/// Finds what waits for input were for, and who ended them.
pub fn correlate(processes: &[ProcessIo<'_>]) -> SessionIo {
    let mut tables: Vec<DescriptorTable> = processes.iter().map(|it| DescriptorTable::of(it.calls)).collect();
    let objects = Objects::find(processes, &mut tables);
    let mut finder = Finder {
        processes,
        tables,
        objects,
        streams: BTreeMap::new(),
        connects: HashMap::new(),
        controls: vec![Vec::new(); processes.len()],
        listeners: HashSet::new(),
        known_until: processes.iter().map(|process| process.known_until.unwrap_or_default()).min().unwrap_or_default(),
    };
    finder.collect();
    let waits = (0..processes.len()).map(|process| finder.waits_of(process)).collect();
    SessionIo { objects: finder.objects.all.into_iter().map(|object| object.label).collect(), waits }
}

struct Finder<'a> {
    processes: &'a [ProcessIo<'a>],
    tables: Vec<DescriptorTable>,
    objects: Objects,
    /// By the object that is read from.
    streams: BTreeMap<ObjectIndex, Stream>,
    /// The calls that connected sockets.
    connects: HashMap<ObjectIndex, CallPlace>,
    /// Calls that say what sets of descriptors are about, by process.
    controls: Vec<Vec<usize>>,
    /// What connections are taken from.
    listeners: HashSet<ObjectIndex>,
    /// Until when all calls of all processes are known.
    known_until: TraceNanos,
}

impl Finder<'_> {
    /// Puts all calls where they belong.
    fn collect(&mut self) {
        for (process, io) in self.processes.iter().enumerate() {
            for (call, it) in io.calls.iter().enumerate() {
                self.add(CallPlace { process, call }, it);
            }
            let open: Vec<_> = self.tables[process].at_the_end().cloned().collect();
            for it in open {
                let end = self.end_of(process);
                self.add_close(it.object.filter(|_| !it.is_contradictory), it.writes, end);
            }
        }
        self.streams.values_mut().for_each(Stream::finish);
    }

    fn add(&mut self, place: CallPlace, call: &IoCallSpan) {
        /// Of `recv`: what is read stays there.
        const PEEK: u64 = 2;
        let table = &self.tables[place.process];
        let own = table.object(table.place(call.descriptor(), call.start));
        match call.what() {
            IoCall::Receive if call.arguments[3] & PEEK != 0 => {}
            IoCall::Read | IoCall::Receive => {
                let Some(object) = own else { return };
                let bytes = self.bytes(object, call);
                let is_counter = self.object(object).kind == ObjectKind::Counter;
                let has_slept =
                    is_counter && (self.processes[place.process].has_slept)(call.thread, call.start, call.end);
                let stream = self.streams.entry(object).or_default();
                match bytes {
                    Some(bytes) => stream.add_read(Piece { has_slept, ..piece(place, call, bytes) }),
                    None => stream.lose_count(call.start),
                }
            }
            IoCall::Write => {
                let Some((object, to)) = own.and_then(|own| Some((own, self.reader_of(own)?))) else { return };
                let bytes = self.bytes(object, call);
                let stream = self.streams.entry(to).or_default();
                match bytes {
                    Some(bytes) => stream.add_write(piece(place, call, bytes)),
                    None => stream.lose_count(call.start),
                }
            }
            IoCall::EpollControl => self.controls[place.process].push(place.call),
            IoCall::Accept => self.listeners.extend(own),
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

    fn object(&self, index: ObjectIndex) -> &Object {
        &self.objects.all[index.0]
    }

    /// What is read from of what is written to.
    fn reader_of(&self, object: ObjectIndex) -> Option<ObjectIndex> {
        match self.object(object).kind {
            ObjectKind::Pipe | ObjectKind::Counter => Some(object),
            ObjectKind::Socket => self.object(object).peer,
            ObjectKind::File | ObjectKind::Other => None,
        }
    }

    /// Whether nobody but the session's processes can write to what is read from, and all that they do is known.
    fn is_among_us(&self, reader: ObjectIndex, time: TraceNanos) -> bool {
        let object = self.object(reader);
        let is_ours = |it: &Object| it.is_made_here;
        time < self.known_until
            && match object.kind {
                ObjectKind::Pipe | ObjectKind::Counter => is_ours(object),
                ObjectKind::Socket => is_ours(object) && object.peer.is_some_and(|peer| is_ours(self.object(peer))),
                ObjectKind::File | ObjectKind::Other => false,
            }
    }

    /// How a process ended: the call that did, or its last event.
    fn end_of(&self, process: usize) -> Piece {
        let io = &self.processes[process];
        let exit = io.calls.iter().enumerate().rev().find(|(_, call)| call.what() == IoCall::Exit);
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
        let calls: HashMap<(ThreadIndex, EventSeq), usize> =
            io.calls.iter().enumerate().map(|(at, call)| ((call.thread, call.outer_seq), at)).collect();
        let waits = io.waits.iter().enumerate().filter(|(_, wait)| wait.kind() == WaitKind::Input);
        let found = waits.filter_map(|(at, wait)| {
            let call = *calls.get(&(wait.thread, wait.seq))?;
            Some(self.wait(at, wait, CallPlace { process, call }))
        });
        found.collect()
    }

    fn wait(&self, at: usize, wait: &WaitSpan, place: CallPlace) -> IoWait {
        let call = &self.processes[place.process].calls[place.call];
        let table = &self.tables[place.process];
        let descriptor = call.used();
        let object = descriptor.and_then(|it| table.object(table.place(it, call.start)));
        let mut doubts = Doubts(wait.doubts);
        let found = |waker, doubts| IoWait { wait: at, descriptor, object: object.map(|it| it.0), waker, doubts };
        if descriptor.is_some() && object.is_none() {
            doubts.add(Doubt::UnknownObject);
        }
        if wait.has_ended != 1 || call.small_result().is_none() {
            return found(None, doubts);
        }
        let source = match call.what() {
            IoCall::WaitChild => {
                return found(self.child(call), doubts);
            }
            IoCall::Read | IoCall::Receive => object.map(|object| self.read_from(object, place, call)),
            IoCall::Accept => object.map(|_| self.accepted(place, call)),
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

    fn waker(&self, piece: Piece) -> Option<IoWaker> {
        let process = piece.call.process;
        let io = &self.processes[process];
        match io.calls.get(piece.call.call) {
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

    fn read_from(&self, object: ObjectIndex, place: CallPlace, call: &IoCallSpan) -> (Source, bool) {
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

    fn became_readable(&self, object: ObjectIndex, place: CallPlace, call: &IoCallSpan) -> (Source, bool) {
        let is_among_us = self.is_among_us(object, call.end);
        if let Some(accepted) = self.next_accept(object, place, call) {
            return accepted;
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
        let first = io.calls.partition_point(|it| it.start < call.end);
        let is_it = |it: &IoCallSpan| {
            it.what() == IoCall::Accept && table.object(table.place(it.descriptor(), it.start)) == Some(listener)
        };
        let next = io.calls[first..].iter().enumerate().take(MANY).find(|(_, it)| is_it(it))?;
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
    fn accepted(&self, place: CallPlace, call: &IoCallSpan) -> (Source, bool) {
        let table = &self.tables[place.process];
        let taken = call.small_result().and_then(|descriptor| table.object(table.place(descriptor, call.end)));
        let peer = taken.and_then(|taken| self.object(taken).peer);
        let Some(&connect) = peer.and_then(|peer| self.connects.get(&peer)) else {
            return (Source::Unexplained, false);
        };
        let made = &self.processes[connect.process].calls[connect.call];
        let source = if made.end < call.start { Source::WasThere } else { Source::Call(piece(connect, made, 0)) };
        // A connection has two ends, and both are known.
        (source, true)
    }

    /// Of a set of descriptors, what became readable.
    fn one_became_readable(&self, place: CallPlace, call: &IoCallSpan) -> (Source, bool) {
        let table = &self.tables[place.process];
        let set = table.place(call.descriptor(), call.start);
        let io = &self.processes[place.process];
        let mut watched: BTreeMap<u32, bool> = BTreeMap::new();
        let controls = self.controls[place.process].iter().map(|at| &io.calls[*at]);
        for (count, it) in controls.take_while(|it| it.start < call.end).enumerate() {
            const DELETE: u64 = 2;
            if count > MOST_WATCHED {
                return (Source::Unexplained, false);
            }
            if it.descriptor() == call.descriptor() && table.place(it.descriptor(), it.start) == set {
                watched.insert(it.arguments[2] as u32, it.arguments[1] & 0xffff_ffff != DELETE);
            }
        }
        let mut found: Vec<Piece> = Vec::new();
        let (mut is_among_us, mut is_several) = (true, false);
        for descriptor in watched.into_iter().filter_map(|(descriptor, is_in)| is_in.then_some(descriptor)) {
            let Some(object) = table.object(table.place(descriptor, call.start)) else {
                is_among_us = false;
                continue;
            };
            let (source, is_sure) = self.became_readable(object, place, call);
            match source {
                Source::Call(piece) => found.push(piece),
                Source::Perhaps(piece) => {
                    is_several = true;
                    found.push(piece);
                }
                // A socket that nobody has connected to meanwhile.
                Source::Unexplained if self.listeners.contains(&object) => continue,
                Source::WasThere | Source::Unexplained => {}
            }
            is_among_us &= is_sure;
        }
        found.sort_by_key(|it| it.end);
        match found[..] {
            [] => (Source::Unexplained, false),
            [one] if !is_several => (Source::Call(one), is_among_us),
            [one, ..] => (Source::Perhaps(one), is_among_us),
        }
    }
}

/// Changes of sets that are followed. Who watches more is not told what it was.
const MOST_WATCHED: usize = 1024;
/// Calls that are looked through for the one that takes a connection.
const MANY: usize = 64;

fn piece(call: CallPlace, it: &IoCallSpan, bytes: u64) -> Piece {
    Piece { call, start: it.start, end: it.end, bytes, has_slept: false }
}
