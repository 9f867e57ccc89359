//! The descriptors of a process: what each number stood for, from when it was made to when it was closed.

use std::collections::BTreeMap;

use ada_event::TraceNanos;

use crate::io_call_span::IoCallSpan;
use crate::role::IoCall;

/// An object's place in the list of all.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct ObjectIndex(pub(super) usize);

/// A descriptor between two moments at which its number may have come to stand for something else.
#[derive(Clone, Debug)]
pub(super) struct OpenTime {
    pub(super) from: TraceNanos,
    pub(super) object: Option<ObjectIndex>,
    /// Whether it can be written to, where that is known.
    pub(super) writes: Option<bool>,
    /// It was seen to stand for several things: somebody has closed it unseen.
    pub(super) is_contradictory: bool,
}

/// The descriptors of a process, by number, each in the order of time.
pub(super) struct DescriptorTable(BTreeMap<u32, Vec<OpenTime>>);

/// Where one is in the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Place {
    descriptor: u32,
    at: usize,
}

impl DescriptorTable {
    pub(super) fn of(calls: &[IoCallSpan]) -> Self {
        let mut changes: BTreeMap<u32, Vec<TraceNanos>> = BTreeMap::new();
        for call in calls {
            let made = |descriptor: u32| changes.entry(descriptor).or_default().push(call.end);
            match call.what() {
                IoCall::Pipe | IoCall::SocketPair => call.pair().into_iter().flatten().for_each(made),
                IoCall::EventFd
                | IoCall::Socket
                | IoCall::Open
                | IoCall::Accept
                | IoCall::Duplicate
                | IoCall::DuplicateTo => call.small_result().into_iter().for_each(made),
                IoCall::Close => changes.entry(call.descriptor()).or_default().push(call.start),
                _ => {}
            }
            if let Some(descriptor) = call.used() {
                changes.entry(descriptor).or_default();
            }
        }
        let mut table = BTreeMap::new();
        for (descriptor, mut changes) in changes {
            changes.sort_unstable();
            let mut times = vec![OpenTime::from(TraceNanos(0))];
            for time in changes {
                times.push(OpenTime::from(time));
            }
            table.insert(descriptor, times);
        }
        Self(table)
    }

    /// Makes sure that there is something to know of a descriptor that was neither made nor closed.
    pub(super) fn know(&mut self, descriptor: u32) {
        self.0.entry(descriptor).or_insert_with(|| vec![OpenTime::from(TraceNanos(0))]);
    }

    /// What a number stands for at a moment.
    pub(super) fn place(&self, descriptor: u32, time: TraceNanos) -> Option<Place> {
        let at = self.0.get(&descriptor)?.partition_point(|it| it.from <= time).checked_sub(1)?;
        Some(Place { descriptor, at })
    }

    /// The same just before.
    pub(super) fn place_before(&self, descriptor: u32, time: TraceNanos) -> Option<Place> {
        self.place(descriptor, TraceNanos(time.0.saturating_sub(1)))
    }

    pub(super) fn get(&self, place: Place) -> &OpenTime {
        &self.0[&place.descriptor][place.at]
    }

    pub(super) fn get_mut(&mut self, place: Place) -> Option<&mut OpenTime> {
        self.0.get_mut(&place.descriptor)?.get_mut(place.at)
    }

    /// The object at a place; none where nobody knows.
    pub(super) fn object(&self, place: Option<Place>) -> Option<ObjectIndex> {
        let it = self.get(place?);
        it.object.filter(|_| !it.is_contradictory)
    }

    /// Notes what was found out of a place.
    pub(super) fn learn(&mut self, place: Option<Place>, object: Option<ObjectIndex>, writes: Option<bool>) {
        let (Some(it), Some(object)) = (place.and_then(|place| self.get_mut(place)), object) else { return };
        if it.object.is_none() {
            it.object = Some(object);
        }
        it.writes = it.writes.or(writes);
    }

    /// The descriptors that were there from the beginning, and what is not known of them.
    pub(super) fn inherited(&self) -> Vec<(u32, Place)> {
        let unknown = self.0.iter().filter(|(_, times)| times.first().is_some_and(|it| it.object.is_none()));
        unknown.map(|(descriptor, _)| (*descriptor, Place { descriptor: *descriptor, at: 0 })).collect()
    }

    /// Everything that is open when a process ends.
    pub(super) fn at_the_end(&self) -> impl Iterator<Item = &OpenTime> {
        self.0.values().filter_map(|times| times.last())
    }
}

impl OpenTime {
    fn from(from: TraceNanos) -> Self {
        Self { from, object: None, writes: None, is_contradictory: false }
    }
}
