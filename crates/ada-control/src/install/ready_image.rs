//! An image that was hooked once, for the next program that has loaded the same file.

use std::collections::{HashMap, HashSet};
use std::ops::Range;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use ada_event::{ModuleId, RuntimeAddr};
use ada_process::maps::{LoadedFile, Mapping};

use crate::install::crash_handlers::SignalFacts;
use crate::install::ready_arena::ReadyArena;
use crate::install::shared_memory::SharedMemory;
use crate::install::shift::Shift;
use crate::plan::image_file::FileIdentity;
use crate::plan::module::Module;

/// An image as the first program has it.
pub(crate) struct ReadyImage {
    pub(crate) module: Module,
    /// Addresses of code with unwind information, before the bias.
    pub(crate) arena: ReadyArena,
    pub(crate) signals: SignalFacts,
}

impl ReadyImage {
    /// How far a file is from where the first program has it.
    pub(crate) fn shift_to(&self, file: &LoadedFile) -> Shift {
        Shift(file.start.wrapping_sub(self.module.file.start))
    }
}

/// The stub of a loader's notification function, and where the first program has the function.
#[derive(Clone)]
pub(crate) struct ReadyLoader {
    pub(crate) function: RuntimeAddr,
    pub(crate) arena: Arc<ReadyArena>,
}

/// What must be the same for an image to be the same.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct ReadyKey {
    path: PathBuf,
    identity: FileIdentity,
    length: u64,
    /// Where in it the loader's notification function is, which is not hooked.
    loader_function: Option<u64>,
    owner_by_word: bool,
}

impl ReadyKey {
    /// Whether what a process has mapped is this file.
    pub(crate) fn is_mapped(&self, file: &LoadedFile, mappings: &[Mapping]) -> bool {
        mappings.iter().any(|mapping| mapping.start == file.start && mapping.inode == self.identity.inode)
    }

    /// Whether it is the loader's.
    pub(crate) fn is_loader(&self) -> bool {
        self.loader_function.is_some()
    }

    /// That of a file as it is now.
    pub(crate) fn of(file: &LoadedFile, loader_function: Option<RuntimeAddr>, owner_by_word: bool) -> Option<Self> {
        let within = loader_function.filter(|function| (file.start..file.end).contains(function));
        Some(Self {
            path: file.path.clone(),
            identity: FileIdentity::of_path(&file.path).ok()?,
            length: file.end - file.start,
            loader_function: within.map(|function| function - file.start),
            owner_by_word,
        })
    }
}

/// Images that are ready. A process's programs do not share any, because a manifest has one address for each module:
/// those that a process goes through before it comes to its last program make one each.
#[derive(Default)]
pub(crate) struct ReadyImages {
    images: Mutex<Kept>,
}

#[derive(Default)]
struct Kept {
    by_key: HashMap<ReadyKey, Vec<Arc<ReadyImage>>>,
    /// In the order in which they were kept.
    order: Vec<ReadyKey>,
    bytes: u64,
    /// By the loaders' files.
    loaders: HashMap<ReadyKey, ReadyLoader>,
}

/// How many are kept of one file.
const OF_ONE_FILE: usize = 16;
/// How many bytes of stubs are kept for programs that nobody runs just now.
const MOST_BYTES: u64 = 256 << 20;

impl ReadyImages {
    /// Those of a file whose numbers are not among these.
    pub(crate) fn find(&self, key: &ReadyKey, taken: &HashSet<ModuleId>) -> Vec<Arc<ReadyImage>> {
        let kept = self.images.lock().expect("nobody panics with the lock");
        let all = kept.by_key.get(key).map_or(&[][..], Vec::as_slice);
        all.iter().filter(|image| !taken.contains(&image.module.id)).cloned().collect()
    }

    /// Keeps one for programs to come.
    pub(crate) fn keep(&self, key: ReadyKey, image: Arc<ReadyImage>) {
        let mut kept = self.images.lock().expect("nobody panics with the lock");
        let Kept { by_key, order, bytes, .. } = &mut *kept;
        let all = by_key.entry(key.clone()).or_default();
        if all.len() < OF_ONE_FILE {
            *bytes += length(&image.arena.common());
            all.push(image);
            order.push(key);
        }
    }

    /// What there is for a loader, which is this file.
    pub(crate) fn loader(&self, key: &ReadyKey) -> Option<ReadyLoader> {
        self.images.lock().expect("nobody panics with the lock").loaders.get(key).cloned()
    }

    pub(crate) fn keep_loader(&self, key: ReadyKey, loader: ReadyLoader) {
        self.images.lock().expect("nobody panics with the lock").loaders.entry(key).or_insert(loader);
    }

    /// Lets go of the oldest that no program has, where there are many.
    pub(crate) fn make_room(&self, shared: &SharedMemory) {
        let mut kept = self.images.lock().expect("nobody panics with the lock");
        let Kept { by_key, order, bytes, .. } = &mut *kept;
        order.retain(|key| {
            if *bytes <= MOST_BYTES {
                return true;
            }
            let Some(all) = by_key.get_mut(key) else { return false };
            let Some(unused) = all.iter().position(|image| Arc::strong_count(image) == 1) else { return true };
            let common = all.swap_remove(unused).arena.common();
            *bytes -= length(&common);
            shared.release(common);
            if all.is_empty() {
                by_key.remove(key);
            }
            false
        });
    }
}

fn length(range: &Range<u64>) -> u64 {
    range.end - range.start
}
