//! Waits for input and output: who ended them, in whichever process of the session.

use std::sync::Arc;

use ada_event::{ThreadId, TraceNanos};
use ada_format::atf::{Manifest, Session, read_descriptors};
use ada_span::io::{ProcessIo, correlate};
use ada_span::state::ThreadState;
use ada_span::wait::{WaitKind, WaitSpan};
use ada_span::{NONE, ThreadIndex};

use super::Trace;
use super::process::TraceProcess;
use super::reference::Target;

/// Finds who ended the waits of a session's processes, the first of which has this place among those of all sessions.
pub(super) fn resolve(processes: &mut [TraceProcess], first: usize, session: &Session) {
    find_wakers(processes, first, session);
    for process in processes {
        let waits = process.tables.meta().waits.iter();
        let mut is_one = waits.map(|wait| !is_only_slow(process, wait)).collect::<Vec<bool>>().into_iter();
        process.tables.waits_mut().retain(|_| is_one.next().unwrap_or(true));
    }
}

/// Whether a call of input or output took long, and the kernel says that its thread never slept in it: it found what it wanted.
fn is_only_slow(process: &TraceProcess, wait: &WaitSpan) -> bool {
    let is_ended_input = wait.kind() == WaitKind::Input && wait.has_ended == 1;
    is_ended_input
        && process.thread_states(wait.thread).is_some_and(|it| {
            let times = it.between(wait.start, wait.end);
            times.of(ThreadState::Blocked) == 0 && times.of(ThreadState::Unknown) == 0
        })
}

fn find_wakers(processes: &mut [TraceProcess], first: usize, session: &Session) {
    if processes.iter().all(|process| process.tables.meta().io.calls.is_empty()) {
        return;
    }
    let found = correlate(&processes.iter().map(|process| process_io(process, session)).collect::<Vec<_>>());
    let objects: Arc<[String]> = found.objects.into();
    for (number, (process, waits)) in processes.iter_mut().zip(found.waits).enumerate() {
        process.io_objects = objects.clone();
        let list = process.tables.waits_mut();
        for it in waits {
            let Some(wait) = list.get_mut(it.wait) else { continue };
            wait.descriptor = it.descriptor.map(u64::from);
            wait.object = it.object.map_or(wait.object, |object| object as u64);
            wait.doubts = it.doubts.0;
            let Some(waker) = it.waker else { continue };
            (wait.wake_seq, wait.wake_time) = (waker.seq, Some(waker.time.min(wait.end)));
            if waker.process == number {
                wait.waker = Some(waker.thread);
            } else {
                wait.remote_process = Some((first + waker.process) as u64);
                wait.remote_waker = Some(waker.thread);
            }
        }
    }
}

fn process_io<'a>(process: &'a TraceProcess, session: &Session) -> ProcessIo<'a> {
    let recorded = &session.processes()[process.number];
    let meta = process.tables.meta();
    let facts = || meta.threads.iter().map(|thread| thread.facts).filter(|facts| facts.events > 0);
    let manifest = recorded.manifest.as_ref();
    ProcessIo {
        pid: process.pid,
        parent: manifest.and_then(|manifest| manifest.parent_pid),
        start: facts().map(|facts| facts.first_time).min().unwrap_or_default(),
        end: facts().map(|facts| facts.last_time).max().unwrap_or_default(),
        first_thread: meta
            .thread_index(process.pid.first_thread())
            .or((!meta.threads.is_empty()).then_some(ThreadIndex(0))),
        io: &meta.io,
        waits: &meta.waits,
        seen: read_descriptors(&recorded.path),
        has_slept: Box::new(|thread, start, end| has_slept(process, thread, start, end)),
        thread_of_handle: Box::new(|handle, time| {
            let lives = meta.pthreads.iter().rev().filter(|it| it.handle == handle && it.handle != NONE);
            lives.filter(|it| it.create_time.is_none_or(|at| at <= time)).map(|it| it.thread).next()
        }),
        known_until: (manifest.is_some_and(is_complete) && meta.io.left_out == 0)
            .then_some(meta.io.known_until.unwrap_or(TraceNanos::MAX)),
    }
}

/// Whether the kernel says that a thread slept between two moments. Its clock may be a little off.
fn has_slept(process: &TraceProcess, thread: ThreadIndex, start: TraceNanos, end: TraceNanos) -> bool {
    const OFF: u64 = 5000;
    let (start, end) = (start.saturating_add(OFF), TraceNanos(end.0.saturating_sub(OFF)));
    start < end
        && process.thread_states(thread).is_some_and(|it| it.between(start, end).of(ThreadState::Blocked) >= OFF)
}

/// Whether all calls of a process are recorded.
pub(super) fn is_complete(manifest: &Manifest) -> bool {
    let has_drops = manifest.drops.iter().any(|drops| drops.count > 0);
    !manifest.attached && !has_drops && manifest.ring.is_none() && manifest.switches.is_empty()
}

/// Who ended a wait from another process.
pub struct RemoteWaker<'a> {
    /// That process.
    pub process: &'a TraceProcess,
    /// The thread.
    pub thread: ThreadIndex,
    /// Its id.
    pub thread_id: ThreadId,
    /// The call, where it is known.
    pub span: Option<String>,
}

/// Who held what a wait was for, in another process.
pub struct RemoteHolder<'a> {
    /// That process.
    pub process: &'a TraceProcess,
    /// The call that took it, where it is known.
    pub span: Option<String>,
}

impl Trace {
    /// Who held what was waited for, where that is a thread of another process.
    pub fn remote_holder(&self, wait: &WaitSpan) -> Option<RemoteHolder<'_>> {
        let process = self.processes.get(usize::try_from(wait.holder_process?).ok()?)?;
        let thread_id = process.thread_id(wait.remote_holder?);
        let span = wait.hold_seq.map(|seq| process.refer(Target::Frame(thread_id, seq)));
        Some(RemoteHolder { process, span })
    }

    /// Who ended a wait, where that is a thread of another process.
    pub fn remote_waker(&self, wait: &WaitSpan) -> Option<RemoteWaker<'_>> {
        let process = self.processes.get(usize::try_from(wait.remote_process?).ok()?)?;
        let thread = wait.remote_waker?;
        let thread_id = process.thread_id(thread);
        let span = wait.wake_seq.map(|seq| process.refer(Target::Frame(thread_id, seq)));
        Some(RemoteWaker { process, thread, thread_id, span })
    }
}
