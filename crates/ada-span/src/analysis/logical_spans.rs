//! Makes spans of tasks and blocks from the calls that report them, in the order of their times.

use std::collections::HashMap;

use ada_event::{EventSeq, FunctionId, RuntimeAddr, TraceNanos};

use crate::code_map::CodeMap;
use crate::concurrency::{Contexts, LogicalCall, LogicalCalls, Loss, Losses, Text, Words};
use crate::function_traits::FunctionTraits;
use crate::gcd::{Blocks, GroupWait, Surroundings};
use crate::go::Goroutines;
use crate::replay::{ProcessEnd, ReplayOptions};
use crate::role::{GcdCall, GoCall, Role, SwiftCall};
use crate::swift::{TaskSurroundings, Tasks};
use crate::table::Meta;
use crate::text_table::TextTable;
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

/// Makes the tables of tasks and blocks, and gives the waits for groups. Of `losses`, those of each thread are in order.
pub(crate) fn add_spans(
    parts: Vec<LogicalCalls>,
    mut losses: Vec<Loss>,
    traits: &FunctionTraits,
    code: &CodeMap,
    options: &ReplayOptions,
    meta: &mut Meta,
) -> Vec<GroupWait> {
    let (calls, labels) = join(parts);
    if calls.is_empty() {
        return Vec::new();
    }
    losses.extend(unread(&calls));
    losses.sort_unstable_by_key(|loss| loss.from);
    let lost = all_losses(&losses, options, TraceNanos::MAX);
    let lost_of_goroutines = all_losses(&losses, options, options.goroutines_until);
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
    let (mut tasks, mut blocks, mut contexts) = (Tasks::new(lost), Blocks::default(), Contexts::default());
    let (moments, all_losses) = (moments(&calls, options), losses);
    let mut losses = all_losses.iter().peekable();
    for moment in &moments {
        // What a thread runs is not known any more once events of it are missing.
        while let Some(loss) = losses.next_if(|loss| loss.from < moment.time) {
            tasks.lose(loss, &mut contexts);
        }
        let call = &calls[moment.call as usize];
        match (call.role, moment.is_end) {
            (Role::Swift(swift), false) => {
                let own_function_at =
                    |address: RuntimeAddr| function_at(address).filter(|&it| !traits.get(it).is_runtime);
                let around = TaskSurroundings { function_at: &own_function_at, labels: &labels };
                tasks.begin(call, swift, &mut contexts, &around);
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
    losses.for_each(|loss| tasks.lose(loss, &mut contexts));
    let mut texts = TextTable::default();
    let (tasks, lost) = tasks.finish(options, &mut texts);
    (meta.tasks, meta.task_runs, meta.suspensions) = (tasks.tasks, tasks.runs, tasks.suspensions);
    (meta.task_hops, meta.executors) = (tasks.hops, tasks.executors);
    let blocks = blocks.finish(options, &lost, &mut texts);
    meta.texts = texts.texts;
    (meta.dispatched, meta.queues, meta.groups) = (blocks.blocks, blocks.queues, blocks.groups);
    if let Some(goroutines) = Goroutines::new(&calls, traits, code, &lost_of_goroutines) {
        add_goroutines(goroutines, &calls, &moments, &all_losses, options, meta);
    }
    blocks.group_waits
}

/// Adds the spans of goroutines behind those of tasks.
fn add_goroutines(
    mut goroutines: Goroutines<'_>,
    calls: &[LogicalCall],
    moments: &[Moment],
    losses: &[Loss],
    options: &ReplayOptions,
    meta: &mut Meta,
) {
    let (mut losses, mut contexts) = (losses.iter().peekable(), Contexts::default());
    let until = options.goroutines_until;
    for moment in moments.iter().take_while(|moment| moment.time <= until) {
        while let Some(loss) = losses.next_if(|loss| loss.from < moment.time) {
            goroutines.lose(loss, &mut contexts);
        }
        let call = &calls[moment.call as usize];
        if let Role::Go(go) = call.role {
            goroutines.begin(call, go, &mut contexts);
        }
    }
    losses.filter(|loss| loss.from < until).for_each(|loss| goroutines.lose(loss, &mut contexts));
    if until < TraceNanos::MAX {
        goroutines.stop_following(until, &mut contexts);
    }
    let mut made = goroutines.finish(options);
    made.move_behind(meta.tasks.len(), meta.task_runs.len(), meta.suspensions.len());
    meta.tasks.extend(made.tasks);
    meta.task_runs.extend(made.runs);
    meta.suspensions.extend(made.suspensions);
}

/// Events whose probe's record is missing: they say that a task ran or paused, and not which.
fn unread(calls: &[LogicalCall]) -> impl Iterator<Item = Loss> {
    let is_of_task = |call: &&LogicalCall| {
        matches!(
            call.role,
            Role::Swift(SwiftCall::Enter | SwiftCall::Exit) | Role::Go(GoCall::Execute | GoCall::Park | GoCall::End)
        )
    };
    let unread = calls.iter().filter(is_of_task).filter(|call| call.words == Words::Nothing);
    unread.map(|call| Loss {
        thread: call.thread,
        from: TraceNanos(call.time.0.saturating_sub(1)),
        to: TraceNanos(call.time.0.saturating_add(1)),
    })
}

/// When anything may be missing, on whichever thread; everything is from a time on.
fn all_losses(losses: &[Loss], options: &ReplayOptions, until: TraceNanos) -> Losses {
    let mut stretches: Vec<(TraceNanos, TraceNanos)> = losses.iter().map(|loss| (loss.from, loss.to)).collect();
    stretches.extend([(TraceNanos(0), options.let_go_until), (until, TraceNanos::MAX)]);
    if options.has_drops {
        stretches.push((TraceNanos(0), TraceNanos::MAX));
    }
    Losses::new(stretches)
}

/// Puts the workers' calls together, with one numbering of labels.
fn join(parts: Vec<LogicalCalls>) -> (Vec<LogicalCall>, Vec<Text>) {
    let (mut calls, mut labels) = (Vec::new(), Vec::new());
    for part in parts {
        let before = labels.len() as u32;
        labels.extend(part.labels);
        calls
            .extend(part.calls.into_iter().map(|call| LogicalCall { label: call.label.map(|it| it + before), ..call }));
    }
    (calls, labels)
}

/// Beginnings and ends in their order, as long as all of them are recorded: from the detach on some hooks are gone.
fn moments(calls: &[LogicalCall], options: &ReplayOptions) -> Vec<Moment> {
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
    if options.end == ProcessEnd::Alive {
        moments.retain(|moment| moment.time <= options.end_time);
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
