//! The 16-byte record of a thread that gets a processor or loses it.

use crate::{ThreadId, TraceNanos};

/// What became of a thread, as the file's number for it. Files may hold numbers that are not defined yet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[repr(transparent)]
pub struct ScheduleChange(pub u8);

impl ScheduleChange {
    /// It runs.
    pub const RUNS: Self = Self(1);
    /// It has left its processor by itself: it waits for something.
    pub const SLEEPS: Self = Self(2);
    /// It was taken off its processor, and would run on.
    pub const PREEMPTED: Self = Self(3);
    /// It was made, and is ready to run.
    pub const MADE: Self = Self(4);
    /// Its changes are reported from here on; what it does is not known yet.
    pub const WATCHED: Self = Self(5);
    /// It has ended.
    pub const ENDS: Self = Self(6);
    /// Changes of any thread may be missing from here …
    pub const LOST_FROM: Self = Self(7);
    /// … to here.
    pub const LOST_UNTIL: Self = Self(8);
}

/// When a thread got a processor, or lost it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ScheduleRecord {
    /// When.
    pub time: TraceNanos,
    /// The kernel's id of the thread.
    pub thread: ThreadId,
    /// Which processor.
    pub cpu: u16,
    /// What became of the thread.
    pub change: ScheduleChange,
}

impl ScheduleRecord {
    /// Bytes of a record in a file.
    pub const SIZE: usize = 16;

    /// Reads a record as files store it.
    pub const fn from_le_bytes(bytes: &[u8; Self::SIZE]) -> Self {
        let [t0, t1, t2, t3, t4, t5, t6, t7, i0, i1, i2, i3, c0, c1, change, _] = *bytes;
        Self {
            time: TraceNanos(u64::from_le_bytes([t0, t1, t2, t3, t4, t5, t6, t7])),
            thread: ThreadId(u32::from_le_bytes([i0, i1, i2, i3])),
            cpu: u16::from_le_bytes([c0, c1]),
            change: ScheduleChange(change),
        }
    }

    /// The record as files store it.
    pub const fn to_le_bytes(self) -> [u8; Self::SIZE] {
        let [t0, t1, t2, t3, t4, t5, t6, t7] = self.time.0.to_le_bytes();
        let [i0, i1, i2, i3] = self.thread.0.to_le_bytes();
        let [c0, c1] = self.cpu.to_le_bytes();
        [t0, t1, t2, t3, t4, t5, t6, t7, i0, i1, i2, i3, c0, c1, self.change.0, 0]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_is_stored_byte_by_byte() {
        let record = ScheduleRecord {
            time: TraceNanos(0x0807_0605_0403_0201),
            thread: ThreadId(0x0c0b_0a09),
            cpu: 0x0e0d,
            change: ScheduleChange::PREEMPTED,
        };
        let bytes = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 3, 0];
        assert_eq!(record.to_le_bytes(), bytes);
        assert_eq!(ScheduleRecord::from_le_bytes(&bytes), record);
    }
}
