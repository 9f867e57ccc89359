//! Waits for what processes share: who ended them, and who held it, in whichever process of the session.

use std::sync::Arc;

use ada_format::atf::{Session, read_shared_memory};
use ada_span::pthread::ThreadEnd;
use ada_span::shared::{ProcessShared, ThreadsEnd, correlate};

use super::io_waits::is_complete;
use super::process::TraceProcess;

/// Finds who ended the waits of a session's processes, the first of which has this place among those of all sessions.
pub(super) fn resolve(processes: &mut [TraceProcess], first: usize, session: &Session) {
    if processes.iter().all(|process| process.tables.meta().shared.waits.is_empty()) {
        return;
    }
    let found = correlate(&processes.iter().map(|process| process_shared(process, session)).collect::<Vec<_>>());
    let names: Arc<[String]> = found.names.into();
    for (number, (process, waits)) in processes.iter_mut().zip(found.waits).enumerate() {
        process.shared_objects = names.clone();
        let list = process.tables.waits_mut();
        for it in waits {
            let Some(wait) = list.get_mut(it.wait) else { continue };
            (wait.shared_object, wait.doubts) = (Some(it.name as u64), it.doubts.0);
            (wait.waker, wait.wake_seq, wait.wake_time) = (None, None, None);
            wait.has_died = it.has_died.into();
            if let Some(waker) = it.waker {
                (wait.wake_seq, wait.wake_time) = (Some(waker.seq), Some(waker.time.min(wait.end)));
                if waker.process == number {
                    wait.waker = Some(waker.thread);
                } else {
                    wait.remote_process = Some((first + waker.process) as u64);
                    wait.remote_waker = Some(waker.thread);
                }
            }
            if let Some(holder) = it.holder {
                wait.holder_process = Some((first + holder.process) as u64);
                wait.remote_holder = Some(holder.thread);
                (wait.hold_seq, wait.hold_start) = holder.hold.unzip();
            }
        }
    }
}

fn process_shared<'a>(process: &'a TraceProcess, session: &'a Session) -> ProcessShared<'a> {
    let recorded = &session.processes()[process.number];
    let (meta, lives) = (process.tables.meta(), process.lives());
    ProcessShared {
        waits: &meta.waits,
        holds: &meta.holds,
        shared: &meta.shared,
        io: &meta.io,
        memory: read_shared_memory(&recorded.path),
        thread_of_id: Box::new(|id, time| {
            let index = meta.thread_index(id)?;
            let facts = meta.threads.get(index.as_usize())?.facts;
            (facts.events > 0 && facts.first_time <= time).then_some(index)
        }),
        end_of: Box::new(move |thread, time| {
            let life = lives.iter().find(|it| it.thread == thread && it.start <= time && time <= it.end)?;
            let has_ended = match life.span {
                Some(span) => span.end_how() != ThreadEnd::Alive,
                None => recorded.manifest.as_ref().is_some_and(|manifest| manifest.exit.is_some()),
            };
            has_ended.then_some(ThreadsEnd { time: life.end, routine: life.span.and_then(|span| span.routine_seq) })
        }),
        threads: meta.threads.len(),
        is_complete: recorded.manifest.as_ref().is_some_and(is_complete),
    }
}
