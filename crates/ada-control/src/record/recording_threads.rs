//! The threads of a recording.

use std::path::Path;
use std::sync::Mutex;
use std::thread;
use std::time::Duration;

use ada_event::ProcessId;
use ada_process::LiveProcesses;

use super::descriptor_recorder::DescriptorRecorder;
use super::drain_loop::run_drain;
use super::ending::Ending;
use super::manifest;
use super::schedule_recorder::ScheduleRecorder;
use crate::drain::Drain;
use crate::drain::session::{SessionFiles, SnapshotRequests};
use crate::error::ControlError;
use crate::follow::{ExecFollower, serve_loader};
use crate::launch::workshop::Workshop;
use crate::live::handlers::StatusHandler;
use crate::live::{Handler, LiveServer};
use crate::options::TraceOptions;
use crate::overhead::{AgentTime, Calibrated, Governed, Governor, HookSamples, SampledTime, watch_cpu};
use crate::tracked::Programs;
use crate::users::OwnRings;

/// What they work with.
pub(super) struct RecordingThreads<'a> {
    /// The first process.
    pub(super) pid: ProcessId,
    pub(super) programs: &'a Programs,
    pub(super) workshop: &'a Workshop,
    pub(super) options: &'a TraceOptions,
    pub(super) hook_cost: Option<&'a Calibrated>,
    pub(super) samples: &'a Mutex<HookSamples>,
    pub(super) status: &'a StatusHandler<'a>,
    pub(super) snapshot_requests: &'a SnapshotRequests,
    pub(super) live: Option<&'a LiveServer>,
    pub(super) handlers: &'a [&'a dyn Handler],
}

/// What they have come to.
pub(super) struct Recorded {
    pub(super) ending: Result<Ending, ControlError>,
    pub(super) drain: Drain,
    pub(super) files: SessionFiles,
    pub(super) living: LiveProcesses,
    pub(super) governed: Option<Governed>,
    /// Processor time that the processes were seen to use.
    pub(super) seen_cpu: Duration,
    /// What was sampled of them.
    pub(super) sampled: SampledTime,
}

impl RecordingThreads<'_> {
    /// Runs all of them until `wait`, which the calling thread does, is over and nothing more is to come. Lists of
    /// functions go to `folder`.
    pub(super) fn run(
        &self,
        drain: Drain,
        files: SessionFiles,
        schedule: Option<ScheduleRecorder>,
        descriptors: Option<DescriptorRecorder>,
        folder: &Path,
        wait: impl FnOnce() -> Result<Ending, ControlError>,
    ) -> Recorded {
        let Self { pid, programs, workshop, options, hook_cost, samples, status, snapshot_requests, live, handlers } =
            *self;
        let (rings, tally, clock) = (drain.rings().clone(), drain.tally(), drain.clock());
        let follower = ExecFollower::new(programs, workshop, options, &rings);
        thread::scope(|scope| {
            let drained = scope.spawn(|| {
                let _end = EndWithPanic;
                run_drain(drain, files, programs, options, pid, status, snapshot_requests)
            });
            scope.spawn(|| {
                // The lists are not needed before somebody reads the session, so the program does not wait for them.
                manifest::write_lists(&mut programs.lock(), folder, pid);
                serve_loader(programs, workshop, options);
            });
            let seen_cpu = scope.spawn(|| watch_cpu(programs, &tally, samples));
            let own_rings = OwnRings { programs, shared: &workshop.shared };
            scope.spawn(move || programs.listen_for_processes(|pid| own_rings.give(pid)));
            if let Some(schedule) = schedule {
                scope.spawn(move || schedule.run(clock, programs));
            }
            if let Some(descriptors) = descriptors {
                scope.spawn(move || descriptors.run(clock, programs));
            }
            if options.follow {
                scope.spawn(|| follower.run(scope));
            }
            let governed = hook_cost.zip(options.max_overhead).map(|(cost, max_overhead)| {
                let governor = Governor::new(
                    programs,
                    tally.clone(),
                    AgentTime::new(rings.clone(), clock),
                    samples,
                    cost,
                    max_overhead,
                    options.exact_counts,
                );
                scope.spawn(|| governor.run())
            });
            if let Some(live) = live {
                scope.spawn(|| live.serve(scope, handlers));
            }
            let ending = wait();
            programs.phase.first_has_ended();
            let (drain, files, living) = drained.join().expect("the drain does not panic");
            workshop.heartbeat.end();
            live.iter().for_each(|live| live.stop());
            let seen_cpu = seen_cpu.join().expect("counting does not panic");
            let governed = governed.and_then(|governed| governed.join().ok()).map(|(governed, lessons)| {
                lessons.keep(programs, &tally.lock().expect("nobody panics with the lock"), &workshop.earlier_runs);
                governed
            });
            let sampled = {
                let tally = tally.lock().expect("nobody panics with the lock");
                samples.lock().expect("nobody panics with the lock").look(programs, tally.processes())
            };
            Recorded { ending, drain, files, living, governed, seen_cpu, sampled }
        })
    }
}

/// Ends ada if the thread that has this panics: the others would wait for it for ever. The hooks let calls pass when nobody
/// drains them.
struct EndWithPanic;

impl Drop for EndWithPanic {
    fn drop(&mut self) {
        if thread::panicking() {
            std::process::abort();
        }
    }
}
