//! Calls that create threads, and the threads that they made.

use ada_event::RuntimeAddr;

use super::FailedCreation;
use super::call::ThreadCall;
use super::life::ThreadLife;
use super::matching::{Started, match_threads};
use crate::role::Role;

/// A creation, and how sure it is that it made a certain thread, in percent.
pub(super) struct Creation<'a> {
    pub(super) call: &'a ThreadCall,
    pub(super) confidence: u64,
}

/// All calls that create threads.
pub(crate) struct Creations {
    /// Those that succeeded, by time.
    calls: Vec<ThreadCall>,
    failed: Vec<ThreadCall>,
    /// By the index of the life: the index of the call, and the confidence.
    of_lives: Vec<Option<(usize, u64)>>,
}

impl Creations {
    /// Matches the calls, which are sorted by time on the way, with the lives.
    pub(crate) fn find(lives: &[ThreadLife], calls: &mut [ThreadCall]) -> Self {
        calls.sort_by_key(|call| (call.time, call.thread, call.seq));
        let of_threads = || calls.iter().filter(|it| it.role == Role::ThreadCreate);
        let creates = innermost(of_threads().filter(|it| !it.has_failed()));
        let failed = innermost(of_threads().filter(|it| it.has_failed()));
        let started: Vec<Started> = lives
            .iter()
            .zip(0..)
            .filter(|(life, _)| !life.is_midway)
            .map(|(life, number)| Started {
                number,
                first_time: life.first_time,
                handle: life.handle,
                routine_address: life.routine.and_then(|routine| routine.address),
                argument: life.routine.and_then(|routine| routine.argument),
            })
            .collect();
        let mut of_lives = vec![None; lives.len()];
        for found in match_threads(&creates, &started) {
            of_lives[found.number as usize] = Some((found.create, found.confidence));
        }
        Self { calls: creates, failed, of_lives }
    }

    pub(super) fn of(&self, life: usize) -> Option<Creation<'_>> {
        let (call, confidence) = (*self.of_lives.get(life)?)?;
        Some(Creation { call: &self.calls[call], confidence })
    }

    /// The start routine that a thread was created with, if it is sure that it was.
    pub(crate) fn routine_of(&self, life: usize) -> Option<RuntimeAddr> {
        let creation = self.of(life).filter(|creation| creation.confidence >= super::SURE)?;
        creation.call.arguments.map(|arguments| RuntimeAddr(arguments[2]))
    }

    /// Calls that made no thread.
    pub(crate) fn failed(&self) -> Vec<FailedCreation> {
        let failed = self.failed.iter().map(|call| FailedCreation {
            thread: call.thread,
            seq: call.seq,
            time: call.time,
            error: call.error().unwrap_or(crate::NONE),
            routine_address: call.arguments.map(|arguments| RuntimeAddr(arguments[2])),
        });
        failed.collect()
    }
}

/// Of calls that lie within others of the same kind on the same thread, as `thrd_create` calls `pthread_create`, the
/// inner ones.
fn innermost<'a>(calls: impl Iterator<Item = &'a ThreadCall>) -> Vec<ThreadCall> {
    let mut kept: Vec<ThreadCall> = Vec::new();
    for call in calls {
        if let Some(outer) = kept.iter().rposition(|it| it.thread == call.thread)
            && kept[outer].close_seq.is_some_and(|close| close > call.seq)
        {
            kept.remove(outer);
        }
        kept.push(call.clone());
    }
    kept
}
