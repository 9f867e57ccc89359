//! The mode of each switched function, since when, and its calls meanwhile.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Duration;

use ada_event::{FunctionId, ModuleId, ProcessId, TraceNanos};
use ada_format::atf;
use ada_process::arch::time_stamp;
use ada_process::{Clock, MemfdId};
use ada_ring::counters::{FIRST, SLOTS, UNWANTED, WITHOUT_VALUES, switch_word};

use crate::install::rings::Rings;
use crate::install::shared_memory::SharedMemory;
use crate::switches::SwitchMode;
use crate::switches::call_counts::{ByProcess, CallCounts, are_exact};

/// All switches of a session.
pub(crate) struct Switchboard {
    shared: Arc<SharedMemory>,
    clock: OnceLock<Clock>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// A function's counter is its own for good: a call that is about to be counted must find no other there.
    slots: HashMap<FunctionId, usize>,
    /// What is not recorded now.
    open: HashMap<FunctionId, Interval>,
    closed: Vec<Interval>,
    counts: CallCounts,
    /// Functions whose values were left for later.
    later: HashSet<FunctionId>,
}

/// Why a function has no values that are to be captured when somebody asks for them.
pub(crate) const LATER: &str = "later";

/// Why a function was counted, or had no hook, from the start: earlier runs have shown that it is called too often for the budget.
pub(crate) const EARLIER: &str = "budget, by earlier runs";

/// A time in which a function was not recorded, or without its values.
struct Interval {
    function: FunctionId,
    mode: SwitchMode,
    why: String,
    from: TraceNanos,
    to: Option<TraceNanos>,
    at_start: ByProcess,
    at_end: ByProcess,
}

/// What became of a wish.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Switched {
    pub(crate) changed: usize,
    /// Functions for which no counter is free.
    pub(crate) without_counter: Vec<FunctionId>,
    /// Functions that have no hook any more.
    pub(crate) unhooked: usize,
}

/// A function that was not recorded all the time, for the summary.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SwitchedFunction {
    /// The function.
    pub function: FunctionId,
    /// Its name, or its module and offset.
    pub name: String,
    /// How often it was called while it was counted.
    pub calls: u64,
    /// Whether that is every call: it was counted, and not switched off.
    pub is_exact: bool,
    /// Whether its hook was removed, because counting took too long.
    pub is_unhooked: bool,
    /// Whether it had none from the start, because earlier runs have shown that counting would take too long.
    pub is_left_out: bool,
}

impl Switchboard {
    pub(crate) fn new(shared: Arc<SharedMemory>) -> Self {
        Self { shared, clock: OnceLock::new(), state: Mutex::default() }
    }

    /// From now on switches have times.
    pub(crate) fn start(&self, clock: Clock) {
        let _ = self.clock.set(clock);
    }

    /// The memory that the program's threads share with the recorder.
    pub(crate) fn rings(&self) -> &Rings {
        &self.shared.rings
    }

    /// Identifies the processes that have that memory.
    pub(crate) fn memfd(&self) -> Option<MemfdId> {
        self.shared.memfd().ok()
    }

    /// What the processor's clock will show after a time.
    pub(crate) fn ticks_in(&self, time: Duration) -> u64 {
        time_stamp().saturating_add(self.clock.get().map_or(0, |clock| clock.ticks(time)))
    }

    fn now(&self) -> TraceNanos {
        self.clock.get().map_or(TraceNanos(0), Clock::now)
    }

    /// Switches functions, which must all be hooked.
    pub(crate) fn switch(&self, functions: &[FunctionId], mode: SwitchMode, why: &str) -> Switched {
        let mut state = self.state.lock().expect("nobody panics with the lock");
        let State { slots, open, closed, counts, .. } = &mut *state;
        let slot_of = |slots: &HashMap<FunctionId, usize>, function: FunctionId| {
            slots.get(&function).copied().unwrap_or(UNWANTED)
        };
        let mut switched = Switched::default();
        let rings = &self.shared.rings;
        let before = counts.sums(rings, FIRST + slots.len());
        let mut ended = Vec::new();
        for &function in functions {
            let known = open.get(&function).map_or(SwitchMode::Full, |interval| interval.mode);
            if known == mode {
                continue;
            }
            if known == SwitchMode::Unhooked {
                switched.unhooked += 1;
                continue;
            }
            let Some(word) = word(slots, function, mode) else {
                switched.without_counter.push(function);
                continue;
            };
            let now = self.now();
            if !self.shared.switches.set(function, word) {
                continue;
            }
            switched.changed += 1;
            if let Some(interval) = open.remove(&function) {
                ended.push(Interval { to: Some(now), ..interval });
            }
            if mode != SwitchMode::Full {
                let at_start = before.of_slot(slot_of(slots, function));
                let at_end = ByProcess::new();
                let why = why.to_owned();
                open.insert(function, Interval { function, mode, why, from: now, to: None, at_start, at_end });
            }
        }
        let after = counts.sums(rings, FIRST + slots.len());
        for mut interval in ended {
            interval.at_end = after.of_slot(slot_of(slots, interval.function));
            closed.push(interval);
        }
        switched
    }

    /// Notes which functions of a module were given no hooks when it was loaded.
    pub(crate) fn note_left_out(&self, module: ModuleId) {
        let left_out = self.shared.switches.unhooked_of(module);
        let functions: Vec<FunctionId> =
            left_out.into_iter().map(|index| FunctionId::new(module, index as u32)).collect();
        if !functions.is_empty() {
            self.switch(&functions, SwitchMode::Unhooked, EARLIER);
        }
    }

    /// Has functions counted because of earlier runs. Gives those that are: nobody has said anything of them in this one.
    pub(crate) fn count_from_start(&self, functions: &[FunctionId]) -> Vec<FunctionId> {
        let state = self.state.lock().expect("nobody panics with the lock");
        let new: Vec<FunctionId> = functions.iter().copied().filter(|it| !state.open.contains_key(it)).collect();
        drop(state);
        let switched = self.switch(&new, SwitchMode::Count, EARLIER);
        self.switch(&switched.without_counter, SwitchMode::Off, EARLIER);
        new
    }

    /// Has functions recorded without their values until somebody asks for these. Whoever has done so before, in another
    /// program with the same file, need not do so again.
    pub(crate) fn leave_values_for_later(&self, functions: &[FunctionId]) {
        let mut state = self.state.lock().expect("nobody panics with the lock");
        let new: Vec<FunctionId> = functions.iter().copied().filter(|it| state.later.insert(*it)).collect();
        drop(state);
        self.switch(&new, SwitchMode::WithoutValues, LATER);
    }

    /// What the manifest of a process says of the functions that `is_its` is true of.
    pub(crate) fn entries(&self, process: ProcessId, is_its: impl Fn(FunctionId) -> bool) -> Vec<atf::Switch> {
        let mut state = self.state.lock().expect("nobody panics with the lock");
        let is_its = |interval: &Interval| interval.mode != SwitchMode::WithoutValues && is_its(interval.function);
        if !state.closed.iter().chain(state.open.values()).any(is_its) {
            return Vec::new();
        }
        let State { slots, open, closed, counts, .. } = &mut *state;
        let sums = counts.sums(&self.shared.rings, FIRST + slots.len());
        let is_exact = are_exact(&self.shared.rings);
        let mut by_function: BTreeMap<FunctionId, Vec<&Interval>> = BTreeMap::new();
        for interval in closed.iter().chain(open.values()).filter(|interval| is_its(interval)) {
            by_function.entry(interval.function).or_default().push(interval);
        }
        let mut entries = Vec::new();
        for (function, intervals) in by_function {
            let slot = slots.get(&function).copied().unwrap_or(UNWANTED);
            let mut rest = sums.of(process, slot);
            let last = intervals.iter().rposition(|interval| interval.mode == SwitchMode::Count);
            for (number, interval) in intervals.iter().enumerate() {
                let count = (interval.mode == SwitchMode::Count).then(|| {
                    let at = |counts: &ByProcess| counts.get(&process).copied().unwrap_or(0);
                    let within = at(&interval.at_end).saturating_sub(at(&interval.at_start));
                    // A call that was begun before the switch is counted after it: the last time has the rest.
                    let count = if last == Some(number) { rest } else { within.min(rest) };
                    rest -= count;
                    count
                });
                entries.push(atf::Switch {
                    function_id: function,
                    mode: interval.mode.name().into(),
                    from_ns: interval.from,
                    to_ns: interval.to,
                    why: interval.why.clone(),
                    count,
                    is_exact: interval.mode == SwitchMode::Count && is_exact,
                    ..atf::Switch::default()
                });
            }
        }
        entries.sort_by_key(|entry| (entry.from_ns, entry.function_id));
        entries
    }

    /// The times in which functions that `is_its` is true of were recorded without their values, as a manifest has them.
    pub(crate) fn value_entries(&self, is_its: impl Fn(FunctionId) -> bool) -> Vec<atf::Switch> {
        let state = self.state.lock().expect("nobody panics with the lock");
        let intervals = state.closed.iter().chain(state.open.values());
        let without = intervals.filter(|it| it.mode == SwitchMode::WithoutValues && is_its(it.function));
        let mut entries: Vec<atf::Switch> = without
            .map(|interval| atf::Switch {
                function_id: interval.function,
                mode: interval.mode.name().into(),
                from_ns: interval.from,
                to_ns: interval.to,
                why: interval.why.clone(),
                ..atf::Switch::default()
            })
            .collect();
        entries.sort_by_key(|entry| (entry.from_ns, entry.function_id));
        entries
    }

    /// The functions that are recorded without their values now.
    pub(crate) fn without_values(&self) -> HashSet<FunctionId> {
        let state = self.state.lock().expect("nobody panics with the lock");
        let without = state.open.values().filter(|it| it.mode == SwitchMode::WithoutValues);
        without.map(|it| it.function).collect()
    }

    /// Those whose values somebody, or a budget, has left out for a time.
    pub(crate) fn lost_values(&self, name_of: impl Fn(FunctionId) -> String) -> Vec<String> {
        let entries = self.value_entries(|_| true);
        let functions: BTreeSet<FunctionId> =
            entries.iter().filter(|entry| entry.why != LATER).map(|entry| entry.function_id).collect();
        functions.into_iter().map(name_of).collect()
    }

    /// Programs that are hooked from now on do not get the hooks of these.
    pub(crate) fn note_unhooked(&self, functions: &[FunctionId]) {
        self.shared.switches.note_unhooked(functions);
    }

    /// Has the calls of a function recorded for a moment though it is counted, or counted again: whichever happens, each
    /// call is the one or the other.
    pub(crate) fn record_for_now(&self, function: FunctionId, is_recorded: bool) {
        let state = self.state.lock().expect("nobody panics with the lock");
        if let Some(&slot) = state.slots.get(&function) {
            self.shared.switches.set(function, if is_recorded { 0 } else { switch_word(slot) });
        }
    }

    /// How often each function that has a counter was called while it was counted, in all processes.
    pub(crate) fn counts(&self) -> HashMap<FunctionId, u64> {
        let mut state = self.state.lock().expect("nobody panics with the lock");
        let State { slots, counts, .. } = &mut *state;
        let sums = counts.sums(&self.shared.rings, FIRST + slots.len());
        slots.iter().map(|(&function, &slot)| (function, sums.of_all(slot))).collect()
    }

    /// All functions that were switched, those with most counted calls first.
    pub(crate) fn summary(&self, name_of: impl Fn(FunctionId) -> String) -> Vec<SwitchedFunction> {
        let counts = self.counts();
        let is_exact = are_exact(&self.shared.rings);
        let state = self.state.lock().expect("nobody panics with the lock");
        let mut functions: BTreeMap<FunctionId, (bool, bool, bool)> = BTreeMap::new();
        let intervals = state.closed.iter().chain(state.open.values());
        for interval in intervals.filter(|it| it.mode != SwitchMode::WithoutValues) {
            let (is_exact, is_unhooked, is_left_out) =
                functions.entry(interval.function).or_insert((is_exact, false, false));
            *is_exact &= interval.mode == SwitchMode::Count;
            let has_no_hook = interval.mode == SwitchMode::Unhooked;
            *is_unhooked |= has_no_hook && interval.why != EARLIER;
            *is_left_out |= has_no_hook && interval.why == EARLIER;
        }
        let mut all: Vec<SwitchedFunction> = functions
            .into_iter()
            .map(|(function, (is_exact, is_unhooked, is_left_out))| SwitchedFunction {
                function,
                name: name_of(function),
                calls: counts.get(&function).copied().unwrap_or(0),
                is_exact,
                is_unhooked,
                is_left_out,
            })
            .collect();
        all.sort_by_key(|function| std::cmp::Reverse(function.calls));
        all
    }
}

/// What a switch holds for a mode. None where no counter is free.
fn word(slots: &mut HashMap<FunctionId, usize>, function: FunctionId, mode: SwitchMode) -> Option<u32> {
    match mode {
        SwitchMode::Full => Some(0),
        SwitchMode::WithoutValues => Some(WITHOUT_VALUES),
        SwitchMode::Off => Some(switch_word(UNWANTED)),
        // Processes that have not come to it yet go on counting.
        SwitchMode::Unhooked => Some(switch_word(slots.get(&function).copied().unwrap_or(UNWANTED))),
        SwitchMode::Count => {
            let next = FIRST + slots.len();
            if next >= SLOTS && !slots.contains_key(&function) {
                return None;
            }
            Some(switch_word(*slots.entry(function).or_insert(next)))
        }
    }
}

#[cfg(test)]
mod tests {
    use ada_ring::{DetailMode, OnFull};

    use super::*;

    #[test]
    fn what_finds_no_counter_is_named_and_can_be_switched_off() {
        let shared = Arc::new(SharedMemory::new(2, OnFull::Wait, DetailMode::Off).unwrap());
        let (module, functions) = (ModuleId(1), SLOTS);
        let offset = shared.code.reserve(4 * (functions as u64 + 32)).unwrap();
        shared.add_switches(offset, module, functions);
        let switches = Switchboard::new(shared.clone());
        let all: Vec<FunctionId> = (0..functions as u32).map(|index| FunctionId::new(module, index)).collect();
        let switched = switches.switch(&all, SwitchMode::Count, "budget");
        let others: Vec<FunctionId> = all[SLOTS - FIRST..].to_vec();
        assert_eq!((switched.changed, &switched.without_counter), (SLOTS - FIRST, &others));
        assert_eq!(shared.switches.word(others[0]), Some(0), "it is recorded as before");
        assert_eq!(switches.switch(&others, SwitchMode::Off, "budget").changed, others.len());
        assert_eq!(shared.switches.word(others[0]), Some(switch_word(UNWANTED)));
    }
}
