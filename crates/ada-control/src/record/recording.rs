//! Records a process that is hooked, until it ends or is detached.

use std::sync::mpsc::sync_channel;
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::Instant;

use ada_event::ProcessId;
use ada_patch::StubOptions;
use ada_process::{Calibration, Clock, Pidfd, ProcConnector};
use ada_ring::DetailMode;

use super::descriptor_recorder::DescriptorRecorder;
use super::drain_loop::save_news;
use super::ending::Ending;
use super::finish::Finish;
use super::known_clock;
use super::manifest;
use super::recording_threads::RecordingThreads;
use super::report::TraceReport;
use super::schedule_recorder::ScheduleRecorder;
use crate::drain::session::{SessionFiles, SnapshotRequests};
use crate::drain::windows::{TriggerList, Watch};
use crate::drain::{Drain, PrintedCalls, UsedDescriptors};
use crate::error::{ControlError, Doing};
use crate::launch::workshop::{HookedProgram, Workshop, shape};
use crate::live::handlers::{FilterHandler, SnapshotHandler, StatusHandler, TriggerHandler};
use crate::live::{Handler, LiveServer};
use crate::options::{CapturedValues, TraceOptions};
use crate::overhead::{Calibrated, HookSamples, Neighbours, calibrate};
use crate::progress::Progress;
use crate::tracked::{ProcessFacts, Programs};
use crate::trigger::Trigger;

/// Descriptors that wait to be looked at, at most.
const MOST_ASKED: usize = 4096;

/// When a recording began, and what was begun with it.
pub(crate) struct Beginning {
    pub(crate) started: Instant,
    calibration: Calibration,
    calibrating: JoinHandle<Option<Calibrated>>,
}

impl Beginning {
    pub(crate) fn now(options: &TraceOptions) -> Self {
        let stubs = StubOptions { owner_by_word: true, detail: shape(options) };
        let (started, calibration) = (Instant::now(), Clock::begin());
        Self { started, calibration, calibrating: std::thread::spawn(move || calibrate(&stubs)) }
    }
}

/// What is to be recorded: a process that is hooked.
pub(crate) struct Subject<'a> {
    pub(crate) pid: ProcessId,
    pub(crate) program: HookedProgram,
    pub(crate) facts: ProcessFacts,
    pub(crate) files: SessionFiles,
    /// Who answers requests that not every recording has an answer to.
    pub(crate) handlers: &'a [&'a dyn Handler],
}

/// Records a process from `release`, which lets it run, until `wait` is over and nothing more is to come. Both are called
/// by the calling thread.
pub(crate) fn record(
    beginning: Beginning,
    subject: Subject<'_>,
    workshop: &Workshop,
    options: &TraceOptions,
    progress: &dyn Progress,
    release: impl FnOnce() -> Result<(), ControlError>,
    wait: impl FnOnce(&Programs, &Pidfd) -> Result<Ending, ControlError>,
) -> Result<TraceReport, ControlError> {
    let Beginning { started, calibration, calibrating } = beginning;
    let Subject { pid, program, facts, mut files, handlers: own_handlers } = subject;
    let programs = Programs::new(workshop.shared.clone(), ProcConnector::listen(pid));
    let status = StatusHandler::new(progress, pid, facts.command_line.clone(), files.path().to_owned());
    programs.add(&mut programs.lock(), pid, program, facts);
    let live = LiveServer::listen(pid);
    if let Err(error) = &live {
        programs.lock().limits.push(format!("this trace could not be asked: {error}"));
    }
    save_news(&programs, &mut files)?;
    let folder = files.process(pid)?.process_path().to_owned();
    if let Some(bytes) = options.ring {
        files.keep_newest(bytes);
    }
    let schedule = ScheduleRecorder::begin(pid, files.path(), options);
    programs.lock().no_schedule = schedule.as_ref().err().cloned();
    let triggers = Arc::new(TriggerList::new(options.triggers.clone(), options.pre_roll, options.post_roll));
    let trigger_handler = TriggerHandler::new(triggers.clone(), options.detail);
    let snapshot_requests = SnapshotRequests::default();
    let snapshots = SnapshotHandler::new(&snapshot_requests, &options.output, |process, figures, writer| {
        manifest::complete_snapshot(&mut programs.lock(), process, pid, figures, writer);
    });
    let filter = FilterHandler { programs: &programs };
    let usual: [&dyn Handler; 4] = [&status, &filter, &trigger_handler, &snapshots];
    let handlers: Vec<&dyn Handler> = usual.into_iter().chain(own_handlers.iter().copied()).collect();
    let new_drain = || new_drain(pid, calibration, &programs, &triggers, workshop, options);
    // The program does not wait for the clock's second reading, unless its threads have to know from the start what is
    // worth keeping.
    let is_marked = options.triggers.iter().any(|trigger| *trigger != Trigger::Crash);
    let early = is_marked.then(new_drain);
    let hook_cost = calibrating.join().ok().flatten();
    let start_up = started.elapsed();
    progress.running();
    let neighbours = Neighbours::begin();
    let samples = Mutex::new(HookSamples::begin());
    let process = Pidfd::open(pid).doing("watching the program")?;
    release()?;

    let mut drain = early.unwrap_or_else(new_drain);
    let descriptors = (options.values != CapturedValues::None).then(|| {
        let (to, asked) = sync_channel(MOST_ASKED);
        drain.tell_descriptors(UsedDescriptors::new(to));
        drain.refresh_watch(&programs.lock().modules);
        DescriptorRecorder::new(files.path().to_owned(), asked, options.ring)
    });
    let threads = RecordingThreads {
        pid,
        programs: &programs,
        workshop,
        options,
        hook_cost: hook_cost.as_ref(),
        samples: &samples,
        status: &status,
        snapshot_requests: &snapshot_requests,
        live: live.as_ref().ok(),
        handlers: &handlers,
    };
    let recorded = threads.run(drain, files, schedule.ok(), descriptors, &folder, || wait(&programs, &process));
    let unknown = options.debuginfod.iter().filter_map(|servers| servers.limit());
    let in_vain =
        options.exclude.only.unmet("--only").into_iter().chain(workshop.values.limits()).chain(unknown).collect();
    Finish { pid, options, start_up, hook_cost, neighbours, in_vain }.finish(recorded, programs)
}

/// The drain, with a clock that has had its second reading.
fn new_drain(
    pid: ProcessId,
    calibration: Calibration,
    programs: &Programs,
    triggers: &Arc<TriggerList>,
    workshop: &Workshop,
    options: &TraceOptions,
) -> Drain {
    let (rings, clock) = (workshop.shared.rings.clone(), known_clock::finish(calibration));
    let pool = rings.first();
    programs.switches.start(clock);
    let attached_at = programs.lock().note_clock(pid, &clock);
    let mut drain = Drain::new(rings, clock, programs.numbers.clone(), shape(options).unwrap_or_default());
    if options.detail == DetailMode::Windows {
        drain.watch_for(Watch::new(triggers.clone(), pool, clock, pid).attached_at(attached_at));
    }
    if let Some(printed) = &options.print {
        drain.print(PrintedCalls::new(printed));
    }
    drain.refresh_watch(&programs.lock().modules);
    drain
}
