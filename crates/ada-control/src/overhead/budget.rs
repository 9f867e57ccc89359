//! Which functions to switch so that hooks take no more than a share of a program's time. No clocks and no processes
//! here: numbers in, functions out.

use ada_event::FunctionId;

/// What a budget would have done to a run without one.
#[derive(Clone, Debug, PartialEq)]
pub struct Advice {
    /// The budget.
    pub max_overhead: f64,
    /// The share that the hooks had at least, of the time that the program would have taken without them.
    pub least: f64,
    /// And at most; none where hooks may have taken almost all of the time.
    pub most: Option<f64>,
    /// Of which the values would have been left out: names, the dearest first.
    pub without_values: Vec<String>,
    /// What would have been counted instead of recorded: names, the hottest first.
    pub functions: Vec<String>,
}

/// What a hook costs, in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Costs {
    pub(super) event: f64,
    pub(super) count: f64,
}

/// What happened in some time.
#[derive(Clone, Debug, Default)]
pub(super) struct Window {
    /// Processor time of the program, hooks included, in nanoseconds.
    pub(super) cpu_ns: f64,
    /// Functions that are recorded now, and may be switched.
    pub(super) recorded: Vec<Recorded>,
    /// Events of all others.
    pub(super) other_events: u64,
    /// Whether a runtime's scheduler is, or was, followed by some of these.
    pub(super) has_scheduler: bool,
    /// What the agent took, by its own count, in nanoseconds.
    pub(super) agent_ns: f64,
    /// Calls of functions that are counted now, and may be switched back.
    pub(super) counted: Vec<(FunctionId, u64)>,
    /// Calls of functions that some process still counts, though their hooks are to go.
    pub(super) still_counted: Vec<(FunctionId, u64)>,
    /// Calls of others that are counted, by somebody's wish.
    pub(super) other_counted: u64,
}

/// What was recorded of a function.
#[derive(Clone, Copy, Debug)]
pub(super) struct Recorded {
    pub(super) function: FunctionId,
    pub(super) events: u64,
    /// How many plain events one of them costs: values are dear where memory is read.
    pub(super) weight: f64,
    /// How many of these are the agent's.
    pub(super) of_agent: f64,
    /// Whether it has values that can be left out.
    pub(super) has_values: bool,
}

impl Recorded {
    /// In plain events.
    fn cost(&self) -> f64 {
        self.events as f64 * self.weight
    }

    /// What its values cost beside the events.
    fn cost_of_values(&self) -> f64 {
        if self.has_values { self.events as f64 * (self.weight - 1.0).max(0.0) } else { 0.0 }
    }
}

/// What to do.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Decision {
    /// Those whose values are left out: these go before any call does.
    pub(super) without_values: Vec<FunctionId>,
    pub(super) count: Vec<FunctionId>,
    pub(super) record: Vec<FunctionId>,
    /// Those that are too hot even to be counted.
    pub(super) unhook: Vec<FunctionId>,
    /// To follow a runtime's scheduler takes almost all of the budget by itself, or more.
    pub(super) scheduler_is_too_dear: bool,
}

/// Once over the budget, functions are switched until this share of it is used: the next moment may have more calls.
const TARGET: f64 = 0.7;
/// Of this, what recording and counting have each when they compete.
const PART: f64 = TARGET / 2.0;
/// Functions come back while less than this share is used.
const ROOM: f64 = 0.5;
/// A function is rare if it takes no more than this share of the budget that the processor time would allow, hooks included:
/// at 10 %, some thousand calls in a second. What it takes is nothing, and what it tells is most.
const RARE: f64 = 0.001;
/// What rare functions may have together, of the same, whatever all others take.
const RARE_TOGETHER: f64 = 0.1;

impl Window {
    /// In plain events.
    fn events(&self) -> f64 {
        self.recorded.iter().map(Recorded::cost).sum::<f64>() + self.other_events as f64
    }

    fn counted_calls(&self) -> u64 {
        let sum = |counts: &[(FunctionId, u64)]| counts.iter().map(|(_, calls)| calls).sum::<u64>();
        sum(&self.counted) + sum(&self.still_counted) + self.other_counted
    }

    /// Time in the agent that is not part of what functions cost that may be switched.
    pub(super) fn other_ns(&self, costs: Costs) -> f64 {
        let known = self.recorded.iter().map(|it| it.events as f64 * it.of_agent).sum::<f64>() * costs.event;
        (self.agent_ns - known).max(0.0)
    }

    /// Time in hooks.
    pub(super) fn hook_ns(&self, costs: Costs) -> f64 {
        self.events() * costs.event + self.counted_calls() as f64 * costs.count + self.other_ns(costs)
    }

    /// Time in hooks, as a share of what the program would have taken without them. Hooks cannot have taken all of it.
    pub(super) fn overhead(&self, costs: Costs) -> f64 {
        self.hook_ns(costs) / self.bare_ns(costs)
    }

    /// The same if each hook takes so many times what it costs; none where that leaves next to nothing of the program's own.
    pub(super) fn overhead_if(&self, costs: Costs, times: f64) -> Option<f64> {
        const LEAST_OWN: f64 = 0.01;
        // What the agent took is measured in the program, and no guess.
        let agent = self.other_ns(costs);
        let hooks = (self.hook_ns(costs) - agent) * times + agent;
        let own = self.cpu_ns - hooks;
        (own > LEAST_OWN * self.cpu_ns).then(|| hooks / own)
    }

    /// The time that the program would have taken without hooks.
    pub(super) fn bare_ns(&self, costs: Costs) -> f64 {
        (self.cpu_ns - self.hook_ns(costs)).max(self.cpu_ns * 0.02).max(1.0)
    }

    /// What hooks cost with their share of the agent's time, and what is left of that. Where a scheduler goes from stack to stack,
    /// the agent hears of it from whatever is hooked and comes next, recorded or counted.
    fn with_agents_share(&self, costs: Costs) -> (Costs, f64) {
        let other = self.other_ns(costs);
        if !self.has_scheduler {
            return (costs, other);
        }
        let share = other / (self.events() + self.counted_calls() as f64).max(1.0);
        (Costs { event: costs.event + share, count: costs.count + share }, 0.0)
    }

    /// What to switch for a budget.
    pub(super) fn decide(&self, costs: Costs, max_overhead: f64) -> Decision {
        let budget = max_overhead * self.bare_ns(costs);
        let (costs, other) = self.with_agents_share(costs);
        let mut counting = self.counted_calls() as f64 * costs.count;
        let mut recording = self.events() * costs.event;
        let mut decision = Decision::default();
        if recording + counting + other > budget {
            // Recording always has its part, or else a program that is dear to count would have nothing recorded.
            let allowed = (TARGET * budget - counting - other).max(PART * budget);
            let allowance = max_overhead * self.cpu_ns;
            let mut dearest = self.recorded.clone();
            dearest.sort_by(|one, other| other.cost_of_values().total_cmp(&one.cost_of_values()));
            for it in &mut dearest {
                let saved = it.cost_of_values() * costs.event;
                if recording <= allowed || saved <= RARE * allowance {
                    break;
                }
                recording -= saved;
                decision.without_values.push(it.function);
                (it.weight, it.of_agent, it.has_values) = (1.0, 0.0, false);
            }
            dearest.sort_by(|one, other| other.cost().total_cmp(&one.cost()));
            let is_rare = |it: &Recorded| it.cost() * costs.event <= RARE * allowance;
            let (rare, often): (Vec<Recorded>, Vec<Recorded>) = dearest.into_iter().partition(is_rare);
            let mut count = |it: &Recorded, recording: &mut f64, counting: &mut f64| {
                // A call is two events, unless its return is not caught.
                let calls = it.events as f64 / 2.0;
                if *recording <= allowed || calls * costs.count >= it.cost() * costs.event {
                    return false;
                }
                *recording -= it.cost() * costs.event;
                *counting += calls * costs.count;
                decision.count.push(it.function);
                true
            };
            for it in &often {
                if !count(it, &mut recording, &mut counting) {
                    break;
                }
            }
            // Rare ones go last, and not for nothing: only what many of them take together is worth it.
            let mut of_rare = rare.iter().map(Recorded::cost).sum::<f64>() * costs.event;
            for it in &rare {
                if of_rare <= RARE_TOGETHER * allowance || !count(it, &mut recording, &mut counting) {
                    break;
                }
                of_rare -= it.cost() * costs.event;
            }
            // Where counting takes too long, the hottest hooks have to go.
            if recording + counting + other > budget {
                let counted: Vec<(FunctionId, u64)> = self.counted.iter().chain(&self.still_counted).copied().collect();
                for (function, calls) in hottest(&counted) {
                    if recording + counting <= (TARGET * budget - other).max(PART * budget) || calls == 0 {
                        break;
                    }
                    counting -= calls as f64 * costs.count;
                    decision.unhook.push(function);
                }
            }
            decision.scheduler_is_too_dear =
                self.has_scheduler && self.other_events as f64 * costs.event > TARGET * budget;
        } else if recording + counting + other < ROOM * budget {
            let mut spent = recording + counting + other;
            let mut coldest = self.counted.clone();
            coldest.sort_by_key(|&(_, calls)| calls);
            for (function, calls) in coldest {
                spent += calls as f64 * (2.0 * costs.event - costs.count);
                if spent > TARGET * budget {
                    break;
                }
                decision.record.push(function);
            }
        }
        decision
    }
}

fn hottest(functions: &[(FunctionId, u64)]) -> Vec<(FunctionId, u64)> {
    let mut hottest = functions.to_vec();
    hottest.sort_by_key(|&(_, count)| std::cmp::Reverse(count));
    hottest
}

#[cfg(test)]
mod tests {
    use super::*;

    const COSTS: Costs = Costs { event: 25.0, count: 1.0 };

    fn functions(counts: &[(u64, u64)]) -> Vec<(FunctionId, u64)> {
        counts.iter().map(|&(id, count)| (FunctionId(id), count)).collect()
    }

    fn recorded(counts: &[(u64, u64)]) -> Vec<Recorded> {
        let plain = |&(id, events): &(u64, u64)| Recorded {
            function: FunctionId(id),
            events,
            weight: 1.0,
            of_agent: 0.0,
            has_values: false,
        };
        counts.iter().map(plain).collect()
    }

    #[test]
    fn values_that_are_dear_go_before_calls_that_are_many() {
        let captured =
            Recorded { function: FunctionId(1), events: 10_000, weight: 40.0, of_agent: 0.0, has_values: true };
        let plain = recorded(&[(2, 100_000)])[0];
        let window = Window { cpu_ns: 1e8 + 500_000.0 * 25.0, recorded: vec![plain, captured], ..Window::default() };
        assert_eq!(window.overhead(COSTS), 0.125);
        let decision = window.decide(COSTS, 0.1);
        assert_eq!((decision.without_values, decision.count), (vec![FunctionId(1)], vec![]));
        // Where values are kept for something else, the calls go.
        let bound = Recorded { has_values: false, ..captured };
        let decision = Window { recorded: vec![plain, bound], ..window }.decide(COSTS, 0.1);
        assert_eq!((decision.without_values, decision.count), (vec![], vec![FunctionId(1)]));
    }

    /// 100 ms, of which the values of a few calls are next to nothing.
    #[test]
    fn values_of_rare_calls_stay_and_calls_go_after_the_values() {
        let rare = Recorded { function: FunctionId(1), events: 2, weight: 40.0, of_agent: 0.0, has_values: true };
        let hot = Recorded { function: FunctionId(2), events: 2_000_000, weight: 2.0, of_agent: 0.0, has_values: true };
        let window = Window { cpu_ns: 1e8 + 4e6 * 25.0, recorded: vec![rare, hot], ..Window::default() };
        let decision = window.decide(COSTS, 0.1);
        assert_eq!((decision.without_values, decision.count), (vec![FunctionId(2)], vec![FunctionId(2)]));
    }

    #[test]
    fn what_the_agent_takes_is_counted_once_and_leaves_others_less() {
        // 100 ms of work, 6 ms in plain events, and 6 ms in the agent.
        let plain = Window { cpu_ns: 1.12e8, recorded: recorded(&[(1, 200_000), (2, 40_000)]), ..Window::default() };
        assert_eq!(plain.decide(COSTS, 0.1), Decision::default());
        let with_agent = Window { agent_ns: 6e6, ..plain.clone() };
        assert_eq!(with_agent.overhead(COSTS), 0.12);
        assert_eq!(with_agent.overhead_if(COSTS, 1.5), Some(0.15 / 0.97));
        assert_eq!(with_agent.decide(COSTS, 0.1).count, [FunctionId(1)]);
        // Values for which it was called are known to have taken 5 ms of that.
        let captured =
            Recorded { function: FunctionId(3), events: 5_000, weight: 41.0, of_agent: 40.0, has_values: true };
        let recorded = [&plain.recorded[..], &[captured]].concat();
        let known = Window { recorded, ..with_agent };
        assert_eq!(known.hook_ns(COSTS), 6e6 + 5_000.0 * 41.0 * 25.0 + 1e6);
    }

    #[test]
    fn a_scheduler_is_let_go_of_if_it_is_dearer_than_the_budget_and_hooks_bear_what_they_bring_about() {
        // 100 ms of work. The agent takes 20, for 10,000 steps of a scheduler and what is counted or recorded between them.
        let window = Window {
            cpu_ns: 1.2e8,
            agent_ns: 2e7,
            other_events: 10_000,
            has_scheduler: true,
            recorded: recorded(&[(1, 2_000)]),
            counted: functions(&[(2, 10_000), (3, 0)]),
            ..Window::default()
        };
        let decision = window.decide(COSTS, 0.1);
        assert!(decision.scheduler_is_too_dear);
        assert_eq!((decision.count, decision.unhook), (vec![FunctionId(1)], vec![FunctionId(2)]));
        // Once it is not followed, little is left to hear of.
        let later = Window { agent_ns: 6e6, other_events: 0, counted: functions(&[(2, 3_000)]), ..window.clone() };
        assert_eq!(later.decide(COSTS, 0.1), Decision::default());
        // Without one, the agent has come for something else.
        let other = Window { has_scheduler: false, ..window };
        assert!(!other.decide(COSTS, 0.1).scheduler_is_too_dear);
    }

    #[test]
    fn the_hottest_are_counted_until_the_rest_fits() {
        // 1 ms of work, and 1,000 + 1,000,000 + 100,000 events of 25 ns.
        let window = Window {
            cpu_ns: 1e6 + 1_101_000.0 * 25.0,
            recorded: recorded(&[(1, 1_000), (2, 1_000_000), (3, 100_000)]),
            ..Window::default()
        };
        assert!(window.overhead(COSTS) > 20.0);
        assert_eq!(window.decide(COSTS, 0.1).count, [FunctionId(2), FunctionId(3)]);
        assert_eq!(window.decide(COSTS, 0.01).count, [FunctionId(2), FunctionId(3), FunctionId(1)]);
        assert_eq!(window.decide(COSTS, 10.0).count, [FunctionId(2)]);
        assert_eq!(window.decide(COSTS, 100.0), Decision::default());
    }

    /// 20 ms, of which hooks take almost all: most of it in events that cannot be switched, or in a hot function.
    #[test]
    fn what_is_called_rarely_is_recorded_whatever_others_take() {
        let rare: Vec<(u64, u64)> = (10..60).map(|id| (id, 2)).collect();
        let probes = Window {
            cpu_ns: 2e7,
            other_events: 600_000,
            recorded: recorded(&[&[(1, 100_000)], &rare[..]].concat()),
            ..Window::default()
        };
        assert_eq!(probes.decide(COSTS, 0.1).count, [FunctionId(1)]);
        let hot =
            Window { cpu_ns: 2e7, recorded: recorded(&[&[(1, 790_000)], &rare[..]].concat()), ..Window::default() };
        assert_eq!(hot.decide(COSTS, 0.1).count, [FunctionId(1)]);
        // Ten thousand of them take too much together, and a tenth of the budget is theirs: 200 us at 50 ns.
        let many: Vec<(u64, u64)> = (0..10_000).map(|id| (id, 2)).collect();
        let many = Window { cpu_ns: 2e7, other_events: 600_000, recorded: recorded(&many), ..Window::default() };
        assert_eq!(many.decide(COSTS, 0.1).count.len(), 10_000 - 4_000);
    }

    #[test]
    fn a_share_of_next_to_nothing_is_not_given() {
        // 1 ms of work, and 1 ms in hooks that cost what they should.
        let window = Window { cpu_ns: 2e6, recorded: recorded(&[(1, 40_000)]), ..Window::default() };
        assert_eq!(window.overhead_if(COSTS, 1.0), Some(1.0));
        assert_eq!(window.overhead_if(COSTS, 1.6), Some(4.0));
        assert_eq!(window.overhead_if(COSTS, 2.0), None);
    }

    #[test]
    fn the_coldest_come_back_while_there_is_room_and_not_in_between() {
        let at = |spent: u64| Window {
            cpu_ns: 1e9 + spent as f64 * 25.0,
            recorded: recorded(&[(9, spent)]),
            counted: functions(&[(1, 40_000_000), (2, 100), (3, 200_000)]),
            ..Window::default()
        };
        // Counting alone is 40 ms of the 100.
        assert_eq!(at(0).decide(COSTS, 0.1).record, [FunctionId(2), FunctionId(3)]);
        assert_eq!(at(2_000_000).decide(COSTS, 0.1), Decision::default());
        assert_eq!(at(3_000_000).decide(COSTS, 0.1).count, [FunctionId(9)]);
    }

    #[test]
    fn hooks_go_where_counting_takes_too_long_and_no_sooner() {
        let with = |counted: &[(u64, u64)], events: u64| Window {
            cpu_ns: 1e9 + counted.iter().map(|(_, calls)| *calls as f64).sum::<f64>() + events as f64 * 25.0,
            counted: functions(counted),
            recorded: recorded(&[(9, events)]),
            ..Window::default()
        };
        // 120 ms of counting, of a budget of 100: 70 remain.
        let decision = with(&[(1, 30_000_000), (2, 60_000_000), (3, 30_000_000)], 1_000).decide(COSTS, 0.1);
        assert_eq!((decision.count, decision.unhook), (vec![], vec![FunctionId(2)]));
        assert_eq!(with(&[(1, 30_000_000), (2, 50_000_000)], 0).decide(COSTS, 0.1), Decision::default());
        // What can be counted instead of recorded comes first.
        let decision = with(&[(1, 30_000_000)], 4_000_000).decide(COSTS, 0.1);
        assert_eq!((decision.count, decision.unhook), (vec![FunctionId(9)], vec![]));
    }

    #[test]
    fn recording_has_a_part_of_the_budget_however_dear_counting_is() {
        let many: Vec<(u64, u64)> = (10..1000).map(|id| (id, 2_000)).collect();
        let window = Window {
            cpu_ns: 1.5e9 + 990.0 * 2_000.0 * 25.0,
            counted: functions(&[(1, 500_000_000)]),
            recorded: recorded(&many),
            ..Window::default()
        };
        let recorded = 990 - window.decide(COSTS, 0.1).count.len();
        // 35 of the 100 ms, at 50 us a function.
        assert_eq!(recorded, 700);
    }

    #[test]
    fn a_program_that_does_nothing_but_call_is_no_division_by_zero() {
        let window = Window { cpu_ns: 0.0, recorded: recorded(&[(1, 10)]), ..Window::default() };
        assert!(window.overhead(COSTS).is_finite());
        assert_eq!(window.decide(COSTS, 0.1).count, [FunctionId(1)]);
    }
}
