//! What is said when a trace is over.

use std::time::Duration;

use ada_control::{End, TraceReport};

/// Prints the summary to stderr: stdout is the program's.
pub(super) fn print(report: &TraceReport) {
    let end = match report.end {
        End::Exited(code) => format!("exit code {code}"),
        End::Killed(signal) => format!("killed by signal {signal}"),
    };
    let threads = if report.threads == 1 { "1 thread".to_owned() } else { format!("{} threads", report.threads) };
    eprintln!(
        "ada: {} events on {threads}; {} of {} functions hooked in {:.0} ms; {end}",
        report.events,
        report.hooked,
        report.found,
        report.start_up.as_secs_f64() * 1e3
    );
    for (reason, count) in &report.drops {
        eprintln!("ada: {count} records lost: {reason}");
    }
    if report.waited > Duration::from_millis(1) {
        eprintln!("ada: threads waited {:.1} s for the trace to be written", report.waited.as_secs_f64());
    }
    eprintln!("ada: {}", report.session.display());
}
