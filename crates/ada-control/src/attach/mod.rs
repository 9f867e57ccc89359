//! Attaches to a process that runs already, and leaves it as it was.
//!
//! Files are read and planned while it runs. Then one thread is halted for a moment, to map ada's memory; the stubs are
//! written while all run again; and all are halted once more for as long as it takes to write the jumps. Nothing is
//! attached to the process while it is recorded.

mod open_calls;
mod orphaned_hooks;
mod target;

use std::collections::{BTreeSet, HashSet};
use std::ops::Range;
use std::time::{Duration, Instant};

use ada_event::{ProcessId, RuntimeAddr};
use ada_patch::StubOptions;
use ada_process::arch::time_stamp;
use ada_process::maps::{self, LoadedFile, Mapping};
use ada_process::procfs::ProcessDir;
use ada_process::ptrace::Halted;
use ada_process::{End, Pidfd, Remote};

use self::open_calls::UnwindFiles;
use self::target::RunningProgram;
use crate::deadline::Deadline;
use crate::detach::{CodeInUse, Limits, ThreadStack, Unhooked, unhook};
use crate::drain::session::SessionFiles;
use crate::error::{ControlError, Doing};
use crate::install::crash_handlers;
use crate::install::filled_images::Filled;
use crate::install::inherited_filters::InheritedFilters;
use crate::install::installer::Installer;
use crate::install::lasting_memory::LastingMemory;
use crate::install::loader_notification::{self, LoaderNotification};
use crate::install::open_frames;
use crate::install::open_in_target::{OpenInTarget, injected};
use crate::install::shared_memory::{SharedFiles, SharedMemory};
use crate::install::sites::Site;
use crate::install::target_memory::{Program, TargetMemory, WARM_CHUNKS};
use crate::launch::workshop::{HookedProgram, Workshop, shape};
use crate::live::Handler;
use crate::live::handlers::StopSwitch;
use crate::options::TraceOptions;
use crate::plan::debug_files::DebugFiles;
use crate::plan::plan_cache::PlanCache;
use crate::plan::planned_files::plan_files;
use crate::plan::planned_image::PlannedImage;
use crate::progress::Progress;
use crate::record::{Beginning, Ending, StoodStill, Subject, TraceReport, record};
use crate::tracked::{Attached, ProcessFacts, Programs};

pub use self::orphaned_hooks::{HookRemoval, OrphanedProcess, orphaned_processes, remove_orphaned_hooks};

/// Records a process that runs already, until it ends, there is enough of it, or `stop` says so. Then all hooks are removed.
pub fn attach(
    pid: ProcessId,
    options: &TraceOptions,
    until: Option<Instant>,
    stop: &StopSwitch,
    progress: &dyn Progress,
) -> Result<TraceReport, ControlError> {
    target::check(pid)?;
    take_over(pid, progress)?;
    let beginning = Beginning::now(options);
    let (workshop, hooked, files) =
        target::while_one_program_runs(pid, |running| begin(pid, options, running, progress))?;
    let Hooked { program, sites, attached, stood_still: attaching } = hooked;
    let facts = ProcessFacts {
        command_line: ProcessDir::of(pid).command_line(),
        parent: ProcessDir::of(pid).parent(),
        attached: Some(attached),
        ..ProcessFacts::default()
    };
    let own_handlers: [&dyn Handler; 1] = [stop];
    let subject = Subject { pid, program, facts, files, handlers: &own_handlers };
    let memfd = workshop.shared.memfd().doing("looking at the shared memory")?;
    let until = until.or_else(|| options.max_time.map(|time| Instant::now() + time));
    let limits = Limits { stop, until };
    let mut detaching = None;
    let wait = |programs: &Programs, process: &Pidfd| {
        while !limits.are_reached(programs) {
            if process.wait(Duration::from_millis(20)) {
                // Its children may live on.
                programs.phase.first_has_ended();
                if programs.phase.has_ended() {
                    return Ok(Ending { end: End::Unknown, cpu_time: None, trouble: None });
                }
                std::thread::sleep(Duration::from_millis(5));
            }
        }
        let end = if process.has_ended() { End::Unknown } else { End::Detached };
        let Unhooked { stood_still, kept } = limits.leave(programs, memfd, pid);
        detaching = (end == End::Detached).then_some(stood_still);
        Ok(Ending { end, cpu_time: None, trouble: (!kept.is_empty()).then(|| kept.join("; ")) })
    };
    let recorded = record(beginning, subject, &workshop, options, progress, || Ok(()), wait);
    if recorded.is_err() {
        // Nobody would read what it writes.
        unhook(&sites, memfd, BTreeSet::from([pid]));
    }
    let mut report = recorded?;
    report.stood_still = Some(StoodStill { attaching, detaching });
    Ok(report)
}

/// Plans the files that a process has loaded, and hooks them.
fn begin(
    pid: ProcessId,
    options: &TraceOptions,
    running: &RunningProgram,
    progress: &dyn Progress,
) -> Result<(Workshop, Hooked, SessionFiles), ControlError> {
    let mappings = maps::of_process(pid).doing("reading the process's mappings")?;
    let loader = find_loader(pid)?;
    let files = maps::loaded_files(&mappings);
    progress.hooking(files.len(), Duration::ZERO);
    let plans = PlanCache::new(options.plan_folder.clone());
    let loader_function = loader.map(|loader| loader.function);
    let debug_files = DebugFiles::new(options);
    debug_files.fetch(&files, None);
    let images = plan_files(files, &plans, &debug_files, loader_function, &options.exclude, &Deadline::never());
    if images.iter().any(PlannedImage::uses_gs) {
        let reason = "it uses the GS base, which ada needs".to_owned();
        return Err(ControlError::NotAttached { pid, reason });
    }

    let files = SessionFiles::create(&options.output, pid, options.store)?;
    let prepared = Prepared::in_process(pid, options, running, plans, debug_files, loader, images);
    let hooked = prepared.and_then(|prepared| prepared.hook(pid, options, running));
    let (workshop, hooked) = hooked.inspect_err(|_| {
        // It has nothing but a manifest.
        let _ = std::fs::remove_dir_all(files.path());
    })?;
    Ok((workshop, hooked, files))
}

/// Removes the hooks of an ada that was killed from a process.
fn take_over(pid: ProcessId, progress: &dyn Progress) -> Result<(), ControlError> {
    let removed = remove_orphaned_hooks(pid).map_err(|error| match error {
        ControlError::NotDetached { pid, reason } => ControlError::NotAttached { pid, reason },
        other => other,
    })?;
    let Some(HookRemoval { processes, kept, .. }) = removed else { return Ok(()) };
    if !kept.is_empty() {
        let reason = format!("it has the hooks of an ada that was killed: {}", kept.join("; "));
        return Err(ControlError::NotAttached { pid, reason });
    }
    progress.cleaned_up(processes);
    Ok(())
}

/// Addresses in the program and in its loader, which nobody unmaps.
fn first_images(pid: ProcessId) -> Vec<RuntimeAddr> {
    let address = |key| ProcessDir::of(pid).auxiliary(key).ok().flatten().map(RuntimeAddr);
    [libc::AT_PHDR, libc::AT_BASE].into_iter().filter_map(address).collect()
}

/// A process that has ada's memory, and runs as if it had not.
struct Prepared {
    workshop: Workshop,
    installer: Installer,
    filled: Filled,
    memory: TargetMemory,
    files: Vec<LoadedFile>,
    mappings: Vec<Mapping>,
    filters: InheritedFilters,
}

/// A process that is hooked, and runs.
struct Hooked {
    program: HookedProgram,
    sites: Vec<Vec<Site>>,
    attached: Attached,
    stood_still: Duration,
}

impl Prepared {
    fn in_process(
        pid: ProcessId,
        options: &TraceOptions,
        running: &RunningProgram,
        plans: PlanCache,
        debug_files: DebugFiles,
        loader: Option<LoaderNotification>,
        images: Vec<PlannedImage>,
    ) -> Result<Self, ControlError> {
        let mut mappings = maps::of_process(pid).doing("reading the process's mappings")?;
        let filters = InheritedFilters::of_running(pid, &mappings)?;
        let status = ProcessDir::of(pid).status().doing("asking whose process it is")?;
        let user = status.effective_user().unwrap_or_else(|| rustix::process::geteuid().as_raw());
        let halted = Halted::one(pid, &mappings).map_err(|error| target::refused(pid, &error))?;
        running.check()?;
        let registers = halted.threads()[0].registers().map_err(|error| target::refused(pid, &error))?;
        // A name that is there already: the zeroes in the header of an image.
        let name =
            mappings.iter().find(|mapping| mapping.path.starts_with('/')).map_or(0, |mapping| mapping.start.0 + 8);
        let rings = OpenInTarget::new(&halted, name)?;
        let code = match OpenInTarget::new(&halted, name) {
            Ok(code) => code,
            Err(error) => return rings.close(&halted).and(Err(error)),
        };
        let files = rings.file_of(pid).and_then(|rings| Ok(SharedFiles { rings, code: code.file_of(pid)? }));
        let shared = files
            .and_then(|files| SharedMemory::in_files(files, user, options.chunks, options.on_full, options.detail))
            .doing("making shared memory");
        let prepared = shared.and_then(|shared| {
            let workshop = Workshop::with_plans(shared, plans, debug_files, options);
            let thread_pointer = registers.thread_pointer();
            let mut word = [0; 8];
            let is_read = thread_pointer.0 != 0 && halted.read(thread_pointer, &mut word).is_ok();
            let owner_by_word = is_read && u64::from_le_bytes(word) == thread_pointer.0;
            let program = Program {
                id: workshop.next_program(),
                loader,
                max_depth: options.max_depth,
                stubs: StubOptions { owner_by_word, detail: shape(options) },
                warm_chunks: WARM_CHUNKS,
            };
            let lasting = LastingMemory::of_running(&mappings, &first_images(pid));
            let memory = TargetMemory::set_up(&halted, &rings, &code, &workshop.shared, &program, &lasting)?;
            filters.write(&halted, memory.process_block)?;
            let mut installer = workshop.installer(&program, &memory);
            let files = images.iter().map(|image| image.file.clone()).collect();
            let ids = images.iter().map(|image| (image.file.path.as_path(), image.build_id.as_deref()));
            installer.known = workshop.earlier_runs.of(pid, ids);
            let mut reserved = installer.reserve(&halted, &code, &mut mappings, images);
            if loader.is_some() {
                installer.reserve_loader(&halted, &code, &mut mappings, &mut reserved, None)?;
            }
            Ok((workshop, installer, reserved, memory, files))
        });
        let closed = rings.close(&halted).and(code.close(&halted));
        drop(halted);
        let (workshop, installer, reserved, memory, files) = prepared?;
        let memfd = workshop.shared.memfd();
        let filled = closed.and_then(|()| installer.fill(reserved));
        match filled {
            Ok(filled) => Ok(Self { workshop, installer, filled, memory, files, mappings, filters }),
            Err(error) => {
                memfd.iter().for_each(|&memfd| drop(unhook(&[], memfd, BTreeSet::from([pid]))));
                Err(error)
            }
        }
    }

    fn hook(
        self,
        pid: ProcessId,
        options: &TraceOptions,
        running: &RunningProgram,
    ) -> Result<(Workshop, Hooked), ControlError> {
        let Self { workshop, mut installer, mut filled, memory, files, mappings, filters } = self;
        let memfd = workshop.shared.memfd().doing("looking at the shared memory")?;
        let unwind_files = UnwindFiles::open(&files);
        let unwinder = unwind_files.unwinder();
        let hooked = (|| {
            let halted = Halted::all(pid, &mappings).map_err(|error| target::refused(pid, &error))?;
            running.check()?;
            let mappings = maps::of_process(pid).doing("reading the process's mappings")?;
            let loaded: HashSet<LoadedFile> = maps::loaded_files(&mappings).into_iter().collect();
            filled.keep(|file| loaded.contains(file));
            for thread in halted.threads() {
                let registers = thread.registers().map_err(|error| target::refused(pid, &error))?;
                if registers.spare() != 0 {
                    let reason = "it uses the GS register itself, which ada needs".to_owned();
                    return Err(ControlError::NotAttached { pid, reason });
                }
            }
            let code: Vec<Range<RuntimeAddr>> = files.iter().map(|file| file.start..file.end).collect();
            let stacks = ThreadStack::all(&halted, &mappings).doing("looking for its threads")?;
            let in_use = CodeInUse::of(&stacks, &code);
            for thread in halted.threads() {
                thread.set_spare(memory.nobodys_state.0).map_err(|error| target::refused(pid, &error))?;
            }
            let modules = installer.patch(&halted, filled, &|site| in_use.has(site))?;
            let forbidden = (!filters.allow_crash_handlers()).then_some("a seccomp filter forbids what is needed");
            let no_crashes =
                crash_handlers::obstacle(installer.signal_facts(), options.max_depth.is_some()).or(forbidden);
            if no_crashes.is_none() {
                crash_handlers::install(&halted, &memory)?;
            }
            let found = open_calls::find(&stacks, &modules, &unwinder);
            let tsc = time_stamp();
            open_frames::list(&halted, memory.process_block, &found.frames, tsc)
                .map_err(injected("listing open calls"))?;
            let attached = Attached { tsc, time: None, open_calls: found.calls, open_frames: found.frames };
            Ok((modules, loaded, no_crashes, attached, halted.release()))
        })();
        let sites = installer.sites();
        let (modules, files, no_crashes, mut attached, stood_still) = match hooked {
            Ok(hooked) => hooked,
            Err(error) => {
                unhook(&sites, memfd, BTreeSet::from([pid]));
                return Err(error);
            }
        };
        for calls in &mut attached.open_calls {
            calls.name = open_calls::name_of(pid, calls.tid);
        }
        let limits = Vec::new();
        let program = HookedProgram { installer, modules, files, no_crashes, limits };
        Ok((workshop, Hooked { program, sites, attached, stood_still }))
    }
}

fn find_loader(pid: ProcessId) -> Result<Option<LoaderNotification>, ControlError> {
    let memory = ProcessDir::of(pid).memory().map_err(|error| target::refused(pid, &error))?;
    loader_notification::find_loader(pid, |address| memory.read_u64(address))
}
