//! Stacks that go from thread to thread, as those of goroutines do: which thread is on which when, and where calls end that began
//! on another thread.
//!
//! Threads are replayed side by side, each by itself. So all are looked through before: a stay on a stack that begins with open
//! calls, and comes after a stay of another thread, notes where these calls end. Whoever replays their beginning closes them there.

use std::collections::HashMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use ada_event::{Event, EventKind, EventSeq, TraceNanos};
use ada_format::atf::EventVisitor;

use crate::source::ProcessSource;
use crate::thread_index::ThreadIndex;

/// A thread's stay on a stack that is not its own.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Stay {
    from: TraceNanos,
    thread: ThreadIndex,
    /// How many of the calls that were open at its beginning are open at its end.
    still_open: u32,
    /// How the others end, the innermost first.
    ends: Vec<EndElsewhere>,
    /// The next stay at whose end fewer are open.
    next_lower: u32,
}

/// The end of a call on another thread than it began on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct EndElsewhere {
    pub(super) depth: u32,
    pub(super) time: TraceNanos,
    pub(super) kind: EventKind,
}

/// Which of a stack's stays it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct StayNumber(usize);

/// The stacks of a process that more than one thread has been on, by number.
#[derive(Debug, Default)]
pub(crate) struct MovedStacks(HashMap<u64, Vec<Stay>>);

impl MovedStacks {
    /// Looks through all threads of a process.
    pub(crate) fn find(source: &impl ProcessSource) -> Self {
        let threads = source.threads().len();
        let next = AtomicUsize::new(0);
        let found: Mutex<Vec<(u64, Stay)>> = Mutex::default();
        std::thread::scope(|scope| {
            for _ in 0..std::thread::available_parallelism().map_or(1, usize::from).min(threads) {
                scope.spawn(|| {
                    while let Some(thread) = ThreadIndex::all(threads).nth(next.fetch_add(1, Ordering::Relaxed)) {
                        let mut stays = Stays::of(thread);
                        source.visit(thread, false, &mut stays);
                        let stays = stays.finish();
                        found.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).extend(stays);
                    }
                });
            }
        });
        Self::of(found.into_inner().unwrap_or_else(|poisoned| poisoned.into_inner()))
    }

    fn of(stays: Vec<(u64, Stay)>) -> Self {
        let mut stacks: HashMap<u64, Vec<Stay>> = HashMap::new();
        for (number, stay) in stays {
            stacks.entry(number).or_default().push(stay);
        }
        stacks.retain(|_, stays| stays.iter().any(|stay| stay.thread != stays[0].thread));
        for stays in stacks.values_mut() {
            stays.sort_by_key(|stay| (stay.from, stay.thread));
            for at in (0..stays.len()).rev() {
                let mut lower = at + 1;
                while stays.get(lower).is_some_and(|stay| stay.still_open >= stays[at].still_open) {
                    lower = stays[lower].next_lower as usize;
                }
                stays[at].next_lower = lower as u32;
            }
        }
        Self(stacks)
    }

    /// The stay of a thread on a stack that begins at a time.
    pub(super) fn stay(&self, number: u64, thread: ThreadIndex, from: TraceNanos) -> Option<StayNumber> {
        let stays = self.0.get(&number)?;
        stays.binary_search_by_key(&(from, thread), |stay| (stay.from, stay.thread)).ok().map(StayNumber)
    }

    /// Whether the stack comes from another thread.
    pub(super) fn is_taken_over(&self, number: u64, stay: StayNumber) -> bool {
        let stays = &self.0[&number];
        stay.0.checked_sub(1).is_some_and(|before| stays[before].thread != stays[stay.0].thread)
    }

    /// Whether it goes to another thread next.
    pub(super) fn is_handed_over(&self, number: u64, stay: StayNumber) -> bool {
        let stays = &self.0[&number];
        stays.get(stay.0 + 1).is_some_and(|next| next.thread != stays[stay.0].thread)
    }

    /// Where a call ends that is open at the end of a stay, if it does.
    pub(super) fn end_after(&self, number: u64, stay: StayNumber, depth: u32) -> Option<EndElsewhere> {
        let stays = &self.0[&number];
        let mut at = stay.0 + 1;
        while let Some(later) = stays.get(at) {
            if later.still_open <= depth {
                let end = later.ends.iter().find(|end| end.depth <= depth);
                // Nothing says how one ended that was gone before, or is gone by then.
                let unseen =
                    EndElsewhere { depth, time: end.map_or(later.from, |end| end.time), kind: EventKind::EXCEPTION };
                return Some(end.filter(|end| end.depth == depth).copied().unwrap_or(unseen));
            }
            at = later.next_lower as usize;
        }
        None
    }
}

/// Notes a thread's stays.
struct Stays {
    thread: ThreadIndex,
    number: u64,
    stay: Option<Stay>,
    found: Vec<(u64, Stay)>,
}

impl Stays {
    fn of(thread: ThreadIndex) -> Self {
        Self { thread, number: 0, stay: None, found: Vec::new() }
    }

    fn finish(mut self) -> Vec<(u64, Stay)> {
        self.found.extend(self.stay.map(|stay| (self.number, stay)));
        self.found
    }
}

impl EventVisitor for Stays {
    fn begin(&mut self, _: EventSeq, _: u64) {}

    fn event(&mut self, event: Event) {
        if event.kind == EventKind::STACK {
            let number = event.function.0;
            if number != self.number {
                self.found.extend(self.stay.take().map(|stay| (self.number, stay)));
                self.number = number;
                self.stay = (number != 0).then(|| Stay {
                    from: event.timestamp,
                    thread: self.thread,
                    still_open: event.depth,
                    ends: Vec::new(),
                    next_lower: 0,
                });
            }
            return;
        }
        let Some(stay) = self.stay.as_mut().filter(|stay| event.depth < stay.still_open) else { return };
        stay.still_open = event.depth;
        if event.kind.is_end() {
            stay.ends.push(EndElsewhere { depth: event.depth, time: event.timestamp, kind: event.kind });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ada_event::{DetailSeq, FunctionId};

    fn event(kind: EventKind, function: u64, depth: u32, time: u64) -> Event {
        let (timestamp, function) = (TraceNanos(time), FunctionId(function));
        Event { timestamp, function, kind, depth, detail: DetailSeq::NONE, ..Event::default() }
    }

    fn stays(thread: usize, events: &[Event]) -> Vec<(u64, Stay)> {
        let mut stays = Stays::of(ThreadIndex::all(thread + 1).last().unwrap());
        events.iter().for_each(|it| stays.event(*it));
        stays.finish()
    }

    #[test]
    fn calls_end_where_the_stack_is_by_then() {
        let first = [
            event(EventKind::STACK, 7, 0, 10),
            event(EventKind::CALL, 1, 0, 11),
            event(EventKind::CALL, 2, 1, 12),
            event(EventKind::CALL, 3, 2, 13),
            event(EventKind::STACK, 0, 0, 20),
            event(EventKind::STACK, 7, 1, 50),
            event(EventKind::RETURN, 1, 0, 51),
        ];
        let second = [
            event(EventKind::STACK, 7, 3, 30),
            event(EventKind::RETURN, 3, 2, 31),
            event(EventKind::CALL, 4, 2, 32),
            event(EventKind::RETURN, 4, 2, 33),
            event(EventKind::RETURN, 2, 1, 34),
            event(EventKind::STACK, 8, 0, 40),
        ];
        let all = [stays(0, &first), stays(1, &second)].concat();
        let moved = MovedStacks::of(all);
        let [one, two]: [ThreadIndex; 2] = ThreadIndex::all(2).collect::<Vec<_>>().try_into().unwrap();
        let stay = moved.stay(7, one, TraceNanos(10)).unwrap();
        assert!(moved.is_handed_over(7, stay) && !moved.is_taken_over(7, stay));
        let end = |depth| moved.end_after(7, stay, depth).map(|end| (end.time.0, end.kind));
        assert_eq!(end(2), Some((31, EventKind::RETURN)));
        assert_eq!(end(1), Some((34, EventKind::RETURN)));
        assert_eq!(end(0), Some((51, EventKind::RETURN)));
        let back = moved.stay(7, one, TraceNanos(50)).unwrap();
        assert!(moved.is_taken_over(7, back) && !moved.is_handed_over(7, back));
        assert!(moved.stay(8, two, TraceNanos(40)).is_none(), "only one thread has been on it");
        assert!(moved.stay(7, two, TraceNanos(31)).is_none());
    }
}
