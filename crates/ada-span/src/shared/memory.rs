//! What addresses of a process stood for.

use std::ops::Range;

use ada_event::TraceNanos;
use ada_format::atf::SeenMemory;

use crate::io_calls::IoCalls;
use crate::role::IoCall;

/// The memory of a process that was seen to be shared.
pub(super) struct Memory {
    seen: Vec<SeenMemory>,
    /// Calls after which addresses stand for something else.
    changes: Vec<Change>,
    /// Until when all of these are known.
    known_until: TraceNanos,
}

struct Change {
    start: TraceNanos,
    end: TraceNanos,
    range: Range<u64>,
}

/// A place in a file, which all processes mean that have mapped it.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct FilePlace {
    pub(super) file: String,
    pub(super) offset: u64,
}

impl Memory {
    pub(super) fn of(seen: Vec<SeenMemory>, io: &IoCalls) -> Self {
        let changes = io.calls.iter().filter(|call| matches!(call.what(), IoCall::Unmap | IoCall::Map));
        let change = |call: &crate::IoCallSpan| {
            let [start, length, ..] = call.arguments;
            Change { start: call.start, end: call.end, range: start..start.saturating_add(length) }
        };
        let known_until = match io.left_out {
            0 => io.memory_known_until.unwrap_or(TraceNanos::MAX),
            _ => TraceNanos(0),
        };
        Self { seen, changes: changes.map(change).collect(), known_until }
    }

    /// What an address stood for at a moment, with what the kernel calls the file. None where it was not seen, may have been
    /// something else then, or is nobody else's.
    pub(super) fn place(&self, address: u64, time: TraceNanos) -> Option<(FilePlace, &str)> {
        let found = self.look(address, time).filter(|seen| !seen.file.is_empty())?;
        let offset = found.offset.checked_add(address - found.range.start)?;
        Some((FilePlace { file: found.file.clone(), offset }, &found.name))
    }

    /// Whether an address certainly was nobody else's at a moment.
    pub(super) fn is_private(&self, address: u64, time: TraceNanos) -> bool {
        self.look(address, time).is_some_and(|seen| seen.file.is_empty())
    }

    fn look(&self, address: u64, time: TraceNanos) -> Option<&SeenMemory> {
        self.seen.iter().find(|seen| seen.range.contains(&address) && self.is_the_same(seen, time))
    }

    /// Whether nothing else can have been where something was seen between that and a moment.
    fn is_the_same(&self, seen: &SeenMemory, time: TraceNanos) -> bool {
        let (from, to) = (time.min(seen.from), time.max(seen.to));
        let is_between = |change: &Change| {
            let overlaps = change.range.start < seen.range.end && seen.range.start < change.range.end;
            overlaps && change.start <= to && change.end >= from
        };
        to < self.known_until && !self.changes.iter().any(is_between)
    }
}

#[cfg(test)]
mod tests {
    use ada_event::EventSeq;

    use super::*;
    use crate::IoCallSpan;
    use crate::thread_index::ThreadIndex;

    fn seen(at: u64, file: &str) -> SeenMemory {
        SeenMemory {
            from: TraceNanos(at),
            to: TraceNanos(at + 1),
            range: 0x7000..0x9000,
            offset: 0x1000,
            file: file.to_owned(),
            name: "/dev/zero (deleted)".to_owned(),
        }
    }

    fn unmap(at: u64, start: u64, length: u64) -> IoCallSpan {
        let call = IoCallSpan::of_exec(ThreadIndex(0), EventSeq(at), TraceNanos(at));
        IoCallSpan { arguments: [start, length, 0, 0], end: TraceNanos(at + 1), ..call }
    }

    fn offset(memory: &Memory, address: u64, time: u64) -> Option<(String, u64)> {
        memory.place(address, TraceNanos(time)).map(|(place, _)| (place.file, place.offset))
    }

    #[test]
    fn what_was_seen_counts_until_something_else_may_be_there() {
        let io = |calls: Vec<IoCallSpan>| IoCalls { calls, ..IoCalls::default() };
        let memory = Memory::of(vec![seen(50, "a")], &io(vec![]));
        assert_eq!(offset(&memory, 0x7010, 10), Some(("a".to_owned(), 0x1010)));
        assert_eq!((offset(&memory, 0x6fff, 50), offset(&memory, 0x9000, 50)), (None, None));
        // The same addresses were something else before.
        let again = Memory::of(vec![seen(50, "a"), seen(10, "b")], &io(vec![unmap(30, 0x8000, 0x1000)]));
        assert_eq!(offset(&again, 0x7010, 60), Some(("a".to_owned(), 0x1010)));
        assert_eq!(offset(&again, 0x7010, 20), Some(("b".to_owned(), 0x1010)));
        let elsewhere = Memory::of(vec![seen(50, "a")], &io(vec![unmap(30, 0x9000, 0x1000)]));
        assert!(offset(&elsewhere, 0x7010, 20).is_some());
        let executed = Memory::of(vec![seen(50, "a")], &io(vec![unmap(30, 0, u64::MAX)]));
        assert_eq!(offset(&executed, 0x7010, 20), None);
        let lost = IoCalls { memory_known_until: Some(TraceNanos(40)), ..IoCalls::default() };
        assert_eq!(offset(&Memory::of(vec![seen(50, "a")], &lost), 0x7010, 10), None);
    }
}
