//! What may be wrong with a program, with the reasons and what to look at.

mod advice;
mod caveats;
mod concurrency;
mod crash;
mod deadlock;
mod disturbed;
mod failed_calls;
mod goroutines;
mod growing_cost;
mod kept;
mod leaks;
mod ledger;
mod lock_held_asleep;
mod lock_inversion;
mod lock_starvation;
mod lost_wakeup;
mod pairs;
mod priority_inversion;
mod progress;
mod raised;
mod shape;
mod slow;
mod slow_calls;
mod survey;
mod symptom;
mod threads;
mod unhandled;
mod unmatched;
mod waits;
mod wakers;

pub use advice::{Advice, advice};
pub use caveats::caveats;
pub use disturbed::waited_to_be_recorded;
pub use pairs::{is_wait, takes_lock, waits_for_others};
pub use symptom::Noticed;
pub use unhandled::Unhandled;

use ada_event::{EventSeq, ProcessId, TraceNanos};
use ada_span::ThreadIndex;
use ada_span::table::FunctionIndex;
use serde_json::Value;

use crate::cancel::Cancel;
use crate::error::QueryError;
use crate::span::{FrameSpan, Span};
use crate::trace::{Trace, TraceProcess, Wanted};

use survey::Survey;

/// Something worth a look.
#[derive(Clone, Debug, PartialEq)]
pub struct Finding {
    /// What kind: crash, uncaught_exception, panic, terminated, deadlock, lost_wakeup, lock_held_asleep, lock_inversion, lock_starvation, priority_inversion, hang,
    /// long_wait, chatty_io, leak,
    /// slow_outlier, hot_function, growing_cost, unmatched, never_joined, never_resumed, leaked_continuation, ignored_error, leaked_goroutines, never_left,
    /// failed_calls, disturbed, recursion or hot_tiny_function.
    pub kind: &'static str,
    /// How much it matters, from 0 to 100.
    pub score: f64,
    /// In one line.
    pub title: String,
    /// Why it is believed, and what it may mean.
    pub rationale: String,
    /// The function that it is about.
    pub function: Option<String>,
    /// References that show it.
    pub evidence: Vec<String>,
    /// The figures behind it.
    pub facts: Value,
    /// The session.
    pub session: String,
    /// The process.
    pub pid: ProcessId,
}

/// Looks for all that may be wrong, the worst first. A symptom in a user's words brings what fits it to the front.
pub fn findings(trace: &Trace, cancel: &Cancel, symptom: Option<&str>) -> Result<Vec<Finding>, QueryError> {
    let mut all = Vec::new();
    let mut disturbed = Vec::new();
    for (number, process) in trace.processes().iter().enumerate() {
        let about = About { trace, cancel, process, number };
        let held_up = disturbed::find(&about);
        // Both go through all calls, one after the other of a thread: two processors take half of the time.
        let (survey, slow) = std::thread::scope(|scope| {
            let slow = scope.spawn(|| slow::find(&about, held_up.is_some()));
            let survey = Survey::of(&about);
            (survey, slow.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
        });
        let survey = survey?;
        let crashes = crash::find(&about)?;
        all.extend(raised::find(&about, &survey, &crashes));
        all.extend(crashes);
        let failed_calls = failed_calls::find(&about)?;
        all.extend(deadlock::find(&about)?);
        all.extend(lock_held_asleep::find(&about)?);
        all.extend(lock_inversion::find(&about)?);
        all.extend(lock_starvation::find(&about)?);
        all.extend(priority_inversion::find(&about)?);
        all.extend(lost_wakeup::find(&about)?);
        all.extend(waits::find(&about, &survey)?);
        let kept = kept::find(&about, &survey)?;
        let mut leaks = failed_calls::without_failed(leaks::find(&about, &survey), &failed_calls);
        // What values prove is better than what counts suggest.
        leaks.retain(|it| !it.facts["what"].as_str().and_then(|what| kept.get(what)).is_some_and(kept::Kept::decides));
        all.extend(leaks);
        all.extend(kept.into_values().flat_map(|it| it.findings));
        all.extend(failed_calls);
        all.extend(slow?);
        disturbed.extend(held_up);
        all.extend(growing_cost::find(&about, &survey)?);
        all.extend(unmatched::find(&about)?);
        all.extend(threads::find(&about));
        all.extend(concurrency::find(&about));
        all.extend(goroutines::find(&about));
        all.extend(shape::find(&about, &survey));
    }
    all.extend(disturbed::merge(&disturbed));
    if let Some(symptom) = symptom {
        Noticed::new(symptom).weigh(&mut all);
    }
    all.sort_by(|left, right| right.score.total_cmp(&left.score).then_with(|| left.title.cmp(&right.title)));
    Ok(all)
}

/// The process that is looked at.
struct About<'a> {
    trace: &'a Trace,
    cancel: &'a Cancel,
    process: &'a TraceProcess,
    /// Its index in the trace.
    number: usize,
}

impl About<'_> {
    fn finding(&self, kind: &'static str, score: f64, title: String, rationale: impl Into<String>) -> Finding {
        Finding {
            kind,
            score,
            title,
            rationale: rationale.into(),
            function: None,
            evidence: Vec::new(),
            facts: Value::Null,
            session: self.trace.session_of(self.process).name.clone(),
            pid: self.process.pid,
        }
    }

    fn name(&self, function: FunctionIndex) -> String {
        self.process.label_at(function).map_or_else(String::new, |label| label.name.clone())
    }

    /// How often a function was called.
    fn calls(&self, function: FunctionIndex) -> u64 {
        self.process.tables.meta().functions.get(function.as_usize()).map_or(0, |it| it.spans)
    }

    /// The call that an event of a thread opens, with its values where these were captured.
    fn call(&self, thread: ThreadIndex, seq: EventSeq) -> Result<Option<String>, QueryError> {
        let Some(frame) = FrameSpan::read(&self.process.tables, thread, seq)? else { return Ok(None) };
        Ok(Span::frame(self.number, frame).call_values(self.trace, Wanted::Captured).map(|call| call.line()))
    }

    fn frame(&self, thread: ThreadIndex, seq: EventSeq) -> String {
        let target = crate::trace::Target::Frame(self.process.thread_id(thread), seq);
        self.process.refer(target)
    }

    /// From the first event of the process to its end, or the recording's.
    fn lifetime(&self) -> u64 {
        let facts = || self.process.tables.meta().threads.iter().map(|it| it.facts).filter(|it| it.events > 0);
        let end = facts().map(|it| it.last_time.max(it.end_time)).max().unwrap_or_default();
        let recorded = self.trace.manifest(self.process).map_or(TraceNanos(0), |it| it.time_end_ns);
        end.max(recorded).since(facts().map(|it| it.first_time).min().unwrap_or_default())
    }
}

fn nanoseconds(nanos: u64) -> String {
    crate::sql_functions::duration(nanos as f64)
}
