//! What a trace does not have, so that nobody takes silence for proof.

use crate::trace::Trace;
use ada_event::FunctionId;

/// Sentences that any answer from this trace has to be read with.
pub fn caveats(trace: &Trace) -> Vec<String> {
    let mut all = Vec::new();
    for process in trace.processes() {
        let mut say = |words: String| all.push(format!("pid {}: {words}", process.pid));
        let Some(manifest) = trace.manifest(process) else {
            say("there is no readable manifest: names, drops and coverage are not known".into());
            continue;
        };
        for drop in manifest.drops.iter().filter(|it| it.count > 0) {
            let what = match drop.lane.as_str() {
                "index" => "events",
                "detail" => "registers and stacks of events",
                lane => lane,
            };
            say(format!("{} {what} were lost ({})", drop.count, drop.reason));
        }
        if let Some(ring) = manifest.ring.as_ref().filter(|it| it.let_go_events > 0) {
            say(format!("only the newest part was kept: {} earlier events were let go", ring.let_go_events));
        }
        if let Some(ring) = manifest.ring.as_ref().filter(|it| it.gone_processes > 0) {
            say(format!("nothing was kept of {} processes that had ended", ring.gone_processes));
        }
        if manifest.finished == Some(false) {
            say("the recording was cut short".into());
        }
        if !manifest.switches.is_empty() {
            let functions: std::collections::BTreeSet<FunctionId> =
                manifest.switches.iter().map(|it| it.function_id).collect();
            say(format!("{} functions were not recorded all the time (table hooks: unrecorded_ns)", functions.len()));
        }
        let coverage = || manifest.modules.iter().filter_map(|it| it.coverage.as_ref());
        let found: u64 = coverage().map(|it| it.found).sum();
        let skipped: u64 = coverage().flat_map(|it| it.skipped.values()).sum();
        if skipped > 0 {
            say(format!("{skipped} of {found} functions were not hooked (table hooks: verdict, reason)"));
        }
        for limit in &manifest.limits {
            say(limit.as_str().map_or_else(|| limit.to_string(), str::to_owned));
        }
        let of_goroutines = [trace.unknown_goroutines(process), trace.unfollowed_goroutines(process)];
        of_goroutines.into_iter().flatten().for_each(&mut say);
    }
    for session in trace.sessions() {
        all.extend(session.session.findings().iter().take(3).map(|it| format!("damage: {it}")));
    }
    all.dedup();
    all
}
