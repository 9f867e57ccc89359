//! Follows rings through the looks at them.
//!
//! What a ring is asked for has positions that count up, and so has what is done: looks that follow each other without a hole have seen
//! everything. From a hole on, nothing is said about a ring.

use std::collections::{BTreeMap, HashMap, VecDeque};

use ada_event::{EventSeq, TraceNanos};

use super::ending::{RingEnd, RingEnding};
use super::look::{RingLook, Seen};
use super::operation::{Completion, Entry, Operation};
use crate::io_call_span::{IoCallSpan, Waited};
use crate::thread_index::ThreadIndex;

/// A thread of the kernel's looks for what there is to do.
const BY_KERNEL_THREAD: u32 = 1 << 1;
/// Completions that are remembered, for calls around those that have seen them.
const RECENT: usize = 1024;

/// What rings have done.
#[derive(Debug, Default)]
pub(crate) struct Followed {
    /// Operations, as calls.
    pub(crate) calls: Vec<IoCallSpan>,
    /// What waits ended with.
    pub(crate) ends: Vec<RingEnd>,
    /// From when on not everything is known that rings do to descriptors, and to what goes through them.
    pub(crate) known_until: Option<TraceNanos>,
}

/// Follows the rings of a process.
pub(crate) fn follow(mut looks: Vec<RingLook>) -> Followed {
    looks.sort_by_key(|look| (look.time, look.thread, look.seq, look.is_return));
    let mut rings: HashMap<u64, Ring> = HashMap::new();
    let mut found = Followed::default();
    let mut is_told_by_others = false;
    for look in &looks {
        match look.seen() {
            Some(seen) if seen.flags & BY_KERNEL_THREAD == 0 => {
                is_told_by_others |= seen.entries.iter().any(|it| Entry::new(*it, None).tells_another_ring());
                rings.entry(seen.key).or_default().look(look, &seen, is_told_by_others, &mut found);
            }
            Some(_) => found.lose(look.time),
            None => {
                found.lose(look.time);
                // It may be any of them.
                rings.values_mut().for_each(|ring| ring.is_lost = true);
            }
        }
    }
    // Who takes completions while another one waits changes what that one waits for.
    let is_alone = |it: &EndedWait| rings[&it.key].is_alone(it);
    let ends = rings.values().flat_map(|ring| &ring.waited).filter(|it| is_alone(it)).map(|it| it.end);
    found.ends.extend(ends);
    found.calls.extend(rings.values().flat_map(Ring::unfinished));
    found
}

impl Followed {
    fn lose(&mut self, time: TraceNanos) {
        self.known_until = self.known_until.into_iter().chain([time]).min();
    }
}

/// A wait whose end is known.
#[derive(Clone, Copy, Debug)]
struct EndedWait {
    key: u64,
    end: RingEnd,
    from: TraceNanos,
    to: TraceNanos,
}

/// What a wait has ended with that ended with a completion: how, and with which operation.
#[derive(Clone, Copy, Debug)]
struct Ending {
    how: RingEnding,
    operation: Option<u64>,
}

/// A call that has not come back.
#[derive(Clone, Copy, Debug)]
struct Begun {
    time: TraceNanos,
    /// The position of the completion that it waits for; none where it waits for none.
    awaited: Option<u64>,
    /// How many were done.
    done: u64,
}

/// A ring.
#[derive(Debug, Default)]
struct Ring {
    /// The position up to which the kernel has taken what it was asked for, that up to which it was seen, and that up to which it
    /// was seen to be done.
    taken: u64,
    asked: u64,
    done: u64,
    /// Something was not seen, or it is not known in which order things are done.
    is_lost: bool,
    /// By position.
    operations: BTreeMap<u64, Operation>,
    /// Positions of those that a completion may be for.
    by_user_data: HashMap<u64, Vec<u64>>,
    /// The last completions: their positions, and what a wait for each ended with.
    recent: VecDeque<(u64, Option<Ending>)>,
    begun: HashMap<(ThreadIndex, EventSeq), Begun>,
    waited: Vec<EndedWait>,
    /// When it was looked at, and by whom.
    looks: Vec<(TraceNanos, ThreadIndex)>,
}

/// A position that counts on from another one.
fn counted_on(from: u64, position: u32) -> u64 {
    from.wrapping_add_signed(i64::from(position.wrapping_sub(from as u32) as i32))
}

impl Ring {
    fn look(&mut self, look: &RingLook, seen: &Seen<'_>, is_told_by_others: bool, found: &mut Followed) {
        if seen.asked[0] == 0 && self.taken > 0 {
            // Another one in the same place.
            let (waited, looks) = (std::mem::take(&mut self.waited), std::mem::take(&mut self.looks));
            found.calls.extend(self.unfinished());
            *self = Self { waited, looks, ..Self::default() };
        }
        self.looks.push((look.time, look.thread));
        self.is_lost |= is_told_by_others;
        self.complete(look, seen, found);
        self.taken = self.taken.max(counted_on(self.taken, seen.asked[0]));
        let at = (look.thread, look.seq);
        if look.is_return {
            if let Some(begun) = self.begun.remove(&at) {
                self.end(look, seen, begun);
            }
            return;
        }
        self.ask(look, seen, found);
        let head = counted_on(self.done, seen.done[0]);
        let awaited = u64::from(seen.waits_for).checked_sub(1).map(|before| head + before);
        self.begun.insert(at, Begun { time: look.time, awaited, done: counted_on(self.done, seen.done[1]) });
    }

    /// Takes up what is asked for.
    fn ask(&mut self, look: &RingLook, seen: &Seen<'_>, found: &mut Followed) {
        let from = counted_on(self.taken, seen.asked[0]);
        if from > self.asked {
            self.lose(look.time, found);
        }
        let mut before = None;
        for (words, position) in seen.entries.iter().zip(from..) {
            let entry = Entry::new(*words, before);
            before = Some(entry);
            if position < self.taken {
                continue;
            }
            // It may have been seen before it was complete, and was not handed over then.
            if let Some(old) = self.operations.remove(&position) {
                self.forget(old.entry.user_data(), position);
            }
            if entry.is_untold() {
                found.lose(look.time);
            }
            self.is_lost |= entry.drains();
            self.by_user_data.entry(entry.user_data()).or_default().push(position);
            let operation = Operation { entry, thread: look.thread, seq: look.seq, start: look.time };
            self.operations.insert(position, operation);
        }
        self.asked = self.asked.max(from + seen.entries.len() as u64);
    }

    /// Takes up what is done.
    fn complete(&mut self, look: &RingLook, seen: &Seen<'_>, found: &mut Followed) {
        let first = counted_on(self.done, seen.first_done);
        if first > self.done {
            self.lose(look.time, found);
        }
        for (words, position) in seen.completions.iter().zip(first..) {
            if position < self.done {
                continue;
            }
            let completion = Completion::new(*words);
            let ending = self.resolve(completion, position, look, found);
            self.recent.push_back((position, ending));
            if self.recent.len() > RECENT {
                self.recent.pop_front();
            }
            self.done = position + 1;
        }
    }

    /// Finds the operation that a completion is for, and what a wait for it ended with.
    fn resolve(
        &mut self,
        completion: Completion,
        done_at: u64,
        look: &RingLook,
        found: &mut Followed,
    ) -> Option<Ending> {
        let time = look.time;
        let positions = self.by_user_data.get(&completion.user_data).map_or(&[][..], Vec::as_slice);
        let operations = positions.iter().filter_map(|position| self.operations.get(position));
        let of_first = positions.first().zip(operations.clone().next().copied());
        let Some((&position, operation)) = of_first else {
            // Nobody knows what it was.
            self.lose(time, found);
            return None;
        };
        if operations.clone().any(|it| it.entry != operation.entry) {
            // It may be any of these.
            self.lose(time, found);
            return None;
        }
        let number = found.calls.len() as u64;
        let begun = self.begun.get(&(look.thread, look.seq)).filter(|_| look.is_return);
        let waited = if self.is_lost {
            Waited::Perhaps
        } else if !self.begun.contains_key(&(operation.thread, operation.seq)) {
            Waited::Certainly
        } else if begun.is_some_and(|begun| begun.awaited == Some(done_at) && begun.done <= done_at) {
            Waited::IfAsleep
        } else {
            Waited::Perhaps
        };
        let call = completion.call(&operation, time, number, waited);
        if completion.has_more() {
            // What comes next of it has come since.
            self.operations.insert(position, Operation { start: time, ..operation });
        } else {
            self.operations.remove(&position);
            self.forget(completion.user_data, position);
        }
        let is_call = call.is_some();
        found.calls.extend(call);
        let ending = completion.ending(&operation).filter(|_| !self.is_lost)?;
        let is_known = ending != RingEnding::Operation || is_call;
        is_known.then(|| Ending { how: ending, operation: is_call.then_some(number) })
    }

    fn forget(&mut self, user_data: u64, position: u64) {
        if let Some(positions) = self.by_user_data.get_mut(&user_data) {
            positions.retain(|it| *it != position);
            if positions.is_empty() {
                self.by_user_data.remove(&user_data);
            }
        }
    }

    /// Something was not seen.
    fn lose(&mut self, time: TraceNanos, found: &mut Followed) {
        self.is_lost = true;
        // It may have been done as soon as it was not looked at.
        let last = self.looks.iter().rev().nth(1).map_or(time, |(last, _)| *last);
        found.lose(last);
    }

    /// A call comes back.
    fn end(&mut self, look: &RingLook, seen: &Seen<'_>, begun: Begun) {
        let Some(awaited) = begun.awaited.filter(|_| !self.is_lost) else { return };
        let ending = if awaited < begun.done {
            Some(Ending { how: RingEnding::WasThere, operation: None })
        } else if awaited >= counted_on(self.done, seen.done[1]) {
            Some(Ending { how: RingEnding::Nobody, operation: None })
        } else {
            self.recent.iter().rev().find(|it| it.0 == awaited).and_then(|it| it.1)
        };
        let Some(Ending { how, operation }) = ending else { return };
        let end = RingEnd { thread: look.thread, seq: look.seq, how: how as u64, operation };
        self.waited.push(EndedWait { key: seen.key, end, from: begun.time, to: look.time });
    }

    /// Whether nobody else looked at it during a wait.
    fn is_alone(&self, it: &EndedWait) -> bool {
        let first = self.looks.partition_point(|(time, _)| *time < it.from);
        self.looks[first..].iter().take_while(|(time, _)| *time <= it.to).all(|(_, thread)| *thread == it.end.thread)
    }

    fn unfinished(&self) -> impl Iterator<Item = IoCallSpan> {
        let last = self.looks.last().map_or(TraceNanos::MAX, |(time, _)| *time);
        self.operations.values().filter_map(move |it| it.unfinished(last))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::role::IoCall;

    const OWN: ThreadIndex = ThreadIndex(0);
    const READ: u64 = 22;
    const TIMEOUT: u64 = 11;

    fn pair(low: u32, high: u32) -> u64 {
        u64::from(low) | u64::from(high) << 32
    }

    /// A look by a call: positions, entries, and completions from a position on.
    fn look(
        (seq, time, is_return): (u64, u64, bool),
        [asked, done]: [[u32; 2]; 2],
        entries: &[[u64; 3]],
        (first, completions): (u32, &[[u64; 2]]),
    ) -> RingLook {
        let counts = (entries.len() as u64) << 32 | (completions.len() as u64) << 48;
        let mut words = vec![1, 6, 0x1000, pair(asked[0], asked[1]), pair(done[0], done[1]), u64::from(first) | counts];
        words.extend(entries.iter().flatten());
        words.extend(completions.iter().flatten());
        RingLook { thread: OWN, seq: EventSeq(seq), time: TraceNanos(time), is_return, words }
    }

    fn entry(opcode: u64, flags: u64, descriptor: u64, user_data: u64) -> [u64; 3] {
        [opcode | flags << 8 | descriptor << 32, user_data, 0]
    }

    fn done(user_data: u64, result: i32) -> [u64; 2] {
        [user_data, u64::from(result as u32)]
    }

    #[test]
    fn a_wait_ends_with_the_operation_that_its_completion_is_for() {
        let found = follow(vec![
            look((1, 10, false), [[0, 2], [0, 0]], &[entry(READ, 0, 3, 7), entry(READ, 0, 4, 8)], (0, &[])),
            look((1, 50, true), [[2, 2], [0, 1]], &[], (0, &[done(8, 5)])),
            look((2, 60, false), [[2, 2], [1, 1]], &[], (1, &[])),
            look((2, 90, true), [[2, 2], [1, 2]], &[], (1, &[done(7, 9)])),
        ]);
        assert_eq!(found.known_until, None);
        let calls: Vec<_> = found.calls.iter().map(|it| (it.descriptor(), it.start.0, it.end.0, it.bytes())).collect();
        assert_eq!(calls, [(4, 10, 50, Some(5)), (3, 10, 90, Some(9))]);
        let ends: Vec<_> = found.ends.iter().map(|it| (it.seq.0, it.how(), it.operation)).collect();
        let of = |number| (Some(RingEnding::Operation), Some(number));
        assert_eq!(ends, [(1, of(0).0, of(0).1), (2, of(1).0, of(1).1)]);
    }

    #[test]
    fn time_and_what_was_done_before_are_nobody() {
        let found = follow(vec![
            look((1, 10, false), [[0, 2], [0, 0]], &[entry(TIMEOUT, 0, 0, 7), entry(0, 0, 0, 8)], (0, &[])),
            look((1, 50, true), [[2, 2], [0, 2]], &[], (0, &[done(8, 0), done(7, -62)])),
            look((2, 60, false), [[2, 2], [1, 2]], &[], (2, &[])),
            look((2, 90, true), [[2, 2], [1, 2]], &[], (2, &[])),
            look((3, 100, false), [[2, 3], [2, 2]], &[entry(READ, 0, 3, 9)], (2, &[])),
            look((3, 190, true), [[3, 3], [2, 2]], &[], (2, &[])),
        ]);
        let ends: Vec<_> = found.ends.iter().map(RingEnd::how).collect();
        assert_eq!(ends, [Some(RingEnding::Nobody), Some(RingEnding::WasThere), Some(RingEnding::Nobody)]);
        // What has not come by the last look may come later.
        let open: Vec<_> = found.calls.iter().map(|it| (it.what(), it.start.0, it.bytes())).collect();
        assert_eq!(open, [(IoCall::Read, 190, None)]);
    }

    #[test]
    fn nothing_is_said_from_a_hole_on() {
        let first = look((1, 10, false), [[0, 1], [0, 0]], &[entry(READ, 0, 3, 7)], (0, &[]));
        let back = look((1, 50, true), [[1, 1], [0, 1]], &[], (0, &[done(7, 5)]));
        // Something was asked for that nobody has seen.
        let after = look((2, 60, false), [[2, 3], [1, 1]], &[entry(READ, 0, 3, 7)], (1, &[]));
        let again = look((2, 90, true), [[3, 3], [1, 2]], &[], (1, &[done(7, 5)]));
        let found = follow(vec![first.clone(), back.clone(), after, again]);
        assert_eq!((found.ends.len(), found.known_until), (1, Some(TraceNanos(50))));
        // Another ring in its place is another one.
        let other = look((2, 60, false), [[0, 1], [0, 0]], &[entry(READ, 0, 4, 7)], (0, &[]));
        let again = look((2, 90, true), [[1, 1], [0, 1]], &[], (0, &[done(7, 5)]));
        let found = follow(vec![first, back, other, again]);
        assert_eq!((found.ends.len(), found.known_until, found.calls.len()), (2, None, 2));
    }

    #[test]
    fn what_may_be_one_of_two_or_begins_later_is_not_known() {
        let ends = |entries: &[[u64; 3]], result: &[[u64; 2]]| {
            let [asked, count] = [entries.len(), result.len()].map(|count| count as u32);
            let found = follow(vec![
                look((1, 10, false), [[0, asked], [0, 0]], entries, (0, &[])),
                look((1, 50, true), [[asked, asked], [0, count]], &[], (0, result)),
            ]);
            found.ends.len()
        };
        assert_eq!(ends(&[entry(READ, 0, 3, 7), entry(READ, 0, 3, 7)], &[done(7, 5)]), 1);
        assert_eq!(ends(&[entry(READ, 0, 3, 7), entry(READ, 0, 4, 7)], &[done(7, 5)]), 0);
        // The second one waits for the first.
        const LINK: u64 = 1 << 2;
        assert_eq!(ends(&[entry(READ, LINK, 3, 7), entry(READ, 0, 4, 8)], &[done(7, 5)]), 1);
        assert_eq!(ends(&[entry(READ, LINK, 3, 7), entry(READ, 0, 4, 8)], &[done(8, 5)]), 0);
        assert_eq!(ends(&[entry(READ, 0, 3, 7)], &[done(9, 5)]), 0);
    }
}
