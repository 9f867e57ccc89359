//! Ids, counters and times, as packets store them.

use std::fmt;

/// A thread of execution, unique in its trace.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct StreamId(pub u32);

/// One of the tasks that are multiplexed on a stream.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SubstreamId(pub u64);

/// An event's number in its stream; 0 follows the largest.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct EventCounter(pub u32);

/// Nanoseconds since the trace's epoch, on the sender's clock.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Nanos(pub u64);

/// Nanoseconds since the Unix epoch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct UnixNanos(pub u64);

impl UnixNanos {
    /// The moment `time` after this epoch, unless it lies beyond the year 2554, where the nanoseconds run out.
    pub const fn after(self, time: Nanos) -> Option<Self> {
        match self.0.checked_add(time.0) {
            Some(nanos) => Some(Self(nanos)),
            None => None,
        }
    }
}

macro_rules! display_as_number {
    ($($id:ty),*) => {$(
        impl fmt::Display for $id {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }
    )*};
}

display_as_number!(StreamId, SubstreamId, EventCounter, Nanos, UnixNanos);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_moment_past_the_end_of_time_is_none() {
        assert_eq!(UnixNanos(5).after(Nanos(7)), Some(UnixNanos(12)));
        assert_eq!(UnixNanos(5).after(Nanos(u64::MAX)), None);
    }
}
