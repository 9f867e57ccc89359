//! Makes spans of tasks and blocks from the calls that report them, in the order of their times.

use std::collections::HashMap;

use ada_event::{EventSeq, FunctionId, RuntimeAddr, TraceNanos};

use crate::concurrency::{Contexts, Label, LogicalCall, LogicalCalls};
use crate::function_traits::FunctionTraits;
use crate::gcd::{Blocks, Surroundings};
use crate::replay::ReplayOptions;
use crate::role::{GcdCall, Role, SwiftCall};
use crate::swift::Tasks;
use crate::table::Meta;
use crate::thread_index::ThreadIndex;

/// A call's beginning or end, ordered by time.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Moment {
    time: TraceNanos,
    thread: ThreadIndex,
    seq: EventSeq,
    is_end: bool,
    call: u32,
}

/// Makes the tables of tasks and blocks.
pub(crate) fn add_spans(parts: Vec<LogicalCalls>, traits: &FunctionTraits, options: &ReplayOptions, meta: &mut Meta) {
    let (calls, labels) = join(parts);
    if calls.is_empty() {
        return;
    }
    let by_address: HashMap<RuntimeAddr, FunctionId> = traits.addresses().collect();
    let function_at = |address: RuntimeAddr| by_address.get(&address).copied();
    let releases = releases(&calls);
    let released_after = |thread: ThreadIndex, seq: EventSeq, depth: u32| {
        let of_thread = releases.get(&thread)?;
        let &(_, at, block) = of_thread.get(of_thread.partition_point(|release| release.0 <= seq))?;
        // Beside the run, or where the function that made it was.
        (at == depth || at + 1 == depth).then_some(block)
    };
    let is_shared = |function: FunctionId| {
        let known = traits.get(function);
        known.role == Role::Gcd(GcdCall::InvokeShared) || known.is_runtime
    };
    let swift = traits.modules_with(Role::Swift(SwiftCall::JobRun));
    let is_job = |function: FunctionId| traits.get(function).is_runtime && swift.contains(&function.module());
    let around = Surroundings {
        is_job: &is_job,
        function_at: &function_at,
        is_shared: &is_shared,
        released_after: &released_after,
        labels: &labels,
    };
    let (mut tasks, mut blocks, mut contexts) = (Tasks::default(), Blocks::default(), Contexts::default());
    for moment in moments(&calls) {
        let call = &calls[moment.call as usize];
        match (call.role, moment.is_end) {
            (Role::Swift(swift), false) => {
                tasks.begin(call, swift, &mut contexts, &|address| {
                    function_at(address).filter(|&it| !traits.get(it).is_runtime)
                });
                if matches!(swift, SwiftCall::EnqueueInPool | SwiftCall::EnqueueOnMain) {
                    blocks.swift_enqueues(call);
                }
            }
            (Role::Swift(swift), true) => tasks.end(call, swift, &mut contexts),
            (Role::Gcd(gcd), false) => blocks.begin(call, gcd, &mut contexts, &around),
            (Role::Gcd(gcd), true) => blocks.end(call, gcd, &mut contexts),
            _ => (),
        }
    }
    meta.orphans = std::mem::take(&mut tasks.orphans);
    let tasks = tasks.finish(options);
    (meta.tasks, meta.task_runs, meta.suspensions) = (tasks.tasks, tasks.runs, tasks.suspensions);
    let blocks = blocks.finish(options);
    (meta.dispatched, meta.queues, meta.groups) = (blocks.blocks, blocks.queues, blocks.groups);
}

/// Puts the workers' calls together, with one numbering of labels.
fn join(parts: Vec<LogicalCalls>) -> (Vec<LogicalCall>, Vec<Label>) {
    let (mut calls, mut labels) = (Vec::new(), Vec::new());
    for part in parts {
        let before = labels.len() as u32;
        labels.extend(part.labels);
        calls
            .extend(part.calls.into_iter().map(|call| LogicalCall { label: call.label.map(|it| it + before), ..call }));
    }
    (calls, labels)
}

fn moments(calls: &[LogicalCall]) -> Vec<Moment> {
    let mut moments = Vec::with_capacity(calls.len());
    for (call, number) in calls.iter().zip(0..) {
        moments.push(Moment { time: call.time, thread: call.thread, seq: call.seq, is_end: false, call: number });
        let has_end = matches!(
            call.role,
            Role::Swift(SwiftCall::JobRun) | Role::Gcd(GcdCall::Submit(_) | GcdCall::Invoke | GcdCall::InvokeShared)
        );
        if let Some((time, seq)) = call.end.zip(call.close_seq).filter(|_| has_end) {
            moments.push(Moment { time, thread: call.thread, seq, is_end: true, call: number });
        }
    }
    moments.sort_unstable();
    moments
}

/// Releases of blocks on each thread: event, depth, block.
fn releases(calls: &[LogicalCall]) -> HashMap<ThreadIndex, Vec<(EventSeq, u32, u64)>> {
    let mut releases: HashMap<ThreadIndex, Vec<(EventSeq, u32, u64)>> = HashMap::new();
    for call in calls.iter().filter(|call| call.role == Role::Gcd(GcdCall::BlockRelease)) {
        releases.entry(call.thread).or_default().push((call.seq, call.depth, call.arguments[0]));
    }
    releases.values_mut().for_each(|of_thread| of_thread.sort_unstable());
    releases
}
