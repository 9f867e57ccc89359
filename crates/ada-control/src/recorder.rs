//! Traces a program from its start to its end.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, RwLock};
use std::time::{Duration, Instant};

use ada_event::ImageOffset;
use ada_format::atf::RingFigures;
use ada_patch::StubOptions;
use ada_ring::detail::MAX_WINDOW;
use ada_ring::{DetailMode, DetailShape, DropReason, OnFull};

use crate::ControlError;
use crate::clock::Clock;
use crate::crash_handlers;
use crate::deadline::Deadline;
use crate::drain::{Drain, FunctionNumbers};
use crate::error::Doing;
use crate::gate::Gate;
use crate::installer::Installer;
use crate::live::{Handler, LiveServer, StatusHandler, TriggerHandler};
use crate::loader_call::WaitingThread;
use crate::maps::{self, LoadedFile};
use crate::module::Module;
use crate::probes;
use crate::remote::OpenInTarget;
use crate::ring::{SnapshotDesk, SnapshotHandler};
use crate::session::{self, SessionFiles};
use crate::shared_memory::SharedMemory;
use crate::summary;
use crate::target_memory::TargetMemory;
use crate::tracee::{self, Halt};
use crate::windows::{Roll, Trigger, TriggerList, Watch};

/// Says of a module's path, a function's name, where it has one, and its place, whether to leave it alone.
pub type Exclusion = dyn Fn(&Path, Option<&str>, ImageOffset) -> bool + Send + Sync;

/// How to trace.
pub struct TraceOptions {
    /// Where the session's folder goes.
    pub output: PathBuf,
    /// What a thread does when the rings are full.
    pub on_full: OnFull,
    /// How many chunks of 256 KiB all threads share.
    pub chunks: usize,
    /// How long hooking may take; estimated from the work where it is not said.
    pub start_up_timeout: Option<Duration>,
    /// What happens to registers and stack windows.
    pub detail: DetailMode,
    /// Bytes of the stack that are captured with a call, if detail is: at most 512.
    pub stack_window: usize,
    /// Whether vector registers are captured too, if detail is.
    pub vectors: bool,
    /// How many bytes of events and detail to keep on disk, the newest; all if it is not said.
    pub ring: Option<u64>,
    /// What opens a window of detail, if detail is kept for windows.
    pub triggers: Vec<Trigger>,
    /// How much before a trigger belongs to its window.
    pub pre_roll: Roll,
    /// How much after it does.
    pub post_roll: Roll,
    /// The most frames of a thread whose returns are caught at one time.
    pub max_depth: Option<u32>,
    /// Which modules (by path) or functions (by name) to leave alone.
    pub exclude: Box<Exclusion>,
}

/// How the traced program ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// By itself, with this exit code.
    Exited(i32),
    /// By this signal.
    Killed(i32),
}

/// What a trace came to.
pub struct TraceReport {
    /// The session's folder.
    pub session: PathBuf,
    /// Why the session is not complete, if it is not: the disk was full, for instance.
    pub failure: Option<String>,
    /// How the program ended.
    pub end: End,
    /// Events written.
    pub events: u64,
    /// Threads seen.
    pub threads: usize,
    /// Records given up, by reason.
    pub drops: Vec<(&'static str, u64)>,
    /// Functions hooked, at the start and later.
    pub hooked: usize,
    /// Functions found.
    pub found: usize,
    /// From the start of the program to its first instruction.
    pub start_up: Duration,
    /// How long threads waited for room in the rings.
    pub waited: Duration,
    /// Events that were let go, because only the newest part was to be kept.
    pub let_go: u64,
    /// Fatal signals of the program, with the function that each one hit.
    pub crashes: Vec<CrashSummary>,
}

/// A fatal signal in a few words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CrashSummary {
    /// The thread, by the kernel's id.
    pub tid: u32,
    /// The signal.
    pub signal: i32,
    /// The newest open function, if there is one: its module's file name, and its name where it has one.
    pub function: Option<String>,
}

/// Hears how a trace goes on. Called from several threads.
pub trait Progress: Sync {
    /// The program is loaded, and its files are about to be hooked; that may take so long.
    fn hooking(&self, files: usize, allowed: Duration) {
        let _ = (files, allowed);
    }
    /// The program runs.
    fn running(&self) {}
    /// So many events were written, on so many threads, and so many were given up.
    fn recorded(&self, events: u64, threads: usize, dropped: u64) {
        let _ = (events, threads, dropped);
    }
}

/// Hears nothing.
impl Progress for () {}

/// What the threads of a recording share.
struct Recording {
    installer: Mutex<Installer>,
    modules: Mutex<Vec<Module>>,
    numbers: FunctionNumbers,
    target_ended: AtomicBool,
    pool_in_target: u64,
}

/// Runs `command` to its end with every function hooked.
pub fn trace(command: Command, options: &TraceOptions, progress: &dyn Progress) -> Result<TraceReport, ControlError> {
    let command_line: Vec<String> = [command.get_program()]
        .into_iter()
        .chain(command.get_args())
        .map(|word| word.to_string_lossy().into_owned())
        .collect();
    let started = Instant::now();
    let calibration = Clock::begin();
    let mut shared =
        SharedMemory::new(options.chunks, options.on_full, options.detail).doing("making shared memory")?;
    let gate = Gate::start(command)?;
    let pid = gate.tracee.pid();
    let open = OpenInTarget::open(&gate, &shared)?;
    let shape = DetailShape { window: options.stack_window.min(MAX_WINDOW), vectors: options.vectors };
    let stubs = StubOptions {
        owner_by_word: gate.has_thread_pointer()?,
        detail: (options.detail != DetailMode::Off).then_some(shape),
    };
    let memory = TargetMemory::set_up(&gate, &open, &mut shared, gate.loader, options.max_depth, &stubs)?;
    let pool = shared.pool();
    probes::publish(pool);
    let loader_function = gate.loader.map_or(0, |loader| loader.function);
    let mut installer = Installer::new(shared, memory.entries, stubs, loader_function);

    let mut mappings = maps::of_process(pid).doing("reading the program's mappings")?;
    let files = maps::loaded_files(&mappings);
    let deadline = Deadline::new(started, &files, options.start_up_timeout);
    progress.hooking(files.len(), deadline.allowed());
    let known: HashSet<LoadedFile> = files.iter().cloned().collect();
    let images = installer.plan(files, &options.exclude, &deadline);
    deadline.check()?;
    let modules = installer.install(&gate, &open, &mut mappings, images)?;
    deadline.check()?;
    if gate.loader.is_some() {
        installer.hook_loader(&gate, &open, &mut mappings)?;
    }
    open.close(&gate)?;
    let no_crashes = crash_handlers::obstacle(&modules, options.max_depth.is_some());
    if no_crashes.is_none() {
        crash_handlers::install(&gate, &memory)?;
    }
    let mut registers = gate.tracee.registers().doing("reading registers")?;
    registers.gs_base = memory.nobodys_state;
    gate.tracee.set_registers(&registers).doing("writing registers")?;

    let mut files = SessionFiles::create(&options.output, pid)?;
    let process = files.process(pid)?;
    process.manifest_mut().command_line.clone_from(&command_line);
    summary::add_modules(&modules, process);
    process.save_manifest().map_err(session::failed)?;
    let folder = process.process_path().to_owned();
    if let Some(bytes) = options.ring {
        files.keep_newest(bytes);
    }
    let clock = calibration.finish();
    let recording = Recording {
        installer: Mutex::new(installer),
        numbers: Arc::new(RwLock::new(modules.iter().flat_map(Module::function_ids).collect())),
        modules: Mutex::new(modules),
        target_ended: AtomicBool::new(false),
        pool_in_target: memory.pool,
    };
    let command_words = command_line.clone();
    let status = StatusHandler::new(progress, pid, command_line, files.path().to_owned());
    let live = LiveServer::listen(pid);
    if let Err(error) = &live {
        files.process(pid)?.manifest_mut().limits.push(format!("this trace could not be asked: {error}").into());
    }
    let triggers = Arc::new(TriggerList::new(options.triggers.clone(), options.pre_roll, options.post_roll));
    let trigger_handler = TriggerHandler::new(triggers.clone(), options.detail);
    let desk = SnapshotDesk::default();
    let snapshots = SnapshotHandler::new(&desk, &options.output, |process, figures, writer| {
        let modules = recording.modules.lock().expect("nobody panics with the lock");
        summary::add_modules(&modules, writer);
        let folder = writer.process_path().to_owned();
        modules.iter().for_each(|module| summary::write_functions(&folder, module));
        let manifest = writer.manifest_mut();
        manifest.ring = Some(figures);
        if process == pid {
            manifest.command_line.clone_from(&command_words);
        }
    });
    let handlers: [&dyn Handler; 3] = [&status, &trigger_handler, &snapshots];
    let mut drain = Drain::new(pool, clock, recording.numbers.clone(), stubs.detail.unwrap_or_default());
    if options.detail == DetailMode::Windows {
        drain.watch_for(Watch::new(triggers.clone(), pool, clock, pid));
    }
    // Before the program runs, so that its threads know from the start what is worth keeping.
    drain.refresh_watch(&recording.modules.lock().expect("nobody panics with the lock"));
    let start_up = started.elapsed();
    progress.running();
    gate.release()?;

    let (halt, drained) = std::thread::scope(|scope| {
        let drained = scope.spawn(|| run_drain(drain, files, &recording, pool, &status, &desk));
        scope.spawn(|| {
            // The lists are not needed before somebody reads the session, so the program does not wait for them.
            let count = {
                let modules = recording.modules.lock().expect("nobody panics with the lock");
                modules.iter().for_each(|module| summary::write_functions(&folder, module));
                modules.len()
            };
            serve_loader(&recording, &known, options, pool);
            let modules = recording.modules.lock().expect("nobody panics with the lock");
            modules[count..].iter().for_each(|module| summary::write_functions(&folder, module));
        });
        if let Ok(live) = &live {
            scope.spawn(|| live.serve(scope, &handlers));
        }
        let halt = tracee::wait_with_time(pid as i32);
        live.iter().for_each(LiveServer::stop);
        recording.target_ended.store(true, Ordering::Release);
        (halt, drained.join().expect("the drain does not panic"))
    });
    let (mut drain, mut files) = drained;
    let (halt, cpu_time) = halt.doing("waiting for the program")?;
    let end = match halt {
        Halt::Killed(signal) => End::Killed(signal),
        Halt::Exited(code) | Halt::Stopped(code) => End::Exited(code),
    };
    if let End::Killed(signal) = end
        && drain.crashes(pid).is_empty()
    {
        drain.fatal_signal(pid, signal, &mut files);
    }
    drain.finish_windows(&files);
    let modules = recording.modules.into_inner().expect("nobody panics with the lock");
    let drops = dropped(&pool, &drain);
    drain.flush(&mut files);
    let figures = drain.figures();
    let threads = files.thread_count();
    let mut failure = drain.failure().map(ToString::to_string);
    let session = files.path().to_owned();
    let let_go: HashMap<u32, RingFigures> =
        files.segments().map(|ring| files.pids().map(|pid| (pid, ring.figures(pid))).collect()).unwrap_or_default();
    let finished = files.finish(|process, writer| {
        let end = (process == pid).then_some((end, cpu_time));
        summary::complete(end, &modules, &drops, &figures, drain.windows(process), writer);
        writer.manifest_mut().ring = let_go.get(&process).cloned();
        summary::add_crashes(drain.crashes(process), no_crashes, writer);
        if process != pid {
            // A fork child has its parent's images; its folder is complete in itself.
            let folder = writer.process_path().to_owned();
            modules.iter().for_each(|module| summary::write_functions(&folder, module));
        }
    });
    if let Err(error) = finished {
        failure.get_or_insert(error.to_string());
    }
    Ok(TraceReport {
        session,
        failure,
        end,
        events: drain.events(),
        threads,
        drops,
        hooked: modules.iter().map(|module| module.hooked()).sum(),
        found: modules.iter().map(|module| module.functions.len()).sum(),
        start_up,
        waited: Duration::from_nanos(drain.waited_ns()),
        let_go: let_go.values().map(|figures| figures.let_go_events).sum(),
        crashes: drain.crashes(pid).iter().map(|crash| summary::crash(crash, &modules)).collect(),
    })
}

/// Empties the rings until the target has ended and nothing is left.
fn run_drain(
    mut drain: Drain,
    mut files: SessionFiles,
    recording: &Recording,
    pool: ada_ring::Pool,
    progress: &dyn Progress,
    desk: &SnapshotDesk,
) -> (Drain, SessionFiles) {
    const QUIET: Duration = Duration::from_millis(2);
    const IN_DEMAND: Duration = Duration::from_micros(100);
    const FLUSH_EVERY: Duration = Duration::from_millis(10);
    let mut seen_exhausted = 0;
    let mut flushed = Instant::now();
    loop {
        let ended = recording.target_ended.load(Ordering::Acquire);
        drain.refresh_watch(&recording.modules.lock().expect("nobody panics with the lock"));
        let count = drain.round(&mut files, ended);
        progress.recorded(
            drain.events(),
            files.thread_count(),
            dropped(&pool, &drain).iter().map(|(_, count)| count).sum(),
        );
        if ended {
            pool.control().recorder_gone.store(1, Ordering::Release);
            desk.close();
            return (drain, files);
        }
        if desk.is_wanted() {
            drain.turn_segment(&mut files);
            desk.hand_out(&files);
        }
        if flushed.elapsed() >= FLUSH_EVERY {
            drain.flush(&mut files);
            flushed = Instant::now();
        }
        let exhausted = pool.control().exhausted.load(Ordering::Relaxed);
        if exhausted != seen_exhausted {
            // Somebody may be waiting for the chunk of a thread that has ended since.
            seen_exhausted = exhausted;
            std::thread::sleep(IN_DEMAND);
        } else if count == 0 {
            std::thread::sleep(QUIET);
        }
    }
}

fn dropped(pool: &ada_ring::Pool, drain: &Drain) -> Vec<(&'static str, u64)> {
    let control = pool.control();
    DropReason::ALL
        .iter()
        .map(|&reason| (reason.name(), control.drops[reason as usize].load(Ordering::Relaxed)))
        .chain([("torn", drain.torn()), ("detail_lost", drain.details_lost()), ("disk_full", drain.unwritten())])
        .filter(|&(_, count)| count > 0)
        .collect()
}

/// Hooks libraries as they are loaded. `first` is what the process had at its start; a fork child starts with the same.
fn serve_loader(recording: &Recording, first: &HashSet<LoadedFile>, options: &TraceOptions, pool: ada_ring::Pool) {
    let mut known: HashMap<u32, HashSet<LoadedFile>> = HashMap::new();
    while !recording.target_ended.load(Ordering::Acquire) {
        // Dropped at the end of the round, which lets the thread go on.
        let Some(thread) = WaitingThread::next(pool, recording.pool_in_target, Duration::from_millis(50)) else {
            continue;
        };
        let Ok(mut mappings) = maps::of_process(thread.pid()) else { continue };
        let now: HashSet<LoadedFile> = maps::loaded_files(&mappings).into_iter().collect();
        let before = known.entry(thread.pid()).or_insert_with(|| first.clone());
        let new: Vec<LoadedFile> = now.difference(before).cloned().collect();
        let mut installer = recording.installer.lock().expect("nobody panics with the lock");
        before.difference(&now).for_each(|gone| installer.unloaded(gone));
        *before = now;
        if new.is_empty() {
            continue;
        }
        let images = installer.plan(new, &options.exclude, &Deadline::never());
        let Ok(open) = OpenInTarget::open(&thread, &installer.shared) else { continue };
        let installed = installer.install(&thread, &open, &mut mappings, images);
        let _ = open.close(&thread);
        let Ok(new) = installed else { continue };
        let mut numbers = recording.numbers.write().expect("nobody panics with the lock");
        numbers.extend(new.iter().flat_map(Module::function_ids));
        let mut modules = recording.modules.lock().expect("nobody panics with the lock");
        for module in new {
            if modules.iter().all(|known| known.id != module.id) {
                modules.push(module);
            }
        }
    }
}
