//! Puts hooks into a target: lays stubs out near each image and writes the jumps.

use std::collections::{HashMap, HashSet};
use std::ops::Range;
use std::path::PathBuf;
use std::sync::Arc;

use ada_event::{FunctionId, ModuleId, RuntimeAddr};
use ada_format::parallel::each_in_parallel;
use ada_patch::{AgentEntries, PATCH_BYTES, Patch, PatchPlan, SkipReason, StubKind, StubOptions, Verdict};
use ada_process::Remote;
use ada_process::maps::{LoadedFile, Mapping};

use crate::error::ControlError;
use crate::install::arena_list;
use crate::install::crash_handlers::SignalFacts;
use crate::install::filled_images::{Filled, FilledImage, room_for};
use crate::install::go_runtime::GoRuntime;
use crate::install::near_room::{add_mapping, map_near};
use crate::install::numbering::Numbering;
use crate::install::open_in_target::{OpenInTarget, injected};
use crate::install::ready_arena::{MappedArena, ReadyArena};
use crate::install::ready_image::{ReadyImage, ReadyLoader};
use crate::install::reserved_images::{PlannedLoader, Reserved, ReservedImage, ReservedLoader};
use crate::install::shared_memory::SharedMemory;
use crate::install::shift::Shift;
use crate::install::sites::{Site, first_bytes, write_jumps};
use crate::install::target_memory::{Program, TargetMemory};
use crate::install::thread_words;
use crate::plan::captured_functions::CapturedFunctions;
use crate::plan::earlier_runs::{KnownProgram, id_of};
use crate::plan::module::Module;
use crate::plan::planned_image::PlannedImage;
use crate::plan::switchable::{switchable_at, switchable_indexes};
use crate::plan::values::Values;
use crate::program_id::ProgramId;

/// Installs hooks for one process, at its start and whenever it loads a library.
pub(crate) struct Installer {
    pub(crate) shared: Arc<SharedMemory>,
    /// The number of the program.
    pub(crate) program: ProgramId,
    entries: AgentEntries,
    stubs: StubOptions,
    pub(crate) loader_function: Option<RuntimeAddr>,
    /// What the agent keeps for the process.
    process_block: RuntimeAddr,
    /// The agent's part of the code's memory.
    agent: Range<u64>,
    /// How many images have been given their stubs.
    arenas: usize,
    numbering: Arc<Numbering>,
    values: Arc<Values>,
    /// The number of each image, so that one that is unloaded and loaded again keeps it.
    ids: HashMap<(PathBuf, u64), ModuleId>,
    /// What was written into each file's text, for the case that it is loaded at the same address again.
    written: HashMap<LoadedFile, Written>,
    /// What leads the loader's notification function to its stub.
    loader: Option<MappedArena>,
    /// What earlier runs of the program have taught.
    pub(crate) known: KnownProgram,
}

/// An image in the process.
struct Written {
    image: Arc<ReadyImage>,
    shift: Shift,
    /// The process's own part of the shared memory.
    front: Range<u64>,
    /// The number of its arena.
    number: usize,
    /// All that was planned was done.
    is_whole: bool,
}

impl Installer {
    pub(crate) fn new(
        shared: Arc<SharedMemory>,
        numbering: Arc<Numbering>,
        values: Arc<Values>,
        program: &Program,
        memory: &TargetMemory,
    ) -> Self {
        Self {
            shared,
            program: program.id,
            entries: memory.entries,
            process_block: memory.process_block,
            agent: memory.agent.clone(),
            arenas: 0,
            stubs: program.stubs,
            loader_function: program.loader.map(|loader| loader.function),
            numbering,
            values,
            ids: HashMap::new(),
            written: HashMap::new(),
            loader: None,
            known: KnownProgram::default(),
        }
    }

    /// Hooks planned images in a target whose threads run none of their code yet.
    pub(crate) fn install(
        &mut self,
        remote: &(dyn Remote + Sync),
        open: &OpenInTarget,
        mappings: &mut Vec<Mapping>,
        images: Vec<PlannedImage>,
    ) -> Result<Vec<Module>, ControlError> {
        let reserved = self.reserve(remote, open, mappings, images);
        let filled = self.fill(reserved)?;
        self.patch(remote, filled, &|_| false)
    }

    /// Reserves room for the stubs of planned images, in the target and near them.
    pub(crate) fn reserve(
        &mut self,
        remote: &dyn Remote,
        open: &OpenInTarget,
        mappings: &mut Vec<Mapping>,
        images: Vec<PlannedImage>,
    ) -> Reserved {
        let mut reserved = Reserved { images: Vec::new(), loader: None, without_room: Vec::new() };
        for image in images {
            if self.write_again(remote, open, mappings, &image) {
                continue;
            }
            let count = image.functions.len();
            let first_function = self.numbering.number_functions(count);
            let room = room_for(count, image.exits.len());
            match self.map_room(remote, open, mappings, &image.file, room) {
                Some((arena, offset)) => reserved.images.push(ReservedImage { image, arena, offset, first_function }),
                None => reserved.without_room.push(self.without_room(image, first_function)),
            }
        }
        reserved
    }

    /// Hooks an image by what was made for another program, if there is room for it. Gives the image's module. `is_same_file`
    /// where that is certain of what is mapped.
    pub(crate) fn reuse(
        &mut self,
        remote: &dyn Remote,
        open: &OpenInTarget,
        mappings: &mut Vec<Mapping>,
        file: &LoadedFile,
        image: &Arc<ReadyImage>,
        is_same_file: bool,
    ) -> Result<Option<Module>, ControlError> {
        let shift = image.shift_to(file);
        let Some(front) = image.arena.map(shift, &self.entries, &self.shared, remote, open, mappings) else {
            return Ok(None);
        };
        let addresses = image.arena.addresses(shift);
        add_mapping(mappings, addresses.start, addresses.end - addresses.start);
        let mut module = image.module.in_program(self.program, file.clone());
        let functions = module.functions.len();
        self.shared.add_switches(front.start, module.id, functions);
        let hot = self.known.hot.of(|| module.file_id());
        let left_out = hot.map(|hot| switchable_at(&module, hot.left_out.iter().copied())).unwrap_or_default();
        let has_jump =
            |function: &FunctionId| !image.arena.jumps_of(function.symbol_index() as usize, shift).is_empty();
        self.shared.switches.note_unhooked(&left_out.into_iter().filter(has_jump).collect::<Vec<_>>());
        let different = image
            .arena
            .patch(shift, remote, is_same_file, &self.shared.switches.unhooked_of(image.module.id))
            .map_err(injected("writing hooks"))?;
        if !different.is_empty() {
            let mut verdicts = module.verdicts.to_vec();
            for site in different.iter().filter(|site| !site.is_exit) {
                verdicts[site.function] = Verdict::Skipped(SkipReason::TextDiffers);
            }
            module.verdicts = verdicts.into();
        }
        thread_words::note(remote, self.process_block, &module);
        let number = self.list(remote, image.arena.code(shift), module.first_function)?;
        self.announce_go(remote, &module)?;
        let written = Written { image: image.clone(), shift, front, number, is_whole: false };
        self.written.insert(file.clone(), written);
        Ok(Some(module))
    }

    /// The images that other programs can use too, with their files.
    pub(crate) fn whole_images(&self) -> impl Iterator<Item = (&LoadedFile, &Arc<ReadyImage>)> {
        self.written.iter().filter(|(_, written)| written.is_whole).map(|(file, written)| (file, &written.image))
    }

    /// What other programs with this loader can use.
    pub(crate) fn ready_loader(&self) -> Option<ReadyLoader> {
        let MappedArena { arena, shift, .. } = self.loader.as_ref()?;
        Some(ReadyLoader { function: shift.undo(self.loader_function?), arena: arena.clone() })
    }

    /// What the images have to do with signal actions.
    pub(crate) fn signal_facts(&self) -> impl Iterator<Item = SignalFacts> + Clone {
        self.written.values().map(|written| written.image.signals)
    }

    /// Reserves room for the stub of the loader's notification function, so that ada learns of libraries that are loaded later. It may
    /// be there from another program.
    pub(crate) fn reserve_loader(
        &mut self,
        remote: &dyn Remote,
        open: &OpenInTarget,
        mappings: &mut Vec<Mapping>,
        reserved: &mut Reserved,
        ready: Option<ReadyLoader>,
    ) -> Result<(), ControlError> {
        let Some(function) = self.loader_function else { return Ok(()) };
        if let Some(ReadyLoader { function: first, arena }) = ready {
            let shift = Shift(function.wrapping_sub(first));
            if let Some(front) = arena.map(shift, &self.entries, &self.shared, remote, open, mappings) {
                let addresses = arena.addresses(shift);
                add_mapping(mappings, addresses.start, addresses.end - addresses.start);
                reserved.loader = Some(ReservedLoader::Ready(MappedArena { arena, shift, front }));
                return Ok(());
            }
        }
        let mut code = [0; 16];
        remote.read(function, &mut code).map_err(injected("reading the loader"))?;
        let Ok(plan) = PatchPlan::at_runtime(function, &code, StubKind::Loader) else { return Ok(()) };
        let page = function.align_down(4096);
        let file = LoadedFile { path: "loader".into(), start: page, end: page + 4096 };
        let room = self.map_room(remote, open, mappings, &file, room_for(1, 0));
        let original = first_bytes(&code[(plan.at - function) as usize..]);
        reserved.loader =
            room.map(|(arena, offset)| ReservedLoader::Planned(PlannedLoader { plan, original, arena, offset }));
        Ok(())
    }

    /// Writes the stubs.
    pub(crate) fn fill(&self, reserved: Reserved) -> Result<Filled, ControlError> {
        Filled::of(reserved, &self.shared, &self.entries, &self.stubs, &self.values)
    }

    /// Leads functions to their stubs, except those that are in use.
    pub(crate) fn patch(
        &mut self,
        remote: &(dyn Remote + Sync),
        filled: Filled,
        is_in_use: &(dyn Fn(&Site) -> bool + Sync),
    ) -> Result<Vec<Module>, ControlError> {
        let done = each_in_parallel(filled.images, |mut filled| {
            // A function that is entered and left unseen would seem to go on for ever.
            let in_use: HashSet<usize> =
                filled.sites.iter().filter(|site| is_in_use(site)).map(|site| site.function).collect();
            let is_busy = |site: &Site| is_in_use(site) || !site.is_shared && in_use.contains(&site.function);
            let (busy, free): (Vec<Site>, Vec<Site>) = filled.sites.into_iter().partition(is_busy);
            for site in busy.iter().filter(|site| !site.is_exit) {
                filled.image.verdicts[site.function] = Verdict::Skipped(SkipReason::InUse);
            }
            let left_out = self.left_out_of(&filled.image, &filled.captured, &free);
            let is_written = |site: &Site| !site.is_removable() || !left_out.contains(&site.function);
            let written: Vec<Site> = free.iter().filter(|site| is_written(site)).copied().collect();
            filled.sites = free;
            let different = write_jumps(remote, &written)?;
            for site in different.iter().filter(|site| !site.is_exit) {
                filled.image.verdicts[site.function] = Verdict::Skipped(SkipReason::TextDiffers);
            }
            let is_whole = busy.is_empty() && different.is_empty();
            Ok((filled, is_whole, left_out))
        });
        let mut modules = filled.without_room;
        for filled in done {
            let (filled, is_whole, left_out) = filled.map_err(injected("writing hooks"))?;
            let FilledImage { image, first_function, arena, offset, front, sites, captured } = filled;
            let id = self.id_of(&image);
            let left_out = left_out.into_iter().map(|index| FunctionId::new(id, index as u32));
            self.shared.switches.note_unhooked(&left_out.collect::<Vec<_>>());
            let functions = image.functions.len();
            self.shared.add_switches(offset, id, functions);
            let counts = (functions, image.exits.len());
            let addresses = arena..arena + room_for(counts.0, counts.1);
            let arena = ReadyArena::new(addresses, offset, counts, front, sites);
            let number = self.list(remote, arena.code(Shift(0)), first_function)?;
            let mut module = Module::new(self.program, id, first_function, image);
            module.captured = Arc::new(captured);
            thread_words::note(remote, self.process_block, &module);
            self.announce_go(remote, &module)?;
            modules.push(module.in_program(self.program, module.file.clone()));
            let (file, front, signals) = (module.file.clone(), arena.first_front(), SignalFacts::of(&module));
            let image = Arc::new(ReadyImage { module, arena, signals });
            self.written.insert(file, Written { image, shift: Shift(0), front, number, is_whole });
        }
        if let Some(loader) = filled.loader.filter(|loader| !loader.arena.sites(loader.shift).any(|it| is_in_use(&it)))
        {
            let patched = loader.arena.patch(loader.shift, remote, false, &[]);
            patched.map_err(injected("hooking the loader"))?;
            self.loader = Some(loader);
        }
        modules.sort_by_key(|module| module.first_function);
        Ok(modules)
    }

    /// The functions of an image that have no hooks from the start, because earlier runs have shown them to be too hot: those
    /// of which every jump that matters can be left out by itself.
    fn left_out_of(&self, image: &PlannedImage, captured: &CapturedFunctions, sites: &[Site]) -> HashSet<usize> {
        let id = || id_of(&image.file.path, image.build_id.as_deref());
        let Some(hot) = self.known.hot.of(id) else { return HashSet::new() };
        let has_jump = |site: &&Site| !site.is_exit && site.is_removable();
        let with_jump: HashSet<usize> = sites.iter().filter(has_jump).map(|site| site.function).collect();
        let hot = switchable_indexes(&image.functions, &image.verdicts, captured, hot.left_out.iter().copied());
        hot.filter(|index| with_jump.contains(index)).collect()
    }

    /// Adds an arena's code to the agent's list. Gives its number there.
    fn list(
        &mut self,
        remote: &dyn Remote,
        code: Range<RuntimeAddr>,
        first_function: u32,
    ) -> Result<usize, ControlError> {
        let number = self.arenas;
        self.arenas += 1;
        arena_list::add(remote, self.process_block, number, &code, first_function)
            .map_err(injected("listing stubs"))?;
        Ok(number)
    }

    fn announce_go(&self, remote: &dyn Remote, module: &Module) -> Result<(), ControlError> {
        let announced = GoRuntime::of(module).map_or(Ok(()), |go| go.announce(remote, self.process_block));
        announced.map_err(injected("announcing goroutines"))
    }

    /// Everything that was written over code, whether it is still there or not.
    pub(crate) fn sites(&self) -> Vec<Vec<Site>> {
        let images = self.written.values().map(|written| written.image.arena.sites(written.shift).collect());
        images.chain(self.loader.iter().map(|loader| loader.arena.sites(loader.shift).collect())).collect()
    }

    /// The parts of the shared memory that its processes have mapped for it alone.
    pub(crate) fn parts(&self) -> Vec<Range<u64>> {
        let fronts = self.written.values().map(|written| &written.front);
        fronts.chain(self.loader.iter().map(|loader| &loader.front)).chain([&self.agent]).cloned().collect()
    }

    /// The parts that nobody else has, or can come to have, if this is dropped.
    pub(crate) fn last_parts(&self) -> impl Iterator<Item = Range<u64>> {
        let only_here = self.written.values().filter(|written| Arc::strong_count(&written.image) == 1);
        only_here.map(|written| written.image.arena.common())
    }

    fn map_room(
        &mut self,
        remote: &dyn Remote,
        open: &OpenInTarget,
        mappings: &mut Vec<Mapping>,
        file: &LoadedFile,
        room: u64,
    ) -> Option<(RuntimeAddr, u64)> {
        let offset = self.shared.code.reserve(room)?;
        let Some(address) = map_near(remote, open, mappings, file, room, offset) else {
            self.shared.release(offset..offset + room);
            return None;
        };
        add_mapping(mappings, address, room);
        Some((address, offset))
    }

    fn without_room(&mut self, mut image: PlannedImage, first_function: u32) -> Module {
        for verdict in &mut image.verdicts {
            if !matches!(verdict, Verdict::Skipped(_)) {
                *verdict = Verdict::Skipped(SkipReason::NoRoom);
            }
        }
        let id = self.id_of(&image);
        Module::new(self.program, id, first_function, image)
    }

    fn id_of(&mut self, image: &PlannedImage) -> ModuleId {
        let key = (image.file.path.clone(), image.table_hash);
        *self.ids.entry(key).or_insert_with(|| self.numbering.number_module())
    }

    /// A file that comes back to where it was finds its stubs still there, and only needs its jumps. A process whose
    /// sibling has loaded the file at the same address needs the mapping of the stubs, too: both were forked before.
    fn write_again(
        &self,
        remote: &dyn Remote,
        open: &OpenInTarget,
        mappings: &[Mapping],
        image: &PlannedImage,
    ) -> bool {
        let is_same = |written: &&Written| written.image.module.table_hash == image.table_hash;
        let Some(Written { image, shift, front, number, .. }) = self.written.get(&image.file).filter(is_same) else {
            return false;
        };
        let first_function = image.module.first_function;
        let (addresses, offset) = (image.arena.common_addresses(*shift), image.arena.common().start);
        let has_stubs = |mapping: &Mapping| {
            // Neighbours in memory and file are shown as one.
            self.shared.memfd().is_ok_and(|memfd| memfd.is_mapped_by(mapping))
                && mapping.start <= addresses.start
                && addresses.end <= mapping.end
                && mapping.file_offset.wrapping_add(addresses.start - mapping.start) == offset
        };
        let is_mapped =
            mappings.iter().any(has_stubs) || image.arena.map_parts(*shift, front.start, remote, open).is_ok();
        is_mapped
            && arena_list::add(remote, self.process_block, *number, &image.arena.code(*shift), first_function).is_ok()
            && write_jumps(remote, &image.arena.sites(*shift).collect::<Vec<_>>()).is_ok()
    }

    /// The jumps of a function that can be taken out one by one, its start's first, and the bytes that each replaces.
    /// None where the start has no such jump.
    pub(crate) fn jumps_of(&self, file: &LoadedFile, index: usize) -> Vec<(Patch, [u8; PATCH_BYTES])> {
        let Some(Written { image, shift, .. }) = self.written.get(file) else { return Vec::new() };
        image.arena.jumps_of(index, *shift)
    }

    /// What of a function's leads to its stubs alone, and not to those of others: its start, and its exits.
    pub(crate) fn own_sites_of(&self, file: &LoadedFile, index: usize) -> Vec<Site> {
        let Some(Written { image, shift, .. }) = self.written.get(file) else { return Vec::new() };
        image.arena.sites_of(index, *shift).filter(|site| !site.is_shared).collect()
    }
}
