//! What descriptors of all processes stand for: pipes, sockets, counters, files.

use std::collections::HashMap;

use ada_event::ProcessId;
use ada_format::atf::SeenDescriptor;

use super::process_io::ProcessIo;
use super::tables::{DescriptorTable, ObjectIndex};
use crate::role::IoCall;

/// What several descriptors may stand for.
#[derive(Clone, Debug, Default)]
pub(super) struct Object {
    pub(super) kind: ObjectKind,
    /// As people call it.
    pub(super) label: String,
    /// What a socket is connected to.
    pub(super) peer: Option<ObjectIndex>,
    /// Whether it was made while the session was recorded: then only processes of the session have it.
    pub(super) is_made_here: bool,
    /// Whether it keeps messages apart.
    pub(super) is_of_messages: bool,
    /// Whether what is sent may get lost on its way.
    pub(super) is_lossy: bool,
    /// A socket's own address, and that of what it is connected to; empty where it has none.
    pub(super) local: String,
    pub(super) remote: String,
    /// Whether it is for datagrams.
    pub(super) is_of_datagrams: bool,
    /// Whether it has an address of a network.
    pub(super) is_by_network: bool,
    /// Whether a counter is counted down one by one.
    pub(super) is_semaphore: bool,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum ObjectKind {
    Pipe,
    Socket,
    Counter,
    /// Nobody can be waited for here.
    #[default]
    File,
    /// Sets of descriptors, timers and others.
    Other,
}

/// All objects of a session.
#[derive(Default)]
pub(super) struct Objects {
    pub(super) all: Vec<Object>,
    by_name: HashMap<String, ObjectIndex>,
    by_addresses: HashMap<(String, String), Vec<ObjectIndex>>,
}

impl Objects {
    /// Finds what the descriptors of all processes stand for, and notes it in their tables.
    pub(super) fn find(processes: &[ProcessIo<'_>], tables: &mut [DescriptorTable]) -> Self {
        let mut objects = Self::default();
        for (process, table) in processes.iter().zip(tables.iter_mut()) {
            process.seen.iter().for_each(|seen| objects.seen(seen, table));
        }
        objects.connect(processes);
        let by_pid: HashMap<ProcessId, usize> = processes.iter().zip(0..).map(|(it, at)| (it.pid, at)).collect();
        // Parents come before their children.
        let mut order: Vec<usize> = (0..processes.len()).collect();
        order.sort_by_key(|at| processes[*at].start);
        for at in order {
            let process = &processes[at];
            if let Some(parent) = process.parent.and_then(|parent| by_pid.get(&parent)).filter(|parent| **parent != at)
            {
                for (descriptor, place) in tables[at].inherited() {
                    let theirs = tables[*parent].place(descriptor, process.start);
                    let (object, writes) =
                        (tables[*parent].object(theirs), theirs.and_then(|it| tables[*parent].get(it).writes));
                    tables[at].learn(Some(place), object, writes);
                }
            }
            objects.follow_calls(process, &mut tables[at]);
        }
        objects
    }

    fn add(&mut self, object: Object) -> ObjectIndex {
        self.all.push(object);
        ObjectIndex(self.all.len() - 1)
    }

    fn seen(&mut self, seen: &SeenDescriptor, table: &mut DescriptorTable) {
        table.know(seen.descriptor);
        let (from, to) = (table.place(seen.descriptor, seen.from), table.place(seen.descriptor, seen.to));
        // It was closed, or made, while somebody looked.
        let Some(it) = from.filter(|_| from == to).and_then(|place| table.get_mut(place)) else { return };
        let (kind, has_number) = match seen.name.split(':').next() {
            Some("pipe") => (ObjectKind::Pipe, true),
            Some("socket") => (ObjectKind::Socket, true),
            Some("eventfd") => (ObjectKind::Counter, true),
            Some("anon_inode") => (ObjectKind::Other, false),
            _ => (ObjectKind::File, true),
        };
        let known = self.by_name.get(&seen.name).copied().filter(|_| has_number);
        // It may have been seen before it was connected.
        let label = match (seen.local.as_str(), seen.remote.as_str()) {
            ("", "") => seen.name.clone(),
            (local, "") => format!("{} {local}", seen.name),
            (local, remote) => format!("{} {local} -> {remote}", seen.name),
        };
        let object = known.or(it.object.filter(|_| !has_number)).unwrap_or_else(|| {
            let is_of_messages = !matches!(seen.form.as_str(), "" | "stream");
            self.add(Object { kind, label: label.clone(), is_of_messages, ..Object::default() })
        });
        self.by_name.entry(seen.name.clone()).or_insert(object);
        let known = &mut self.all[object.0];
        known.is_of_datagrams |= seen.form == "datagram";
        if !seen.local.is_empty() {
            (known.local, known.remote) = (seen.local.clone(), seen.remote.clone());
            known.label = label;
        }
        if !seen.remote.is_empty() {
            (known.is_by_network, known.is_lossy) = (true, known.is_of_datagrams);
            let ends = self.by_addresses.entry((seen.local.clone(), seen.remote.clone())).or_default();
            if !ends.contains(&object) {
                ends.push(object);
            }
        }
        it.is_contradictory |= it.object.is_some_and(|before| before != object);
        it.object = Some(object);
        it.writes = Some(seen.access.contains('w')).filter(|_| !seen.access.is_empty());
    }

    /// Finds the two ends of connections.
    fn connect(&mut self, processes: &[ProcessIo<'_>]) {
        let mut pairs = Vec::new();
        for seen in processes.iter().flat_map(|process| &process.seen) {
            let Some(&own) = self.by_name.get(&seen.name) else { continue };
            pairs.extend(self.by_name.get(&seen.peer).filter(|_| !seen.peer.is_empty()).map(|peer| (own, *peer)));
            // Addresses may be used again, for another connection.
            let only = |ends: &Vec<ObjectIndex>| <[ObjectIndex; 1]>::try_from(&ends[..]).ok().map(|[only]| only);
            let end = |local: &str, remote: &str| {
                self.by_addresses.get(&(local.to_owned(), remote.to_owned())).and_then(only)
            };
            let is_own = !seen.remote.is_empty() && end(&seen.local, &seen.remote) == Some(own);
            pairs.extend(end(&seen.remote, &seen.local).filter(|_| is_own).map(|peer| (own, peer)));
        }
        for (own, peer) in pairs {
            self.all[own.0].peer = Some(peer);
            // Many may be connected to one for datagrams, which is connected to none of them.
            if !self.all[peer.0].is_of_datagrams {
                self.all[peer.0].peer = Some(own);
            }
        }
    }

    /// What follows from the calls that make descriptors.
    fn follow_calls(&mut self, process: &ProcessIo<'_>, table: &mut DescriptorTable) {
        for call in &process.io.calls {
            let made = |table: &DescriptorTable, descriptor| table.place(descriptor, call.end);
            match call.what() {
                IoCall::Pipe => {
                    let Some(ends) = call.pair().map(|pair| pair.map(|it| made(table, it))) else { continue };
                    let known = ends.iter().find_map(|place| table.object(*place));
                    let object = known.unwrap_or_else(|| self.made(ObjectKind::Pipe, "pipe"));
                    self.all[object.0].is_made_here = true;
                    for (place, writes) in ends.into_iter().zip([false, true]) {
                        table.learn(place, Some(object), Some(writes));
                    }
                }
                IoCall::SocketPair => {
                    let Some(ends) = call.pair().map(|pair| pair.map(|it| made(table, it))) else { continue };
                    let [one, other] = ends.map(|place| {
                        let object =
                            table.object(place).unwrap_or_else(|| self.made(ObjectKind::Socket, "socket of a pair"));
                        table.learn(place, Some(object), Some(true));
                        object
                    });
                    for (own, peer) in [(one, other), (other, one)] {
                        let it = &mut self.all[own.0];
                        (it.peer, it.is_made_here) = (Some(peer), true);
                        it.is_of_messages = call.arguments[1] & 0xf != 1;
                    }
                }
                IoCall::EventFd => {
                    let place = call.small_result().and_then(|descriptor| made(table, descriptor));
                    let object = table.object(place).unwrap_or_else(|| self.made(ObjectKind::Counter, "eventfd"));
                    table.learn(place, Some(object), Some(true));
                    let it = &mut self.all[object.0];
                    (it.is_made_here, it.is_semaphore) = (true, call.arguments[1] & 1 != 0);
                }
                IoCall::Socket | IoCall::Accept => {
                    let place = call.small_result().and_then(|descriptor| made(table, descriptor));
                    table.object(place).into_iter().for_each(|object| self.all[object.0].is_made_here = true);
                }
                IoCall::Duplicate | IoCall::DuplicateTo => {
                    let from = table.place(call.descriptor(), call.start);
                    let (object, writes) = (table.object(from), from.and_then(|it| table.get(it).writes));
                    let place = call.small_result().and_then(|descriptor| made(table, descriptor));
                    table.learn(place, object, writes);
                }
                _ => {}
            }
        }
    }

    fn made(&mut self, kind: ObjectKind, label: &str) -> ObjectIndex {
        self.add(Object { kind, label: label.to_owned(), is_made_here: true, ..Object::default() })
    }
}
