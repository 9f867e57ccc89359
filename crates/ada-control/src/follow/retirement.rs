//! Frees the stubs of programs that no process runs any more. A build runs thousands, each with megabytes of stubs.

use std::ops::Range;

use crate::install::ready_image::ReadyImages;
use crate::install::shared_memory::SharedMemory;
use crate::tracked::{HookedPrograms, Programs};

/// How many more programs there must be before it is worth looking, which takes a look at every process of the machine.
const MANY: usize = 64;
/// The same for programs with stubs that were made for them.
const MANY_LARGE: usize = 8;

/// When to look next.
pub(crate) struct Retirement {
    next: usize,
    next_large: usize,
}

impl Default for Retirement {
    fn default() -> Self {
        Self { next: MANY, next_large: MANY_LARGE }
    }
}

impl Retirement {
    /// Looks, if there are many programs. Nothing is hooked meanwhile, so that no part comes into use unseen.
    pub(crate) fn look(&mut self, programs: &Programs, shared: &SharedMemory, ready: &ReadyImages) {
        let mut hooked = programs.lock();
        let large = |hooked: &HookedPrograms| {
            let installers = hooked.installers.values();
            installers.filter(|(installer, _)| installer.whole_images().next().is_some()).count()
        };
        if hooked.installers.len() < self.next && large(&hooked) < self.next_large {
            return;
        }
        let is_traced = |pid| hooked.processes.contains_key(&pid);
        let used = shared.memfd().ok().and_then(|memfd| memfd.mapped_parts(is_traced));
        if let Some(used) = used {
            hooked.installers.retain(|_, (installer, _)| {
                let parts = installer.parts();
                let is_used = parts.iter().any(|part| used.iter().any(|other| overlap(part, other)));
                if !is_used {
                    parts.into_iter().chain(installer.last_parts()).for_each(|part| shared.release(part));
                }
                is_used
            });
            ready.make_room(shared);
        }
        self.next = hooked.installers.len() + MANY;
        self.next_large = large(&hooked) + MANY_LARGE;
    }
}

fn overlap(one: &Range<u64>, other: &Range<u64>) -> bool {
    one.start < other.end && other.start < one.end
}
