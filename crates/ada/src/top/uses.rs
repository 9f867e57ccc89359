//! The functions that were called, as the lens shows them.

use std::borrow::Cow;
use std::collections::HashMap;

use ada_event::ProcessId;
use ada_query::Cancel;
use ada_query::findings::is_wait;
use ada_query::lens::{Lens, Outside, charged, self_states};
use ada_span::state::StateTimes;
use ada_span::table::FunctionIndex;
use ada_span::{Corrected, FunctionStats};

use super::Sort;
use crate::analysis::{LensArgs, OpenedSession, TraceProcess, check_correctable};
use crate::threads::check_states;

/// A function of a program: of one process, or of all that run it.
#[derive(Clone)]
pub(crate) struct Use<'a> {
    /// The process of its longest call.
    pub(crate) process: usize,
    /// All processes that called it.
    pub(crate) pids: Vec<ProcessId>,
    pub(crate) stats: Cow<'a, FunctionStats>,
    /// What it called that is not shown.
    pub(crate) outside: Vec<OutsideModule>,
    /// Times without what recording took, if they were asked for and are known.
    pub(super) corrected: Option<CorrectedTimes>,
    /// How long it was in which state, in itself and in what it called that is not shown, if that was asked for.
    pub(super) states: Option<StateTimes>,
}

/// Functions of a module that are not shown, called by one that is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct OutsideModule {
    /// Its file name, up to `.so`.
    pub(crate) module: String,
    /// Those that were called, the ones with the most time first.
    pub(crate) functions: Vec<(String, OutsideCalls)>,
}

/// Calls of one of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct OutsideCalls {
    pub(crate) calls: u64,
    pub(crate) ns: u64,
    /// The same without what recording took, if that was asked for and is known.
    pub(super) corrected: Option<Corrected>,
}

/// The times of a function without what recording took.
#[derive(Clone, Copy)]
pub(super) struct CorrectedTimes {
    pub(super) own: Corrected,
    pub(super) total: Corrected,
}

/// All that the lens shows.
pub(crate) struct Uses<'a> {
    pub(crate) functions: Vec<Use<'a>>,
    /// Time with no function above that is shown: the loader, threads of libraries.
    pub(crate) outside: Vec<OutsideModule>,
    /// The time of all threads: without what recording took, if that was asked for.
    pub(crate) all_ns: u64,
    /// By process: time that was not spent waiting.
    pub(crate) busy_ns: Vec<u64>,
}

impl OutsideModule {
    pub(crate) fn ns(&self) -> u64 {
        self.functions.iter().fold(0, |sum, (_, it)| sum.saturating_add(it.ns))
    }

    pub(crate) fn calls(&self) -> u64 {
        self.functions.iter().map(|(_, it)| it.calls).sum()
    }

    /// Their time without what recording took, if that is known of all of them.
    pub(super) fn corrected(&self) -> Option<Corrected> {
        self.functions.iter().map(|(_, it)| it.corrected).try_fold(Corrected::default(), |sum, it| Some(sum.plus(it?)))
    }

    /// What its share is of.
    pub(crate) fn charged_ns(&self) -> u64 {
        self.corrected().map_or_else(|| self.ns(), |it| it.ns)
    }
}

impl OutsideCalls {
    fn add(&mut self, more: Self) {
        self.calls += more.calls;
        self.ns = self.ns.saturating_add(more.ns);
        self.corrected = self.corrected.zip(more.corrected).map(|(one, two)| one.plus(two));
    }
}

impl<'a> Use<'a> {
    pub(crate) fn new(opened: &OpenedSession, process: usize, stats: &'a FunctionStats) -> Self {
        let pids = vec![opened.processes()[process].pid];
        Self { process, pids, stats: Cow::Borrowed(stats), outside: Vec::new(), corrected: None, states: None }
    }

    /// Time in the function, and in what it called that is not shown.
    pub(crate) fn self_ns(&self) -> u64 {
        self.corrected_self().map_or_else(|| self.stats.self_ns.saturating_add(self.outside_ns()), |it| it.ns)
    }

    /// The same without what recording took, if that was asked for and is known.
    pub(super) fn corrected_self(&self) -> Option<Corrected> {
        let own = self.corrected?.own;
        self.outside.iter().try_fold(own, |sum, it| Some(sum.plus(it.corrected()?)))
    }

    pub(crate) fn outside_ns(&self) -> u64 {
        self.outside.iter().fold(0, |sum, it| sum.saturating_add(it.ns()))
    }

    fn merge(&mut self, other: Self) {
        self.pids.extend(other.pids);
        let stats = self.stats.to_mut();
        // The longest call is the one that is referred to. Processes number functions each in their way.
        if other.stats.timed > 0 && (stats.timed == 0 || other.stats.max_ns > stats.max_ns) {
            self.process = other.process;
            stats.function = other.stats.function;
        }
        stats.merge(other.stats.into_owned());
        merge_outside(&mut self.outside, other.outside);
        self.states = self.states.zip(other.states).map(|(one, two)| one.plus(two));
        self.corrected = match (self.corrected, other.corrected) {
            (Some(one), Some(two)) => {
                Some(CorrectedTimes { own: one.own.plus(two.own), total: one.total.plus(two.total) })
            }
            _ => None,
        };
    }
}

/// All functions of all processes, in no order.
pub(crate) fn all(opened: &OpenedSession) -> Vec<Use<'_>> {
    let processes = opened.processes().iter().enumerate();
    processes
        .flat_map(|(process, it)| it.tables.meta().functions.iter().map(move |stats| Use::new(opened, process, stats)))
        .collect()
}

/// The functions that the lens shows, those of one program together; with times without what recording took, and with how long they
/// were in which state, if asked for.
pub(crate) fn seen<'a>(
    opened: &'a OpenedSession,
    args: &LensArgs,
    lens: &Lens,
    is_corrected: bool,
    with_states: bool,
) -> anyhow::Result<Uses<'a>> {
    let shown = args.shown(opened, lens)?;
    let mut uses = all(opened);
    if with_states {
        check_states(opened)?;
        add_states(opened, &mut uses, &shown)?;
    }
    if is_corrected {
        correct(opened, &mut uses)?;
    }
    let mut corrected_ns = vec![0_u64; opened.processes().len()];
    for it in &uses {
        if let Some(corrected) = it.corrected {
            corrected_ns[it.process] = corrected_ns[it.process].saturating_add(corrected.own.ns);
        }
    }
    uses.retain(|it| {
        let index = opened.processes()[it.process].tables.meta().function_index(it.stats.function);
        index.is_some_and(|index| shown[it.process][index.as_usize()])
    });
    let mut outside = Vec::new();
    let mut busy_ns = Vec::new();
    let mut all_ns = 0_u64;
    for (number, process) in opened.processes().iter().enumerate() {
        let functions = &process.tables.meta().functions;
        let whole = functions.iter().fold(0_u64, |sum, it| sum.saturating_add(it.self_ns));
        let mut waited = 0_u64;
        if args.wants(process.pid) {
            let correction = process.correction.as_ref().filter(|_| is_corrected);
            all_ns = all_ns.saturating_add(correction.map_or(whole, |_| corrected_ns[number]));
            let mut of_function: HashMap<Option<FunctionIndex>, Vec<OutsideModule>> = HashMap::new();
            if shown[number].iter().any(|it| !it) {
                for ((from, to), sum) in charged(process, &shown[number], correction, &Cancel::default())? {
                    if is_wait(process.names.raw(process.function(to)).unwrap_or_default()) {
                        waited = waited.saturating_add(sum.ns);
                    }
                    let corrected = correction.map(|it| it.of_self(sum.ns, &sum.costs));
                    let module = outside_module(process, to, sum, corrected);
                    merge_outside(of_function.entry(from).or_default(), vec![module]);
                }
            }
            merge_outside(&mut outside, of_function.remove(&None).unwrap_or_default());
            for it in uses.iter_mut().filter(|it| it.process == number) {
                let index = process.tables.meta().function_index(it.stats.function);
                it.outside = of_function.remove(&index).unwrap_or_default();
            }
        }
        busy_ns.push(whole.saturating_sub(waited));
    }
    Ok(Uses { functions: merged(opened, uses), outside, all_ns, busy_ns })
}

/// Functions of several processes of one program are one.
fn merged<'a>(opened: &OpenedSession, uses: Vec<Use<'a>>) -> Vec<Use<'a>> {
    if opened.processes().len() < 2 {
        return uses;
    }
    let mut places: HashMap<(String, String, String), usize> = HashMap::new();
    let mut all: Vec<Use<'a>> = Vec::new();
    for it in uses {
        let names = &opened.processes()[it.process].names;
        let key = (program_of(opened, &it), names.module(it.stats.function), names.name(it.stats.function));
        match places.get(&key) {
            Some(&place) => all[place].merge(it),
            None => {
                places.insert(key, all.len());
                all.push(it);
            }
        }
    }
    all
}

/// What a process runs: the file name of its program.
pub(crate) fn program(opened: &OpenedSession, process: usize) -> String {
    let process = &opened.processes()[process];
    let command = opened.manifest(process).and_then(|it| it.command_line.first());
    command.map_or_else(|| process.pid.to_string(), |it| it.rsplit('/').next().unwrap_or(it).to_owned())
}

/// The program that a function's calls were made in: a process can have run several, one after the other.
pub(crate) fn program_of(opened: &OpenedSession, it: &Use<'_>) -> String {
    let manifest = opened.manifest(&opened.processes()[it.process]);
    let id = it.stats.function.module();
    let module = manifest.and_then(|manifest| manifest.modules.iter().find(|module| module.module_id == id));
    match module.and_then(|module| module.program.as_deref()) {
        Some(earlier) => earlier.rsplit('/').next().unwrap_or(earlier).to_owned(),
        None => program(opened, it.process),
    }
}

/// `libc` for `libc.so.6`.
fn short_module(file: &str) -> &str {
    file.split(".so").next().filter(|it| !it.is_empty()).unwrap_or(file)
}

/// Calls of functions that are not shown, by module.
pub(crate) fn outside_modules<'a>(
    calls: impl IntoIterator<Item = (&'a TraceProcess, FunctionIndex, Outside)>,
) -> Vec<OutsideModule> {
    let mut all = Vec::new();
    for (process, index, sum) in calls {
        merge_outside(&mut all, vec![outside_module(process, index, sum, None)]);
    }
    all
}

fn outside_module(
    process: &TraceProcess,
    index: FunctionIndex,
    sum: Outside,
    corrected: Option<Corrected>,
) -> OutsideModule {
    let function = process.function(index);
    let module = short_module(&process.names.module(function)).to_owned();
    let calls = OutsideCalls { calls: sum.calls, ns: sum.ns, corrected };
    OutsideModule { module, functions: vec![(process.names.name(function), calls)] }
}

fn merge_outside(all: &mut Vec<OutsideModule>, more: Vec<OutsideModule>) {
    for new in more {
        match all.iter_mut().find(|it| it.module == new.module) {
            Some(known) => {
                for (name, sum) in new.functions {
                    match known.functions.iter_mut().find(|(it, _)| *it == name) {
                        Some((_, it)) => it.add(sum),
                        None => known.functions.push((name, sum)),
                    }
                }
            }
            None => all.push(new),
        }
    }
    all.iter_mut().for_each(|it| it.functions.sort_by_key(|(_, sum)| std::cmp::Reverse(sum.ns)));
    all.sort_by_key(|it| std::cmp::Reverse(it.ns()));
}

/// Adds the times without what recording took.
fn correct(opened: &OpenedSession, uses: &mut [Use<'_>]) -> anyhow::Result<()> {
    check_correctable(opened)?;
    for (number, process) in opened.processes().iter().enumerate() {
        let Some(correction) = &process.correction else { continue };
        let costs = correction.functions(&process.tables)?;
        for it in uses.iter_mut().filter(|it| it.process == number) {
            let Some(index) = process.tables.meta().function_index(it.stats.function) else { continue };
            let (total, own) = &costs[index.as_usize()];
            it.corrected = Some(CorrectedTimes {
                own: correction.of_self(it.stats.self_ns, own),
                total: correction.total(it.stats.total_ns, total),
            });
        }
    }
    Ok(())
}

/// Adds how long each was in which state.
fn add_states(opened: &OpenedSession, uses: &mut [Use<'_>], shown: &[Vec<bool>]) -> anyhow::Result<()> {
    for (number, process) in opened.processes().iter().enumerate() {
        let states = self_states(process, &shown[number], &Cancel::default())?;
        for it in uses.iter_mut().filter(|it| it.process == number) {
            let index = process.tables.meta().function_index(it.stats.function);
            it.states = index.and_then(|index| states.get(index.as_usize()).copied());
        }
    }
    Ok(())
}

/// The ones that lead by `sort` first.
pub(crate) fn sort_uses(uses: &mut [Use<'_>], sort: Sort) {
    let measure = |it: &Use<'_>| match sort {
        Sort::SelfTime => it.self_ns(),
        Sort::Total => it.corrected.map_or(it.stats.total_ns, |corrected| corrected.total.ns),
        Sort::Calls => it.stats.spans,
        Sort::P99 => it.stats.quantile(0.99).unwrap_or(0),
        Sort::Max => it.stats.max_ns,
        Sort::OnCpu | Sort::Ready | Sort::Blocked => {
            it.states.zip(sort.state()).map_or(0, |(states, state)| states.of(state))
        }
    };
    uses.sort_by_cached_key(|it| (std::cmp::Reverse(measure(it)), it.process, it.stats.function));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_outside_are_together_by_module() {
        let one = |module: &str, name: &str, ns: u64| OutsideModule {
            module: module.into(),
            functions: vec![(name.into(), OutsideCalls { calls: 1, ns, corrected: None })],
        };
        let mut all = Vec::new();
        merge_outside(&mut all, vec![one("libm", "sin", 5), one("libc", "read", 1), one("libc", "memcpy", 7)]);
        merge_outside(&mut all, vec![one("libc", "read", 20)]);
        let names: Vec<(&str, Vec<&str>, u64)> = all
            .iter()
            .map(|it| (it.module.as_str(), it.functions.iter().map(|(name, _)| name.as_str()).collect(), it.ns()))
            .collect();
        assert_eq!(names, [("libc", vec!["read", "memcpy"], 28), ("libm", vec!["sin"], 5)]);
        assert_eq!(short_module("libc.so.6"), "libc");
    }
}
