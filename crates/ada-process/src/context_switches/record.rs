//! What a record of the kernel's says.

use ada_event::{ProcessId, ScheduleChange, ThreadId, TraceNanos};

const LOST: u32 = 2;
const EXIT: u32 = 4;
const FORK: u32 = 7;
const SWITCH: u32 = 14;
/// The same of the whole machine; it also names the thread before or after.
const SWITCH_OF_MACHINE: u32 = 15;

const SWITCHED_OUT: u16 = 1 << 13;
const STILL_READY: u16 = 1 << 14;

/// Thread, time and processor, which are behind each record.
const BEHIND: usize = 24;

#[derive(Debug, PartialEq, Eq)]
pub(super) enum Record {
    Change { pid: ProcessId, thread: ThreadId, change: ScheduleChange },
    Made { pid: ProcessId, thread: ThreadId, by: ProcessId },
    Lost,
}

impl Record {
    /// Reads one, with its time. Others are nothing.
    pub(super) fn parse(kind: u32, flags: u16, body: &[u8]) -> Option<(Self, TraceNanos)> {
        let behind = body.len().checked_sub(BEHIND)?;
        let word = |at: usize| Some(u32::from_le_bytes(*body.get(at..)?.first_chunk()?));
        let time = TraceNanos(u64::from_le_bytes(*body.get(behind + 8..)?.first_chunk()?));
        let of = |pid: usize, thread: usize, change| {
            Some(Self::Change { pid: ProcessId(word(pid)?), thread: ThreadId(word(thread)?), change })
        };
        // A fork and an exit name the process, the one that made it, and the threads of both.
        let record = match kind {
            SWITCH | SWITCH_OF_MACHINE => of(behind, behind + 4, switch(flags)),
            FORK if behind >= 24 => {
                Some(Self::Made { pid: ProcessId(word(0)?), thread: ThreadId(word(8)?), by: ProcessId(word(4)?) })
            }
            EXIT if behind >= 24 => of(0, 8, ScheduleChange::ENDS),
            LOST => Some(Self::Lost),
            _ => None,
        };
        Some((record?, time))
    }
}

fn switch(flags: u16) -> ScheduleChange {
    match (flags & SWITCHED_OUT != 0, flags & STILL_READY != 0) {
        (false, _) => ScheduleChange::RUNS,
        (true, false) => ScheduleChange::SLEEPS,
        (true, true) => ScheduleChange::PREEMPTED,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn behind(pid: u32, thread: u32, time: u64) -> Vec<u8> {
        [&pid.to_le_bytes()[..], &thread.to_le_bytes(), &time.to_le_bytes(), &[0; 8]].concat()
    }

    #[test]
    fn records_say_who_and_when() {
        let change = |change| Record::Change { pid: ProcessId(7), thread: ThreadId(8), change };
        let parse = |flags| Record::parse(SWITCH, flags, &behind(7, 8, 9));
        assert_eq!(parse(0), Some((change(ScheduleChange::RUNS), TraceNanos(9))));
        assert_eq!(parse(SWITCHED_OUT), Some((change(ScheduleChange::SLEEPS), TraceNanos(9))));
        assert_eq!(parse(SWITCHED_OUT | STILL_READY), Some((change(ScheduleChange::PREEMPTED), TraceNanos(9))));
        let of_machine = [&[0; 8][..], &behind(7, 8, 9)].concat();
        assert_eq!(
            Record::parse(SWITCH_OF_MACHINE, 0, &of_machine),
            Some((change(ScheduleChange::RUNS), TraceNanos(9)))
        );
        let fork = [&[7, 0, 0, 0, 1, 0, 0, 0, 8, 0, 0, 0][..], &[0; 12], &behind(1, 1, 5)].concat();
        let made = Record::Made { pid: ProcessId(7), thread: ThreadId(8), by: ProcessId(1) };
        assert_eq!(Record::parse(FORK, 0, &fork), Some((made, TraceNanos(5))));
        assert_eq!(Record::parse(EXIT, 0, &fork), Some((change(ScheduleChange::ENDS), TraceNanos(5))));
        let lost = [&[0; 16][..], &behind(1, 1, 6)].concat();
        assert_eq!(Record::parse(LOST, 0, &lost), Some((Record::Lost, TraceNanos(6))));
    }

    #[test]
    fn what_is_too_short_or_unknown_is_nothing() {
        for kind in 0..20 {
            for length in 0..BEHIND {
                assert_eq!(Record::parse(kind, 0, &vec![0; length]), None);
            }
        }
        assert_eq!(Record::parse(FORK, 0, &behind(1, 1, 1)), None);
        assert_eq!(Record::parse(3, 0, &behind(1, 1, 1)), None);
    }
}
