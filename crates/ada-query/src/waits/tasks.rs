//! Waits of tasks and goroutines, in the shape of those of threads.

use std::borrow::Cow;
use std::collections::HashMap;
use std::rc::Rc;

use ada_event::TraceNanos;
use ada_span::task::{Suspension, TaskEnd, TaskKind, TaskRuntime, TaskSpan, WaitKind as Reason};
use ada_span::wait::{Doubt, WaitKind, WaitSpan};

use crate::trace::TraceProcess;

/// All waits of a process that answers list: those of its threads and of its tasks, by their starts.
pub fn all_waits(process: &TraceProcess) -> Cow<'_, [WaitSpan]> {
    let of_threads = &process.tables.meta().waits;
    let mut of_tasks = task_waits(process).peekable();
    if of_tasks.peek().is_none() {
        return Cow::Borrowed(of_threads);
    }
    let mut all: Vec<WaitSpan> = of_threads.iter().copied().chain(of_tasks).collect();
    all.sort_by_key(|wait| wait.start);
    Cow::Owned(all)
}

/// The waits of tasks that were under way at a moment.
pub fn suspended_at(process: &TraceProcess, time: TraceNanos) -> Vec<WaitSpan> {
    task_waits(process).filter(|wait| wait.start <= time && (wait.is_open() || wait.end > time)).collect()
}

/// The waits of tasks. Those of the runtime's own are left out, and so are tasks that could run and had no turn.
fn task_waits(process: &TraceProcess) -> impl Iterator<Item = WaitSpan> + '_ {
    let meta = process.tables.meta();
    let own = meta.tasks.iter().filter(|task| task.kind() != TaskKind::Helper);
    let of_swift = meta.tasks.iter().filter(|task| task.runtime() == TaskRuntime::Swift);
    let by_id: Rc<HashMap<u64, &TaskSpan>> = Rc::new(of_swift.map(|task| (task.id, task)).collect());
    own.flat_map(move |task| {
        let by_id = by_id.clone();
        let waits = process.suspensions_of(task).iter().zip(task.first_suspension..);
        waits.filter_map(move |(wait, at)| {
            let mut found = wait_of(task, wait, at)?;
            if found.kind() == WaitKind::Task {
                by_id.get(&wait.key).into_iter().for_each(|awaited| end_with(&mut found, awaited));
            }
            Some(found)
        })
    })
}

/// A wait for a task ends with that: where nobody was seen to resume it, the end of the other did.
fn end_with(wait: &mut WaitSpan, awaited: &TaskSpan) {
    let is_known =
        matches!(awaited.end_how(), TaskEnd::Completion | TaskEnd::Return) && !awaited.outcome().is_uncertain;
    let is_within = (wait.start..=wait.end).contains(&awaited.end);
    if wait.has_ended == 1 && wait.waker.is_none() && is_known && is_within {
        (wait.waker, wait.wake_seq, wait.wake_time) = (awaited.end_thread, awaited.end_seq, Some(awaited.end));
        wait.doubts &= !(1 << Doubt::NoWaker as u64);
    }
}

fn wait_of(task: &TaskSpan, wait: &Suspension, at: u64) -> Option<WaitSpan> {
    let kind = kind_of(wait.kind())?;
    let is_known = wait.is_cut == 0;
    // Nobody in the program ends these.
    let is_by_time = kind == WaitKind::Sleep;
    let mut doubts = 0;
    if !is_known {
        doubts |= 1 << Doubt::Dropped as u64;
    } else if wait.end.is_some() && wait.resume_thread.is_none() && !is_by_time {
        doubts |= 1 << Doubt::NoWaker as u64;
    }
    let is_of_go = task.runtime() == TaskRuntime::Go;
    Some(WaitSpan {
        thread: wait.thread,
        seq: wait.seq,
        start: wait.start,
        end: wait.end.unwrap_or(task.end).max(wait.start),
        has_ended: if is_known { wait.end.is_some().into() } else { ada_span::NONE },
        kind: kind as u64,
        is_timed: is_by_time.into(),
        // Go has no address where there is none to wait for, and each sleep has a timer of its own.
        object: if is_by_time || is_of_go && wait.key == 0 { ada_span::NONE } else { wait.key },
        waker: wait.resume_thread,
        wake_seq: wait.resume_seq,
        wake_time: wait.resume_time,
        suspension: Some(at),
        doubts,
        ..WaitSpan::default()
    })
}

/// What a task waited for. Nothing where it could have run.
fn kind_of(reason: Reason) -> Option<WaitKind> {
    Some(match reason {
        Reason::Yield | Reason::Preempted | Reason::Processor => return None,
        Reason::ChanReceive
        | Reason::ChanSend
        | Reason::ChanReceiveNil
        | Reason::ChanSendNil
        | Reason::SynctestChanReceive
        | Reason::SynctestChanSend => WaitKind::Channel,
        Reason::Select | Reason::SelectNoCases | Reason::SynctestSelect => WaitKind::Select,
        Reason::MutexLock => WaitKind::Mutex,
        Reason::RwMutexRLock | Reason::RwMutexLock => WaitKind::ReadWriteLock,
        Reason::CondWait => WaitKind::Condition,
        Reason::Semacquire => WaitKind::Semaphore,
        Reason::Group | Reason::WaitGroupWait => WaitKind::Group,
        Reason::Sleep => WaitKind::Sleep,
        Reason::IoWait => WaitKind::Input,
        Reason::Task => WaitKind::Task,
        Reason::Continuation => WaitKind::Continuation,
        Reason::Executor => WaitKind::Executor,
        _ => WaitKind::Runtime,
    })
}

/// Whose wait it is, and what its runtime knows of it, where it is a task's.
pub fn suspended<'a>(process: &'a TraceProcess, wait: &WaitSpan) -> Option<(&'a TaskSpan, &'a Suspension)> {
    let meta = process.tables.meta();
    let suspension = meta.suspensions.get(usize::try_from(wait.suspension?).ok()?)?;
    Some((meta.tasks.get(usize::try_from(suspension.task).ok()?)?, suspension))
}
