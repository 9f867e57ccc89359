//! Puts hooks into a target: lays stubs out near each image and writes the jumps.

use std::io;
use std::sync::Mutex;

use ada_event::{ModuleId, RuntimeAddr};
use ada_patch::{AgentEntries, Arena, HookSite, PatchPlan, SkipReason, StubKind, StubOptions, Verdict};

use crate::ControlError;
use crate::covered_pages::CoveredPages;
use crate::deadline::Deadline;
use crate::maps::{self, LoadedFile, Mapping};
use crate::module::Module;
use crate::planned_image::{Exclude, PlannedImage};
use crate::remote::{OpenInTarget, Remote};
use crate::shared_memory::SharedMemory;

/// Installs hooks for one process, at its start and whenever it loads a library.
pub(crate) struct Installer {
    pub(crate) shared: SharedMemory,
    entries: AgentEntries,
    stubs: StubOptions,
    loader_function: u64,
    covered: CoveredPages,
    next_function: u32,
    next_module: u32,
}

/// An image with a place for its stubs.
struct Placed {
    image: PlannedImage,
    arena: u64,
    offset: u64,
    room: usize,
    first_function: u32,
}

impl Installer {
    pub(crate) fn new(shared: SharedMemory, entries: AgentEntries, stubs: StubOptions, loader_function: u64) -> Self {
        Self {
            shared,
            entries,
            stubs,
            loader_function,
            covered: CoveredPages::default(),
            next_function: 0,
            next_module: 0,
        }
    }

    /// Plans files, the largest first, on all processors. Past the deadline, those that are left are not planned.
    pub(crate) fn plan(
        &self,
        mut files: Vec<LoadedFile>,
        exclude: Exclude<'_>,
        deadline: &Deadline,
    ) -> Vec<PlannedImage> {
        files.sort_by_key(|file| std::cmp::Reverse(file.end - file.start));
        let planned = in_parallel(files, |file| {
            if deadline.has_passed() { None } else { PlannedImage::plan(file, self.loader_function, exclude).ok() }
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
                self.covered.mark(self.shared.covered_mut(), range, true);
            }
            let count = image.functions.len();
            let first_function = self.next_function;
            self.next_function += count as u32;
            match self.place(remote, open, mappings, &image) {
                Some((arena, offset, room)) => placed.push(Placed { image, arena, offset, room, first_function }),
                None => modules.push(self.unplaced(image, first_function)),
            }
        }
        let shared = &self.shared;
        let (entries, stubs) = (&self.entries, &self.stubs);
        let done = in_parallel(placed, |placed| fill_and_patch(remote, shared, entries, stubs, placed));
        for result in done {
            let (image, first_function) = result?;
            let id = self.next_id();
            modules.push(Module::new(id, first_function, image));
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
        if let Ok(site) = arena.add(&plan, 0, 0, 0) {
            let written = self.shared.write_code(offset, &arena.finish());
            written.map_err(|source| ControlError::System { doing: "writing stubs", source })?;
            remote.write(site.at.0, &site.jump).map_err(crate::remote::injected("hooking the loader"))?;
        }
        Ok(())
    }

    fn place(
        &mut self,
        remote: &dyn Remote,
        open: &OpenInTarget,
        mappings: &mut Vec<Mapping>,
        image: &PlannedImage,
    ) -> Option<(u64, u64, usize)> {
        let room = Arena::room_for(image.functions.len());
        let (address, offset) = self.map_room(remote, open, mappings, &image.file, room as u64)?;
        Some((address, offset, room))
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
        let offset = self.shared.reserve_code(room)?;
        open.map(remote, address, room, libc::PROT_READ | libc::PROT_EXEC, offset).ok()?;
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
        let id = self.next_id();
        Module::new(id, first_function, image)
    }

    fn next_id(&mut self) -> ModuleId {
        self.next_module += 1;
        ModuleId(self.next_module)
    }
}

fn fill_and_patch(
    remote: &dyn Remote,
    shared: &SharedMemory,
    entries: &AgentEntries,
    stubs: &StubOptions,
    placed: Placed,
) -> Result<(PlannedImage, u32), ControlError> {
    let Placed { mut image, arena: address, offset, room, first_function } = placed;
    let mut arena = Arena::new(RuntimeAddr(address), entries, stubs, image.functions.len())?;
    let mut sites = Vec::with_capacity(image.plans.len());
    for ((index, plan), original) in image.plans.iter().zip(&image.originals) {
        let result = if arena.remaining(room) < Arena::MOST_FOR_ONE {
            Err(SkipReason::NoRoom)
        } else {
            arena.add(plan, image.bias, *index, first_function + *index as u32)
        };
        match result {
            Ok(site) => sites.push((site, *original, *index)),
            Err(reason) => image.verdicts[*index] = Verdict::Skipped(reason),
        }
    }
    shared
        .write_code(offset, &arena.finish())
        .map_err(|source| ControlError::System { doing: "writing stubs", source })?;
    sites.sort_unstable_by_key(|(site, ..)| site.at);
    for index in write_jumps(remote, &sites).map_err(crate::remote::injected("writing hooks"))? {
        image.verdicts[index] = Verdict::Skipped(SkipReason::TextDiffers);
    }
    Ok((image, first_function))
}

/// Writes jumps over functions' starts, in few large writes. Gives the functions whose text in memory is not what
/// the file says; these are left alone.
fn write_jumps(remote: &dyn Remote, sites: &[(HookSite, [u8; 5], usize)]) -> io::Result<Vec<usize>> {
    const WINDOW: u64 = 1 << 20;
    let mut different = Vec::new();
    let mut rest = sites;
    let mut bytes = Vec::new();
    while let Some((first, ..)) = rest.first() {
        let start = first.at.0;
        // A window ends where a page would be read and written for nothing.
        let mut count = 1;
        while let (Some((last, ..)), Some((next, ..))) = (rest.get(count - 1), rest.get(count)) {
            if next.at.0 - last.at.0 > 4096 || next.at.0 - start > WINDOW {
                break;
            }
            count += 1;
        }
        let (window, others) = rest.split_at(count);
        rest = others;
        let end = window[count - 1].0.at.0 + 5;
        bytes.resize((end - start) as usize, 0);
        remote.read(start, &mut bytes)?;
        for (site, original, index) in window {
            let place = &mut bytes[(site.at.0 - start) as usize..][..5];
            if place == original {
                place.copy_from_slice(&site.jump);
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
