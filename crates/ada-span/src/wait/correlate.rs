//! Makes waits of the calls: finds who held what was waited for, and who ended each wait.

use std::collections::HashMap;

use ada_event::TraceNanos;

use super::call::{LockStep, ObservedCall, SyncCalls};
use super::deaths::deaths;
use super::found::Found;
use super::holds::{HoldSpan, holds_of};
use super::left_over::locks_at_end;
use super::looks::Looks;
use super::once::OnceCalls;
use super::only_reader::show_only_readers;
use super::owned_mutexes::{doubt_refused, found_free, free_words};
use super::parties::{Known, Parties};
use super::readers::{Readers, join_reads, show_locks};
use super::shared_calls::{SharedCalls, SharedWake};
use super::spins::SpinCalls;
use super::waiting::{wait_of, woken_times};
use super::wakes::Wakes;
use super::waking::Waking;
use super::{WaitKind, WaitSpan};
use crate::io_calls::IoCalls;
use crate::pthread::ThreadEnd;
use crate::thread_index::ThreadIndex;

/// More waits than this are not kept.
const MOST_WAITS: usize = 4_000_000;

/// What is found.
#[derive(Default)]
pub(crate) struct Waits {
    /// The waits, by their starts.
    pub(crate) waits: Vec<WaitSpan>,
    /// How many were not kept.
    pub(crate) left_out: u64,
    /// Who had which lock when.
    pub(crate) holds: Vec<HoldSpan>,
    /// Calls of input and output.
    pub(crate) io: IoCalls,
    /// What is about memory that other processes have too.
    pub(crate) shared: SharedCalls,
}

/// Makes the waits, and finds who held what.
pub(crate) fn correlate(parts: Vec<SyncCalls>, known: &Known<'_>) -> Waits {
    let mut calls = Vec::new();
    let mut steps: HashMap<ThreadIndex, Vec<LockStep>> = HashMap::new();
    let has_steps = parts.iter().all(SyncCalls::notes_steps);
    let (mut io, mut onces, mut yields) = (IoCalls::default(), OnceCalls::default(), Vec::new());
    let mut spins = SpinCalls::default();
    for part in parts {
        calls.extend(part.calls);
        steps.extend(part.steps);
        io.join(part.io);
        onces.join(part.onces);
        spins.join(part.spins);
        yields.extend(part.yields.waits());
    }
    io.finish();
    if calls.is_empty() && onces.is_empty() && yields.is_empty() && spins.is_empty() {
        return Waits { io, ..Waits::default() };
    }
    doubt_refused(&mut steps, &calls, known.ids);
    if known.sees_unlocks {
        let mutexes = free_words(&calls);
        for steps in steps.values_mut() {
            show_locks(steps, true, |_| true);
            show_locks(steps, false, |object| mutexes.contains_key(&object));
        }
        calls.extend(found_free(&steps, &calls, &mutexes));
    }
    calls.sort_unstable_by_key(|call: &ObservedCall| (call.start, call.thread, call.seq));
    let looks = Looks::of(known.shared_memory, &io);
    let waking = Waking::of(&calls, known.ids);
    let wakes = calls.iter().filter_map(|call| waking.wake_of(call));
    let mut shared = SharedCalls::of_wakes(wakes, &looks);
    let deaths = deaths(&steps, &calls, known);
    shared.deaths = deaths.iter().filter(|(object, _)| looks.is_shared(*object)).map(SharedWake::of).collect();
    if looks.has_shared() && has_steps {
        shared.locks = locks_at_end(&steps, known);
    }
    let (wakes, woken_times) = (waking.wakes(&calls), woken_times(&calls));
    let mut waits: Vec<Found> =
        calls.iter().filter_map(|call| wait_of(call, &woken_times, &wakes, known.ids)).collect();
    join_reads(&mut waits);
    let are_missing = |start, end| known.losses.iter().any(|loss| loss.to > start && loss.from <= end);
    let spins = spins.waits(|lock| looks.is_shared(lock), are_missing);
    waits.extend(onces.waits().into_iter().chain(yields).chain(spins));
    waits.sort_by_key(|found| (found.wait.start, found.wait.thread, found.wait.seq));
    for found in waits.iter_mut().filter(|found| found.wait.is_open()) {
        // The thread makes no event at its end.
        found.wait.end = found.wait.end.max(known.options.end_time);
    }
    let left_out = waits.len().saturating_sub(MOST_WAITS);
    waits.truncate(MOST_WAITS);
    let mut last_readers = Vec::new();
    if known.sees_unlocks {
        last_readers = show_only_readers(&mut steps, &waits, known, |object| looks.is_private(object));
    }
    let mut parties = Parties::new(known, &steps, wakes, Wakes::of(deaths));
    waits.iter_mut().for_each(|found| parties.find_holder(&mut found.wait));
    // A signal wakes one of those that wait: the order in which they went on says which.
    let mut order: Vec<usize> = (0..waits.len()).collect();
    order.sort_by_key(|at| waits[*at].woken);
    for at in order {
        parties.find_waker(&mut waits[at]);
    }
    parties.reopen_books();
    waits.iter_mut().for_each(|found| parties.find_next_holder(found));
    // What is run once is run by one of the process's own threads.
    let is_shared =
        |wait: &WaitSpan| !matches!(wait.kind(), WaitKind::Once | WaitKind::Spin) && looks.is_shared(wait.object);
    shared.waits = waits.iter().filter(|found| is_shared(&found.wait)).map(Found::shared).collect();
    let mut waits: Vec<WaitSpan> = waits.into_iter().map(|found| found.wait).collect();
    let mut holds = Vec::new();
    if known.sees_unlocks {
        let mut ends: HashMap<ThreadIndex, Vec<TraceNanos>> = HashMap::new();
        for life in known.threads {
            // A thread that waits to the end makes no event there.
            let is_cut = matches!(life.end_how(), ThreadEnd::Alive | ThreadEnd::ProcessEnd);
            let end = if is_cut { life.end.max(known.options.end_time) } else { life.end };
            ends.entry(life.thread).or_default().push(end);
        }
        for reader in last_readers {
            // A process's first thread is in no list of lives.
            ends.entry(reader).or_insert_with(|| vec![known.options.end_time]);
        }
        holds = holds_of(&steps, &waits, &parties.losses, &ends);
        let readers = Readers::of(&holds);
        waits.iter_mut().for_each(|wait| readers.find_holder(wait, known.options));
    }
    Waits { waits, left_out: left_out as u64, holds, io, shared }
}
