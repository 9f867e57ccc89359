//! What is said when a trace is over.

use std::time::Duration;

use ada_control::{Governed, HookedExecs, StoodStill, SwitchedFunction, TraceReport};
use ada_span::Role;

use crate::exit::say;

fn number(functions: usize) -> String {
    if functions == 1 { "1 function".to_owned() } else { format!("{functions} functions") }
}

/// Prints the summary to stderr: stdout is the program's.
pub(crate) fn print(report: &TraceReport) {
    let end = report.end.words();
    let threads = if report.threads == 1 { "1 thread".to_owned() } else { format!("{} threads", report.threads) };
    say(format_args!(
        "ada: {} events on {threads}; {} of {} functions hooked in {:.0} ms; {end}\n",
        report.events,
        report.hooked,
        report.found,
        report.start_up.as_secs_f64() * 1e3
    ));
    let HookedExecs { programs, time } = report.execs;
    if programs > 0 {
        let programs = if programs == 1 { "1 more program".to_owned() } else { format!("{programs} more programs") };
        say(format_args!("ada: {programs} hooked in {:.0} ms, for which they waited\n", time.as_secs_f64() * 1e3));
    }
    if let Some(StoodStill { attaching, detaching }) = report.stood_still {
        let removing = detaching.map(|time| format!(", {:.1} ms while they were removed", time.as_secs_f64() * 1e3));
        say(format_args!(
            "ada: the process stood still for {:.1} ms while hooks were written{}\n",
            attaching.as_secs_f64() * 1e3,
            removing.unwrap_or_default()
        ));
    }
    for crash in &report.crashes {
        let within = crash.function.as_ref().map(|name| format!(" in {name}")).unwrap_or_default();
        say(format_args!("ada: {} hit thread {}{within}\n", ada_query::signal_name(crash.signal), crash.tid));
    }
    if report.let_go > 0 {
        let kept = report.events.saturating_sub(report.let_go);
        say(format_args!("ada: the newest {kept} events are kept, {} were let go\n", report.let_go));
    }
    if report.quarantined > 0 {
        let functions =
            if report.quarantined == 1 { "1 function is" } else { &format!("{} functions are", report.quarantined) };
        say(format_args!("ada: {functions} in quarantine and not hooked; `ada quarantine` says why\n"));
    }
    if let [first, more @ ..] = &report.limits[..] {
        let more = if more.is_empty() { String::new() } else { format!("; {} more in `ada report`", more.len()) };
        say(format_args!("ada: {first}{more}\n"));
    }
    if let Some(failure) = &report.failure {
        say(format_args!("ada: the trace is incomplete: {failure}\n"));
    }
    for (reason, count) in &report.drops {
        say(format_args!("ada: {count} records lost: {reason}\n"));
    }
    switched(&report.switched);
    if let functions @ [_, ..] = &report.without_values[..] {
        let names = some(functions.iter().map(String::as_str));
        say(format_args!("ada: values of {} were not captured all the time: {names}\n", number(functions.len())));
    }
    if let Some(Governed { stops: stops @ 1.., longest_stop, .. }) = report.governed {
        let often = if stops == 1 { "once".to_owned() } else { format!("{stops} times") };
        say(format_args!(
            "ada: all threads were stopped {often}, for {:.1} ms at most, to remove hooks\n",
            longest_stop.as_secs_f64() * 1000.0
        ));
    }
    if let Some(Governed { settled_overhead: Some(overhead), over_budget, .. }) = report.governed {
        say(format_args!(
            "ada: hooks took an estimated {:.0} % once the budget had settled, after {:.2} s of the program's time\n",
            overhead * 100.0,
            over_budget.as_secs_f64()
        ));
    }
    if let Some(advice) = &report.advice {
        let budget = advice.max_overhead * 100.0;
        let counted = some(advice.functions.iter().map(String::as_str));
        let what_helps = if let valued @ [_, ..] = &advice.without_values[..] {
            let valued = some(valued.iter().map(String::as_str));
            let counted = if advice.functions.is_empty() { String::new() } else { format!(", and counted {counted}") };
            format!("; --max-overhead {budget:.0}% would have left out the values of {valued}{counted}")
        } else if advice.functions.is_empty() {
            // All that is over the budget is the time of the execs.
            ", with what it took to hook the programs that it ran".to_owned()
        } else {
            format!("; --max-overhead {budget:.0}% would have counted {counted} instead of recording them")
        };
        let least = advice.least * 100.0;
        /// Beyond so many times the lower end, the upper one says nothing.
        const WIDEST: f64 = 10.0;
        let share = match advice.most {
            Some(most) if most < WIDEST * advice.least => format!("{least:.0} to {:.0} %", most * 100.0),
            _ => format!("{least:.0} % or more"),
        };
        say(format_args!("ada: hooks took an estimated {share} on top of the program's own time{what_helps}\n"));
    }
    if report.waited > Duration::from_millis(1) {
        let seconds = report.waited.as_secs_f64();
        say(format_args!("ada: threads waited {seconds:.1} s for the trace to be written\n"));
    }
    say(format_args!("ada: {}\n", report.session.display()));
}

/// Reports what is missing in the trace because it was switched.
fn switched(functions: &[SwitchedFunction]) {
    if functions.is_empty() {
        return;
    }
    let calls: u64 = functions.iter().map(|function| function.calls).sum();
    let unhooked = functions.iter().filter(|function| function.is_unhooked).count();
    let is_left_out = |function: &&SwitchedFunction| function.is_left_out && !function.is_unhooked;
    let left_out = functions.iter().filter(is_left_out).count();
    let uncounted = functions.iter().filter(|function| !function.is_exact).count() - unhooked - left_out;
    say(format_args!(
        "ada: {} not recorded all the time: {}; {calls} of {} calls were counted{}\n",
        if functions.len() == 1 { "1 function was".to_owned() } else { format!("{} functions were", functions.len()) },
        some(functions.iter().map(|function| function.name.as_str())),
        if functions.len() == 1 { "its" } else { "their" },
        if uncounted > 0 { format!(", and {uncounted} of them were switched off for a time") } else { String::new() }
    ));
    if unhooked > 0 {
        let names = functions.iter().filter(|function| function.is_unhooked).map(|function| function.name.as_str());
        say(format_args!(
            "ada: for {unhooked} of these, even counting took more than the budget, so their hooks were removed: {} \
             (--exact-counts keeps them)\n",
            some(names)
        ));
    }
    if left_out > 0 {
        let names = functions.iter().filter(is_left_out).map(|function| function.name.as_str());
        say(format_args!(
            "ada: {left_out} of these had no hooks from the start: in earlier runs, even counting took more than the budget: {} \
             (--no-learning hooks them)\n",
            some(names)
        ));
    }
    unfollowed(functions);
}

/// Says so where goroutines are not followed to the end.
fn unfollowed(functions: &[SwitchedFunction]) {
    if functions.iter().any(|function| Role::of(&function.name).is_step_of_goroutine()) {
        say(format_args!(
            "ada: goroutines were followed only for part of the run: following Go's scheduler alone exceeded the \
             budget (a larger --max-overhead follows them for longer)\n"
        ));
    }
}

/// The first few names of a list, and how many more there are. Programs that run one after the other have the same.
fn some<'a>(names: impl Iterator<Item = &'a str>) -> String {
    const NAMED: usize = 5;
    let mut all: Vec<&str> = Vec::new();
    let mut more = 0;
    for name in names {
        match all.contains(&name) {
            true => {}
            false if all.len() < NAMED => all.push(name),
            false => more += 1,
        }
    }
    let named = all.join(", ");
    if more > 0 { format!("{named} and {more} more") } else { named }
}
