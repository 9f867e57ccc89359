//! Whether a trace keeps a rule.

use ada_query::called::{Called, Verdict, called, near_names};
use ada_query::findings::{Finding, findings, is_wait};
use ada_query::{Cancel, FunctionPattern};
use ada_span::FunctionStats;

use super::rule::{Comparison, Measure, Rule};
use crate::analysis::{OpenedSession, counted, nanoseconds};
use crate::top::{self, Use};

/// What is said of a rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Answer {
    Kept,
    Broken,
    /// The trace does not show it.
    Unknown,
}

impl Answer {
    pub(super) const fn word(self) -> &'static str {
        match self {
            Self::Kept => "pass",
            Self::Broken => "FAIL",
            Self::Unknown => "unknown",
        }
    }
}

/// The answer, why, and what to look at.
pub(super) struct Judgement {
    pub(super) answer: Answer,
    pub(super) words: String,
    pub(super) evidence: Vec<String>,
    /// The function that it is about, by process and its name.
    pub(super) function: Option<(usize, ada_event::FunctionId)>,
}

impl Judgement {
    fn new(answer: Answer, words: impl Into<String>) -> Self {
        Self { answer, words: words.into(), evidence: Vec::new(), function: None }
    }

    fn of(holds: bool, words: impl Into<String>) -> Self {
        Self::new(if holds { Answer::Kept } else { Answer::Broken }, words)
    }
}

/// A session, and what several rules ask it for.
pub(super) struct Judge<'a> {
    opened: &'a OpenedSession,
    findings: Vec<Finding>,
}

impl<'a> Judge<'a> {
    pub(super) fn new(opened: &'a OpenedSession) -> anyhow::Result<Self> {
        Ok(Self { opened, findings: findings(opened, &Cancel::default(), None)? })
    }

    pub(super) fn judge(&self, rule: &Rule) -> anyhow::Result<Judgement> {
        match rule {
            Rule::Called(name) => self.called(name, true),
            Rule::NotCalled(name) => self.called(name, false),
            Rule::Calls(name, comparison, bound) => self.calls(name, *comparison, *bound),
            Rule::Time(measure, name, comparison, bound) => self.time(*measure, name, *comparison, *bound),
            Rule::Order(names) => self.order(names),
            Rule::NoFinding(kind) => Ok(self.no_finding(kind.as_deref())),
            Rule::NoWaitOver(bound) => Ok(self.no_wait_over(*bound)),
        }
    }

    fn ask(&self, name: &str) -> anyhow::Result<Called> {
        Ok(called(self.opened, &Cancel::default(), name)?)
    }

    /// What the trace cannot say of a name.
    fn unknown(&self, name: &str, answer: &Called) -> Judgement {
        let mut words = answer.because.clone();
        if answer.functions.is_empty() {
            let near = near_names(self.opened, name);
            if !near.is_empty() {
                words.push_str(&format!("; did you mean {}?", near.join(", ")));
            }
        }
        Judgement::new(Answer::Unknown, words)
    }

    fn called(&self, name: &str, is_wanted: bool) -> anyhow::Result<Judgement> {
        let answer = self.ask(name)?;
        let mut judgement = match answer.verdict {
            Verdict::Unknown => self.unknown(name, &answer),
            verdict => Judgement::of((verdict == Verdict::Yes) == is_wanted, answer.because.clone()),
        };
        let first = answer.functions.iter().find_map(|it| it.first.as_ref());
        judgement.evidence = first.map(|it| it.span_id.clone()).into_iter().collect();
        judgement.function = self.uses(name).first().map(|it| (it.process, it.stats.function));
        Ok(judgement)
    }

    fn calls(&self, name: &str, comparison: Comparison, bound: u64) -> anyhow::Result<Judgement> {
        let answer = self.ask(name)?;
        let calls: u64 = answer.functions.iter().map(|it| it.calls + it.counted_calls).sum();
        let holds = comparison.holds(calls, bound);
        // Calls that are missing can only make it more.
        let may_be_more = answer.functions.iter().any(|it| !it.doubts.is_empty()) || answer.functions.is_empty();
        let is_sure = match comparison {
            Comparison::AtLeast | Comparison::More => holds || !may_be_more,
            Comparison::Less | Comparison::AtMost => !holds || !may_be_more,
            Comparison::Equal => !may_be_more || calls > bound,
        };
        let mut judgement = match is_sure {
            true => Judgement::of(holds, format!("{} of it", counted(calls, "call"))),
            false => self.unknown(name, &answer),
        };
        judgement.function = self.uses(name).first().map(|it| (it.process, it.stats.function));
        Ok(judgement)
    }

    fn uses(&self, name: &str) -> Vec<Use<'a>> {
        let pattern = FunctionPattern::new(name);
        let mut uses = top::all(self.opened);
        uses.retain(|it| pattern.matches_function(&self.opened.processes()[it.process], it.stats.function));
        uses.sort_by_key(|it| std::cmp::Reverse(it.stats.max_ns));
        uses
    }

    fn time(&self, measure: Measure, name: &str, comparison: Comparison, bound: u64) -> anyhow::Result<Judgement> {
        let uses = self.uses(name);
        let Some(slowest) = uses.first() else {
            let answer = self.ask(name)?;
            return Ok(match answer.verdict {
                Verdict::No => Judgement::new(Answer::Unknown, "it was not called, and has no times"),
                _ => self.unknown(name, &answer),
            });
        };
        let mut sum = FunctionStats { durations: Some(Default::default()), ..FunctionStats::default() };
        uses.iter().for_each(|it| sum.merge(it.stats.clone().into_owned()));
        let value = match measure {
            Measure::P50 => sum.quantile(0.5),
            Measure::P95 => sum.quantile(0.95),
            Measure::P99 => sum.quantile(0.99),
            Measure::Max => (sum.timed > 0).then_some(sum.max_ns),
            Measure::Total => Some(sum.total_ns),
            Measure::SelfTime => Some(sum.self_ns),
        };
        // Calls that were not recorded can only make these more, and may make quantiles anything.
        let are_missing =
            uses.iter().any(|it| self.opened.processes()[it.process].switched.of_function(it.stats.function).is_some());
        let is_sure = |holds: bool| match (measure, comparison) {
            _ if !are_missing => true,
            (Measure::P50 | Measure::P95 | Measure::P99, _) | (_, Comparison::Equal) => false,
            (_, Comparison::Less | Comparison::AtMost) => !holds,
            (_, Comparison::More | Comparison::AtLeast) => holds,
        };
        let mut judgement = match value {
            Some(value) if is_sure(comparison.holds(value, bound)) => {
                Judgement::of(comparison.holds(value, bound), format!("it is {}", nanoseconds(value)))
            }
            Some(value) => {
                let words = format!("of the calls that were recorded it is {}; others were not", nanoseconds(value));
                Judgement::new(Answer::Unknown, words)
            }
            None => Judgement::new(Answer::Unknown, "none of its calls has a known end"),
        };
        judgement.evidence = top::longest(self.opened, slowest).into_iter().collect();
        judgement.function = Some((slowest.process, slowest.stats.function));
        Ok(judgement)
    }

    fn order(&self, names: &[String]) -> anyhow::Result<Judgement> {
        let mut firsts = Vec::new();
        for name in names {
            let answer = self.ask(name)?;
            if answer.verdict == Verdict::Unknown {
                return Ok(self.unknown(name, &answer));
            }
            let first = answer.functions.iter().filter_map(|it| it.first.clone()).min_by_key(|it| it.time);
            firsts.push((name, first));
        }
        for pair in firsts.windows(2) {
            let [(one, first), (two, second)] = pair else { continue };
            let words = match (first, second) {
                (_, None) => continue,
                (None, Some(_)) => format!("{two} was called, and {one} was not"),
                (Some(first), Some(second)) if first.time < second.time => continue,
                _ => format!("{two} was called before {one}"),
            };
            let mut judgement = Judgement::new(Answer::Broken, words);
            judgement.evidence = [second, first].into_iter().flatten().map(|it| it.span_id.clone()).collect();
            return Ok(judgement);
        }
        Ok(Judgement::new(Answer::Kept, "first calls are in this order"))
    }

    fn no_finding(&self, kind: Option<&str>) -> Judgement {
        let mut found = self.findings.iter().filter(|it| kind.is_none_or(|kind| it.kind == kind));
        match found.next() {
            None => Judgement::new(Answer::Kept, "none"),
            Some(worst) => {
                let more = match found.count() {
                    0 => String::new(),
                    more => format!("; and {more} more"),
                };
                let mut judgement = Judgement::new(Answer::Broken, format!("{}{more}", worst.title));
                judgement.evidence = worst.evidence.clone();
                judgement
            }
        }
    }

    fn no_wait_over(&self, bound: u64) -> Judgement {
        // A wait that has not ended has no time of its own, and a finding.
        if let Some(hang) = self.findings.iter().find(|it| it.kind == "hang") {
            let mut judgement = Judgement::new(Answer::Broken, hang.title.clone());
            judgement.evidence = hang.evidence.clone();
            return judgement;
        }
        let mut waits = top::all(self.opened);
        waits.retain(|it| {
            let names = &self.opened.processes()[it.process].names;
            is_wait(names.raw(it.stats.function).unwrap_or_default())
        });
        let Some(longest) = waits.iter().max_by_key(|it| it.stats.max_ns) else {
            return Judgement::new(Answer::Kept, "nothing waited");
        };
        let name = self.opened.processes()[longest.process].names.name(longest.stats.function);
        let words = format!("the longest wait took {}, in {name}", nanoseconds(longest.stats.max_ns));
        let mut judgement = Judgement::of(longest.stats.max_ns <= bound, words);
        judgement.evidence = top::longest(self.opened, longest).into_iter().collect();
        judgement
    }
}
