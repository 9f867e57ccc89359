//! Libraries that a program loads while it runs.

use std::collections::{HashMap, HashSet};
use std::time::Duration;

use ada_event::{ProcessId, TraceNanos};
use ada_process::boot_time;
use ada_process::maps::{self, LoadedFile};
use ada_process::procfs::ProcessDir;

use crate::deadline::Deadline;
use crate::follow::gs_libraries::leave_process;
use crate::follow::waiting_thread::Waiting;
use crate::install::open_in_target::OpenInTarget;
use crate::launch::workshop::Workshop;
use crate::options::TraceOptions;
use crate::program_id::ProgramId;
use crate::tracked::Programs;

/// Hooks them before their constructors run, until the recording ends.
pub(crate) fn serve_loader(programs: &Programs, workshop: &Workshop, options: &TraceOptions) {
    let plans = &workshop.plans;
    let mut waiting = Waiting::new(workshop.shared.clone());
    // What each process had loaded at its last notification: at first what its program started with.
    let mut known: HashMap<(ProcessId, ProgramId), HashSet<LoadedFile>> = HashMap::new();
    while !programs.phase.has_ended() {
        // Dropped at the end of the round, which lets the thread go on.
        let Some(thread) = waiting.next(Duration::from_millis(50)) else {
            plans.write_kept();
            continue;
        };
        let Ok(mut mappings) = maps::of_process(thread.pid()) else { continue };
        let now: HashSet<LoadedFile> = maps::loaded_files(&mappings).into_iter().collect();
        let own = (thread.pid(), thread.program());
        // Servers are asked before anybody could have to wait for the lock.
        let is_new = |file: &&LoadedFile| known.get(&own).is_none_or(|known| !known.contains(*file));
        let news: Vec<LoadedFile> = now.iter().filter(is_new).cloned().collect();
        workshop.debug_files.fetch(&news, None);
        let mut hooked = programs.lock();
        // Checked under the lock: hooks are listed for removal under it too.
        if !programs.phase.is_hooking() {
            continue;
        }
        let Some((installer, first)) = hooked.installers.get_mut(&thread.program()) else { continue };
        let before = known.entry(own).or_insert_with(|| first.clone());
        let new: Vec<LoadedFile> = now.difference(before).cloned().collect();
        *before = now;
        known.retain(|(pid, _), _| ProcessDir::of(*pid).exists());
        if new.is_empty() {
            continue;
        }
        let images = workshop.plan(new, installer.loader_function, options, &Deadline::never());
        if let Some(library) = images.iter().find(|image| image.uses_gs()) {
            let path = library.file.path.display().to_string();
            let said = match leave_process(&thread, &installer.sites()) {
                Ok(()) => {
                    hooked.processes.entry(thread.pid()).or_default().unhooked = Some(TraceNanos(boot_time()));
                    "it is not recorded any more, and its hooks were removed".to_owned()
                }
                Err(error) => format!("its hooks could not be removed: {error}"),
            };
            let said =
                format!("process {} has loaded {path}, which uses the GS base, as ada does: {said}", thread.pid());
            hooked.told_limits.push(said);
            continue;
        }
        // A process of another user may not open what is ada's.
        let open = OpenInTarget::code(&thread, &installer.shared).unwrap_or_else(|_| thread.code());
        let installed = installer.install(&thread, &open, &mut mappings, images);
        let hot = installer.known.hot.clone();
        let _ = open.close(&thread);
        match installed {
            Ok(new) => programs.add_modules(&mut hooked, new, &hot),
            Err(error) => {
                let limit = format!("libraries that process {} has loaded are not hooked: {error}", thread.pid());
                hooked.limits.push(limit);
            }
        }
    }
    plans.write_kept();
}
