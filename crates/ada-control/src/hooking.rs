//! Hooks a program that stands at the gate: completely, or not at all.

use std::collections::HashSet;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use ada_patch::StubOptions;
use ada_ring::detail::MAX_WINDOW;
use ada_ring::{DetailMode, DetailShape};

use crate::ControlError;
use crate::crash_handlers;
use crate::deadline::Deadline;
use crate::error::Doing;
use crate::gate::Gate;
use crate::installer::{Installer, Numbering};
use crate::maps::{self, LoadedFile};
use crate::module::Module;
use crate::plan_cache::PlanCache;
use crate::recorder::{Progress, TraceOptions};
use crate::remote::OpenInTarget;
use crate::shared_memory::SharedMemory;
use crate::target_memory::{Program, TargetMemory};

/// What all programs of a session share.
pub(crate) struct Workshop {
    pub(crate) shared: Arc<SharedMemory>,
    pub(crate) plans: PlanCache,
    numbering: Arc<Numbering>,
    next_image: AtomicU32,
}

/// A hooked program.
pub(crate) struct HookedProgram {
    pub(crate) installer: Installer,
    pub(crate) modules: Vec<Module>,
    /// The files that it had loaded by then.
    pub(crate) files: HashSet<LoadedFile>,
    /// Where it has the rings.
    pub(crate) pool_in_target: u64,
    /// Why fatal signals are not recorded, if they are not.
    pub(crate) no_crashes: Option<&'static str>,
}

impl Workshop {
    pub(crate) fn new(shared: SharedMemory, plan_folder: Option<PathBuf>) -> Self {
        let plans = PlanCache::new(plan_folder);
        Self { shared: Arc::new(shared), plans, numbering: Arc::default(), next_image: AtomicU32::new(0) }
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
        let open = OpenInTarget::open(gate, &self.shared)?;
        let program = Program {
            image: self.next_image.fetch_add(1, Ordering::Relaxed),
            loader: gate.loader,
            max_depth: options.max_depth,
            stubs: StubOptions { owner_by_word: gate.has_thread_pointer()?, detail: shape(options) },
        };
        let covered = self.shared.covered_table().doing("making a table of covered pages")?;
        let memory = TargetMemory::set_up(gate, &open, &self.shared, covered.offset, &program)?;
        let mut registers = gate.tracee.registers().doing("reading registers")?;
        registers.gs_base = memory.nobodys_state;
        gate.tracee.set_registers(&registers).doing("writing registers")?;

        let mut mappings = maps::of_process(gate.tracee.pid()).doing("reading the program's mappings")?;
        let files = maps::loaded_files(&mappings);
        let deadline = deadline(&files);
        progress.hooking(files.len(), deadline.allowed());
        let known = files.iter().cloned().collect();
        let (shared, numbering) = (self.shared.clone(), self.numbering.clone());
        let mut installer = Installer::new(shared, numbering, covered, &program, memory.entries);
        let images = installer.plan(files, &self.plans, &options.exclude, &deadline);
        deadline.check()?;
        let modules = installer.install(gate, &open, &mut mappings, images)?;
        deadline.check()?;
        if gate.loader.is_some() {
            installer.hook_loader(gate, &open, &mut mappings)?;
        }
        open.close(gate)?;
        let no_crashes = crash_handlers::obstacle(&modules, options.max_depth.is_some());
        if no_crashes.is_none() {
            crash_handlers::install(gate, &memory)?;
        }
        Ok(HookedProgram { installer, modules, files: known, pool_in_target: memory.pool, no_crashes })
    }
}

/// What the options ask to capture with each call and return.
pub(crate) fn shape(options: &TraceOptions) -> Option<DetailShape> {
    let shape = DetailShape { window: options.stack_window.min(MAX_WINDOW), vectors: options.vectors };
    (options.detail != DetailMode::Off).then_some(shape)
}
