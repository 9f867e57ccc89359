//! How much of their lives threads were on a processor.

use ada_span::ThreadIndex;
use ada_span::state::{StateTimes, ThreadState};

use super::Line;
use crate::analysis::{OpenedSession, TraceProcess};

/// The states that are told, by their columns.
pub(super) const NAMES: [(&str, ThreadState); 3] =
    [("on_cpu_ns", ThreadState::Running), ("ready_ns", ThreadState::Ready), ("blocked_ns", ThreadState::Blocked)];

/// How long a thread was in each state, where that is known of its whole life.
pub(super) fn times(process: &TraceProcess, line: &Line) -> Option<StateTimes> {
    let facts = &process.tables.meta().threads[line.thread.as_usize()].facts;
    let (start, end) = line.span.map_or((facts.first_time, facts.end_time), |span| (span.start, span.end));
    process.known_state_times(line.thread, start, end)
}

/// The shares of a life as people read them; empty where they are not known.
pub(super) fn shares(times: Option<StateTimes>) -> [String; 3] {
    let share = |state: ThreadState| {
        let times = times.filter(|times| times.total() > 0)?;
        Some(format!("{:.1} %", 100.0 * times.of(state) as f64 / times.total() as f64))
    };
    NAMES.map(|(_, state)| share(state).unwrap_or_default())
}

/// The shares of the lives of all threads of which they are known, with their columns' sums.
pub(crate) fn percentages(opened: &OpenedSession) -> Option<(String, [(&'static str, u64); 3])> {
    let mut sums = NAMES.map(|(name, _)| (name, 0_u64));
    for process in opened.processes() {
        for life in process.lives() {
            let Some(times) = process.known_state_times(life.thread, life.start, life.end) else { continue };
            for (sum, (_, state)) in sums.iter_mut().zip(NAMES) {
                sum.1 = sum.1.saturating_add(times.of(state));
            }
        }
    }
    let total = sums.iter().fold(0_u64, |total, sum| total.saturating_add(sum.1));
    let share = |(sum, (_, state)): (&(&str, u64), (&str, ThreadState))| {
        format!("{:.1} % {state}", 100.0 * sum.1 as f64 / total as f64)
    };
    (total > 0).then(|| (sums.iter().zip(NAMES).map(share).collect::<Vec<_>>().join(", "), sums))
}

/// Says so where nobody knows when threads ran, and something is to be sorted by it.
pub(crate) fn check_states(opened: &OpenedSession) -> anyhow::Result<()> {
    let is_known = |process: &TraceProcess| {
        ThreadIndex::all(process.tables.meta().threads.len()).any(|thread| process.thread_states(thread).is_some())
    };
    if opened.processes().iter().any(is_known) {
        return Ok(());
    }
    let reason = why_unknown(opened).map(|reason| format!(": {reason}")).unwrap_or_default();
    anyhow::bail!("when threads ran is not known{reason}")
}

/// Why it is not known when threads ran, if it is not.
pub(crate) fn why_unknown(opened: &OpenedSession) -> Option<String> {
    let reason = |process| opened.manifest(process)?.extra.get("no_schedule")?.as_str().map(str::to_owned);
    opened.processes().iter().find_map(reason)
}
