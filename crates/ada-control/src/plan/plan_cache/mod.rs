//! Keeps plans between starts, so that an image is read, decoded and planned once.
//!
//! A plan is used again only if everything that went into it is the same: the file, its separate debug file, and the
//! planner ([`PlanKey`]). A cache that cannot be read or written, or that somebody else could have written, costs time
//! and nothing else. What is stored is still not believed: it is checked as any input is ([`stored_plan`]), and the
//! installer compares the bytes that it is about to overwrite with those that were planned for.

mod folder;
mod key;
mod stored_plan;
mod type_cache;

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Mutex;

use crate::plan::image_plan::ImagePlan;

pub use folder::plan_folder;
pub(crate) use folder::{Folder, HOT};
pub(crate) use key::PlanKey;
#[cfg(fuzzing)]
pub(crate) use stored_plan::decode_lists;
pub(crate) use type_cache::TypeCache;

/// Plans of earlier starts, and those of this one that are still to be written.
pub(crate) struct PlanCache {
    folder: Option<Folder>,
    /// By file name.
    kept: Mutex<HashMap<String, Vec<u8>>>,
}

impl PlanCache {
    /// The cache in this folder; without one, nothing is found and nothing kept.
    pub(crate) fn new(folder: Option<PathBuf>) -> Self {
        Self { folder: folder.map(Folder::new), kept: Mutex::default() }
    }

    /// The plan that was kept under this key.
    pub(crate) fn load(&self, key: &PlanKey) -> Option<ImagePlan> {
        let folder = self.folder.as_ref()?;
        let name = key.file_name();
        // A library that comes and goes may be wanted before it is written.
        if let Some(stored) = self.kept.lock().expect("nobody panics with the lock").get(&name) {
            return stored_plan::decode(stored, key.bytes());
        }
        stored_plan::decode(&folder.read(&name)?, key.bytes())
    }

    /// Takes a plan, to be written when there is time.
    pub(crate) fn keep(&self, key: &PlanKey, plan: &ImagePlan) {
        if self.folder.is_some() {
            let stored = stored_plan::encode(plan, key.bytes());
            self.kept.lock().expect("nobody panics with the lock").insert(key.file_name(), stored);
        }
    }

    /// Writes what was kept since the last time.
    pub(crate) fn write_kept(&self) {
        let kept = std::mem::take(&mut *self.kept.lock().expect("nobody panics with the lock"));
        if let Some(folder) = &self.folder
            && !kept.is_empty()
        {
            // A plan that cannot be written is made again.
            let _ = kept.iter().try_for_each(|(name, stored)| folder.write(name, stored));
            folder.make_room();
        }
    }
}

#[cfg(test)]
mod tests;
