//! How a process ended, as its manifest has it.

use std::collections::BTreeMap;

use ada_event::TraceNanos;
use ada_format::atf::{Drops, Manifest, Process};

use crate::function_traits::FunctionTraits;
use crate::replay::{ProcessEnd, ReplayOptions};

/// Why functions are not hooked that could be.
const LEFT_OUT: [&str; 2] = ["excluded", "quarantined"];

/// Whether a signal is one by which people and systems ask programs to end: SIGHUP, SIGINT, SIGTERM. Nothing is wrong with
/// a program that does.
pub fn asks_to_end(signal: i32) -> bool {
    matches!(signal, 1 | 2 | 15)
}

/// Whether a signal is one that processors and programs raise themselves, as for a fault or an abort.
pub fn is_fault(signal: i32) -> bool {
    matches!(signal, 4..=8 | 11 | 31)
}

/// How the process ended, and what was lost.
pub fn replay_options(process: &Process, traits: &FunctionTraits, timeout_ns: u64) -> ReplayOptions {
    let manifest = process.manifest.as_ref();
    let exit = manifest.and_then(|manifest| manifest.exit.as_ref());
    let crash = manifest.and_then(|manifest| manifest.crashes.iter().map(|crash| crash.time_ns).max());
    // What was open when its hooks were removed is open, whatever became of the process.
    let unhooked = manifest.and_then(|it| it.unhooked_ns);
    let end = match exit.filter(|_| unhooked.is_none()) {
        Some(exit) if exit.signal.is_some_and(|signal| !asks_to_end(signal)) => ProcessEnd::Killed,
        Some(exit) if exit.signal.is_some() => ProcessEnd::Exited,
        Some(exit) if exit.code.is_some() => ProcessEnd::Exited,
        _ if crash.is_some() => ProcessEnd::Killed,
        Some(_) => ProcessEnd::Exited,
        None => ProcessEnd::Alive,
    };
    let last_times = process.threads.iter().filter_map(|thread| thread.index().events().next_back());
    let last_time = last_times.map(|event| event.timestamp).max().unwrap_or_default();
    let attached_time = manifest.and_then(|it| it.extra.get("attached_ns")?.as_u64()).map(TraceNanos);
    let detached = manifest.and_then(|it| it.extra.get("detached_ns")?.as_u64()).map(TraceNanos);
    // What waits when a signal kills it has recorded nothing since it began to.
    let killed_at = exit.filter(|exit| exit.signal.is_some()).and_then(|exit| exit.alive_ns);
    let left = unhooked.or(detached.filter(|_| end == ProcessEnd::Alive));
    let end_time = match crash.filter(|_| end == ProcessEnd::Killed).or(left) {
        Some(known) => known,
        None => last_time.max(manifest.map_or(TraceNanos(0), |it| it.time_end_ns)).max(killed_at.unwrap_or_default()),
    };
    let has_drops = manifest.is_some_and(|it| it.drops.iter().any(is_missing_anywhere));
    let ring = manifest.and_then(|it| it.ring.as_ref()).filter(|ring| ring.let_go_events > 0);
    ReplayOptions {
        has_drops,
        end,
        end_time,
        timeout_ns,
        let_go_until: ring.map_or(TraceNanos(0), |ring| ring.let_go_end_ns.unwrap_or(end_time)),
        attached_time,
        is_attached: manifest.is_some_and(|it| it.attached),
        is_fork: manifest.is_some_and(|it| it.parent_pid.is_some()),
        is_incomplete: manifest.is_some_and(|it| it.extra.contains_key("incomplete")),
        is_cut_short: end == ProcessEnd::Alive && manifest.is_some_and(|it| it.finished == Some(false)),
        goroutines_until: manifest.map_or(TraceNanos::MAX, |it| goroutines_until(it, traits)),
        tail_calls_until: manifest.map_or(TraceNanos::MAX, tail_calls_until),
        is_imported: manifest.is_some_and(|it| it.extra.contains_key("imported_from")),
    }
}

/// When the first of the scheduler's functions was no longer recorded.
fn goroutines_until(manifest: &Manifest, traits: &FunctionTraits) -> TraceNanos {
    let switched = manifest.switches.iter().filter(|it| traits.get(it.function_id).role.is_step_of_goroutine());
    switched.map(|it| it.from_ns).min().unwrap_or(TraceNanos::MAX)
}

/// When the first function was no longer recorded; always, where some were left out at the user's wish.
fn tail_calls_until(manifest: &Manifest) -> TraceNanos {
    let is_left_out = |skipped: &BTreeMap<String, u64>| LEFT_OUT.iter().any(|reason| skipped.contains_key(*reason));
    if manifest.modules.iter().any(|module| module.coverage.as_ref().is_some_and(|it| is_left_out(&it.skipped))) {
        return TraceNanos(0);
    }
    manifest.switches.iter().map(|it| it.from_ns).min().unwrap_or(TraceNanos::MAX)
}

/// Whether drops can have made holes that the manifest lists no gap for.
fn is_missing_anywhere(drops: &Drops) -> bool {
    // Threads without a state record nothing at all; what is lost of registers leaves the event.
    let makes_holes =
        drops.lane == "index" && !matches!(drops.reason.as_str(), "states_exhausted" | "forbidden" | "detail_lost");
    makes_holes && drops.unplaced.unwrap_or(drops.count) > 0
}
