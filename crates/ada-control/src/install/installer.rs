//! Puts hooks into a target: lays stubs out near each image and writes the jumps.

use std::collections::HashMap;
use std::io;
use std::ops::Range;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use ada_event::{ModuleId, RuntimeAddr};
use ada_format::parallel::each_in_parallel;
use ada_patch::{AgentEntries, Arena, EntryOnlyReason, Patch, PatchPlan, SkipReason, StubKind, StubOptions, Verdict};
use ada_process::Remote;
use ada_process::maps::{self, LoadedFile, Mapping};

use crate::deadline::Deadline;
use crate::error::ControlError;
use crate::install::covered_pages::CoveredPages;
use crate::install::function_numbers::FunctionNumbers;
use crate::install::open_in_target::OpenInTarget;
use crate::install::shared_memory::{CoveredTable, SharedMemory};
use crate::install::site_table;
use crate::install::sites::{Site, first_bytes, write_jumps};
use crate::install::target_memory::Program;
use crate::plan::module::Module;
use crate::plan::plan_cache::PlanCache;
use crate::plan::planned_image::{Exclude, PlannedImage};
use crate::plan::probes;
use crate::program_id::ProgramId;

/// Installs hooks for one process, at its start and whenever it loads a library.
pub(crate) struct Installer {
    pub(crate) shared: Arc<SharedMemory>,
    /// The number of the program.
    pub(crate) program: ProgramId,
    entries: AgentEntries,
    stubs: StubOptions,
    pub(crate) loader_function: u64,
    covered: CoveredPages,
    covered_table: CoveredTable,
    numbering: Arc<Numbering>,
    /// The number of each image, so that one that is unloaded and loaded again keeps it.
    ids: HashMap<(PathBuf, u64), ModuleId>,
    /// What was written into each file's text, for the case that it is loaded at the same place again.
    written: HashMap<LoadedFile, Written>,
    loader_site: Option<Site>,
}

/// Numbers that are unique in a session, whatever programs it traces.
#[derive(Default)]
pub(crate) struct Numbering {
    next_function: AtomicU32,
    last_module: AtomicU32,
}

/// The jumps of an image, and where the stubs are that they lead to: in the process, and in the shared memory.
struct Written {
    table_hash: u64,
    sites: Vec<Site>,
    arena: Range<u64>,
    offset: u64,
}

/// Images with places for their stubs, and those for which there is none.
pub(crate) struct Placed {
    images: Vec<PlacedImage>,
    loader: Option<PlacedLoader>,
    unplaced: Vec<Module>,
}

struct PlacedLoader {
    plan: PatchPlan<RuntimeAddr>,
    original: [u8; 5],
    arena: u64,
    offset: u64,
}

struct PlacedImage {
    image: PlannedImage,
    arena: u64,
    offset: u64,
    first_function: u32,
}

/// Images whose stubs are there, and which nothing leads to yet.
pub(crate) struct Filled {
    images: Vec<FilledImage>,
    loader: Option<Site>,
    unplaced: Vec<Module>,
}

impl Filled {
    /// Keeps files that are still loaded.
    pub(crate) fn keep(&mut self, is_loaded: impl Fn(&LoadedFile) -> bool) {
        self.images.retain(|filled| is_loaded(&filled.image.file));
    }
}

struct FilledImage {
    image: PlannedImage,
    first_function: u32,
    arena: u64,
    offset: u64,
    sites: Vec<Site>,
}

/// How often to look for room that somebody takes meanwhile: the other threads of a target that is attached to go on.
const TRIES_FOR_ROOM: usize = 64;

/// Maps a part of the shared memory close to a file, where nothing is mapped. Gives the place.
fn map_near(
    remote: &dyn Remote,
    open: &OpenInTarget,
    mappings: &[Mapping],
    file: &LoadedFile,
    room: u64,
    offset: u64,
) -> Option<u64> {
    let mut known = mappings.to_vec();
    for _ in 0..TRIES_FOR_ROOM {
        let address = maps::free_near(&known, file, room)?;
        match open.map(remote, address, room, libc::PROT_READ | libc::PROT_EXEC, offset) {
            Ok(()) => return Some(address),
            Err(error) if matches!(error.kind(), io::ErrorKind::AlreadyExists | io::ErrorKind::AddrInUse) => {
                add_mapping(&mut known, address, room);
            }
            Err(_) => return None,
        }
    }
    None
}

fn add_mapping(mappings: &mut Vec<Mapping>, start: u64, length: u64) {
    let mapping =
        Mapping { start, end: start + length, executable: true, file_offset: 0, inode: 0, path: String::new() };
    mappings.insert(mappings.partition_point(|other| other.start < start), mapping);
}

impl Installer {
    pub(crate) fn new(
        shared: Arc<SharedMemory>,
        numbering: Arc<Numbering>,
        covered_table: CoveredTable,
        program: &Program,
        entries: AgentEntries,
    ) -> Self {
        Self {
            shared,
            program: program.id,
            entries,
            stubs: program.stubs,
            loader_function: program.loader.map_or(0, |loader| loader.function),
            covered: CoveredPages::default(),
            covered_table,
            numbering,
            ids: HashMap::new(),
            written: HashMap::new(),
            loader_site: None,
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
        let placed = self.place(remote, open, mappings, images);
        let filled = self.fill(placed)?;
        self.patch(remote, filled, &|_| false)
    }

    /// Gives planned images their places in the target.
    pub(crate) fn place(
        &mut self,
        remote: &dyn Remote,
        open: &OpenInTarget,
        mappings: &mut Vec<Mapping>,
        images: Vec<PlannedImage>,
    ) -> Placed {
        let mut placed = Placed { images: Vec::new(), loader: None, unplaced: Vec::new() };
        for image in images {
            for range in &image.covered {
                let range = range.start.wrapping_add(image.bias)..range.end.wrapping_add(image.bias);
                self.covered.mark(&mut self.covered_table.bytes, range, true);
            }
            if self.write_again(remote, open, mappings, &image) {
                continue;
            }
            let count = image.functions.len();
            let first_function =
                self.numbering.next_function.fetch_add(FunctionNumbers::taken_by(count), Ordering::Relaxed);
            let room = room_for(count, image.exits.len());
            match self.map_room(remote, open, mappings, &image.file, room) {
                Some((arena, offset)) => placed.images.push(PlacedImage { image, arena, offset, first_function }),
                None => placed.unplaced.push(self.unplaced(image, first_function)),
            }
        }
        placed
    }

    /// Gives the stub of the loader's notification function its place, so that libraries loaded later are heard of.
    pub(crate) fn place_loader(
        &mut self,
        remote: &dyn Remote,
        open: &OpenInTarget,
        mappings: &mut Vec<Mapping>,
        placed: &mut Placed,
    ) -> Result<(), ControlError> {
        let function = self.loader_function;
        let mut code = [0; 16];
        remote.read(function, &mut code).map_err(crate::install::open_in_target::injected("reading the loader"))?;
        let Ok(plan) = PatchPlan::at_runtime(RuntimeAddr(function), &code, StubKind::Loader) else { return Ok(()) };
        let page = function & !4095;
        let file = LoadedFile { path: "loader".into(), start: page, end: page + 4096 };
        let room = self.map_room(remote, open, mappings, &file, room_for(1, 0));
        let original = first_bytes(&code[(plan.at.0 - function) as usize..]);
        placed.loader = room.map(|(arena, offset)| PlacedLoader { plan, original, arena, offset });
        Ok(())
    }

    /// Writes the stubs.
    pub(crate) fn fill(&self, placed: Placed) -> Result<Filled, ControlError> {
        let (shared, entries, stubs) = (&*self.shared, &self.entries, &self.stubs);
        let images = each_in_parallel(placed.images, |image| fill(shared, entries, stubs, image));
        let loader = match placed.loader {
            None => None,
            Some(PlacedLoader { plan, original, arena, offset }) => {
                let mut arena = Arena::new(RuntimeAddr(arena), entries, stubs, 1, 0)?;
                let site = arena.add(&plan, 0, 0, None).ok();
                let site = site.map(|site| Site { site, originals: [original, [0; 5]], function: 0, is_exit: false });
                write_arena(shared, offset, room_for(1, 0), arena, site.as_slice())?;
                site
            }
        };
        Ok(Filled { images: images.into_iter().collect::<Result<_, _>>()?, loader, unplaced: placed.unplaced })
    }

    /// Leads functions to their stubs, except those that are in use.
    pub(crate) fn patch(
        &mut self,
        remote: &(dyn Remote + Sync),
        filled: Filled,
        is_in_use: &(dyn Fn(&Site) -> bool + Sync),
    ) -> Result<Vec<Module>, ControlError> {
        let done = each_in_parallel(filled.images, |mut filled| {
            let (busy, free): (Vec<Site>, Vec<Site>) = filled.sites.into_iter().partition(is_in_use);
            for site in busy.iter().filter(|site| !site.is_exit) {
                filled.image.verdicts[site.function] = Verdict::Skipped(SkipReason::InUse);
            }
            filled.sites = free;
            let different = write_jumps(remote, &filled.sites)?;
            for site in different.iter().filter(|site| !site.is_exit) {
                filled.image.verdicts[site.function] = Verdict::Skipped(SkipReason::TextDiffers);
            }
            Ok(filled)
        });
        let mut modules = filled.unplaced;
        for filled in done {
            let FilledImage { image, first_function, arena, offset, sites } =
                filled.map_err(crate::install::open_in_target::injected("writing hooks"))?;
            let id = self.id_of(&image);
            let known = self.shared.add_switches(offset, id, image.functions.len());
            known.map_err(|source| ControlError::System { doing: "mapping switches", source })?;
            let arena = arena..arena + room_for(image.functions.len(), image.exits.len());
            let written = Written { table_hash: image.table_hash, sites, arena, offset };
            self.written.insert(image.file.clone(), written);
            modules.push(Module::new(self.program, id, first_function, image));
        }
        if let Some(site) = filled.loader.filter(|site| !is_in_use(site)) {
            write_jumps(remote, &[site]).map_err(crate::install::open_in_target::injected("hooking the loader"))?;
            self.loader_site = Some(site);
        }
        modules.sort_by_key(|module| module.first_function);
        Ok(modules)
    }

    /// Everything that was written over code, whether it is still there or not.
    pub(crate) fn sites(&self) -> impl Iterator<Item = &[Site]> {
        let images = self.written.values().map(|written| &*written.sites);
        images.chain([self.loader_site.as_slice()])
    }

    /// The parts of the shared memory that its processes have mapped for it alone.
    pub(crate) fn parts(&self) -> Vec<Range<u64>> {
        let table = self.covered_table.offset;
        let arenas = self.written.values().map(|it| it.offset..it.offset + (it.arena.end - it.arena.start));
        arenas.chain(std::iter::once(table..table + self.covered_table.bytes.len() as u64)).collect()
    }

    fn map_room(
        &mut self,
        remote: &dyn Remote,
        open: &OpenInTarget,
        mappings: &mut Vec<Mapping>,
        file: &LoadedFile,
        room: u64,
    ) -> Option<(u64, u64)> {
        let offset = self.shared.reserve(room)?;
        let Some(address) = map_near(remote, open, mappings, file, room, offset) else {
            self.shared.release(offset..offset + room);
            return None;
        };
        // A call that a probed function makes as its last returns to that function's stub.
        self.covered.mark(&mut self.covered_table.bytes, address..address + room, true);
        add_mapping(mappings, address, room);
        Some((address, offset))
    }

    fn unplaced(&mut self, mut image: PlannedImage, first_function: u32) -> Module {
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
        let next = || ModuleId(self.numbering.last_module.fetch_add(1, Ordering::Relaxed) + 1);
        *self.ids.entry(key).or_insert_with(next)
    }

    /// A file that comes back to where it was finds its stubs still there, and only needs its jumps. A process whose
    /// sibling has loaded the file at the same place needs the mapping of the stubs, too: both were forked before.
    fn write_again(
        &self,
        remote: &dyn Remote,
        open: &OpenInTarget,
        mappings: &[Mapping],
        image: &PlannedImage,
    ) -> bool {
        let Some(written) = self.written.get(&image.file).filter(|known| known.table_hash == image.table_hash) else {
            return false;
        };
        let (arena, offset) = (&written.arena, written.offset);
        let has_stubs = |mapping: &Mapping| {
            // Neighbours in memory and file are shown as one.
            self.shared.memfd().is_ok_and(|memfd| memfd.is_mapped_by(mapping))
                && mapping.start <= arena.start
                && arena.end <= mapping.end
                && mapping.file_offset.wrapping_add(arena.start - mapping.start) == offset
        };
        let protection = libc::PROT_READ | libc::PROT_EXEC;
        let is_mapped = mappings.iter().any(has_stubs)
            || open.map(remote, arena.start, arena.end - arena.start, protection, offset).is_ok();
        is_mapped && write_jumps(remote, &written.sites).is_ok()
    }

    /// The jump of a function that has one of its own, and the bytes that it replaces.
    pub(crate) fn jump_of(&self, file: &LoadedFile, index: usize) -> Option<(Patch, [u8; 5])> {
        let found = self.written.get(file)?.sites.iter().find(|site| site.function == index && !site.is_exit)?;
        found.site.relay.is_none().then_some((found.site.jump, found.originals[0]))
    }

    /// Forgets that the pages of an unloaded file had code: something else may come there.
    pub(crate) fn unloaded(&mut self, file: &LoadedFile) {
        self.covered.mark(&mut self.covered_table.bytes, file.start..file.end, false);
    }
}

/// Plans files, the largest first, on all processors; `loader_function` is where the loader tells of new ones. Past the
/// deadline, those that are left are not planned.
pub(crate) fn plan(
    mut files: Vec<LoadedFile>,
    cache: &PlanCache,
    loader_function: u64,
    exclude: Exclude<'_>,
    deadline: &Deadline,
) -> Vec<PlannedImage> {
    files.sort_by_key(|file| std::cmp::Reverse(file.end - file.start));
    let planned = each_in_parallel(files, |file| {
        let plan = || PlannedImage::plan(file, cache, loader_function, exclude).ok();
        if deadline.has_passed() { None } else { deadline.work(plan) }
    });
    let mut planned: Vec<PlannedImage> = planned.into_iter().flatten().collect();
    planned.sort_by_key(|image| image.file.start);
    planned
}

fn fill(
    shared: &SharedMemory,
    entries: &AgentEntries,
    stubs: &StubOptions,
    placed: PlacedImage,
) -> Result<FilledImage, ControlError> {
    let PlacedImage { mut image, arena: address, offset, first_function } = placed;
    let mut arena = Arena::new(RuntimeAddr(address), entries, stubs, image.functions.len(), image.exits.len())?;
    let mut sites = Vec::with_capacity(image.plans.len());
    for ((index, plan), originals) in image.plans.iter().zip(&image.originals) {
        let probe = probes::number_of(&image.functions, *index);
        match arena.add(&plan.at_bias(image.bias), *index, first_function + *index as u32, probe) {
            Ok(site) => sites.push(Site { site, originals: *originals, function: *index, is_exit: false }),
            Err(reason) => image.verdicts[*index] = Verdict::Skipped(reason),
        }
    }
    for (exit, originals) in &image.exits {
        let function = exit.function as usize;
        match arena.add_exit(&exit.at_bias(image.bias)) {
            Ok(site) => sites.push(Site { site, originals: *originals, function, is_exit: true }),
            Err(_) => image.verdicts[function] = Verdict::EntryOnly(EntryOnlyReason::UnseenExits),
        }
    }
    sites.sort_unstable_by_key(|site| site.site.jump.at);
    write_arena(shared, offset, room_for(image.functions.len(), image.exits.len()), arena, &sites)?;
    Ok(FilledImage { image, first_function, arena: address, offset, sites })
}

/// Bytes of an arena with this many functions and exits, and of the table of its sites.
fn room_for(functions: usize, exits: usize) -> u64 {
    Arena::room_for(functions, exits) as u64 + site_table::room_for(functions + exits)
}

/// Writes stubs, and which sites will lead to them.
fn write_arena(
    shared: &SharedMemory,
    offset: u64,
    room: u64,
    arena: Arena,
    sites: &[Site],
) -> Result<(), ControlError> {
    let table = site_table::bytes_of(sites, room);
    let written = shared.write_code(offset + room - table.len() as u64, &table);
    let mut parts = arena.finish().into_iter();
    written
        .and_then(|()| parts.try_for_each(|(distance, bytes)| shared.write_code(offset + distance as u64, &bytes)))
        .map_err(|source| ControlError::System { doing: "writing stubs", source })
}
