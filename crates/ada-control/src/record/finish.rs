//! What remains to be done once a recording is over: manifests, and the report.

use std::collections::HashSet;
use std::time::Duration;

use ada_event::ProcessId;
use ada_format::atf::HookCost;
use ada_patch::{SkipReason, Verdict};
use ada_process::End;

use super::drain_loop::take_news;
use super::ending::Ending;
use super::final_manifests::FinalManifests;
use super::manifest::coverage;
use super::recording_threads::Recorded;
use super::report::{CrashSummary, TraceReport};
use crate::error::ControlError;
use crate::options::TraceOptions;
use crate::overhead::{AgentTime, Calibrated, Neighbours, WholeRun};
use crate::plan::module::Module;
use crate::plan::probes;
use crate::tracked::Programs;

/// Budget assumed for the advice when none was set.
const USUAL_BUDGET: f64 = 0.1;

/// What was left alone because it did harm before, in the words of limits.
fn quarantine_limits(modules: &[Module]) -> Vec<String> {
    const NAMED: usize = 5;
    let mut limits = Vec::new();
    for module in modules {
        let is_quarantined = |index: &usize| module.verdicts[*index] == Verdict::Skipped(SkipReason::Quarantined);
        let indexes: Vec<usize> = (0..module.verdicts.len()).filter(is_quarantined).collect();
        if indexes.is_empty() {
            continue;
        }
        let mut names: Vec<String> = indexes.iter().take(NAMED).map(|&index| module.name_of(index)).collect();
        names.extend((indexes.len() > NAMED).then(|| format!("{} more", indexes.len() - NAMED)));
        let (path, names) = (module.file.path.display(), names.join(", "));
        limits.push(format!("functions in quarantine are not hooked: {names} of {path}; `ada quarantine` says why"));
    }
    limits.sort();
    // Programs share files.
    limits.dedup();
    limits
}

/// How many functions that is: programs share files.
fn distinct_quarantined(modules: &[Module]) -> usize {
    let mut seen = HashSet::new();
    modules.iter().filter(|module| seen.insert(&module.file.path)).map(Module::quarantined).sum()
}

/// Functions that were found, and those of them that record their calls, as reports count them: once for each file.
fn distinct_coverage(modules: &[Module]) -> (u64, u64) {
    let mut seen = HashSet::new();
    let distinct = modules.iter().filter(|module| seen.insert(&module.file.path)).map(coverage);
    distinct.fold((0, 0), |(found, hooked), it| (found + it.found, hooked + it.hooked + it.entry_only))
}

/// What is known of a recording beside what its threads have come to.
pub(super) struct Finish<'a> {
    /// The first process.
    pub(super) pid: ProcessId,
    pub(super) options: &'a TraceOptions,
    /// From the start of the program to its first instruction.
    pub(super) start_up: Duration,
    pub(super) hook_cost: Option<Calibrated>,
    /// Since the program runs.
    pub(super) neighbours: Neighbours,
    /// What the user has asked for in vain, in words.
    pub(super) in_vain: Vec<String>,
}

impl Finish<'_> {
    /// Completes the session's files, and reports the result of the recording.
    pub(super) fn finish(self, recorded: Recorded, programs: Programs) -> Result<TraceReport, ControlError> {
        let Self { pid, options, start_up, mut hook_cost, neighbours, in_vain } = self;
        let Recorded { ending, mut drain, mut files, mut living, governed, seen_cpu, sampled } = recorded;
        // Some may have come since the drain last looked.
        drain.programs().keys().for_each(|&process| living.watch_reported(process, |pid| programs.is_user(pid)));
        living.update();
        let Ending { end, cpu_time, trouble } = ending?;
        // The kernel reports what the program and those that somebody waited for have used; others were looked at now and
        // then.
        let cpu = cpu_time.map_or(seen_cpu, |time| (time.user + time.system).max(seen_cpu));
        if let Some(cost) = hook_cost.as_mut().filter(|_| neighbours.were_busy(cpu)) {
            [cost.at_least, cost.at_most] = HookCost::BESIDE_OTHERS;
        }
        programs.note_children(options.follow, true);
        // Their manifests are completed below; some processes have nothing else.
        for process in take_news(&mut programs.lock()) {
            if !files.is_forgotten(process)
                && let Err(error) = files.process(process)
            {
                drain.fail(error);
            }
        }
        if let End::Killed(signal) = end
            && drain.crashes(pid).is_empty()
        {
            drain.fatal_signal(pid, signal, &mut files);
        }
        drain.finish_windows(&files);
        let (switches, numbers) = (programs.switches.clone(), programs.numbers.clone());
        let execs = programs.exec_times.so_far();
        let (mut hooked, proc_connector) = programs.into_hooked();
        if drain.unrecorded_crashes() > 0 {
            hooked.limits.push(format!("{} crashes could not be recorded", drain.unrecorded_crashes()));
        }
        let missing = [in_vain, probes::limits(&hooked.modules), std::mem::take(&mut hooked.told_limits)].concat();
        hooked.limits.extend(missing.iter().cloned());
        let quarantined = quarantine_limits(&hooked.modules);
        hooked.limits.extend(quarantined);
        let drops = drain.drops();
        for (process, facts) in &hooked.processes {
            if let Some(attached) = &facts.attached {
                drain.write_silent_threads(*process, attached, &mut files);
            }
        }
        drain.flush(&mut files);
        files.note_ended(|process| living.has_ended(process));
        // The last part may let go of another: before the manifests tell what was.
        drain.turn_segment(&mut files);
        let (threads, processes) = (files.thread_count(), files.process_count());
        let mut failure = drain.failure().map(ToString::to_string).or(trouble);
        let session = files.path().to_owned();
        for (process, programs) in drain.programs() {
            hooked.processes.entry(*process).or_default().programs.extend(programs);
        }
        let whole_run = hook_cost.as_mut().map(|cost| {
            let tally = drain.tally();
            let tally = tally.lock().expect("nobody panics with the lock");
            let numbers = numbers.read().expect("nobody panics with the lock");
            let counted = switches.counts().values().sum();
            let agent_ns = AgentTime::new(drain.rings().clone(), drain.clock()).so_far();
            let mut run = WholeRun::new(&tally, counted, cost, (cpu, agent_ns), &numbers, &hooked);
            run.measure(cost, sampled);
            run
        });
        let advice = whole_run.zip(hook_cost.as_ref()).filter(|_| options.max_overhead.is_none());
        let advice = advice.and_then(|(run, cost)| run.advise(cost, USUAL_BUDGET));
        let manifests = FinalManifests {
            pid,
            end,
            cpu_time,
            drain: &drain,
            drops: &drops,
            figures: drain.figures(),
            let_go: files.let_go(),
            gone: files.gone(),
            living: &living,
            proc_connector: proc_connector.as_ref(),
            switches: &switches,
            hook_cost: hook_cost.as_ref(),
            max_overhead: options.max_overhead,
            over_budget: governed.map(|governed| governed.over_budget),
        };
        let mut kept: u64 = 0;
        let finished = files.finish(|process, writer| {
            manifests.complete(&mut hooked, process, writer);
            if drain.failure().is_some() {
                writer.manifest_mut().extra.insert("incomplete".into(), true.into());
            }
            kept += writer.manifest_mut().threads.iter().filter_map(|thread| thread.event_count).sum::<u64>();
        });
        if let Err(error) = finished {
            failure.get_or_insert(error.to_string());
        }
        let let_go: u64 =
            manifests.let_go.values().map(|figures| figures.let_go_events).sum::<u64>() + manifests.gone.events;
        let has_failed = failure.is_some();
        let (found, hooked_functions) = distinct_coverage(&hooked.modules);
        Ok(TraceReport {
            session,
            failure,
            pid,
            end,
            // A write that fails leaves a part of what was handed over in the files, which know how much.
            events: if has_failed { kept + let_go } else { drain.events() },
            threads,
            processes,
            drops,
            hooked: hooked_functions,
            found,
            limits: missing,
            start_up,
            execs,
            waited: Duration::from_nanos(drain.waited_ns()),
            advice,
            governed,
            stood_still: None,
            switched: switches.summary(|function| hooked.name_of(function)),
            without_values: switches.lost_values(|function| hooked.name_of(function)),
            let_go,
            quarantined: distinct_quarantined(&hooked.modules),
            crashes: drain.crashes(pid).iter().map(|crash| CrashSummary::of(crash, &hooked.modules)).collect(),
        })
    }
}
