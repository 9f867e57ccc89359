//! What went through each queue.

use std::collections::HashSet;

use ada_event::{RuntimeAddr, TraceNanos};
use ada_span::gcd::{BlockSpan, GroupEntry, How};
use ada_span::{NONE, Status, ThreadIndex};

use crate::analysis::{OpenedSession, TraceProcess};

pub(super) struct QueueUse {
    pub(super) process: usize,
    pub(super) id: u64,
    pub(super) name: String,
    pub(super) address: RuntimeAddr,
    pub(super) target: Option<String>,
    /// Blocks that ran or wait.
    pub(super) blocks: u64,
    pub(super) pending: u64,
    /// Blocks that were cancelled before they ran.
    pub(super) canceled: u64,
    pub(super) qos: Option<String>,
    /// Whether the label goes on behind what was recorded of it.
    pub(super) is_label_cut: bool,
    /// Jobs of Swift's runtime.
    pub(super) jobs: u64,
    /// From submission to run, sorted.
    pub(super) latencies: Vec<u64>,
    pub(super) running_ns: u64,
    /// The largest number of blocks that waited at once.
    pub(super) depth: u64,
    pub(super) threads: usize,
}

impl QueueUse {
    /// The latency that `share` of the blocks do not exceed.
    pub(super) fn latency(&self, share: f64) -> u64 {
        let rank = (self.latencies.len() as f64 * share).ceil() as usize;
        self.latencies.get(rank.saturating_sub(1)).copied().unwrap_or(0)
    }
}

pub(super) struct GroupUse {
    pub(super) process: usize,
    pub(super) entry: GroupEntry,
}

pub(super) fn groups(opened: &OpenedSession) -> Vec<GroupUse> {
    let of = |(process, it): (usize, &TraceProcess)| -> Vec<GroupUse> {
        it.tables.meta().groups.iter().map(|&entry| GroupUse { process, entry }).collect()
    };
    opened.processes().iter().enumerate().flat_map(of).collect()
}

pub(super) fn queues(opened: &OpenedSession) -> Vec<QueueUse> {
    let mut all = Vec::new();
    for (number, process) in opened.processes().iter().enumerate() {
        let meta = process.tables.meta();
        let mut of_queue: Vec<Vec<&BlockSpan>> = vec![Vec::new(); meta.queues.len()];
        // A parallel loop is counted by its iterations.
        for span in meta.dispatched.iter().filter(|span| span.queue != NONE && span.how() != How::Apply) {
            of_queue[span.queue as usize].push(span);
        }
        for (index, (entry, spans)) in meta.queues.iter().zip(of_queue).enumerate() {
            let mut latencies: Vec<u64> = spans.iter().filter_map(|span| span.latency()).collect();
            latencies.sort_unstable();
            let running = spans.iter().filter(|span| span.has_run());
            all.push(QueueUse {
                process: number,
                id: index as u64 + 1,
                name: process.queue_name(index as u64).unwrap_or_default(),
                address: entry.address,
                target: process.queue_name(entry.target),
                blocks: spans.len() as u64,
                pending: count(&spans, Status::Pending),
                canceled: count(&spans, Status::Canceled),
                qos: entry.qos(&meta.texts),
                is_label_cut: entry.is_label_cut == 1,
                jobs: entry.swift_jobs,
                latencies,
                running_ns: running.map(|span| span.end.since(span.start)).sum(),
                depth: deepest(&spans),
                threads: spans
                    .iter()
                    .filter(|it| it.has_run())
                    .map(|it| it.thread)
                    .collect::<HashSet<ThreadIndex>>()
                    .len(),
            });
        }
    }
    all
}

fn count(spans: &[&BlockSpan], status: Status) -> u64 {
    spans.iter().filter(|span| span.outcome().status == status).count() as u64
}

/// The largest number of blocks that were submitted and did not run yet.
fn deepest(spans: &[&BlockSpan]) -> u64 {
    let mut changes: Vec<(TraceNanos, i64)> = Vec::with_capacity(2 * spans.len());
    // Handlers wait for their sources, not for their queue; what is cancelled does not wait for a turn.
    let waits = |span: &&&BlockSpan| span.how() != How::Source && span.outcome().status != Status::Canceled;
    for span in spans.iter().filter(waits) {
        changes.push((span.submit_time, 1));
        if span.has_run() {
            changes.push((span.start, -1));
        }
    }
    // One that begins when another comes has made room for it.
    changes.sort_unstable();
    let (mut waiting, mut most) = (0_i64, 0);
    for (_, change) in changes {
        waiting += change;
        most = most.max(waiting);
    }
    most as u64
}
