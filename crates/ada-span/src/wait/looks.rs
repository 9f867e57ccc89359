//! Which objects of a process other processes may have too, as far as the process alone tells.

use std::ops::Range;

use super::shared_calls::{SharedCalls, SharedWake};
use super::wakes::Wake;
use crate::io_calls::IoCalls;
use crate::role::IoCall;

/// Calls that are kept.
const MOST: usize = 1 << 20;
/// Calls that are kept of which is not known whether others have what they are about.
const MOST_UNKNOWN: usize = 1 << 16;

/// What was looked at.
pub(crate) struct Looks {
    shared: Vec<Range<u64>>,
    /// Nobody else's, from the beginning to the end.
    private: Vec<Range<u64>>,
}

impl Looks {
    pub(crate) fn of(seen: &[(Range<u64>, bool)], io: &IoCalls) -> Self {
        let changes: Vec<Range<u64>> = io
            .calls
            .iter()
            .filter(|call| matches!(call.what(), IoCall::Unmap | IoCall::Map))
            .map(|call| call.arguments[0]..call.arguments[0].saturating_add(call.arguments[1]))
            .collect();
        let stays = |range: &Range<u64>| changes.iter().all(|it| it.end <= range.start || it.start >= range.end);
        let is_known = io.memory_known_until.is_none() && io.left_out == 0;
        let [shared, private] = [true, false]
            .map(|wanted| seen.iter().filter(move |(_, is)| *is == wanted).map(|(range, _)| range.clone()));
        Self { shared: shared.collect(), private: private.filter(|range| is_known && stays(range)).collect() }
    }

    /// Whether others may have any of it.
    pub(crate) fn has_shared(&self) -> bool {
        !self.shared.is_empty()
    }

    /// Whether others may have what is at an address.
    pub(crate) fn is_shared(&self, address: u64) -> bool {
        self.shared.iter().any(|range| range.contains(&address))
    }

    /// Whether nobody else has it, ever.
    pub(super) fn is_private(&self, address: u64) -> bool {
        self.private.iter().any(|range| range.contains(&address))
    }
}

impl SharedCalls {
    /// Those calls that others may wait for.
    pub(crate) fn of_wakes(wakes: impl Iterator<Item = (u64, Wake)>, looks: &Looks) -> Self {
        let mut found = Self::default();
        let mut unknown = 0;
        for (object, wake) in wakes {
            let is_shared = looks.is_shared(object);
            if !is_shared && looks.is_private(object) {
                continue;
            }
            unknown += usize::from(!is_shared);
            if unknown > MOST_UNKNOWN || found.wakes.len() >= MOST {
                found.left_out += 1;
                continue;
            }
            found.wakes.push(SharedWake::of(&(object, wake)));
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use ada_event::{EventSeq, TraceNanos};

    use super::*;
    use crate::IoCallSpan;
    use crate::thread_index::ThreadIndex;

    #[test]
    fn what_is_nobody_elses_is_left_out_and_what_is_not_known_is_not() {
        let seen = [(0x1000..0x2000, true), (0x3000..0x4000, false), (0x5000..0x6000, false)];
        let unmapped = IoCallSpan {
            arguments: [0x5800, 0x10, 0, 0],
            ..IoCallSpan::of_exec(ThreadIndex(0), EventSeq(1), TraceNanos(1))
        };
        let io = IoCalls { calls: vec![unmapped], ..IoCalls::default() };
        let looks = Looks::of(&seen, &io);
        let wake = |object: u64| {
            let (thread, seq, start, end) = (ThreadIndex(0), EventSeq(2), TraceNanos(5), TraceNanos(6));
            (object, Wake { thread, seq, start, end, room: 1 })
        };
        let calls = SharedCalls::of_wakes([0x1010, 0x3010, 0x5010, 0x7010].map(wake).into_iter(), &looks);
        let kept: Vec<u64> = calls.wakes.iter().map(|it| it.object).collect();
        assert_eq!((kept, calls.left_out), (vec![0x1010, 0x5010, 0x7010], 0));
    }
}
