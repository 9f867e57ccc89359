//! From the kernel's records to the states of threads.

use std::collections::HashMap;

use ada_event::{ScheduleChange, ScheduleRecord, ThreadId, TraceNanos};

use super::ThreadState;
use super::thread_states::{Change, ThreadStates};

/// Puts the records in order, by thread and time.
pub(super) fn threads_of(mut records: Vec<ScheduleRecord>) -> HashMap<ThreadId, ThreadStates> {
    let is_loss = |it: &ScheduleRecord| matches!(it.change, ScheduleChange::LOST_FROM | ScheduleChange::LOST_UNTIL);
    let losses = losses(records.iter().copied().filter(is_loss));
    records.retain(|it| !is_loss(it));
    // Stable: records of one processor that have the same time are in their order.
    records.sort_by_key(|it| (it.thread, it.time));
    let by_thread = records.chunk_by(|a, b| a.thread == b.thread);
    by_thread.map(|of_thread| (of_thread[0].thread, ThreadStates::new(changes(of_thread, &losses)))).collect()
}

/// The stretches in which records of any thread may be missing, in their order.
fn losses(records: impl Iterator<Item = ScheduleRecord>) -> Vec<(TraceNanos, TraceNanos)> {
    let mut open: HashMap<u16, TraceNanos> = HashMap::new();
    let mut found = Vec::new();
    for record in records {
        match record.change {
            ScheduleChange::LOST_FROM => drop(open.insert(record.cpu, record.time)),
            _ => found.push((open.remove(&record.cpu).unwrap_or_default(), record.time)),
        }
    }
    found.extend(open.into_values().map(|from| (from, TraceNanos::MAX)));
    found.sort_unstable();
    found
}

/// What the records of one thread mean. In a stretch with losses they mean nothing, and what is behind it is known from the
/// thread's next record on.
fn changes(records: &[ScheduleRecord], losses: &[(TraceNanos, TraceNanos)]) -> Vec<Change> {
    let mut changes: Vec<Change> = Vec::new();
    let mut add = |time, state, cpu| {
        if changes.last().is_none_or(|last| last.state != state || state == ThreadState::Running && last.cpu != cpu) {
            changes.push(Change { time, state, cpu });
        }
    };
    let mut losses = losses.iter().copied().peekable();
    let mut lost_until = TraceNanos(0);
    // What it did before its first record, that one tells.
    let mut since: Option<TraceNanos> = None;
    for record in records {
        while let Some((from, until)) = losses.next_if(|(from, _)| *from <= record.time) {
            add(from.max(lost_until), ThreadState::Unknown, 0);
            lost_until = lost_until.max(until);
        }
        if record.time < lost_until {
            since = None;
            continue;
        }
        let state = match record.change {
            ScheduleChange::RUNS => ThreadState::Running,
            ScheduleChange::SLEEPS => ThreadState::Blocked,
            ScheduleChange::PREEMPTED | ScheduleChange::MADE => ThreadState::Ready,
            ScheduleChange::ENDS => ThreadState::Unknown,
            ScheduleChange::WATCHED => {
                since = Some(record.time);
                continue;
            }
            _ => continue,
        };
        if let Some(since) = since.take()
            && matches!(record.change, ScheduleChange::SLEEPS | ScheduleChange::PREEMPTED)
        {
            add(since, ThreadState::Running, record.cpu);
        }
        add(record.time, state, record.cpu);
    }
    if let Some((from, _)) = losses.next() {
        add(from.max(lost_until), ThreadState::Unknown, 0);
    }
    changes
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(time: u64, cpu: u16, change: ScheduleChange) -> ScheduleRecord {
        ScheduleRecord { time: TraceNanos(time), thread: ThreadId(7), cpu, change }
    }

    fn stretches(records: Vec<ScheduleRecord>) -> Vec<(u64, u64, &'static str)> {
        let threads = threads_of(records);
        let spans = threads[&ThreadId(7)].spans(TraceNanos(0), TraceNanos(100));
        spans.map(|it| (it.start.0, it.end.0, it.state.word())).collect()
    }

    #[test]
    fn records_of_several_processors_make_one_row() {
        let records = vec![
            record(10, 0, ScheduleChange::RUNS),
            record(20, 0, ScheduleChange::PREEMPTED),
            record(5, 1, ScheduleChange::MADE),
            record(30, 1, ScheduleChange::RUNS),
            record(40, 1, ScheduleChange::SLEEPS),
            record(90, 1, ScheduleChange::ENDS),
        ];
        let expected = [
            (0, 5, "unknown"),
            (5, 10, "ready"),
            (10, 20, "running"),
            (20, 30, "ready"),
            (30, 40, "running"),
            (40, 90, "blocked"),
            (90, 100, "unknown"),
        ];
        assert_eq!(stretches(records), expected);
    }

    #[test]
    fn who_is_watched_has_run_if_it_stops_to() {
        let watched = |change| vec![record(10, 0, ScheduleChange::WATCHED), record(30, 0, change)];
        assert_eq!(
            stretches(watched(ScheduleChange::SLEEPS)),
            [(0, 10, "unknown"), (10, 30, "running"), (30, 100, "blocked")]
        );
        assert_eq!(stretches(watched(ScheduleChange::RUNS)), [(0, 30, "unknown"), (30, 100, "running")]);
    }

    #[test]
    fn what_may_be_missing_is_not_known() {
        let lost = |time, change| ScheduleRecord { thread: ThreadId(0), ..record(time, 1, change) };
        let records = vec![
            record(10, 0, ScheduleChange::RUNS),
            record(35, 0, ScheduleChange::SLEEPS),
            record(60, 0, ScheduleChange::RUNS),
            lost(20, ScheduleChange::LOST_FROM),
            lost(40, ScheduleChange::LOST_UNTIL),
        ];
        let expected = [(0, 10, "unknown"), (10, 20, "running"), (20, 60, "unknown"), (60, 100, "running")];
        assert_eq!(stretches(records), expected);
        let at_the_end = vec![record(10, 0, ScheduleChange::RUNS), lost(50, ScheduleChange::LOST_FROM)];
        assert_eq!(stretches(at_the_end), [(0, 10, "unknown"), (10, 50, "running"), (50, 100, "unknown")]);
    }

    #[test]
    fn nothing_is_made_of_numbers_that_mean_nothing() {
        assert!(threads_of(Vec::new()).is_empty());
        assert_eq!(stretches(vec![record(u64::MAX, u16::MAX, ScheduleChange(99))]), [(0, 100, "unknown")]);
        let backwards = vec![record(50, 0, ScheduleChange::LOST_UNTIL), record(20, 0, ScheduleChange::RUNS)];
        assert_eq!(stretches(backwards), [(0, 100, "unknown")]);
    }
}
