//! A session in memory, with names.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};

use ada_event::{Event, EventKind, FunctionId, ModuleId};
use ada_format::atf::{Drops, FunctionRow, Process, Session, functions_file, read_functions};

use super::nesting;

/// What a session says, by process and thread.
pub(crate) struct Recorded {
    path: PathBuf,
    /// By id: the target first unless a child has a smaller id.
    pub(crate) processes: Vec<RecordedProcess>,
}

/// What it says of a process.
pub(crate) struct RecordedProcess {
    pub(crate) pid: u32,
    pub(crate) modules: Vec<RecordedModule>,
    /// By thread id, each in the order of its file.
    pub(crate) threads: Vec<Vec<RecordedEvent>>,
    own: Option<ModuleId>,
    pub(crate) drops: Vec<Drops>,
    gaps_with_losses: usize,
}

/// An image and its functions.
#[derive(Clone)]
pub(crate) struct RecordedModule {
    pub(crate) id: ModuleId,
    pub(crate) path: String,
    pub(crate) functions: Vec<FunctionRow>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RecordedEvent {
    pub(crate) function: FunctionId,
    pub(crate) kind: EventKind,
    pub(crate) depth: u32,
    /// Which of the thread's stacks it was on; 0 is its own.
    pub(crate) stack: u64,
}

/// How often a function was entered, returned, and was unwound.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Counts {
    pub(crate) calls: u64,
    pub(crate) returns: u64,
    pub(crate) unwound: u64,
}

impl Recorded {
    /// Reads the session of a program.
    pub(crate) fn open(path: &Path, program: &Path) -> Self {
        let session = Session::open(path).unwrap();
        let program = fs::canonicalize(program).unwrap();
        let mut processes: Vec<RecordedProcess> =
            session.processes().iter().map(|process| RecordedProcess::read(process, &program)).collect();
        // Children have their parent's images, under the same numbers; the lists may be in the parent's folder only.
        let modules = processes.iter().map(|process| &process.modules).max_by_key(|modules| names(modules)).cloned();
        for process in &mut processes {
            if names(&process.modules) == 0 {
                process.modules.clone_from(modules.as_ref().expect("this is one"));
            }
        }
        Self { path: path.to_owned(), processes }
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// The one process there is.
    pub(crate) fn process(&self) -> &RecordedProcess {
        assert_eq!(self.processes.len(), 1, "one process was traced");
        &self.processes[0]
    }

    /// What the program's own function did, in all threads of all processes.
    pub(crate) fn counts(&self, name: &str) -> Counts {
        self.processes.iter().fold(Counts::default(), |sum, process| sum + process.counts(name))
    }

    /// `name` was called so often, and returned each time.
    pub(crate) fn assert_balanced(&self, name: &str, calls: u64) {
        assert_eq!(self.counts(name), Counts { calls, returns: calls, unwound: 0 }, "{name}");
    }

    /// No process says that anything is missing.
    pub(crate) fn assert_no_drops(&self) {
        for process in &self.processes {
            assert_eq!((&process.drops[..], process.gaps_with_losses), (&[][..], 0), "process {}", process.pid);
        }
    }

    /// As [`RecordedProcess::tree`], of the one process.
    pub(crate) fn tree(&self) -> String {
        self.process().tree()
    }

    pub(crate) fn assert_nested(&self) {
        for process in &self.processes {
            for (number, thread) in process.threads.iter().enumerate() {
                if let Err(problem) = nesting::check(process, thread) {
                    panic!("process {} thread {number}: {problem}", process.pid);
                }
            }
        }
    }
}

impl RecordedProcess {
    fn read(process: &Process, program: &Path) -> Self {
        let modules: Vec<RecordedModule> = process
            .manifest
            .iter()
            .flat_map(|manifest| &manifest.modules)
            .map(|module| {
                let text = fs::read_to_string(process.path.join(functions_file(module.module_id))).unwrap_or_default();
                let functions = read_functions(&text).unwrap();
                RecordedModule { id: module.module_id, path: module.path.clone(), functions }
            })
            .collect();
        let own = modules.iter().find(|module| Path::new(&module.path) == program).map(|module| module.id);
        let threads = process.threads.iter().map(|thread| on_stacks(thread.index().events())).collect();
        let drops = process.manifest.iter().flat_map(|manifest| manifest.drops.clone()).collect();
        let gaps = process.manifest.iter().flat_map(|manifest| &manifest.gaps);
        let gaps_with_losses = gaps.filter(|gap| gap.lost > 0).count();
        Self { pid: process.pid.unwrap().0, modules, threads, own, drops, gaps_with_losses }
    }

    /// The program's own image.
    pub(crate) fn own(&self) -> &RecordedModule {
        self.module(self.own.expect("the program is one of the modules"))
    }

    fn module(&self, id: ModuleId) -> &RecordedModule {
        self.modules.iter().find(|module| module.id == id).expect("events name known modules")
    }

    pub(crate) fn row(&self, function: FunctionId) -> &FunctionRow {
        &self.module(function.module()).functions[function.symbol_index() as usize]
    }

    fn is_own(&self, function: FunctionId) -> bool {
        Some(function.module()) == self.own
    }

    /// What a function of the program itself did.
    pub(crate) fn counts(&self, name: &str) -> Counts {
        self.counts_of(|module, row| Some(module.id) == self.own && is_named(row, name))
    }

    /// What all functions together did that `wanted` says yes to.
    pub(crate) fn counts_of(&self, wanted: impl Fn(&RecordedModule, &FunctionRow) -> bool) -> Counts {
        let mut known: HashMap<FunctionId, bool> = HashMap::new();
        let mut counts = Counts::default();
        for event in self.threads.iter().flatten() {
            let module = event.function.module();
            if !*known.entry(event.function).or_insert_with(|| wanted(self.module(module), self.row(event.function))) {
                continue;
            }
            match event.kind {
                EventKind::CALL | EventKind::ENTRY => counts.calls += 1,
                EventKind::RETURN => counts.returns += 1,
                EventKind::EXCEPTION => counts.unwound += 1,
                EventKind::TAIL => {}
                other => panic!("an event of kind {other}"),
            }
        }
        counts
    }

    /// Depths of the events of one of the program's functions, counted from `main`'s.
    pub(crate) fn depths(&self, name: &str, kind: EventKind) -> Vec<i64> {
        let main = self.main_depth();
        let events = self.events(name).into_iter();
        events.filter(|event| event.kind == kind).map(|event| i64::from(event.depth) - main).collect()
    }

    /// The events of one of the program's functions.
    pub(crate) fn events(&self, name: &str) -> Vec<RecordedEvent> {
        let wanted = |event: &&RecordedEvent| self.is_own(event.function) && is_named(self.row(event.function), name);
        self.threads.iter().flatten().filter(wanted).copied().collect()
    }

    fn main_depth(&self) -> i64 {
        let is_main = |event: &&RecordedEvent| self.is_own(event.function) && self.row(event.function).name == "main";
        i64::from(self.threads.iter().flatten().find(is_main).expect("main was called").depth)
    }

    /// The program's own functions from the call of `main` to its end, one event a line, indented by depth.
    pub(crate) fn tree(&self) -> String {
        let main = self.main_depth();
        let mut tree = String::new();
        let thread = self.threads.iter().find(|thread| {
            thread.iter().any(|event| self.is_own(event.function) && self.row(event.function).name == "main")
        });
        let mut is_inside = false;
        for event in thread.expect("main was called") {
            if !self.is_own(event.function) {
                continue;
            }
            let name = ada_image::demangle(&self.row(event.function).name).into_owned();
            is_inside |= name == "main" && event.kind.is_call();
            if is_inside {
                let indent = usize::try_from(i64::from(event.depth) - main).expect("nothing is above main");
                tree.push_str(&format!("{:1$}{2} {name}\n", "", indent * 2, event.kind));
            }
            is_inside &= name != "main" || event.kind.is_call();
        }
        tree
    }
}

/// A thread's events, each with the stack that it was on.
fn on_stacks(events: impl Iterator<Item = Event>) -> Vec<RecordedEvent> {
    let mut stack = 0;
    let mut recorded = Vec::new();
    for Event { function, kind, depth, .. } in events {
        if kind == EventKind::STACK {
            stack = function.0;
        } else {
            recorded.push(RecordedEvent { function, kind, depth, stack });
        }
    }
    recorded
}

fn names(modules: &[RecordedModule]) -> usize {
    modules.iter().map(|module| module.functions.len()).sum()
}

/// Whether a function has the name, as the source has it: without arguments, hashes and clone suffixes.
fn is_named(row: &FunctionRow, name: &str) -> bool {
    let demangled = ada_image::demangle(&row.name);
    let plain = demangled.split('(').next().unwrap_or_default();
    let plain = plain.split(".constprop").next().unwrap_or_default();
    plain == name || plain.rsplit("::").next() == Some(name)
}

impl std::ops::Add for Counts {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
            calls: self.calls + other.calls,
            returns: self.returns + other.returns,
            unwound: self.unwound + other.unwound,
        }
    }
}
