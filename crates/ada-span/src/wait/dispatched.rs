//! Waits inside calls of libdispatch: for a queue that is to run something, or for a group.
//!
//! What the thread waits on is a futex of libdispatch's own, and so is what wakes it. The call around says what that stands for.

use std::collections::HashMap;

use ada_event::TraceNanos;

use super::{WaitKind, WaitSpan};
use crate::NONE;
use crate::gcd::{BlockSpan, GroupWait, How};
use crate::thread_index::ThreadIndex;

/// A stretch of a thread's time in which it can wait for one thing only.
struct Stretch {
    from: TraceNanos,
    to: TraceNanos,
    kind: WaitKind,
    /// A queue's index, or a group's address.
    object: u64,
}

/// Says what futexes stand for that threads waited on in calls of libdispatch.
pub(crate) fn name_dispatched(waits: &mut [WaitSpan], blocks: &[BlockSpan], groups: &[GroupWait]) {
    let stretches = stretches_of(blocks, groups);
    if stretches.is_empty() {
        return;
    }
    let mut runs: HashMap<u64, Vec<&BlockSpan>> = HashMap::new();
    for block in blocks.iter().filter(|block| block.has_run() && block.queue != NONE) {
        runs.entry(block.queue).or_default().push(block);
    }
    runs.values_mut().for_each(|runs| runs.sort_unstable_by_key(|block| block.start));
    for wait in waits.iter_mut().filter(|wait| wait.kind() == WaitKind::Futex) {
        let Some(all) = stretches.get(&wait.thread) else { continue };
        let begun = &all[..all.partition_point(|it| it.from <= wait.start)];
        let Some(it) = begun.last().filter(|it| wait.start < it.to) else { continue };
        (wait.kind, wait.object) = (it.kind as u64, it.object);
        if it.kind == WaitKind::Queue {
            find_holder(wait, runs.get(&it.object).map_or(&[], Vec::as_slice));
        }
    }
}

fn stretches_of(blocks: &[BlockSpan], groups: &[GroupWait]) -> HashMap<ThreadIndex, Vec<Stretch>> {
    let mut stretches: HashMap<ThreadIndex, Vec<Stretch>> = HashMap::new();
    for block in
        blocks.iter().filter(|block| matches!(block.how(), How::Sync | How::BarrierSync) && block.queue != NONE)
    {
        // Once it runs, on whichever thread, it is the block that waits.
        let to = if block.has_run() { block.start } else { TraceNanos::MAX };
        let stretch = Stretch { from: block.submit_time, to, kind: WaitKind::Queue, object: block.queue };
        stretches.entry(block.submit_thread).or_default().push(stretch);
    }
    for wait in groups {
        let stretch = Stretch { from: wait.start, to: wait.end, kind: WaitKind::Group, object: wait.group.0 };
        stretches.entry(wait.thread).or_default().push(stretch);
    }
    stretches.values_mut().for_each(|all| all.sort_unstable_by_key(|it| it.from));
    stretches
}

/// The one block that ran on the queue when the wait began has it.
fn find_holder(wait: &mut WaitSpan, runs: &[&BlockSpan]) {
    /// Runs that are looked through for one that takes long.
    const MANY: usize = 256;
    const CERTAIN: u64 = 100;
    let begun = &runs[..runs.partition_point(|block| block.start <= wait.start)];
    let mut under_way = begun.iter().rev().take(MANY).filter(|block| block.end > wait.start);
    if let (Some(one), None) = (under_way.next(), under_way.next())
        && one.confidence == CERTAIN
        && one.thread != wait.thread
    {
        (wait.holder, wait.hold_seq, wait.hold_start) = (Some(one.thread), Some(one.seq), Some(one.start));
    }
}

#[cfg(test)]
mod tests {
    use ada_event::{EventSeq, RuntimeAddr};

    use super::*;

    const OWN: ThreadIndex = ThreadIndex(1);

    fn block(how: How, (submit_thread, thread): (u32, u32), (submit, start, end): (u64, u64, u64)) -> BlockSpan {
        BlockSpan {
            how: how as u64,
            thread: ThreadIndex(thread),
            seq: EventSeq(start),
            start: TraceNanos(start),
            end: TraceNanos(end),
            submit_thread: ThreadIndex(submit_thread),
            submit_seq: EventSeq(submit),
            submit_time: TraceNanos(submit),
            queue: 4,
            confidence: 100,
            ..BlockSpan::default()
        }
    }

    fn futex(start: u64) -> WaitSpan {
        let kind = WaitKind::Futex as u64;
        WaitSpan { thread: OWN, start: TraceNanos(start), kind, object: 0x900, ..WaitSpan::default() }
    }

    #[test]
    fn a_wait_before_the_block_runs_is_for_its_queue() {
        let blocks = [block(How::Async, (2, 2), (5, 10, 40)), block(How::Sync, (1, 1), (20, 50, 60))];
        // One before the call, one in it, one of the block's own.
        let mut waits = [futex(15), futex(25), futex(55)];
        name_dispatched(&mut waits, &blocks, &[]);
        let found = waits.map(|wait| (wait.kind(), wait.object, wait.holder));
        let other = (WaitKind::Futex, 0x900, None);
        assert_eq!(found, [other, (WaitKind::Queue, 4, Some(ThreadIndex(2))), other]);
    }

    #[test]
    fn a_wait_in_a_call_that_waits_for_a_group_is_for_that() {
        let group = GroupWait { thread: OWN, start: TraceNanos(20), end: TraceNanos(30), group: RuntimeAddr(0x700) };
        let mut waits = [futex(25), futex(35)];
        name_dispatched(&mut waits, &[], &[group]);
        assert_eq!(waits.map(|wait| (wait.kind(), wait.object)), [(WaitKind::Group, 0x700), (WaitKind::Futex, 0x900)]);
    }
}
