//! Removes the hooks of functions that are called too often even to be counted.
//!
//! Counting a call takes two jumps at least, and a program that calls something every five nanoseconds feels them. So
//! where counting alone is over the budget, the first bytes of the hottest functions are put back. Threads of the program
//! do it themselves, see [`ada_ring::code_edits`]; nothing is stopped. It cannot be undone while the program runs: a thread
//! may be in the middle of the bytes that a jump would overwrite.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use ada_event::{FunctionId, ProcessId, RuntimeAddr};
use ada_process::procfs::{ProcessDir, ProcessMemory};
use ada_ring::Pool;
use ada_ring::code_edits::LINE;

use crate::arch::code_stores::are_whole_in_lines;
use crate::overhead::stops::Stops;
use crate::program_id::ProgramId;
use crate::tracked::Programs;

/// How long an order is good for.
const GOOD_FOR: Duration = Duration::from_millis(200);
/// How long to wait for threads to come by themselves. Then they are made to, and what becomes of an order is known when it is no
/// longer good, and this has passed once more.
const PATIENCE: Duration = Duration::from_millis(5);

/// Functions that have lost their hooks, or cannot.
#[derive(Default)]
pub(super) struct Unhooking {
    functions: HashSet<FunctionId>,
    /// Those whose hooks cannot be removed: they are still counted.
    kept: HashSet<FunctionId>,
    given: Option<Given>,
    pub(super) stops: Stops,
}

/// Orders of which it is not known yet whether they were obeyed.
struct Given {
    /// Whose starts they are about, with their numbers.
    functions: Vec<(FunctionId, usize)>,
    at: Instant,
    /// What is recorded meanwhile, so that threads look for orders.
    recorded: Option<FunctionId>,
}

/// A word of code, and how to change it.
struct Change {
    function: FunctionId,
    /// It is at the function's start: with that, calls are no longer seen.
    is_start: bool,
    program: ProgramId,
    address: RuntimeAddr,
    old: u64,
    new: u64,
}

impl Unhooking {
    /// Whether a function has lost its hook in some process.
    pub(super) fn has(&self, function: FunctionId) -> bool {
        self.functions.contains(&function)
    }

    /// Orders that hooks be removed, the hottest function's first; not while earlier orders may still be obeyed. An exit costs next to
    /// nothing where no call is recorded, and the return of one that still runs is seen by it: only where a scheduler goes from stack
    /// to stack, so that exits lead to the agent, are as many removed as can be.
    pub(super) fn order(
        &mut self,
        programs: &Programs,
        processes: &BTreeSet<ProcessId>,
        functions: &[FunctionId],
        has_scheduler: bool,
    ) {
        if self.given.is_some() {
            return;
        }
        let is_wanted = |function: &FunctionId| !self.kept.contains(function) && !self.functions.contains(function);
        let wanted: Vec<FunctionId> = functions.iter().copied().filter(is_wanted).collect();
        let changes = changes(programs, processes, &wanted, has_scheduler);
        let changed: HashSet<FunctionId> = changes.iter().map(|change| change.function).collect();
        self.kept.extend(wanted.iter().filter(|wanted| !changed.contains(wanted)));
        let rings = programs.switches.rings();
        let pool = rings.first();
        let edits = &pool.orders().code_edits;
        let at = Instant::now();
        let until = programs.switches.ticks_in(GOOD_FOR);
        let functions: Vec<(FunctionId, usize)> = changes
            .iter()
            .filter_map(|change| {
                let number = edits.add(change.program.0, change.address.0, change.old, change.new, until)?;
                change.is_start.then_some((change.function, number))
            })
            .collect();
        self.given = (!functions.is_empty()).then_some(Given { functions, at, recorded: None });
    }

    /// The functions that have lost their hooks in some process by the orders that were given, once it is known of all of them.
    pub(super) fn obeyed(&mut self, programs: &Programs) -> Vec<FunctionId> {
        let Some(given) = &mut self.given else { return Vec::new() };
        let rings = programs.switches.rings();
        let is_done = |number: usize| {
            let made = |pool: Pool| Some(pool.control().edits_made.done.get(number)?.load(Ordering::Relaxed));
            rings.pools().any(|pool| made(pool).is_some_and(|times| times > 0))
        };
        if let Some((function, _)) = given.functions.iter().find(|(_, number)| !is_done(*number)) {
            let age = given.at.elapsed();
            if age >= PATIENCE && given.recorded.is_none() {
                // Threads look for orders when they have filled a chunk, and a thread that only counts fills none.
                programs.switches.record_for_now(*function, true);
                given.recorded = Some(*function);
            }
            if age < GOOD_FOR + PATIENCE {
                return Vec::new();
            }
        }
        if let Some(function) = given.recorded {
            programs.switches.record_for_now(function, false);
        }
        let gone = given.functions.iter().filter(|(_, number)| is_done(*number)).map(|(known, _)| *known).collect();
        self.given = None;
        self.functions.extend(&gone);
        gone
    }

    /// Whether a function may be losing its hook right now.
    pub(super) fn is_ordered(&self, function: FunctionId) -> bool {
        self.given.iter().flat_map(|given| &given.functions).any(|(ordered, _)| *ordered == function)
    }

    /// Whether orders may still be obeyed.
    pub(super) fn is_under_way(&self) -> bool {
        self.given.is_some()
    }

    /// Removes what could not be removed while the program runs, by a stop of it, if it is time for one. Gives the functions that
    /// have lost their hooks so.
    pub(super) fn remove_rest(&mut self, programs: &Programs, processes: &BTreeSet<ProcessId>) -> Vec<FunctionId> {
        let all = self.functions.iter().chain(&self.kept).copied();
        let gone = self.stops.remove(programs, processes, all);
        self.kept.retain(|function| !gone.contains(function));
        gone.into_iter().filter(|function| self.functions.insert(*function)).collect()
    }
}

/// What has to be changed in which program.
fn changes(
    programs: &Programs,
    processes: &BTreeSet<ProcessId>,
    functions: &[FunctionId],
    has_scheduler: bool,
) -> Vec<Change> {
    let hooked = programs.lock();
    let mut changes = Vec::new();
    let mut living: HashMap<ProgramId, Living> = HashMap::new();
    // Programs that have loaded the same file have the same module.
    let in_programs = functions.iter().flat_map(|&function| {
        let modules = hooked.modules.iter().filter(move |module| module.id == function.module());
        modules.map(move |module| (function, module))
    });
    for (function, module) in in_programs {
        let program = module.program;
        let Some((installer, first)) = hooked.installers.get(&program) else { continue };
        // A library that was loaded later can be gone at any moment.
        if !first.contains(&module.file) {
            continue;
        }
        let living = living.entry(program).or_insert_with(|| {
            let runs = |pid: &&ProcessId| hooked.processes.get(pid).is_some_and(|it| it.programs.contains(&program));
            Living::of(processes.iter().filter(runs).copied())
        });
        // A program that has shut itself in may be killed for what its threads would have to do.
        if living.memories.is_empty() || living.is_shut_in {
            continue;
        }
        let jumps = installer.jumps_of(&module.file, function.symbol_index() as usize);
        for (number, (jump, original)) in jumps.iter().enumerate() {
            let bytes = jump.bytes();
            let in_lines = are_whole_in_lines() && (number == 0 || has_scheduler);
            let Some(address) = word_of(jump.at, bytes.len(), in_lines) else {
                if number == 0 {
                    break;
                }
                continue;
            };
            let within = (jump.at - address) as usize;
            let word = living.memories.iter().find_map(|memory| {
                let mut word = [0; 8];
                memory.read(address, &mut word).ok()?;
                (word[within..][..bytes.len()] == *bytes).then_some(word)
            });
            if let Some(old) = word {
                let mut new = old;
                new[within..][..bytes.len()].copy_from_slice(&original[..bytes.len()]);
                let (old, new) = (u64::from_le_bytes(old), u64::from_le_bytes(new));
                let is_start = number == 0;
                changes.push(Change { function, is_start, program, address, old, new });
            } else if number == 0 {
                break;
            }
        }
    }
    in_turn(changes)
}

/// The word in which so many bytes can be changed by one store: an aligned one, or one that lies in a line of the caches where that
/// is enough.
fn word_of(at: RuntimeAddr, bytes: usize, in_lines: bool) -> Option<RuntimeAddr> {
    let aligned = at.align_down(8);
    if (at - aligned) as usize + bytes <= 8 {
        return Some(aligned);
    }
    let last = at.align_down(LINE) + (LINE - 8);
    let word = at.min(last);
    (in_lines && (at - word) as usize + bytes <= 8).then_some(word)
}

/// Two functions can share a word, or have words that overlap: a change has to find what those before it leave.
fn in_turn(mut changes: Vec<Change>) -> Vec<Change> {
    let mut changed: HashMap<(ProgramId, u64), u8> = HashMap::new();
    for change in &mut changes {
        let (mut old, mut new) = (change.old.to_le_bytes(), change.new.to_le_bytes());
        for (at, (old, new)) in (change.address.0..).zip(old.iter_mut().zip(&mut new)) {
            let place = (change.program, at);
            if old != new {
                changed.insert(place, *new);
            } else if let Some(byte) = changed.get(&place) {
                (*old, *new) = (*byte, *byte);
            }
        }
        (change.old, change.new) = (u64::from_le_bytes(old), u64::from_le_bytes(new));
    }
    changes
}

/// The processes that run a program.
struct Living {
    memories: Vec<ProcessMemory>,
    /// Whether one of them has restricted its own system calls.
    is_shut_in: bool,
}

impl Living {
    fn of(processes: impl Iterator<Item = ProcessId>) -> Self {
        let mut living = Self { memories: Vec::new(), is_shut_in: false };
        for folder in processes.map(ProcessDir::of) {
            let Ok(memory) = folder.memory() else { continue };
            living.memories.push(memory);
            living.is_shut_in |= folder.status().is_ok_and(|status| status.has_seccomp());
        }
        living
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_second_change_of_a_word_builds_on_the_first() {
        let (function, program) = (FunctionId(1), ProgramId(1));
        let change = |address, old, new| {
            let address = RuntimeAddr(address);
            Change { function, is_start: true, program, address, old, new }
        };
        let changes = in_turn(vec![
            change(8, 0xaabb, 0x11bb),
            change(16, 1, 2),
            change(8, 0xaabb, 0xaa22),
            change(7, 0xaa_bb77, 0xaa_bb66),
        ]);
        assert_eq!((changes[2].old, changes[2].new), (0x11bb, 0x1122));
        assert_eq!((changes[1].old, changes[1].new), (1, 2));
        assert_eq!((changes[3].old, changes[3].new), (0x11_2277, 0x11_2266), "it overlaps both");
    }

    #[test]
    fn a_jump_is_changed_by_one_store_that_others_see_whole() {
        let word = |at, in_lines| word_of(RuntimeAddr(at), 5, in_lines).map(|word| word.0);
        assert_eq!([0x1000, 0x1003, 0x1033].map(|at| word(at, false)), [Some(0x1000), Some(0x1000), Some(0x1030)]);
        assert_eq!([0x1004, 0x1037, 0x103b].map(|at| word(at, false)), [None, None, Some(0x1038)]);
        assert_eq!([0x1004, 0x1037, 0x103b].map(|at| word(at, true)), [Some(0x1004), Some(0x1037), Some(0x1038)]);
        assert_eq!([0x103c, 0x103f].map(|at| word(at, true)), [None, None], "it lies in two lines");
    }
}
