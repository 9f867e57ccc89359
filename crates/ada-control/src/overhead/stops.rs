//! Removes hooks that cannot be removed while the program runs: it is stopped for that.
//!
//! Where a runtime's scheduler goes from stack to stack, each exit leads to the agent after it has, whether its function is recorded or
//! not. So such a program pays for every hook that is left of functions that are called often: jumps that lie across two
//! lines of the caches, which no store replaces at once. A stop of all threads removes these. It takes a millisecond or so, and each
//! comes twice as long after the one before.
//!
//! System calls in which threads wait begin again, or say that they were interrupted. For programs with such a scheduler
//! that is nothing new: it interrupts its own threads by signals.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::io;
use std::time::{Duration, Instant};

use ada_event::{FunctionId, ProcessId};
use ada_process::maps;
use ada_process::procfs::ProcessDir;
use ada_process::ptrace::Halted;
use ada_process::share_memory;

use crate::install::sites::{Site, write_original_starts};
use crate::tracked::Programs;

/// How long after functions have lost their hooks the first stop may be, and how often to look whether there is anything to stop for.
const FIRST: Duration = Duration::from_secs(1);
/// How long to wait for the last thread to halt. Otherwise all go on, and keep what they have.
const LONGEST: Duration = Duration::from_millis(50);

/// When to stop, and how often the program was.
pub(super) struct Stops {
    due: Option<Instant>,
    /// How long after the next stop another one may be.
    pause: Duration,
    pub(super) made: u32,
    /// How long the longest took.
    pub(super) longest: Duration,
}

/// A function's hook.
#[derive(Clone, Copy)]
struct Hook {
    function: FunctionId,
    site: Site,
}

impl Default for Stops {
    fn default() -> Self {
        Self { due: None, pause: FIRST, made: 0, longest: Duration::ZERO }
    }
}

impl Stops {
    /// Removes what is left of hooks, if it is time to. Gives the functions whose calls are not seen any more in some process.
    pub(super) fn remove(
        &mut self,
        programs: &Programs,
        processes: &BTreeSet<ProcessId>,
        functions: impl Iterator<Item = FunctionId>,
    ) -> Vec<FunctionId> {
        let now = Instant::now();
        let mut functions = functions.peekable();
        if functions.peek().is_none() || now < *self.due.get_or_insert(now + FIRST) {
            return Vec::new();
        }
        let mut gone = Vec::new();
        let left = hooks_of(programs, processes, &functions.collect());
        self.due = Some(now + if left.is_empty() { FIRST } else { self.pause });
        self.pause *= if left.is_empty() { 1 } else { 2 };
        for (pid, hooks) in left {
            // What could not be stopped keeps its hooks, and is asked again.
            let Ok((starts, stood_still)) = remove_from(programs, pid, hooks) else { continue };
            self.made += 1;
            self.longest = self.longest.max(stood_still);
            gone.extend(starts);
        }
        gone
    }
}

/// The hooks that processes still have of these functions.
fn hooks_of(
    programs: &Programs,
    processes: &BTreeSet<ProcessId>,
    functions: &BTreeSet<FunctionId>,
) -> HashMap<ProcessId, Vec<Hook>> {
    let hooked = programs.lock();
    let mut hooks: HashMap<ProcessId, Vec<Hook>> = HashMap::new();
    for module in hooked.modules.iter() {
        let Some((installer, first)) = hooked.installers.get(&module.program) else { continue };
        // A library that was loaded later can be gone at any moment.
        if !first.contains(&module.file) {
            continue;
        }
        let (start, end) = (FunctionId::new(module.id, 0), FunctionId::new(module.id, u32::MAX));
        let of_function = |function: &FunctionId| {
            let function = *function;
            let sites = installer.own_sites_of(&module.file, function.symbol_index() as usize);
            sites.into_iter().map(move |site| Hook { function, site })
        };
        let its: Vec<Hook> = functions.range(start..=end).flat_map(of_function).collect();
        let runs = |pid: &&ProcessId| hooked.processes.get(pid).is_some_and(|it| it.programs.contains(&module.program));
        for pid in processes.iter().filter(runs).filter(|_| !its.is_empty()) {
            let Ok(memory) = ProcessDir::of(*pid).memory() else { continue };
            let is_there = |hook: &&Hook| {
                let jump = hook.site.site.jump;
                let mut found = vec![0; jump.bytes().len()];
                memory.read(jump.at, &mut found).is_ok() && found == jump.bytes()
            };
            let left: Vec<Hook> = its.iter().filter(is_there).copied().collect();
            if !left.is_empty() {
                hooks.entry(*pid).or_default().extend(left);
            }
        }
    }
    hooks
}

/// Removes hooks from a process. Gives the functions whose starts were among them, and how long it stood still.
fn remove_from(programs: &Programs, pid: ProcessId, mut hooks: Vec<Hook>) -> io::Result<(Vec<FunctionId>, Duration)> {
    let later = || io::Error::from(io::ErrorKind::ResourceBusy);
    let _charge = programs.in_charge.take(pid).ok_or_else(later)?;
    let mappings = maps::of_process(pid)?;
    // A thread that has called vfork does not halt, and the child runs the same code.
    let shares = || {
        let process = ProcessDir::of(pid);
        process.children().into_iter().chain(process.parent()).any(|other| share_memory(pid, other))
    };
    if shares() {
        return Err(later());
    }
    let halted = Halted::all_within(pid, &mappings, LONGEST)?;
    if shares() {
        return Err(later());
    }
    // What a handler sees is put right at its exit.
    let handlers = programs.handlers();
    hooks.retain(|hook| !handlers.contains(&hook.function));
    hooks.sort_unstable_by_key(|hook| hook.site.site.jump.at);
    let sites: Vec<Site> = hooks.iter().map(|hook| hook.site).collect();
    let different = write_original_starts(&halted, &sites)?;
    let kept: HashSet<_> = different.iter().map(|site| site.site.jump.at).collect();
    let stood_still = halted.release();
    let is_gone = |hook: &&Hook| !hook.site.is_exit && !kept.contains(&hook.site.site.jump.at);
    Ok((hooks.iter().filter(is_gone).map(|hook| hook.function).collect(), stood_still))
}
