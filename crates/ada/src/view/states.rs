//! On or off the processor: a band for each thread.

use ada_event::TraceNanos;
use ada_span::state::{ThreadState, ThreadStates};
use serde_json::{Map, Value, json};

use super::timeline::Timeline;
use super::track::TrackKind;

/// Parts of a band. Where there are more, each shows what the thread did most of the time.
const MOST: u64 = 600;

/// The states of the threads of these tracks between two moments: the state, and its time.
pub(super) fn answer(timeline: &Timeline, tracks: &[usize], start: TraceNanos, end: TraceNanos) -> Value {
    let mut bands = Map::new();
    for &track in tracks {
        let it = &timeline.tracks[track];
        let TrackKind::Thread(thread) = it.kind else { continue };
        let process = &timeline.processes[it.process];
        let Some(states) = process.states.get(thread.as_usize()).and_then(Option::as_deref) else { continue };
        let facts = &process.tables.meta().threads[thread.as_usize()].facts;
        let (start, end) = (start.max(facts.first_time), end.min(facts.end_time));
        let since = |time: TraceNanos| time.since(timeline.start);
        let parts = band(states, start, end).into_iter();
        let parts = parts.map(|(state, from, to)| json!([state.word(), since(from), since(to)]));
        bands.insert(track.to_string(), parts.collect());
    }
    json!({ "states": bands })
}

/// The parts of a band, without those of which nothing is known.
fn band(states: &ThreadStates, start: TraceNanos, end: TraceNanos) -> Vec<(ThreadState, TraceNanos, TraceNanos)> {
    if start >= end {
        return Vec::new();
    }
    let exact = || states.spans(start, end).map(|span| (span.state, span.start, span.end));
    let mut parts: Vec<(ThreadState, TraceNanos, TraceNanos)> = match exact().take(MOST as usize + 1).count() as u64 {
        0..=MOST => exact().collect(),
        _ => cells(start, end).map(|(from, to)| (most_of_the_time(states, from, to), from, to)).collect(),
    };
    parts.dedup_by(|next, last| {
        let is_same = next.0 == last.0;
        if is_same {
            last.2 = next.2;
        }
        is_same
    });
    parts.retain(|(state, ..)| *state != ThreadState::Unknown);
    parts
}

fn cells(start: TraceNanos, end: TraceNanos) -> impl Iterator<Item = (TraceNanos, TraceNanos)> {
    let length = u128::from(end.since(start));
    let edge = move |cell: u64| start.saturating_add((length * u128::from(cell) / u128::from(MOST)) as u64);
    (0..MOST).map(move |cell| (edge(cell), edge(cell + 1)))
}

fn most_of_the_time(states: &ThreadStates, start: TraceNanos, end: TraceNanos) -> ThreadState {
    let times = states.between(start, end);
    ThreadState::ALL.iter().copied().max_by_key(|&state| times.of(state)).unwrap_or(ThreadState::Unknown)
}

#[cfg(test)]
mod tests {
    use super::*;
    use ada_event::{ScheduleChange, ScheduleRecord, ThreadId};
    use ada_span::state::ProcessStates;

    /// A thread that runs and sleeps in turn, for 3 and 1 nanoseconds.
    fn restless(turns: u64) -> ProcessStates {
        let record = |time, change| ScheduleRecord { time: TraceNanos(time), thread: ThreadId(7), cpu: 0, change };
        let turn = |at: u64| [record(4 * at, ScheduleChange::RUNS), record(4 * at + 3, ScheduleChange::SLEEPS)];
        ProcessStates::of((0..turns).flat_map(turn).collect())
    }

    #[test]
    fn a_few_parts_are_exact_and_many_show_the_most() {
        let few = restless(2);
        let states = few.of_thread(ThreadId(7)).unwrap();
        let parts: Vec<_> = band(states, TraceNanos(1), TraceNanos(8)).into_iter().map(|it| (it.1.0, it.2.0)).collect();
        assert_eq!(parts, [(1, 3), (3, 4), (4, 7), (7, 8)]);
        let many = restless(100_000);
        let states = many.of_thread(ThreadId(7)).unwrap();
        assert_eq!(
            band(states, TraceNanos(0), TraceNanos(400_000)),
            [(ThreadState::Running, TraceNanos(0), TraceNanos(400_000))]
        );
        assert!(band(states, TraceNanos(9), TraceNanos(9)).is_empty());
    }
}
