//! Fatal signals, and what led to them.

use ada_event::{EventSeq, FunctionId, ModuleId, ThreadId};
use ada_span::table::{Column, Columns};
use ada_span::{Reason, ThreadIndex, asks_to_end, is_fault};
use serde_json::json;

use super::{About, Finding};
use crate::error::QueryError;
use crate::ownership::own_functions;
use crate::predicate::{Field, Ready, Subject, Test, prepare};
use crate::relation::Op;
use crate::scan::Matching;
use crate::signal_name::signal_name;
use crate::trace::Target;

/// Open calls that a finding lists.
const MOST_FRAMES: usize = 12;

pub(super) fn find(about: &About<'_>) -> Result<Vec<Finding>, QueryError> {
    let Some(manifest) = about.trace.manifest(about.process) else { return Ok(Vec::new()) };
    let is_own = own_functions(about.trace, about.process);
    let meta = about.process.tables.meta();
    let mut found = Vec::new();
    for crash in &manifest.crashes {
        let functions: Vec<FunctionId> = crash.frames.iter().filter_map(|it| parse(it)).collect();
        let own = functions.iter().find(|it| meta.function_index(**it).is_some_and(|index| is_own[index.as_usize()]));
        let first = own.or(functions.first()).copied();
        let name = first.map(|it| about.process.names.name(it));
        let code = name.clone().unwrap_or_else(|| "code that is not hooked".into());
        let address = crash.address.map_or_else(String::new, |it| format!(" at address {it}"));
        let title = format!("{} in {code}{address}, thread {}", signal_name(crash.signal), crash.thread);
        let names = || functions.iter().map(|it| about.process.names.name(*it));
        let stack: Vec<String> = names().take(MOST_FRAMES).collect();
        let words = words_of_stack(names());
        let open = open_calls(about, crash.thread)?;
        let mut rationale = if crash.code > 0 {
            format!("The processor stopped the program there. Open calls, newest first: {words}.")
        } else {
            let who = crash.sender_pid.map_or_else(String::new, |pid| format!(" by process {pid}"));
            format!("The signal was sent{who}. Open calls, newest first: {words}.")
        };
        let calls = with_values(about, &open)?;
        if !calls.is_empty() {
            rationale.push_str(&format!(" They were called so: {}.", calls.join(", ")));
        }
        let mut finding = match unhandled(about, &functions) {
            Some(kind) => {
                about.finding(kind, 105.0, format!("{} ended the process: {title}", in_words(kind)), rationale)
            }
            None => about.finding("crash", 100.0, title, rationale),
        };
        finding.function = name;
        finding.evidence = open.iter().map(|(thread, seq)| about.frame(*thread, *seq)).collect();
        finding.facts = json!({
            "signal": crash.signal, "code": crash.code, "address": crash.address.map(|it| it.to_string()),
            "thread_id": crash.thread, "time_ns": crash.time_ns, "stack": stack, "calls": calls, "depth": crash.depth,
            "registers": crash.registers.iter().map(|(name, it)| (name.clone(), it.to_string().into())).collect::<serde_json::Map<_, _>>(),
        });
        found.push(finding);
    }
    let signal = manifest.exit.as_ref().and_then(|it| it.signal);
    if let Some(signal) = signal.filter(|_| found.is_empty()) {
        let title = format!("the process was killed by {}", signal_name(signal));
        let rationale = "Where the signal hit is not recorded. What was open at the end shows what each thread did.";
        // Whoever ends a program from outside often does so because it hangs, which other findings say better. SIGKILL comes from there, too.
        let (kind, score) = match signal {
            signal if is_fault(signal) => ("crash", 100.0),
            signal if asks_to_end(signal) => ("terminated", 10.0),
            _ => ("terminated", 40.0),
        };
        let mut finding = about.finding(kind, score, title, rationale);
        let threads = meta.threads.iter().max_by_key(|it| it.facts.last_time);
        if let Some(thread) = threads {
            let open = open_calls(about, thread.id)?;
            finding.evidence = open.iter().map(|(thread, seq)| about.frame(*thread, *seq)).collect();
            let event = Target::Event(thread.id, EventSeq(thread.facts.events.saturating_sub(1)));
            finding.evidence.push(about.process.refer(event));
        }
        finding.facts = json!({ "signal": signal });
        found.push(finding);
    }
    Ok(found)
}

/// Open calls in one line. Those that a function has made of itself are one: a sort that calls itself eight times would hide who sorts.
fn words_of_stack(names: impl Iterator<Item = String>) -> String {
    let mut calls: Vec<(String, usize)> = Vec::new();
    let mut are_more = false;
    for name in names {
        if let Some((_, times)) = calls.last_mut().filter(|(last, _)| *last == name) {
            *times += 1;
        } else if calls.len() == MOST_FRAMES {
            are_more = true;
            break;
        } else {
            calls.push((name, 1));
        }
    }
    let word = |(name, times): (String, usize)| if times == 1 { name } else { format!("{name} ({times} times)") };
    let mut words: Vec<String> = calls.into_iter().map(word).collect();
    words.extend(are_more.then(|| "…".to_owned()));
    words.join(", ")
}

/// What nobody has caught, if that is why the process ended itself: by functions that are open then.
fn unhandled(about: &About<'_>, open: &[FunctionId]) -> Option<&'static str> {
    let raw_names = open.iter().filter_map(|it| about.process.names.raw(*it));
    raw_names.filter_map(unhandled_by).next()
}

fn unhandled_by(raw: &str) -> Option<&'static str> {
    // `std::terminate`, and what `__cxa_throw` calls where no handler is found.
    let is_terminate = raw.starts_with("_ZSt9terminatev") || raw.starts_with("_ZN10__cxxabiv111__terminate");
    let is_panic = raw.contains("panic_with_hook") || raw.contains("rust_begin_unwind");
    match (is_terminate, is_panic) {
        (true, _) => Some("uncaught_exception"),
        (_, true) => Some("panic"),
        _ => None,
    }
}

fn in_words(kind: &str) -> &'static str {
    if kind == "panic" { "a Rust panic" } else { "an exception that nobody caught" }
}

/// The calls of a thread that the signal ended, newest first.
fn open_calls(about: &About<'_>, id: ThreadId) -> Result<Vec<(ThreadIndex, EventSeq)>, QueryError> {
    let Some(thread) = about.process.tables.meta().thread_index(id) else { return Ok(Vec::new()) };
    let tables = &about.process.tables;
    let test = Test::Compare(Field::Reason, Op::Eq, rusqlite::types::Value::Text(Reason::Crash.word().into()));
    let ready: Ready = prepare(&test, Subject::Spans, about.trace, about.process);
    let mut matching = Matching::new(tables, ready, tables.blocks_of(thread).rev());
    let mut columns = Columns::new();
    let mut calls = Vec::new();
    while calls.len() < MOST_FRAMES
        && let Some((block, rows)) = matching.next(tables, about.cancel)?
    {
        tables.read(block, |column| column == Column::OpenSeq, &mut columns)?;
        let rows = rows.unwrap_or_else(|| (0..columns.rows() as u16).collect());
        calls.extend(rows.iter().rev().map(|row| (thread, columns.seq(usize::from(*row)))));
    }
    calls.truncate(MOST_FRAMES);
    Ok(calls)
}

/// Those of them whose values were captured.
fn with_values(about: &About<'_>, open: &[(ThreadIndex, EventSeq)]) -> Result<Vec<String>, QueryError> {
    open.iter().filter_map(|(thread, seq)| about.call(*thread, *seq).transpose()).collect()
}

fn parse(text: &str) -> Option<FunctionId> {
    let (module, symbol) = text.split_once(':')?;
    Some(FunctionId::new(ModuleId(module.parse().ok()?), symbol.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_of_a_function_by_itself_are_one_word_of_a_stack() {
        let words = |names: &[&str]| words_of_stack(names.iter().map(|it| (*it).to_owned()));
        assert_eq!(
            words(&["compare", "sort", "sort", "sort", "qsort", "main"]),
            "compare, sort (3 times), qsort, main"
        );
        assert_eq!(words(&["a", "b", "a", "b"]), "a, b, a, b");
        let many: Vec<String> = (0..20).map(|it| format!("f{it}")).collect();
        assert!(words_of_stack(many.into_iter()).ends_with("f10, f11, …"));
    }

    #[test]
    fn what_nobody_caught_is_told_by_the_runtimes_functions() {
        assert_eq!(unhandled_by("_ZSt9terminatev"), Some("uncaught_exception"));
        assert_eq!(unhandled_by("_ZN3std9panicking20rust_panic_with_hook17h0123456789abcdefE"), Some("panic"));
        assert_eq!(unhandled_by("abort"), None);
    }
}
