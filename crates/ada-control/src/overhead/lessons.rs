//! What a run teaches those that come after it: how often its program calls which function.

use std::collections::{BTreeMap, HashMap, HashSet};

use ada_event::FunctionId;

use crate::drain::event_tally::EventTally;
use crate::file_id::FileId;
use crate::overhead::budget::Costs;
use crate::overhead::cpu_time::CpuTimes;
use crate::plan::earlier_runs::{EarlierRuns, KnownCalls, KnownFunction};
use crate::plan::switchable::switchable_at;
use crate::tracked::Programs;

/// So much of a program's own time says how often it calls something.
const LEAST_NS: f64 = 5e6;

/// What a governor has seen of a run.
pub(crate) struct Lessons {
    pub(super) costs: Costs,
    /// The time that the programs have used for themselves.
    pub(super) own_ns: f64,
    /// At which of it functions have lost their hooks.
    pub(super) unhooked_at: HashMap<FunctionId, f64>,
    pub(super) cpu: CpuTimes,
}

impl Lessons {
    pub(super) fn new(costs: Costs) -> Self {
        Self { costs, own_ns: 0.0, unhooked_at: HashMap::new(), cpu: CpuTimes::default() }
    }

    /// Keeps what was seen for later runs of the program that has used most time.
    pub(crate) fn keep(self, programs: &Programs, tally: &EventTally, earlier_runs: &EarlierRuns) {
        let hooked = programs.lock();
        let program = self.cpu.busiest().and_then(|pid| hooked.processes.get(&pid)?.programs.last().copied());
        let Some((program, (installer, _))) = program.and_then(|it| Some((it, hooked.installers.get(&it)?))) else {
            return;
        };
        let known = installer.known.clone();
        let Some(id) = known.id.filter(|_| self.own_ns >= LEAST_NS) else { return };
        let calls = calls(programs, tally);
        let mut files: BTreeMap<FileId, Vec<KnownFunction>> = BTreeMap::new();
        let mut path = String::new();
        for module in hooked.modules.of(program) {
            let Some(file) = module.file_id() else { continue };
            if file == id {
                path = module.file.path.display().to_string();
            }
            let functions = files.entry(file).or_default();
            let starts = module.functions.functions().iter().map(|function| function.start.0);
            for function in switchable_at(module, starts) {
                let Some(&calls) = calls.get(&function) else { continue };
                let seconds = self.unhooked_at.get(&function).unwrap_or(&self.own_ns).max(1.0) / 1e9;
                let start = module.functions.functions()[function.symbol_index() as usize].start;
                functions.push(KnownFunction(start.0, calls as f64 / seconds));
            }
        }
        drop(hooked);
        let (recorded_ns, counted_ns) = (2.0 * self.costs.event, self.costs.count);
        let news = KnownCalls { path, recorded_ns, counted_ns, files, ..KnownCalls::default() };
        let was_seen = |file: &FileId, start: u64| {
            known.hot.of(|| Some(file.clone())).is_none_or(|hot| !hot.left_out.contains(&start))
        };
        earlier_runs.learn(&id, news, was_seen);
    }
}

/// The calls of each function, recorded or counted, but for those that handle signals: they are always recorded.
fn calls(programs: &Programs, tally: &EventTally) -> HashMap<FunctionId, u64> {
    let numbers = programs.numbers.read().expect("nobody panics with the lock");
    let mut calls = programs.switches.counts();
    for (number, events) in tally.by_function().iter() {
        *calls.entry(numbers.get(number)).or_default() += events / 2;
    }
    let handlers: HashSet<FunctionId> = programs.handlers();
    calls.retain(|function, calls| *calls > 0 && !handlers.contains(function));
    calls
}
