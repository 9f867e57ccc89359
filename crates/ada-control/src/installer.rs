//! Puts hooks into a target: lays stubs out near each image and writes the jumps.

use std::collections::HashMap;
use std::io;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};

use ada_event::{ModuleId, RuntimeAddr};
use ada_patch::{AgentEntries, Arena, HookSite, Patch, PatchPlan, SkipReason, StubKind, StubOptions, Verdict};

use crate::ControlError;
use crate::covered_pages::CoveredPages;
use crate::deadline::Deadline;
use crate::image_plan::Originals;
use crate::maps::{self, LoadedFile, Mapping};
use crate::module::Module;
use crate::plan_cache::PlanCache;
use crate::planned_image::{Exclude, PlannedImage};
use crate::probes;
use crate::remote::{OpenInTarget, Remote};
use crate::shared_memory::{CoveredTable, SharedMemory};
use crate::target_memory::Program;

/// Installs hooks for one process, at its start and whenever it loads a library.
pub(crate) struct Installer {
    pub(crate) shared: Arc<SharedMemory>,
    /// The number of the program.
    pub(crate) image: u32,
    entries: AgentEntries,
    stubs: StubOptions,
    loader_function: u64,
    covered: CoveredPages,
    covered_table: CoveredTable,
    numbering: Arc<Numbering>,
    /// The number of each image, so that one that is unloaded and loaded again keeps it.
    ids: HashMap<(PathBuf, u64), ModuleId>,
    /// What was written into each file's text, for the case that it is loaded at the same place again.
    written: HashMap<LoadedFile, Written>,
}

/// Numbers that are unique in a session, whatever programs it traces.
#[derive(Default)]
pub(crate) struct Numbering {
    next_function: AtomicU32,
    last_module: AtomicU32,
}

/// The jumps of an image.
struct Written {
    table_hash: u64,
    sites: Vec<Site>,
}

/// The patches of a hook, the bytes that they replace, and the number of its function in the image.
type Site = (HookSite, Originals, usize);

/// An image with a place for its stubs.
struct Placed {
    image: PlannedImage,
    arena: u64,
    offset: u64,
    first_function: u32,
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
            image: program.image,
            entries,
            stubs: program.stubs,
            loader_function: program.loader.map_or(0, |loader| loader.function),
            covered: CoveredPages::default(),
            covered_table,
            numbering,
            ids: HashMap::new(),
            written: HashMap::new(),
        }
    }

    /// Plans files, the largest first, on all processors. Past the deadline, those that are left are not planned.
    pub(crate) fn plan(
        &self,
        mut files: Vec<LoadedFile>,
        cache: &PlanCache,
        exclude: Exclude<'_>,
        deadline: &Deadline,
    ) -> Vec<PlannedImage> {
        files.sort_by_key(|file| std::cmp::Reverse(file.end - file.start));
        let planned = in_parallel(files, |file| {
            if deadline.has_passed() {
                None
            } else {
                PlannedImage::plan(file, cache, self.loader_function, exclude).ok()
            }
        });
        let mut planned: Vec<PlannedImage> = planned.into_iter().flatten().collect();
        planned.sort_by_key(|image| image.file.start);
        planned
    }

    /// Hooks planned images in a target whose threads run none of their code yet.
    pub(crate) fn install(
        &mut self,
        remote: &(dyn Remote + Sync),
        open: &OpenInTarget,
        mappings: &mut Vec<Mapping>,
        images: Vec<PlannedImage>,
    ) -> Result<Vec<Module>, ControlError> {
        let mut modules = Vec::new();
        let mut placed = Vec::new();
        for image in images {
            for range in &image.covered {
                let range = range.start.wrapping_add(image.bias)..range.end.wrapping_add(image.bias);
                self.covered.mark(&mut self.covered_table.bytes, range, true);
            }
            if self.write_again(remote, &image) {
                continue;
            }
            let count = image.functions.len();
            let first_function = self.numbering.next_function.fetch_add(count as u32, Ordering::Relaxed);
            match self.place(remote, open, mappings, &image) {
                Some((arena, offset)) => placed.push(Placed { image, arena, offset, first_function }),
                None => modules.push(self.unplaced(image, first_function)),
            }
        }
        let shared = &*self.shared;
        let (entries, stubs) = (&self.entries, &self.stubs);
        let done = in_parallel(placed, |placed| fill_and_patch(remote, shared, entries, stubs, placed));
        for result in done {
            let (image, first_function, offset, sites) = result?;
            let id = self.id_of(&image);
            let known = self.shared.add_switches(offset, id, image.functions.len());
            known.map_err(|source| ControlError::System { doing: "mapping switches", source })?;
            self.written.insert(image.file.clone(), Written { table_hash: image.table_hash, sites });
            modules.push(Module::new(self.image, id, first_function, image));
        }
        modules.sort_by_key(|module| module.first_function);
        Ok(modules)
    }

    /// Hooks the loader's notification function, so that libraries loaded later are heard of.
    pub(crate) fn hook_loader(
        &mut self,
        remote: &dyn Remote,
        open: &OpenInTarget,
        mappings: &mut Vec<Mapping>,
    ) -> Result<(), ControlError> {
        let function = self.loader_function;
        let mut code = [0; 16];
        remote.read(function, &mut code).map_err(crate::remote::injected("reading the loader"))?;
        let Ok(plan) = PatchPlan::at_runtime(function, &code, StubKind::Loader) else { return Ok(()) };
        let page = function & !4095;
        let file = LoadedFile { path: "loader".into(), start: page, end: page + 4096 };
        let room = Arena::room_for(1) as u64;
        let Some((address, offset)) = self.map_room(remote, open, mappings, &file, room) else { return Ok(()) };
        let mut arena = Arena::new(RuntimeAddr(address), &self.entries, &self.stubs, 1)?;
        if let Ok(site) = arena.add(&plan, 0, 0, 0, None) {
            write_arena(&self.shared, offset, arena)?;
            let jump = site.jump;
            remote.write(jump.at.0, jump.bytes()).map_err(crate::remote::injected("hooking the loader"))?;
        }
        Ok(())
    }

    fn place(
        &mut self,
        remote: &dyn Remote,
        open: &OpenInTarget,
        mappings: &mut Vec<Mapping>,
        image: &PlannedImage,
    ) -> Option<(u64, u64)> {
        let room = Arena::room_for(image.functions.len());
        self.map_room(remote, open, mappings, &image.file, room as u64)
    }

    fn map_room(
        &mut self,
        remote: &dyn Remote,
        open: &OpenInTarget,
        mappings: &mut Vec<Mapping>,
        file: &LoadedFile,
        room: u64,
    ) -> Option<(u64, u64)> {
        let address = maps::free_near(mappings, file, room)?;
        let offset = self.shared.reserve(room)?;
        open.map(remote, address, room, libc::PROT_READ | libc::PROT_EXEC, offset).ok()?;
        // A call that a probed function makes as its last returns to that function's stub.
        self.covered.mark(&mut self.covered_table.bytes, address..address + room, true);
        let mapping =
            Mapping { start: address, end: address + room, executable: true, file_offset: 0, path: String::new() };
        let place = mappings.partition_point(|other| other.start < address);
        mappings.insert(place, mapping);
        Some((address, offset))
    }

    fn unplaced(&mut self, mut image: PlannedImage, first_function: u32) -> Module {
        for verdict in &mut image.verdicts {
            if !matches!(verdict, Verdict::Skipped(_)) {
                *verdict = Verdict::Skipped(SkipReason::NoRoom);
            }
        }
        let id = self.id_of(&image);
        Module::new(self.image, id, first_function, image)
    }

    fn id_of(&mut self, image: &PlannedImage) -> ModuleId {
        let key = (image.file.path.clone(), image.table_hash);
        let next = || ModuleId(self.numbering.last_module.fetch_add(1, Ordering::Relaxed) + 1);
        *self.ids.entry(key).or_insert_with(next)
    }

    /// A file that comes back to where it was finds its stubs still there, and only needs its jumps.
    fn write_again(&self, remote: &dyn Remote, image: &PlannedImage) -> bool {
        let Some(written) = self.written.get(&image.file) else { return false };
        written.table_hash == image.table_hash && write_jumps(remote, &written.sites).is_ok()
    }

    /// The jump of a function that has one of its own, and the bytes that it replaces.
    pub(crate) fn jump_of(&self, file: &LoadedFile, index: usize) -> Option<(Patch, [u8; 5])> {
        let (site, originals, _) = self.written.get(file)?.sites.iter().find(|(_, _, number)| *number == index)?;
        site.relay.is_none().then_some((site.jump, originals[0]))
    }

    /// Forgets that the pages of an unloaded file had code: something else may come there.
    pub(crate) fn unloaded(&mut self, file: &LoadedFile) {
        self.covered.mark(&mut self.covered_table.bytes, file.start..file.end, false);
    }
}

fn fill_and_patch(
    remote: &dyn Remote,
    shared: &SharedMemory,
    entries: &AgentEntries,
    stubs: &StubOptions,
    placed: Placed,
) -> Result<(PlannedImage, u32, u64, Vec<Site>), ControlError> {
    let Placed { mut image, arena: address, offset, first_function } = placed;
    let mut arena = Arena::new(RuntimeAddr(address), entries, stubs, image.functions.len())?;
    let mut sites = Vec::with_capacity(image.plans.len());
    for ((index, plan), original) in image.plans.iter().zip(&image.originals) {
        let probe = probes::number_of(&image.functions, *index);
        match arena.add(plan, image.bias, *index, first_function + *index as u32, probe) {
            Ok(site) => sites.push((site, *original, *index)),
            Err(reason) => image.verdicts[*index] = Verdict::Skipped(reason),
        }
    }
    write_arena(shared, offset, arena)?;
    sites.sort_unstable_by_key(|(site, ..)| site.jump.at);
    for index in write_jumps(remote, &sites).map_err(crate::remote::injected("writing hooks"))? {
        image.verdicts[index] = Verdict::Skipped(SkipReason::TextDiffers);
    }
    Ok((image, first_function, offset, sites))
}

fn write_arena(shared: &SharedMemory, offset: u64, arena: Arena) -> Result<(), ControlError> {
    for (distance, bytes) in arena.finish() {
        shared
            .write_code(offset + distance as u64, &bytes)
            .map_err(|source| ControlError::System { doing: "writing stubs", source })?;
    }
    Ok(())
}

/// Writes jumps over functions' starts, in few large writes. Gives the functions whose text in memory is not what
/// the file says; these are left alone.
fn write_jumps(remote: &dyn Remote, sites: &[Site]) -> io::Result<Vec<usize>> {
    const WINDOW: u64 = 1 << 20;
    let mut different = Vec::new();
    let mut rest = sites;
    let mut bytes = Vec::new();
    while let Some((first, ..)) = rest.first() {
        let first = first.jump.at.0;
        // A window ends where a page would be read and written for nothing.
        let mut count = 1;
        while let (Some((last, ..)), Some((next, ..))) = (rest.get(count - 1), rest.get(count)) {
            if next.jump.at.0 - last.jump.at.0 > 4096 || next.jump.at.0 - first > WINDOW {
                break;
            }
            count += 1;
        }
        let (window, others) = rest.split_at(count);
        rest = others;
        let patches = || window.iter().flat_map(|(site, ..)| site.patches());
        let start = patches().map(|patch| patch.at.0).min().unwrap_or(first);
        let end = patches().map(|patch| patch.at.0 + patch.bytes().len() as u64).max().unwrap_or(first);
        bytes.resize((end - start) as usize, 0);
        remote.read(start, &mut bytes)?;
        let place = |patch: &Patch| {
            let from = (patch.at.0 - start) as usize;
            from..from + patch.bytes().len()
        };
        for (site, originals, index) in window {
            let mut pairs = site.patches().zip(originals);
            if pairs.all(|(patch, original)| bytes[place(patch)] == original[..patch.bytes().len()]) {
                site.patches().for_each(|patch| bytes[place(patch)].copy_from_slice(patch.bytes()));
            } else {
                different.push(*index);
            }
        }
        remote.write(start, &bytes)?;
    }
    Ok(different)
}

/// Works a list off on as many threads as there are processors; results in the order of the list.
fn in_parallel<T: Send, R: Send>(work: Vec<T>, job: impl Fn(T) -> R + Sync) -> Vec<R> {
    let count = work.len();
    let queue = Mutex::new(work.into_iter().enumerate());
    let results = Mutex::new((0..count).map(|_| None).collect::<Vec<Option<R>>>());
    let workers = std::thread::available_parallelism().map_or(1, usize::from).min(count.max(1));
    let work_off = || {
        while let Some((number, item)) = { queue.lock().expect("no job panics").next() } {
            let result = job(item);
            results.lock().expect("no job panics")[number] = Some(result);
        }
    };
    std::thread::scope(|scope| {
        for _ in 1..workers {
            scope.spawn(work_off);
        }
        work_off();
    });
    results.into_inner().expect("no job panics").into_iter().flatten().collect()
}
