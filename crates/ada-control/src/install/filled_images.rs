//! Images on the way to being hooked: their stubs are written, and nothing leads to them yet.

use std::ops::Range;
use std::sync::Arc;

use ada_event::RuntimeAddr;
use ada_format::parallel::each_in_parallel;
use ada_patch::{AgentEntries, Arena, EntryOnlyReason, PATCH_BYTES, StubOptions, Verdict};
use ada_process::maps::LoadedFile;

use crate::error::ControlError;
use crate::install::ready_arena::{MappedArena, ReadyArena};
use crate::install::reserved_images::{PlannedLoader, Reserved, ReservedImage, ReservedLoader};
use crate::install::shared_memory::SharedMemory;
use crate::install::shift::Shift;
use crate::install::site_table;
use crate::install::sites::Site;
use crate::plan::captured_functions::CapturedFunctions;
use crate::plan::module::Module;
use crate::plan::planned_image::PlannedImage;
use crate::plan::probes;
use crate::plan::values::Values;

/// Images whose stubs are there, and which nothing leads to yet.
pub(crate) struct Filled {
    pub(super) images: Vec<FilledImage>,
    pub(super) loader: Option<MappedArena>,
    pub(super) without_room: Vec<Module>,
}

impl Filled {
    /// Writes the stubs.
    pub(super) fn of(
        reserved: Reserved,
        shared: &SharedMemory,
        entries: &AgentEntries,
        stubs: &StubOptions,
        values: &Values,
    ) -> Result<Self, ControlError> {
        let images = each_in_parallel(reserved.images, |image| fill(shared, entries, stubs, values, image));
        let loader = match reserved.loader {
            None => None,
            Some(ReservedLoader::Ready(loader)) => Some(loader),
            Some(ReservedLoader::Planned(loader)) => Some(fill_loader(shared, entries, stubs, loader)?),
        };
        Ok(Self { images: images.into_iter().collect::<Result<_, _>>()?, loader, without_room: reserved.without_room })
    }

    /// Keeps files that are still loaded.
    pub(crate) fn keep(&mut self, is_loaded: impl Fn(&LoadedFile) -> bool) {
        self.images.retain(|filled| is_loaded(&filled.image.file));
    }
}

pub(super) struct FilledImage {
    pub(super) image: PlannedImage,
    pub(super) first_function: u32,
    pub(super) arena: RuntimeAddr,
    pub(super) offset: u64,
    /// The first bytes of the arena.
    pub(super) front: Vec<u8>,
    pub(super) sites: Vec<Site>,
    /// Of which functions values are captured.
    pub(super) captured: CapturedFunctions,
}

fn fill(
    shared: &SharedMemory,
    entries: &AgentEntries,
    stubs: &StubOptions,
    values: &Values,
    reserved: ReservedImage,
) -> Result<FilledImage, ControlError> {
    let ReservedImage { mut image, arena: address, offset, first_function } = reserved;
    let mut arena = Arena::new(address, entries, stubs, image.functions.len(), image.exits.len())?;
    let captured = values.of_image(&image);
    let file_name = image.file.path.file_name().map(|name| name.to_string_lossy().into_owned());
    // Guards know where glibc's objects say that somebody waits.
    let is_glibc = file_name.is_some_and(|name| ada_value::is_c_library(&name) && !name.contains("musl"));
    let mut sites = Vec::with_capacity(image.plans.len());
    for ((index, plan), originals) in image.plans.iter().zip(&image.originals) {
        let of_runtime = || probes::number_of(&image.functions, *index).or_else(|| captured.probe_by_code(*index));
        let probe = captured.probed(*index).or_else(|| probes::probed(of_runtime()?, is_glibc));
        match arena.add(&plan.at_bias(image.bias), *index, first_function + *index as u32, probe) {
            Ok(site) => {
                sites.push(Site { site, originals: *originals, function: *index, is_exit: false, is_shared: false })
            }
            Err(reason) => image.verdicts[*index] = Verdict::Skipped(reason),
        }
    }
    for (exit, originals) in &image.exits {
        let function = exit.function as usize;
        match arena.add_exit(&exit.at_bias(image.bias), first_function + exit.function) {
            Ok(site) => {
                let is_shared = exit.is_shared;
                sites.push(Site { site, originals: *originals, function, is_exit: true, is_shared });
            }
            Err(_) => image.verdicts[function] = Verdict::EntryOnly(EntryOnlyReason::UnseenExits),
        }
    }
    sites.sort_unstable_by_key(|site| site.site.jump.at);
    let counts = (image.functions.len(), image.exits.len());
    let addresses = address..address + room_for(counts.0, counts.1);
    let front = write_arena(shared, offset, &addresses, counts, arena, &sites);
    Ok(FilledImage { image, first_function, arena: address, offset, front, sites, captured })
}

fn fill_loader(
    shared: &SharedMemory,
    entries: &AgentEntries,
    stubs: &StubOptions,
    loader: PlannedLoader,
) -> Result<MappedArena, ControlError> {
    let PlannedLoader { plan, original, arena: address, offset } = loader;
    let mut arena = Arena::new(address, entries, stubs, 1, 0)?;
    let site = arena.add(&plan, 0, 0, None).ok();
    let originals = [original, [0; PATCH_BYTES]];
    let site = site.map(|site| Site { site, originals, function: 0, is_exit: false, is_shared: false });
    let addresses = address..address + room_for(1, 0);
    let front = write_arena(shared, offset, &addresses, (1, 0), arena, site.as_slice());
    let arena = ReadyArena::new(addresses, offset, (1, 0), front, site.into_iter().collect());
    let front = arena.first_front();
    Ok(MappedArena { arena: Arc::new(arena), shift: Shift(0), front })
}

/// Bytes of an arena with this many functions and exits, and of its tables: where its code comes from, and its sites.
pub(super) fn room_for(functions: usize, exits: usize) -> u64 {
    let arena = Arena::room_for(functions, exits) + Arena::origins_room(functions, exits);
    arena as u64 + site_table::room_for(functions + exits)
}

/// Writes stubs, and which sites will lead to them. Gives the bytes of the pages that each program has its own of.
fn write_arena(
    shared: &SharedMemory,
    offset: u64,
    addresses: &Range<RuntimeAddr>,
    (functions, exits): (usize, usize),
    arena: Arena,
    sites: &[Site],
) -> Vec<u8> {
    let room = addresses.end - addresses.start;
    let front = ReadyArena::front_bytes(functions);
    let table = site_table::bytes_of(sites, addresses.end, room - front as u64);
    let mut origins = arena.origin_table();
    if origins.len() > Arena::origins_room(functions, exits) {
        origins = vec![0; ada_ring::origins::HEADER];
    }
    shared.code.write(offset + room - table.len() as u64, &table);
    shared.code.write(offset + Arena::room_for(functions, exits) as u64, &origins);
    let mut parts = arena.finish();
    for (distance, bytes) in &parts {
        shared.code.write(offset + *distance as u64, bytes);
    }
    let mut first = std::mem::take(&mut parts[0].1);
    first.truncate(front);
    first.shrink_to_fit();
    first
}

#[cfg(test)]
mod tests {
    use ada_process::maps::LoadedFile;

    use super::*;
    use crate::plan::debug_files::DebugFiles;
    use crate::plan::plan_cache::PlanCache;

    /// What programs share depends on it.
    #[test]
    fn stubs_know_distances_and_no_addresses() {
        for path in ["/bin/dash", "/lib/x86_64-linux-gnu/libc.so.6", "/lib64/ld-linux-x86-64.so.2"] {
            let (plans, options) = (PlanCache::new(None), StubOptions::default());
            let laid_out = |start: u64| {
                let start = RuntimeAddr(start);
                let file = LoadedFile { path: path.into(), start, end: start + (64 << 20) };
                let nothing = crate::options::LeftAlone::excluded(|_, _, _| false);
                let image =
                    PlannedImage::plan(file, &plans, &DebugFiles::default(), None, &nothing, |_, _| false).unwrap();
                let base = start - (32_u64 << 20);
                let (functions, exits) = (image.functions.len(), image.exits.len());
                let mut arena = Arena::new(base, &AgentEntries::default(), &options, functions, exits).unwrap();
                for (index, plan) in &image.plans {
                    let _ = arena.add(&plan.at_bias(image.bias), *index, *index as u32, None);
                }
                for (exit, _) in &image.exits {
                    let _ = arena.add_exit(&exit.at_bias(image.bias), exit.function);
                }
                arena.finish()
            };
            assert!(laid_out(0x5555_5000_0000) == laid_out(0x7f12_3456_7000), "{path}");
        }
    }
}
