//! The loop that drains the rings until a recording is over.

use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use ada_event::ProcessId;
use ada_process::LiveProcesses;

use crate::drain::Drain;
use crate::drain::session::{SessionFiles, SnapshotRequests};
use crate::error::ControlError;
use crate::options::TraceOptions;
use crate::progress::Progress;
use crate::record::manifest;
use crate::tracked::{HookedPrograms, Programs};

/// Empties the rings until the target and its children have ended and nothing remains.
pub(crate) fn run_drain(
    mut drain: Drain,
    mut files: SessionFiles,
    programs: &Programs,
    options: &TraceOptions,
    first: ProcessId,
    progress: &dyn Progress,
    snapshot_requests: &SnapshotRequests,
) -> (Drain, SessionFiles, LiveProcesses) {
    const QUIET: Duration = Duration::from_millis(2);
    const IN_DEMAND: Duration = Duration::from_micros(100);
    const FLUSH_EVERY: Duration = Duration::from_millis(10);
    const FEW: u64 = 16_384;
    // A round over very many threads takes long; the pause grows with it.
    const REST: u32 = 4;
    const LONGEST_REST: Duration = Duration::from_millis(20);
    let mut living = LiveProcesses::default();
    living.watch(first);
    let mut seen_exhausted = 0;
    let mut flushed = Instant::now();
    loop {
        let first_ended = programs.phase.is_first_over();
        if first_ended {
            living.update();
        }
        let is_last_gone = |living: &mut LiveProcesses| !living.any_runs() && !finds_others(programs, living);
        let ended = programs.phase.is_detached() || first_ended && (options.until_exit || is_last_gone(&mut living));
        if drain.has_stale_watch() {
            drain.refresh_watch(&programs.lock().modules);
        }
        let begun = Instant::now();
        let count = drain.round(&mut files, ended);
        let took = begun.elapsed();
        progress.recorded(drain.events(), files.thread_count(), lost(&drain));
        if ended {
            programs.phase.end();
            snapshot_requests.close();
            // Processes that were first seen in this round may live on.
            programs.take_followed(&mut living);
            drain.newcomers().into_iter().for_each(|pid| living.watch_reported(pid, |pid| programs.is_user(pid)));
            programs.note_forks(drain.forks());
            return (drain, files, living);
        }
        programs.take_followed(&mut living);
        // At once: short-lived processes are gone in no time.
        drain.newcomers().into_iter().for_each(|pid| living.watch_reported(pid, |pid| programs.is_user(pid)));
        if snapshot_requests.is_wanted() {
            programs.note_programs(drain.programs());
            drain.turn_segment(&mut files);
            snapshot_requests.hand_out(&files);
        }
        if flushed.elapsed() >= FLUSH_EVERY {
            drain.flush(&mut files);
            flushed = Instant::now();
            let bytes = || files.byte_count() + programs.schedule_bytes.load(Ordering::Relaxed);
            if options.max_size.is_some_and(|most| bytes() >= most) {
                programs.phase.set_enough();
            }
            living.update();
            programs.note_forks(drain.forks());
            programs.note_children(options.follow, false);
            if let Err(error) = save_news(programs, &mut files).and_then(|()| files.save_first_manifests()) {
                drain.fail(error);
            }
        }
        let exhausted = drain.rings().exhausted();
        if exhausted != seen_exhausted {
            // Somebody may be waiting for the chunk of a thread that has ended since.
            seen_exhausted = exhausted;
            std::thread::sleep(IN_DEMAND);
        } else if count < FEW && !drain.has_more() {
            // A reader right behind a writer takes its cache lines away, and slows it down tenfold.
            std::thread::sleep(QUIET.max((took * REST).min(LONGEST_REST)));
        }
    }
}

/// Whether there are processes that have recorded nothing yet: just forked, or about to run another program. The order
/// matters: a process that execs leaves the users of the memory first and is held last.
fn finds_others(programs: &Programs, living: &mut LiveProcesses) -> bool {
    programs.users().into_iter().for_each(|pid| living.watch(pid));
    let is_any_on_its_way = programs.execs_under_way.load(Ordering::Acquire) > 0;
    programs.take_followed(living);
    is_any_on_its_way || living.any_runs()
}

/// Saves what is new of processes in their manifests, so that the session can be read should ada be killed.
pub(crate) fn save_news(programs: &Programs, files: &mut SessionFiles) -> Result<(), ControlError> {
    let mut hooked = programs.lock();
    for pid in take_news(&mut hooked).into_iter().filter(|pid| !files.is_forgotten(*pid)).collect::<Vec<_>>() {
        let writer = files.process(pid)?;
        manifest::add_modules(&hooked.modules_by_program(pid), writer);
        manifest::add_facts(&hooked, pid, pid, writer);
        manifest::add_switches(&programs.switches, &hooked, pid, writer);
        writer.save_manifest()?;
        let folder = writer.process_path().to_owned();
        if hooked.processes.len() > 1 {
            manifest::write_lists(&mut hooked, &folder, pid);
        }
    }
    Ok(())
}

/// The processes of which something is known that their manifests lack.
pub(crate) fn take_news(hooked: &mut HookedPrograms) -> Vec<ProcessId> {
    let news = hooked.processes.iter_mut();
    news.filter_map(|(pid, process)| std::mem::take(&mut process.is_news).then_some(*pid)).collect()
}

/// Records that are lost. The target counts them, and may say anything.
fn lost(drain: &Drain) -> u64 {
    drain.drops().iter().fold(0, |sum: u64, (_, count)| sum.saturating_add(*count))
}
