//! Traces a program from its start to its end.

use std::collections::HashMap;
use std::os::fd::OwnedFd;
use std::process::Command;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use ada_format::atf::RingFigures;
use ada_patch::StubOptions;
use ada_process::maps::LoadedFile;
use ada_process::{Calibration, Clock, CpuTime, End, Halt, LiveProcesses, ProcConnector, pidfd, wait_with_time};
use ada_ring::DetailMode;

use crate::deadline::Deadline;
use crate::drain::Drain;
use crate::drain::session::{SessionFiles, SnapshotRequests};
use crate::drain::windows::{TriggerList, Watch};
use crate::error::{ControlError, Doing};
use crate::follow::{follow_execs, serve_loader};
use crate::install::shared_memory::SharedMemory;
use crate::launch::gate::Gate;
use crate::launch::workshop::{HookedProgram, Workshop, shape};
use crate::live::handlers::{FilterHandler, SnapshotHandler, StatusHandler, TriggerHandler};
use crate::live::{Handler, LiveServer};
use crate::options::TraceOptions;
use crate::overhead::{Calibrated, Governor, advise, calibrate, watch_cpu};
use crate::progress::Progress;
use crate::record::drain_loop::{run_drain, tell_news};
use crate::record::manifest::{self, KnownEnd};
use crate::record::report::TraceReport;
use crate::record::{descriptors, terminal_signals};
use crate::tracked::{ProcessFacts, Programs};
use crate::trigger::Trigger;

/// The budget that the summary speaks of where there is none.
const USUAL_BUDGET: f64 = 0.1;

/// Runs `command` to its end with every function hooked.
pub fn trace(command: Command, options: &TraceOptions, progress: &dyn Progress) -> Result<TraceReport, ControlError> {
    let command_line: Vec<String> = [command.get_program()]
        .into_iter()
        .chain(command.get_args())
        .map(|word| word.to_string_lossy().into_owned())
        .collect();
    let beginning = Beginning::now(options);
    let shared = SharedMemory::new(options.chunks, options.on_full, options.detail).doing("making shared memory")?;
    let workshop = Workshop::new(shared, options);
    let gate = Gate::start(command)?;
    descriptors::allow_many();
    let pid = gate.tracee.pid();
    let deadline = |files: &[LoadedFile]| Deadline::new(beginning.started, files, options.start_up_timeout);
    let program = workshop.hook(&gate, options, deadline, progress)?;
    let facts = ProcessFacts { command_line, ..ProcessFacts::default() };
    let files = SessionFiles::create(&options.output, pid, options.store)?;
    let subject = Subject { pid, program, facts, files, handlers: &[] };
    let release = || gate.release();
    let wait = |_: &Programs, process: &OwnedFd| {
        // Not by waiting for it as a parent does: that would take what belongs to the thread that follows its execs.
        terminal_signals::wait_for_end(pid, process);
        let (halt, cpu_time) = wait_with_time(pid as i32).doing("waiting for the program")?;
        let end = match halt {
            Halt::Killed(signal) => End::Killed(signal),
            Halt::Exited(code) | Halt::Stopped(code) => End::Exited(code),
        };
        Ok(Ending { end, cpu_time: Some(cpu_time), trouble: None })
    };
    record(beginning, subject, &workshop, options, progress, release, wait)
}

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
    pub(crate) pid: u32,
    pub(crate) program: HookedProgram,
    pub(crate) facts: ProcessFacts,
    pub(crate) files: SessionFiles,
    /// Who answers requests that not every recording has an answer to.
    pub(crate) handlers: &'a [&'a dyn Handler],
}

/// How the recording of a process came to its end.
pub(crate) struct Ending {
    pub(crate) end: End,
    /// What the process has used, if it is known.
    pub(crate) cpu_time: Option<CpuTime>,
    /// What went wrong with it.
    pub(crate) trouble: Option<String>,
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
    wait: impl FnOnce(&Programs, &OwnedFd) -> Result<Ending, ControlError>,
) -> Result<TraceReport, ControlError> {
    let Beginning { started, calibration, calibrating } = beginning;
    let Subject { pid, program, facts, mut files, handlers: own_handlers } = subject;
    let pool = workshop.shared.pool();
    let programs = Programs::new(program.pool_in_target, workshop.shared.clone(), ProcConnector::listen(pid));
    let status = StatusHandler::new(progress, pid, facts.command_line.clone(), files.path().to_owned());
    programs.add(&mut programs.lock(), pid, program, facts);
    let live = LiveServer::listen(pid);
    if let Err(error) = &live {
        programs.lock().limits.push(format!("this trace could not be asked: {error}"));
    }
    tell_news(&programs, &mut files)?;
    let folder = files.process(pid)?.process_path().to_owned();
    if let Some(bytes) = options.ring {
        files.keep_newest(bytes);
    }
    let triggers = Arc::new(TriggerList::new(options.triggers.clone(), options.pre_roll, options.post_roll));
    let trigger_handler = TriggerHandler::new(triggers.clone(), options.detail);
    let snapshot_requests = SnapshotRequests::default();
    let snapshots = SnapshotHandler::new(&snapshot_requests, &options.output, |process, figures, writer| {
        let mut hooked = programs.lock();
        manifest::add_modules(&hooked.modules_of(process), writer);
        manifest::add_facts(&hooked, process, pid, writer);
        writer.manifest_mut().ring = Some(figures);
        let folder = writer.process_path().to_owned();
        manifest::write_lists(&mut hooked, &folder, process);
    });
    let filter = FilterHandler { programs: &programs };
    let usual: [&dyn Handler; 4] = [&status, &filter, &trigger_handler, &snapshots];
    let handlers: Vec<&dyn Handler> = usual.into_iter().chain(own_handlers.iter().copied()).collect();
    let new_drain = || {
        let clock = calibration.finish();
        programs.switches.start(clock);
        let mut drain = Drain::new(pool, clock, programs.numbers.clone(), shape(options).unwrap_or_default());
        if options.detail == DetailMode::Windows {
            drain.watch_for(Watch::new(triggers.clone(), pool, clock, pid));
            drain.refresh_watch(&programs.lock().modules);
        }
        drain
    };
    // The program does not wait for the clock's second reading, unless its threads have to know from the start what is
    // worth keeping.
    let is_marked = options.triggers.iter().any(|trigger| *trigger != Trigger::Crash);
    let early = is_marked.then(new_drain);
    let hook_cost = calibrating.join().ok().flatten();
    let start_up = started.elapsed();
    progress.running();
    let process = pidfd::open(pid).doing("watching the program")?;
    release()?;

    let drain = early.unwrap_or_else(new_drain);
    let tally = drain.tally();
    let (ending, drained, governed, seen_cpu) = std::thread::scope(|scope| {
        let drained = scope.spawn(|| run_drain(drain, files, &programs, options, pid, &status, &snapshot_requests));
        scope.spawn(|| {
            // The lists are not needed before somebody reads the session, so the program does not wait for them.
            manifest::write_lists(&mut programs.lock(), &folder, pid);
            serve_loader(&programs, &workshop.plans, options, pool);
        });
        let seen_cpu = scope.spawn(|| watch_cpu(&programs, &tally));
        scope.spawn(|| programs.listen_for_processes());
        if options.follow {
            scope.spawn(|| follow_execs(&programs, workshop, options, pool));
        }
        let governed = hook_cost.as_ref().zip(options.max_overhead).map(|(cost, max_overhead)| {
            let governor = Governor::new(&programs, tally.clone(), cost, max_overhead, options.exact_counts);
            scope.spawn(|| governor.run())
        });
        if let Ok(live) = &live {
            scope.spawn(|| live.serve(scope, &handlers));
        }
        let ending = wait(&programs, &process);
        programs.phase.first_has_ended();
        let drained = drained.join().expect("the drain does not panic");
        workshop.heartbeat.end();
        live.iter().for_each(LiveServer::stop);
        let seen_cpu = seen_cpu.join().expect("counting does not panic");
        (ending, drained, governed.and_then(|governed| governed.join().ok()), seen_cpu)
    });
    let (mut drain, mut files, mut living) = drained;
    // Some may have come since the drain last looked.
    drain.programs().keys().for_each(|&process| living.heard_of(process, |pid| programs.is_user(pid)));
    living.look();
    let Ending { end, cpu_time, trouble } = ending?;
    programs.note_children(options.follow, true);
    if let Err(error) = tell_news(&programs, &mut files) {
        drain.fail(error);
    }
    if let End::Killed(signal) = end
        && drain.crashes(pid).is_empty()
    {
        drain.fatal_signal(pid, signal, &mut files);
    }
    drain.finish_windows(&files);
    let (switches, numbers) = (programs.switches.clone(), programs.numbers.clone());
    let (mut hooked, kin) = programs.into_hooked();
    if drain.untold_crashes() > 0 {
        hooked.limits.push(format!("{} crashes could not be recorded", drain.untold_crashes()));
    }
    let missing = crate::plan::probes::limits(&hooked.modules);
    hooked.limits.extend(missing);
    let drops = drain.drops();
    drain.flush(&mut files);
    let figures = drain.figures();
    let (threads, processes) = (files.thread_count(), files.process_count());
    let mut failure = drain.failure().map(ToString::to_string).or(trouble);
    let session = files.path().to_owned();
    let let_go: HashMap<u32, RingFigures> =
        files.segments().map(|ring| files.pids().map(|pid| (pid, ring.figures(pid))).collect()).unwrap_or_default();
    for (process, programs) in drain.programs() {
        hooked.processes.entry(*process).or_default().programs.extend(programs);
    }
    let finished = files.finish(|process, writer| {
        let end = match end {
            End::Exited(_) | End::Killed(_) if process == pid => {
                Some(KnownEnd { end: Some(end), known_by: "wait", cpu_time })
            }
            End::Detached if process == pid => None,
            _ => end_of_other(process, &living, &drain, kin.as_ref()),
        };
        manifest::complete(end, &hooked.modules_of(process), drain.placed(&drops), &figures, writer);
        manifest::add_facts(&hooked, process, pid, writer);
        manifest::add_switches(&switches, &hooked, process, writer);
        manifest::add_windows(drain.windows(process), writer);
        let manifest = writer.manifest_mut();
        manifest.ring = let_go.get(&process).cloned();
        manifest.crashes = drain.crashes(process);
        manifest.gaps = drain.gaps(process);
        manifest.hook_cost_ns.clone_from(&hook_cost);
        manifest.max_overhead = options.max_overhead;
        manifest.over_budget_ns = governed.map(|governed| governed.over_budget.as_nanos() as u64);
        let folder = writer.process_path().to_owned();
        manifest::write_lists(&mut hooked, &folder, process);
    });
    if let Err(error) = finished {
        failure.get_or_insert(error.to_string());
    }
    // The kernel tells what the program and those that somebody waited for have used; others were looked at now and then.
    let cpu = cpu_time.map_or(seen_cpu, |time| (time.user + time.system).max(seen_cpu));
    let advice = hook_cost.as_ref().filter(|_| options.max_overhead.is_none());
    let advice = advice.and_then(|cost| {
        let tally = tally.lock().expect("nobody panics with the lock");
        let numbers = numbers.read().expect("nobody panics with the lock");
        advise(&tally, cost, cpu, USUAL_BUDGET, &numbers, &hooked)
    });
    Ok(TraceReport {
        session,
        failure,
        end,
        events: drain.events(),
        threads,
        processes,
        drops,
        hooked: hooked.modules.iter().map(|module| module.hooked()).sum(),
        found: hooked.modules.iter().map(|module| module.functions.len()).sum(),
        start_up,
        waited: Duration::from_nanos(drain.waited_ns()),
        advice,
        governed,
        stood_still: None,
        switched: switches.summary(|function| hooked.name_of(function)),
        let_go: let_go.values().map(|figures| figures.let_go_events).sum(),
        crashes: drain.crashes(pid).iter().map(|crash| manifest::crash(crash, &hooked.modules)).collect(),
    })
}

/// How a process that is not ada's child ended; none for one that lives on.
fn end_of_other(process: u32, living: &LiveProcesses, drain: &Drain, kin: Option<&ProcConnector>) -> Option<KnownEnd> {
    let was_only_heard_of = !living.knows(process) && kin.is_some_and(|kin| kin.lives(process));
    if !living.is_over(process) || was_only_heard_of {
        return None;
    }
    let by_crash = || drain.crashes(process).last().map(|crash| (Some(End::Killed(crash.signal)), "crash"));
    let by_call = || drain.exit_call(process).map(|status| (Some(End::Exited(status)), "exit_call"));
    let by_kernel = living.end_of(process).or_else(|| kin?.end_of(process)).map(|end| (Some(end), "kernel"));
    let (end, known_by) = by_kernel.or_else(by_crash).or_else(by_call).unwrap_or((None, "nobody"));
    Some(KnownEnd { end, known_by, cpu_time: None })
}
