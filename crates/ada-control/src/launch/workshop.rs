//! Hooks a program that stands at the gate: completely, or not at all.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use ada_event::{ModuleId, RuntimeAddr};
use ada_image::Image;
use ada_patch::StubOptions;
use ada_process::maps::{self, LoadedFile, Mapping};
use ada_ring::detail::MAX_WINDOW;
use ada_ring::{DetailMode, DetailShape};

use crate::deadline::Deadline;
use crate::error::{ControlError, Doing};
use crate::install::crash_handlers;
use crate::install::heartbeat::Heartbeat;
use crate::install::inherited_filters::InheritedFilters;
use crate::install::installer::Installer;
use crate::install::lasting_memory::LastingMemory;
use crate::install::numbering::Numbering;
use crate::install::open_in_target::OpenInTarget;
use crate::install::ready_image::{ReadyImage, ReadyImages, ReadyKey};
use crate::install::shared_memory::SharedMemory;
use crate::install::target_memory::{Program, TargetMemory, WARM_CHUNKS};
use crate::launch::gate::Gate;
use crate::options::TraceOptions;
use crate::plan::debug_files::DebugFiles;
use crate::plan::earlier_runs::EarlierRuns;
use crate::plan::image_file::ImageFile;
use crate::plan::module::Module;
use crate::plan::plan_cache::PlanCache;
use crate::plan::planned_files::plan_files;
use crate::plan::planned_image::PlannedImage;
use crate::plan::probes;
use crate::plan::values::Values;
use crate::program_id::ProgramId;
use crate::progress::Progress;

/// What all programs of a session share.
pub(crate) struct Workshop {
    pub(crate) heartbeat: Heartbeat,
    pub(crate) shared: Arc<SharedMemory>,
    pub(crate) plans: PlanCache,
    pub(crate) debug_files: DebugFiles,
    /// What was made for one program and serves others.
    pub(crate) ready: ReadyImages,
    numbering: Arc<Numbering>,
    pub(crate) values: Arc<Values>,
    /// What earlier runs have taught, where that is to be used.
    pub(crate) earlier_runs: EarlierRuns,
    next_program: AtomicU32,
}

/// A hooked program.
pub(crate) struct HookedProgram {
    pub(crate) installer: Installer,
    pub(crate) modules: Vec<Module>,
    /// The files that it had loaded by then.
    pub(crate) files: HashSet<LoadedFile>,
    /// Why fatal signals are not recorded, if they are not.
    pub(crate) no_crashes: Option<&'static str>,
    /// What else is not recorded.
    pub(crate) limits: Vec<String>,
}

/// A program that has its memory and its plans, and no hooks yet.
pub(crate) struct PreparedProgram {
    code: OpenInTarget,
    memory: TargetMemory,
    mappings: Vec<Mapping>,
    files: HashSet<LoadedFile>,
    deadline: Deadline,
    installer: Installer,
    images: Vec<PlannedImage>,
    /// Files with what there is of them from other programs.
    ready: Vec<(LoadedFile, Vec<Arc<ReadyImage>>)>,
    keys: HashMap<LoadedFile, ReadyKey>,
    /// The GS base is ada's to use.
    has_gs: bool,
    /// Why fatal signals cannot be recorded, as far as that is known.
    no_crashes: Option<&'static str>,
}

impl Workshop {
    pub(crate) fn new(shared: SharedMemory, options: &TraceOptions) -> Self {
        let plans = PlanCache::new(options.plan_folder.clone());
        Self::with_plans(shared, plans, DebugFiles::new(options), options)
    }

    /// The same with plans that were made before, and debug files that were fetched.
    pub(crate) fn with_plans(
        shared: SharedMemory,
        plans: PlanCache,
        debug_files: DebugFiles,
        options: &TraceOptions,
    ) -> Self {
        probes::publish(shared.pool(), options.follow);
        let shared = Arc::new(shared);
        let values = Arc::new(Values::new(options, shared.pool()));
        let heartbeat = Heartbeat::start(shared.clone());
        let ready = ReadyImages::default();
        let (numbering, next_program) = (Arc::default(), AtomicU32::new(0));
        let earlier_runs = EarlierRuns::new(options.plan_folder.clone(), options.learning_budget());
        Self { heartbeat, shared, plans, debug_files, ready, numbering, values, earlier_runs, next_program }
    }

    /// The number of the next program.
    pub(crate) fn next_program(&self) -> ProgramId {
        ProgramId(self.next_program.fetch_add(1, Ordering::Relaxed))
    }

    /// What hooks a program whose memory is set up.
    pub(crate) fn installer(&self, program: &Program, memory: &TargetMemory) -> Installer {
        Installer::new(self.shared.clone(), self.numbering.clone(), self.values.clone(), program, memory)
    }

    /// Hooks the program. Where that fails it can still be let go as it is: a program that has its GS base and its
    /// memory runs with whatever hooks were written.
    pub(crate) fn hook(
        &self,
        gate: &Gate,
        options: &TraceOptions,
        deadline: impl FnOnce(&[LoadedFile]) -> Deadline,
        progress: &dyn Progress,
    ) -> Result<HookedProgram, ControlError> {
        let prepared = self.prepare(gate, options, &HashSet::new(), deadline, progress)?;
        self.install(gate, options, prepared)
    }

    /// The first half of hooking: the program gets its memory, and its files are planned, unless they are ready from another
    /// program. `taken` are the numbers of modules that the process has had. Any number of programs may be prepared at once.
    pub(crate) fn prepare(
        &self,
        gate: &Gate,
        options: &TraceOptions,
        taken: &HashSet<ModuleId>,
        deadline: impl FnOnce(&[LoadedFile]) -> Deadline,
        progress: &dyn Progress,
    ) -> Result<PreparedProgram, ControlError> {
        let filters = InheritedFilters::of(&gate.tracee)?;
        let pid = gate.tracee.pid();
        let rings = self.shared.rings.of_process(pid).doing("making rings for its user")?;
        self.shared.rings.give(pid, rings);
        let may_be_given = |error| if filters.allow_giving() { Ok(()) } else { Err(error) };
        let rings = OpenInTarget::rings(gate, rings).or_else(|error| {
            may_be_given(error)?;
            OpenInTarget::given(gate, pid, rings.file())
        })?;
        let code = OpenInTarget::code(gate, &self.shared).or_else(|error| {
            may_be_given(error)?;
            OpenInTarget::given(gate, pid, &self.shared.code.open_to_read().doing("opening ada's code")?)
        })?;
        let id = self.next_program();
        let program = Program {
            id,
            loader: gate.loader,
            max_depth: options.max_depth,
            stubs: StubOptions { owner_by_word: gate.has_thread_pointer()?, detail: shape(options) },
            warm_chunks: if id.0 == 0 { WARM_CHUNKS } else { 0 },
        };
        let mappings = || maps::of_process(pid).doing("reading the program's mappings");
        let lasting = LastingMemory::at_start(&mappings()?);
        let memory = TargetMemory::set_up(gate, &rings, &code, &self.shared, &program, &lasting)?;
        rings.close(gate)?;
        filters.write(gate, memory.process_block)?;

        let mappings = mappings()?;
        let files = maps::loaded_files(&mappings);
        let deadline = deadline(&files);
        progress.hooking(files.len(), deadline.allowed());
        let known = files.iter().cloned().collect();
        let installer = self.installer(&program, &memory);
        let loader_function = gate.loader.map(|loader| loader.function);
        let owner_by_word = program.stubs.owner_by_word;
        let mut ready = Vec::new();
        let mut new = Vec::new();
        let mut keys = HashMap::new();
        for file in files {
            let key = ReadyKey::of(&file, loader_function, owner_by_word);
            let images = key.as_ref().map_or_else(Vec::new, |key| self.ready.find(key, taken));
            key.into_iter().for_each(|key| drop(keys.insert(file.clone(), key)));
            if images.is_empty() {
                new.push(file);
            } else {
                ready.push((file, images));
            }
        }
        self.debug_files.fetch(&new, deadline.half_of_rest());
        let plan = |files: Vec<LoadedFile>| self.plan(files, loader_function, options, &deadline);
        let mut images = plan(new);
        let has_gs = !images.iter().any(PlannedImage::uses_gs);
        if has_gs {
            let mut registers = gate.tracee.registers().doing("reading registers")?;
            registers.set_spare(memory.nobodys_state.0);
            gate.tracee.set_registers(&registers).doing("writing registers")?;
        } else {
            images.extend(plan(ready.drain(..).map(|(file, _)| file).collect()));
            images.iter_mut().for_each(PlannedImage::leave_gs_alone);
        }
        deadline.check()?;
        let no_crashes = if !has_gs {
            Some("the program uses the GS base, which ada needs; none of its functions is hooked")
        } else if !filters.allow_crash_handlers() {
            Some("a seccomp filter forbids what is needed")
        } else {
            None
        };
        let files = known;
        Ok(PreparedProgram {
            code,
            memory,
            mappings,
            files,
            deadline,
            installer,
            images,
            ready,
            keys,
            has_gs,
            no_crashes,
        })
    }

    /// Plans files, with the debug files that are there by now.
    pub(crate) fn plan(
        &self,
        files: Vec<LoadedFile>,
        loader_function: Option<RuntimeAddr>,
        options: &TraceOptions,
        deadline: &Deadline,
    ) -> Vec<PlannedImage> {
        plan_files(files, &self.plans, &self.debug_files, loader_function, &options.exclude, deadline)
    }

    /// The second half: functions are numbered, and hooked. One program at a time, so that whoever knows a number knows all
    /// below it.
    pub(crate) fn install(
        &self,
        gate: &Gate,
        options: &TraceOptions,
        prepared: PreparedProgram,
    ) -> Result<HookedProgram, ControlError> {
        let PreparedProgram {
            code, memory, mut mappings, files, deadline, mut installer, mut images, ready, keys, ..
        } = prepared;
        let new = images.iter().map(|image| (image.file.path.as_path(), image.build_id.as_deref()));
        let known = ready.iter().filter_map(|(file, images)| {
            let build_id = images.first()?.module.build_id.as_deref();
            Some((file.path.as_path(), build_id))
        });
        installer.known = self.earlier_runs.of(gate.tracee.pid(), new.chain(known));
        let mut reused = Vec::new();
        for (file, candidates) in ready {
            let is_same = keys.get(&file).is_some_and(|key| key.is_mapped(&file, &mappings));
            // The same file may be loaded twice.
            let is_taken = |image: &ReadyImage| reused.iter().any(|module: &Module| module.id == image.module.id);
            let mut module = None;
            for image in candidates.iter().filter(|image| !is_taken(image)) {
                module = deadline.work(|| installer.reuse(gate, &code, &mut mappings, &file, image, is_same))?;
                if module.is_some() {
                    break;
                }
            }
            match module {
                Some(module) => reused.push(module),
                // There is something else where its stubs would be.
                None => {
                    let loader_function = gate.loader.map(|loader| loader.function);
                    images.extend(self.plan(vec![file], loader_function, options, &deadline));
                }
            }
        }
        let mut reserved = installer.reserve(gate, &code, &mut mappings, images);
        if gate.loader.is_some() && prepared.has_gs {
            let loader = keys.values().find(|key| key.is_loader()).and_then(|key| self.ready.loader(key));
            installer.reserve_loader(gate, &code, &mut mappings, &mut reserved, loader)?;
        }
        let filled = deadline.work(|| installer.fill(reserved))?;
        deadline.check()?;
        let mut modules = deadline.work(|| installer.patch(gate, filled, &|_| false))?;
        deadline.check()?;
        code.close(gate)?;
        for (file, image) in installer.whole_images() {
            keys.get(file).into_iter().for_each(|key| self.ready.keep(key.clone(), image.clone()));
        }
        if let Some((loader, key)) = installer.ready_loader().zip(keys.values().find(|key| key.is_loader())) {
            self.ready.keep_loader(key.clone(), loader);
        }
        let limits = modules.iter().filter_map(|module| run_before_hooks(&module.file)).collect();
        modules.extend(reused);
        let no_crashes = prepared
            .no_crashes
            .or_else(|| crash_handlers::obstacle(installer.signal_facts(), options.max_depth.is_some()));
        if no_crashes.is_none() {
            crash_handlers::install(gate, &memory)?;
        }
        Ok(HookedProgram { installer, modules, files, no_crashes, limits })
    }
}

/// What of a file has run before the gate, in the words of a limit.
fn run_before_hooks(file: &LoadedFile) -> Option<String> {
    let bytes = ImageFile::open(&file.path).ok()?;
    let resolvers = Image::parse(bytes.bytes()).ok()?.resolvers_at_start();
    let (path, names) = (file.path.display(), resolvers.join(", "));
    let says = || format!("the loader ran the IFUNC resolvers of {path} before they were hooked: {names}");
    (!resolvers.is_empty()).then(says)
}

/// What the options ask to capture with each call and return.
pub(crate) fn shape(options: &TraceOptions) -> Option<DetailShape> {
    let shape = DetailShape {
        window: options.stack_window.min(MAX_WINDOW),
        vectors: options.vectors,
        probes_too: options.detail == DetailMode::All,
    };
    (options.detail != DetailMode::Off).then_some(shape)
}
