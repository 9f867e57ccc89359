//! Watches the program, and switches functions so that a budget holds.

use std::collections::{HashMap, HashSet};
use std::sync::Mutex;
use std::time::Duration;

use ada_event::FunctionId;
use ada_patch::Verdict;

use crate::drain::event_tally::{EventTally, SharedTally};
use crate::install::function_numbers::FunctionNumbers;
use crate::overhead::budget::{Advice, Costs, Window};
use crate::overhead::hook_samples::{HookSamples, SampledTime};
use crate::overhead::lessons::Lessons;
use crate::overhead::measured_costs::{MeasuredCosts, set_range};
use crate::overhead::unhooking::Unhooking;
use crate::overhead::weights::Weights;
use crate::overhead::{AgentTime, Calibrated};
use crate::plan::{probes, switchable};
use crate::switches::SwitchMode;
use crate::tracked::{HookedPrograms, Programs};

/// How often to look, and the processor time that it takes to say something about rates.
const EVERY: Duration = Duration::from_millis(25);
const LEAST: Duration = Duration::from_millis(10);
/// The same until the program should be within its budget: what is hot is recorded until somebody looks.
const EVERY_AT_FIRST: Duration = Duration::from_millis(5);
const LEAST_AT_FIRST: Duration = Duration::from_millis(2);
/// Processor time after which it should.
const SETTLED: Duration = Duration::from_secs(1);
/// Functions come back after so much processor time in which each look found room.
const PATIENCE: Duration = Duration::from_millis(800);
/// A scheduler is no longer followed after so much processor time in which each look found it too dear.
const PATIENCE_WITH_SCHEDULER: Duration = Duration::from_millis(400);
/// From how many times the budget on it is not kept. Costs are estimated with something to spare, see below, and the
/// calls of one moment are not those of the next.
const CLEARLY_OVER: f64 = 1.5;
const WHY: &str = "budget";

/// How a budget was kept, by the governor's own estimate.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Governed {
    /// The share that hooks had after a second; `None` where the program was over by then.
    pub settled_overhead: Option<f64>,
    /// Processor time of the program during which hooks took clearly more than they may.
    pub over_budget: Duration,
    /// How often all threads of a process were stopped to remove hooks.
    pub stops: u32,
    /// How long the longest of these stops took.
    pub longest_stop: Duration,
}

/// Keeps a program within a budget.
pub(crate) struct Governor<'a> {
    programs: &'a Programs,
    tally: SharedTally,
    costs: MeasuredCosts,
    samples: &'a Mutex<HookSamples>,
    seen_samples: SampledTime,
    weights: Weights,
    max_overhead: f64,
    lessons: Lessons,
    agent: AgentTime,
    /// What was known at the last look that counted.
    seen: EventTally,
    seen_cpu: Duration,
    seen_agent_ns: f64,
    seen_counts: HashMap<FunctionId, u64>,
    /// What this governor has switched.
    own: HashSet<FunctionId>,
    /// Of which it has left out the values.
    without_values: HashSet<FunctionId>,
    /// What is too hot to be counted; none where counts are to stay exact.
    unhooking: Option<Unhooking>,
    time_with_room: Duration,
    /// A runtime's scheduler was seen at work.
    has_scheduler: bool,
    time_with_dear_scheduler: Duration,
    /// The functions of a scheduler that is no longer followed.
    let_go: HashSet<FunctionId>,
    /// Time in hooks and of the program itself, since it has settled.
    settled: (f64, f64),
    over_budget: Duration,
}

impl Costs {
    fn of(cost: &Calibrated) -> Self {
        Self { event: cost.pair / 2.0, count: cost.count }
    }
}

impl<'a> Governor<'a> {
    pub(crate) fn new(
        programs: &'a Programs,
        tally: SharedTally,
        agent: AgentTime,
        samples: &'a Mutex<HookSamples>,
        cost: &Calibrated,
        max_overhead: f64,
        exact_counts: bool,
    ) -> Self {
        Self {
            unhooking: (!exact_counts).then(Unhooking::default),
            programs,
            tally,
            costs: MeasuredCosts::new(Costs::of(cost)),
            samples,
            seen_samples: SampledTime::default(),
            lessons: Lessons::new(Costs::of(cost)),
            weights: Weights::measure(cost),
            max_overhead,
            agent,
            seen: EventTally::default(),
            seen_cpu: Duration::ZERO,
            seen_agent_ns: 0.0,
            seen_counts: HashMap::new(),
            own: HashSet::new(),
            without_values: HashSet::new(),
            time_with_room: Duration::ZERO,
            has_scheduler: false,
            time_with_dear_scheduler: Duration::ZERO,
            let_go: HashSet::new(),
            settled: (0.0, 0.0),
            over_budget: Duration::ZERO,
        }
    }

    /// Governs until nothing more is recorded. Gives what is to be learnt from it, too.
    pub(crate) fn run(mut self) -> (Governed, Lessons) {
        while self.programs.phase.is_hooking() {
            self.look();
            std::thread::sleep(if self.is_settled() { EVERY } else { EVERY_AT_FIRST });
        }
        // Whether hooks are gone decides what can be said of the calls.
        while self.unhooking.as_ref().is_some_and(Unhooking::is_under_way) {
            std::thread::sleep(EVERY_AT_FIRST);
            self.note_unhooked();
        }
        let (hooks, bare) = self.settled;
        let (stops, longest_stop) =
            self.unhooking.as_ref().map_or((0, Duration::ZERO), |it| (it.stops.made, it.stops.longest));
        let settled_overhead = (bare > 0.0).then(|| hooks / bare);
        (Governed { settled_overhead, over_budget: self.over_budget, stops, longest_stop }, self.lessons)
    }

    fn is_settled(&self) -> bool {
        self.seen_cpu > SETTLED
    }

    /// Takes note of what has lost its hooks.
    fn note_unhooked(&mut self) {
        let Some(unhooking) = &mut self.unhooking else { return };
        let switches = &self.programs.switches;
        let mut gone = unhooking.obeyed(self.programs);
        if self.has_scheduler {
            gone.extend(unhooking.remove_rest(self.programs, self.seen.processes()));
        }
        if gone.is_empty() {
            return;
        }
        switches.switch(&gone, SwitchMode::Unhooked, WHY);
        switches.note_unhooked(&gone);
        self.lessons.unhooked_at.extend(gone.iter().map(|function| (*function, self.lessons.own_ns)));
        self.own.retain(|function| !gone.contains(function));
    }

    fn look(&mut self) {
        self.note_unhooked();
        let tally = self.tally.lock().expect("nobody panics with the lock").clone();
        let cpu = self.lessons.cpu.look(tally.processes());
        let used = cpu.saturating_sub(self.seen_cpu);
        if used < if self.is_settled() { LEAST } else { LEAST_AT_FIRST } {
            return;
        }
        self.own.extend(self.programs.take_counted_from_start());
        let counts = self.programs.switches.counts();
        let handlers = self.programs.handlers();
        // What may be losing its hook is not recorded again: nobody would see its calls.
        let is_ordered = |function: FunctionId| self.unhooking.as_ref().is_some_and(|it| it.is_ordered(function));
        let is_recorded_again = |function: &FunctionId| handlers.contains(function) && !is_ordered(*function);
        let counted: Vec<FunctionId> = self.own.extract_if(is_recorded_again).collect();
        self.programs.switches.switch(&counted, SwitchMode::Full, WHY);
        let agent_ns = self.agent.so_far();
        let window =
            Window { agent_ns: agent_ns - self.seen_agent_ns, ..self.window(&tally, used, &counts, &handlers) };
        self.seen_agent_ns = agent_ns;
        let sampled = self.samples.lock().expect("nobody panics with the lock").look(self.programs, tally.processes());
        self.costs.add(window.hook_ns(self.costs.calibrated()), sampled.since(self.seen_samples), used);
        self.seen_samples = sampled;
        let costs = self.costs.costs();
        self.lessons.costs = costs;
        self.has_scheduler |= window.has_scheduler;
        let window = Window { has_scheduler: self.has_scheduler, ..window };
        (self.seen, self.seen_cpu, self.seen_counts) = (tally, cpu, counts);
        self.lessons.own_ns += window.bare_ns(costs);
        if self.is_settled() {
            self.settled.0 += window.hook_ns(costs);
            self.settled.1 += window.bare_ns(costs);
        }
        if window.overhead(costs) > CLEARLY_OVER * self.max_overhead {
            self.over_budget += used;
        }
        let mut decision = window.decide(costs, self.max_overhead);
        let is_ordered = |function: FunctionId| self.unhooking.as_ref().is_some_and(|it| it.is_ordered(function));
        decision.record.retain(|function| !self.let_go.contains(function) && !is_ordered(*function));
        let switches = &self.programs.switches;
        if !decision.without_values.is_empty() {
            switches.switch(&decision.without_values, SwitchMode::WithoutValues, WHY);
            self.without_values.extend(&decision.without_values);
        }
        if !decision.count.is_empty() {
            let switched = switches.switch(&decision.count, SwitchMode::Count, WHY);
            // A compiler has more functions that are called often than there are counters.
            switches.switch(&switched.without_counter, SwitchMode::Off, WHY);
            self.own.extend(&decision.count);
        }
        if let Some(unhooking) = self.unhooking.as_mut().filter(|_| !decision.unhook.is_empty()) {
            unhooking.order(self.programs, self.seen.processes(), &decision.unhook, self.has_scheduler);
        }
        if self.unhooking.is_some() && decision.scheduler_is_too_dear {
            self.time_with_dear_scheduler += used;
            if self.time_with_dear_scheduler >= PATIENCE_WITH_SCHEDULER && self.let_go.is_empty() {
                self.stop_following();
            }
        } else {
            self.time_with_dear_scheduler = Duration::ZERO;
        }
        let switches = &self.programs.switches;
        self.time_with_room = if decision.record.is_empty() { Duration::ZERO } else { self.time_with_room + used };
        if self.time_with_room >= PATIENCE {
            self.time_with_room = Duration::ZERO;
            // Values were the first to go, and do not come back with the calls.
            let (without, full): (Vec<FunctionId>, Vec<FunctionId>) =
                decision.record.iter().partition(|function| self.without_values.contains(*function));
            switches.switch(&without, SwitchMode::WithoutValues, WHY);
            switches.switch(&full, SwitchMode::Full, WHY);
            self.own.retain(|function| !decision.record.contains(function));
        }
    }

    /// Takes a runtime's scheduler for what it is: a story that cannot be told within the budget. It ends here.
    fn stop_following(&mut self) {
        let hooked = self.programs.lock();
        let followed = hooked.modules.iter().flat_map(|module| {
            let is_hooked = |index: &usize| !matches!(module.verdicts.get(*index), None | Some(Verdict::Skipped(_)));
            let is_followed = |index: &usize| probes::is_of_scheduler(&module.functions, *index);
            let indexes = (0..module.verdicts.len()).filter(is_hooked).filter(is_followed);
            indexes.map(|index| FunctionId::new(module.id, index as u32))
        });
        let followed: Vec<FunctionId> = followed.collect();
        drop(hooked);
        let switches = &self.programs.switches;
        // All at the same time: half of a scheduler's calls say what is false.
        let switched = switches.switch(&followed, SwitchMode::Count, WHY);
        switches.switch(&switched.without_counter, SwitchMode::Off, WHY);
        self.own.extend(&followed);
        self.let_go.extend(followed);
    }

    /// What happened since the last look.
    fn window(
        &self,
        tally: &EventTally,
        used: Duration,
        counts: &HashMap<FunctionId, u64>,
        handlers: &HashSet<FunctionId>,
    ) -> Window {
        let mut window = Window { cpu_ns: used.as_nanos() as f64, ..Window::default() };
        let without_values = self.programs.switches.without_values();
        // In the order in which those who hook take them.
        let hooked = self.programs.lock();
        let numbers = self.programs.numbers.read().expect("nobody panics with the lock");
        for (number, events) in tally.by_function().iter() {
            let new = events - self.seen.by_function().get(number);
            if new == 0 {
                continue;
            }
            let function = numbers.get(number);
            // Events of one that is counted already were made before it was.
            let is_over = |unhooking: &Unhooking| unhooking.has(function);
            if self.own.contains(&function) || self.unhooking.as_ref().is_some_and(is_over) {
                continue;
            }
            if is_switchable(&hooked, function) && !handlers.contains(&function) {
                window.recorded.push(self.weights.recorded(&hooked, &without_values, function, new));
            } else {
                window.other_events += new;
                window.has_scheduler |= is_of_scheduler(&hooked, function);
            }
        }
        drop((numbers, hooked));
        for (&function, &count) in counts {
            let new = count - self.seen_counts.get(&function).copied().unwrap_or(0).min(count);
            if self.own.contains(&function) {
                window.counted.push((function, new));
            } else if self.unhooking.as_ref().is_some_and(|unhooking| unhooking.has(function)) {
                window.still_counted.push((function, new));
            } else {
                window.other_counted += new;
            }
        }
        window
    }
}

/// A run as a whole, once it is over.
pub(crate) struct WholeRun<'a> {
    window: Window,
    hooked: &'a HookedPrograms,
    /// By samples of the run: how far the calibration may be off does not matter then.
    is_measured: bool,
}

impl<'a> WholeRun<'a> {
    /// A run that has used so much processor time, of which the agent has taken `agent_ns`.
    pub(crate) fn new(
        tally: &EventTally,
        counted: u64,
        cost: &Calibrated,
        (cpu, agent_ns): (Duration, f64),
        numbers: &FunctionNumbers,
        hooked: &'a HookedPrograms,
    ) -> Self {
        let mut window =
            Window { cpu_ns: cpu.as_nanos() as f64, agent_ns, other_counted: counted, ..Window::default() };
        let weights = Weights::measure(cost);
        let mut events: HashMap<FunctionId, u64> = HashMap::new();
        for (number, count) in tally.by_function().iter().filter(|(_, count)| *count > 0) {
            *events.entry(numbers.get(number)).or_default() += count;
        }
        for (function, count) in events {
            if is_switchable(hooked, function) {
                window.recorded.push(weights.recorded(hooked, &HashSet::new(), function, count));
            } else {
                window.other_events += count;
            }
        }
        Self { window, hooked, is_measured: false }
    }

    /// Has a calibration say what hooks have taken in this run, as far as samples tell.
    pub(crate) fn measure(&mut self, cost: &mut Calibrated, sampled: SampledTime) {
        let costs = Costs::of(cost);
        let agent_ns = self.window.other_ns(costs);
        self.is_measured = set_range(
            cost,
            (self.window.hook_ns(costs) - agent_ns, agent_ns),
            sampled,
            Duration::from_nanos(self.window.cpu_ns as u64),
        );
    }

    /// What a budget would have done to it, had it had one.
    pub(crate) fn advise(&self, cost: &Calibrated, max_overhead: f64) -> Option<Advice> {
        let Self { window, hooked, is_measured } = self;
        // A share of next to nothing, or of what nobody has looked at, is no estimate.
        if window.cpu_ns < LEAST.as_nanos() as f64 {
            return None;
        }
        let costs = Costs::of(cost);
        let error = if *is_measured { 0.0 } else { cost.pair_error / cost.pair.max(0.1) };
        let least = window.overhead_if(costs, cost.at_least * (1.0 - error));
        let most = window.overhead_if(costs, cost.at_most * (1.0 + error));
        // A calibration that the machine has disturbed may leave nothing.
        let least = least.unwrap_or_else(|| window.overhead(costs));
        let decision = window.decide(costs, max_overhead);
        let names = |functions: &[FunctionId]| functions.iter().map(|it| hooked.name_of(*it)).collect();
        (least > max_overhead).then(|| Advice {
            max_overhead,
            least,
            most,
            without_values: names(&decision.without_values),
            functions: names(&decision.count),
        })
    }
}

/// Whether a runtime's scheduler is followed by a function's calls.
fn is_of_scheduler(hooked: &HookedPrograms, function: FunctionId) -> bool {
    let module = hooked.modules.with_id(function.module());
    module.is_some_and(|module| probes::is_of_scheduler(&module.functions, function.symbol_index() as usize))
}

/// Whether a function may be counted.
fn is_switchable(hooked: &HookedPrograms, function: FunctionId) -> bool {
    let module = hooked.modules.with_id(function.module());
    module.is_some_and(|module| switchable::is_switchable(module, function.symbol_index() as usize))
}
