//! The programs that a session traces, and what is known of their processes.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::io;
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use ada_event::FunctionId;
use ada_format::atf::OpenCalls;
use ada_process::maps::LoadedFile;
use ada_process::{Child, LiveProcesses, ProcConnector, memory_users, procfs};

use crate::install::function_numbers::SharedNumbers;
use crate::install::installer::Installer;
use crate::install::shared_memory::SharedMemory;
use crate::launch::workshop::HookedProgram;
use crate::plan::module::Module;
use crate::switches::Switchboard;

/// Everything that was hooked, by all threads that hook.
pub(crate) struct Programs {
    hooked: Mutex<Hooked>,
    pub(crate) numbers: SharedNumbers,
    pub(crate) pool_in_target: u64,
    pub(crate) switches: Arc<Switchboard>,
    /// The first program has ended.
    pub(crate) first_ended: AtomicBool,
    /// Nothing more is hooked: what there is is about to be removed.
    pub(crate) ending: AtomicBool,
    /// All hooks are removed.
    pub(crate) detached: AtomicBool,
    /// Nothing more is recorded.
    pub(crate) ended: AtomicBool,
    /// How many processes are on their way into other programs: these have left the shared memory, and are not yet held.
    pub(crate) on_their_way: AtomicUsize,
    /// Processes that run other programs, as those who follow them hold them.
    pub(crate) followed: Mutex<Vec<(u32, OwnedFd)>>,
    /// What the kernel tells of processes, if it does.
    pub(crate) kin: Option<ProcConnector>,
}

/// What is behind the lock: whoever holds it may hook.
#[derive(Default)]
pub(crate) struct Hooked {
    /// By the number of the program.
    pub(crate) installers: HashMap<u32, (Installer, HashSet<LoadedFile>)>,
    pub(crate) modules: Vec<Module>,
    /// What is known of each process.
    pub(crate) processes: HashMap<u32, ProcessFacts>,
    /// What could not be traced, and why.
    pub(crate) limits: Vec<String>,
    /// Where the list of a module's functions was written first.
    pub(crate) lists: HashMap<u32, PathBuf>,
}

/// What is known of a process beside its events.
#[derive(Clone, Debug, Default)]
pub(crate) struct ProcessFacts {
    pub(crate) command_line: Vec<String>,
    pub(crate) parent: Option<u32>,
    /// It ran already when the recording began.
    pub(crate) is_attached: bool,
    /// The programs that it has run.
    pub(crate) images: BTreeSet<u32>,
    /// The calls that were open when ada attached to it.
    pub(crate) open_calls: Vec<OpenCalls>,
    /// The manifest does not tell of it yet.
    pub(crate) is_news: bool,
}

impl Programs {
    pub(crate) fn new(pool_in_target: u64, shared: Arc<SharedMemory>, kin: io::Result<ProcConnector>) -> Self {
        let no_kin = |error: &io::Error| {
            format!(
                "the kernel does not tell of processes ({error}): those that end before their first call are missed"
            )
        };
        let hooked = Hooked { limits: kin.as_ref().err().map(no_kin).into_iter().collect(), ..Hooked::default() };
        Self {
            hooked: Mutex::new(hooked),
            numbers: Arc::default(),
            pool_in_target,
            switches: Arc::new(Switchboard::new(shared)),
            first_ended: AtomicBool::new(false),
            ending: AtomicBool::new(false),
            detached: AtomicBool::new(false),
            ended: AtomicBool::new(false),
            on_their_way: AtomicUsize::new(0),
            followed: Mutex::default(),
            kin: kin.ok(),
        }
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, Hooked> {
        self.hooked.lock().expect("nobody panics with the lock")
    }

    pub(crate) fn into_hooked(self) -> (Hooked, Option<ProcConnector>) {
        (self.hooked.into_inner().expect("nobody panics with the lock"), self.kin)
    }

    /// Hears of processes until the recording ends.
    pub(crate) fn hear_of_kin(&self) {
        while let Some(kin) = self.kin.as_ref().filter(|_| !self.has_ended()) {
            kin.hear(Duration::from_millis(50));
        }
    }

    /// Notes the processes that were made. If other programs are not followed, only those count that have run none, and
    /// which these are is known in the end.
    pub(crate) fn saw_kin(&self, follow: bool, is_end: bool) {
        let Some(kin) = self.kin.as_ref().filter(|_| follow || is_end) else { return };
        if is_end {
            kin.hear(Duration::ZERO);
            let gone: Vec<u32> = kin.living().into_iter().filter(|pid| procfs::is_gone(*pid)).collect();
            kin.hear_of_ends(&gone);
            if kin.has_missed_some() {
                let limit = "the kernel told of more processes than could be heard: some may be missing";
                self.lock().limits.push(limit.to_owned());
            }
        }
        let (left, children): (Vec<Child>, Vec<Child>) =
            kin.newcomers().into_iter().partition(|child| kin.has_left(child.pid));
        self.saw_forks(&children.iter().map(|child| (child.pid, child.parent)).collect());
        let mut hooked = self.lock();
        for Child { pid, parent } in left.into_iter().filter(|_| follow) {
            // It does not have the command line of who made it any more.
            let known = hooked.processes.entry(pid).or_default();
            known.is_news |= known.parent.is_none();
            known.parent.get_or_insert(parent);
        }
    }

    pub(crate) fn has_ended(&self) -> bool {
        self.ended.load(Ordering::Acquire)
    }

    pub(crate) fn is_ending(&self) -> bool {
        self.ending.load(Ordering::SeqCst)
    }

    /// Has no more programs and libraries hooked, and waits for those that are just being.
    pub(crate) fn end_following(&self) {
        self.ending.store(true, Ordering::SeqCst);
        while self.on_their_way.load(Ordering::SeqCst) > 0 {
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    /// The processes that have the session's memory.
    pub(crate) fn users(&self) -> Vec<u32> {
        self.switches.inode().map(memory_users::users_of).unwrap_or_default()
    }

    /// Whether a process has the session's memory.
    pub(crate) fn is_user(&self, pid: u32) -> bool {
        self.switches.inode().is_some_and(|inode| memory_users::uses(pid, inode))
    }

    /// Hands over the processes that were followed into other programs.
    pub(crate) fn take_followed(&self, living: &mut LiveProcesses) {
        for (pid, descriptor) in self.followed.lock().expect("nobody panics with the lock").drain(..) {
            living.holds(pid, descriptor);
        }
    }

    /// Notes which programs processes were seen to run: fork children run those of their parents.
    pub(crate) fn saw_images(&self, seen: &HashMap<u32, BTreeSet<u32>>) {
        let mut hooked = self.lock();
        for (pid, images) in seen {
            hooked.processes.entry(*pid).or_default().images.extend(images);
        }
    }

    /// Notes who forked processes: until they run other programs, these have the command lines of those they are forks of.
    pub(crate) fn saw_forks(&self, forks: &HashMap<u32, u32>) {
        let mut hooked = self.lock();
        for (&child, &parent) in forks {
            let known = hooked.processes.entry(child).or_default();
            known.is_news |= known.parent != Some(parent);
            known.parent = Some(parent);
        }
        for &child in forks.keys() {
            let line_of = |pid: &u32| hooked.processes.get(pid).map(|known| &known.command_line);
            if line_of(&child).is_some_and(|line| !line.is_empty()) {
                continue;
            }
            // Ids are used again, so that the row of forks may be a circle.
            let ancestors = std::iter::successors(Some(child), |pid| forks.get(pid).copied()).take(forks.len() + 1);
            let line = ancestors.filter_map(|pid| line_of(&pid)).find(|line| !line.is_empty()).cloned();
            if let Some(line) = line {
                hooked.processes.entry(child).or_default().command_line = line;
            }
        }
    }

    /// Takes a hooked program in. The lock must have been held since before it was hooked, so that numbers come here in their
    /// order: whoever knows one knows all below it.
    pub(crate) fn add(&self, hooked: &mut Hooked, pid: u32, program: HookedProgram, facts: ProcessFacts) {
        let HookedProgram { installer, modules, files, no_crashes, .. } = program;
        if let Some(reason) = no_crashes {
            hooked.limits.push(format!("no crash records of process {pid}: {reason}"));
        }
        let image = installer.image;
        self.add_modules(hooked, modules);
        hooked.installers.insert(image, (installer, files));
        let process = hooked.processes.entry(pid).or_default();
        process.images.insert(image);
        *process = ProcessFacts { images: std::mem::take(&mut process.images), is_news: true, ..facts };
    }

    pub(crate) fn add_modules(&self, hooked: &mut Hooked, modules: Vec<Module>) {
        for mut module in modules {
            let mut numbers = self.numbers.write().expect("nobody panics with the lock");
            numbers.add(module.id, module.first_function, module.functions.len());
            drop(numbers);
            let same = hooked.modules.iter().find(|known| known.file.path == module.file.path);
            same.into_iter().for_each(|known| module.share_with(known));
            if hooked.modules.iter().all(|known| known.id != module.id) {
                hooked.modules.push(module);
            }
        }
    }
}

impl Hooked {
    /// The modules of a process.
    pub(crate) fn modules_of(&self, pid: u32) -> Vec<&Module> {
        let images = self.processes.get(&pid).map(|process| &process.images);
        self.modules.iter().filter(|module| images.is_some_and(|images| images.contains(&module.image))).collect()
    }

    /// A function's name, or its place where it has none.
    pub(crate) fn name_of(&self, function: FunctionId) -> String {
        let index = function.symbol_index() as usize;
        let Some(module) = self.modules.iter().find(|module| module.id == function.module()) else {
            return String::new();
        };
        let place = || {
            let file = module.file.path.file_name().map(|name| name.to_string_lossy()).unwrap_or_default();
            let start = module.functions.functions().get(index).map_or(0, |function| function.start.0);
            format!("{file}+{start:#x}")
        };
        module.functions.name(index).map_or_else(place, |name| ada_image::demangle(name).into_owned())
    }
}
