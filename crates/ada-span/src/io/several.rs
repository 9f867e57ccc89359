//! Waits for one of several descriptors: who made those ready that were when the call came back.

use std::collections::HashMap;

use super::finder::{Finder, IoWait};
use super::streams::{CallPlace, Piece, Source};
use crate::io_call_span::IoCallSpan;
use crate::io_calls::{ReadyDescriptor, WRITABLE};

/// Calls of which each may have ended a wait.
pub(super) struct Candidates {
    readable: Vec<Piece>,
    room: Vec<Piece>,
    /// Whether one of them is itself one of several.
    is_several: bool,
    /// Something had been there before.
    was_there: bool,
    /// Whether nobody else can have ended it.
    pub(super) is_among_us: bool,
}

impl Default for Candidates {
    fn default() -> Self {
        Self { readable: Vec::new(), room: Vec::new(), is_several: false, was_there: false, is_among_us: true }
    }
}

impl Candidates {
    /// What made something readable, and whether nobody else can have.
    pub(super) fn add(&mut self, (source, is_sure): (Source, bool)) {
        let piece = self.candidate(source, is_sure);
        self.readable.extend(piece);
    }

    /// What made room, likewise.
    pub(super) fn add_room(&mut self, (source, is_sure): (Source, bool)) {
        let piece = self.candidate(source, is_sure);
        self.room.extend(piece);
    }

    fn candidate(&mut self, source: Source, is_sure: bool) -> Option<Piece> {
        self.is_among_us &= is_sure;
        match source {
            Source::Call(piece) => Some(piece),
            Source::Perhaps(piece) => {
                self.is_several = true;
                Some(piece)
            }
            Source::WasThere => {
                self.was_there = true;
                None
            }
            Source::Unexplained => {
                self.is_among_us = false;
                None
            }
        }
    }

    /// The first of them, which ended the wait: it is certain where it was over before the others began. What made room may not have
    /// made enough of it, so that another one may have come before.
    pub(super) fn first(self) -> (Source, bool) {
        if self.was_there {
            return (Source::WasThere, true);
        }
        let is_of_both = !self.readable.is_empty() && !self.room.is_empty();
        let mut found = self.readable;
        found.extend(self.room);
        found.sort_by_key(|it| it.end);
        let Some(&first) = found.first() else { return (Source::Unexplained, false) };
        let is_first = found.iter().all(|it| it.call == first.call || it.start > first.end);
        let is_certain = is_first && !is_of_both && !self.is_several;
        (if is_certain { Source::Call(first) } else { Source::Perhaps(first) }, self.is_among_us)
    }
}

impl Finder<'_> {
    /// Who made those descriptors ready that a call says were.
    pub(super) fn several_ready(
        &self,
        ready: &[ReadyDescriptor],
        place: CallPlace,
        call: &IoCallSpan,
    ) -> (Source, bool) {
        let table = &self.tables[place.process];
        let mut found = Candidates::default();
        for it in ready {
            let descriptor = it.descriptor.and_then(|it| u32::try_from(it).ok());
            let Some(object) = descriptor.and_then(|it| table.object(table.place(it, call.start))) else {
                found.is_among_us = false;
                continue;
            };
            if it.events & WRITABLE != 0 {
                found.add_room(self.room_made(object, place, call).unwrap_or((Source::Unexplained, false)));
            }
            if it.events & !WRITABLE != 0 {
                found.add(self.became_readable(object, place, call));
            }
        }
        found.first()
    }
}

/// The descriptors of these rows, each once.
pub(super) fn descriptors_of(ready: &[ReadyDescriptor]) -> Vec<u32> {
    let mut descriptors: Vec<u32> = Vec::new();
    for it in ready.iter().filter_map(|it| u32::try_from(it.descriptor?).ok()) {
        if !descriptors.contains(&it) {
            descriptors.push(it);
        }
    }
    descriptors
}

/// Gives waits that ended for several descriptors an object that names them all.
pub(super) fn name_several(waits: &mut [Vec<IoWait>], objects: &mut Vec<String>) {
    let mut known: HashMap<String, usize> = HashMap::new();
    for wait in waits.iter_mut().flatten().filter(|wait| !wait.others.is_empty()) {
        let own = wait.descriptor.map(|descriptor| (descriptor, wait.object));
        let name = |(descriptor, object): (u32, Option<usize>)| {
            let label = object.and_then(|at| objects.get(at)).map_or("?", String::as_str);
            format!("{descriptor} {label}")
        };
        let names: Vec<String> = own.into_iter().chain(wait.others.iter().copied()).map(name).collect();
        let name = names.join(", ");
        wait.object = Some(*known.entry(name).or_insert_with_key(|name| {
            objects.push(name.clone());
            objects.len() - 1
        }));
    }
}

#[cfg(test)]
mod tests {
    use ada_event::TraceNanos;

    use super::*;

    fn piece(call: usize, start: u64, end: u64) -> Piece {
        let call = CallPlace { process: 0, call };
        Piece { call, start: TraceNanos(start), end: TraceNanos(end), bytes: 1, has_slept: false }
    }

    fn first(readable: &[Source], room: &[Source]) -> (Source, bool) {
        let mut found = Candidates::default();
        readable.iter().for_each(|source| found.add((*source, true)));
        room.iter().for_each(|source| found.add_room((*source, true)));
        found.first()
    }

    #[test]
    fn the_first_to_make_something_ready_ends_the_wait() {
        let (early, late, beside) = (piece(1, 10, 12), piece(2, 20, 22), piece(3, 11, 13));
        let call = Source::Call;
        assert_eq!(first(&[call(late), call(early)], &[]), (call(early), true));
        assert_eq!(first(&[call(early), call(early)], &[]), (call(early), true));
        assert_eq!(first(&[call(beside), call(early)], &[]), (Source::Perhaps(early), true));
        assert_eq!(first(&[call(late)], &[call(early)]), (Source::Perhaps(early), true));
        assert_eq!(first(&[], &[call(early)]), (call(early), true));
        assert_eq!(first(&[Source::WasThere, call(early)], &[]), (Source::WasThere, true));
        assert_eq!(first(&[Source::Unexplained, call(early)], &[]), (call(early), false));
        assert_eq!(first(&[], &[]), (Source::Unexplained, false));
    }
}
