//! How many threads were alive when.

use ada_event::TraceNanos;
use serde_json::{Value, json};

use crate::analysis::{OpenedSession, Out, TraceProcess, nanoseconds};

/// Stretches of time that the trace is cut into.
const STRETCHES: u64 = 50;

/// The largest number of threads alive at once, and the largest number in each stretch of the trace.
struct Active {
    most: u64,
    stretch_ns: u64,
    counts: Vec<u64>,
}

/// The largest number of threads alive at once.
pub(crate) fn most_alive(opened: &OpenedSession) -> u64 {
    count(opened).most
}

fn count(opened: &OpenedSession) -> Active {
    let lives = || opened.processes().iter().flat_map(TraceProcess::lives);
    let end = lives().map(|life| life.end).max().unwrap_or_default().max(opened.end());
    let stretch_ns = (end.since(opened.start()) / STRETCHES).max(1);
    let mut changes: Vec<(TraceNanos, i64)> = lives().flat_map(|life| [(life.start, 1), (life.end, -1)]).collect();
    // Beginnings first: a thread that ends when another begins was alive beside it.
    changes.sort_by_key(|&(time, change)| (time, -change));
    let mut counts = vec![0_u64; STRETCHES as usize];
    let (mut alive, mut most, mut at) = (0_i64, 0, 0);
    for (time, change) in changes {
        let stretch = (time.since(opened.start()) / stretch_ns).min(STRETCHES - 1) as usize;
        while at < stretch {
            at += 1;
            counts[at] = alive as u64;
        }
        alive += change;
        counts[stretch] = counts[stretch].max(alive as u64);
        most = most.max(alive as u64);
    }
    Active { most, stretch_ns, counts }
}

pub(super) fn print(opened: &OpenedSession, out: &mut Out) -> anyhow::Result<()> {
    const BARS: [char; 9] = [' ', '▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
    let active = count(opened);
    let bar = |count: &u64| BARS[(count * 8).div_ceil(active.most.max(1)).min(8) as usize];
    let line: String = active.counts.iter().map(bar).collect();
    out.line(&format!("\nalive at once: at most {}\n|{line}| {} each", active.most, nanoseconds(active.stretch_ns)))
}

pub(super) fn to_json(opened: &OpenedSession) -> Value {
    let active = count(opened);
    json!({ "most": active.most, "start_ns": opened.start().0, "stretch_ns": active.stretch_ns, "counts": active.counts })
}
