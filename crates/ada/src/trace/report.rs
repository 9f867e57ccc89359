//! What is said when a trace is over.

use std::time::Duration;

use ada_control::{End, TraceReport};

use crate::exit::say;

/// Prints the summary to stderr: stdout is the program's.
pub(super) fn print(report: &TraceReport) {
    let end = match report.end {
        End::Exited(code) => format!("exit code {code}"),
        End::Killed(signal) => format!("killed by signal {signal}"),
    };
    let threads = if report.threads == 1 { "1 thread".to_owned() } else { format!("{} threads", report.threads) };
    say(format_args!(
        "ada: {} events on {threads}; {} of {} functions hooked in {:.0} ms; {end}\n",
        report.events,
        report.hooked,
        report.found,
        report.start_up.as_secs_f64() * 1e3
    ));
    for crash in &report.crashes {
        let place = crash.function.as_ref().map(|name| format!(" in {name}")).unwrap_or_default();
        say(format_args!("ada: signal {} hit thread {}{place}\n", crash.signal, crash.tid));
    }
    if report.let_go > 0 {
        let kept = report.events.saturating_sub(report.let_go);
        say(format_args!("ada: the newest {kept} events are kept, {} were let go\n", report.let_go));
    }
    if let Some(failure) = &report.failure {
        say(format_args!("ada: the trace is incomplete: {failure}\n"));
    }
    for (reason, count) in &report.drops {
        say(format_args!("ada: {count} records lost: {reason}\n"));
    }
    if report.waited > Duration::from_millis(1) {
        let seconds = report.waited.as_secs_f64();
        say(format_args!("ada: threads waited {seconds:.1} s for the trace to be written\n"));
    }
    say(format_args!("ada: {}\n", report.session.display()));
}
