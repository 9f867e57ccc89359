//! Leak-like pairs: what takes was called more often than what gives back.
//!
//! Calls are counted, not what they took, and a program may rightly keep things until it ends.
//! So where the count of one side is in doubt, it is the one that makes the imbalance smaller.

use std::collections::BTreeMap;

use ada_event::FunctionId;
use serde_json::json;

use super::item::Item;
use crate::analysis::{OpenedSession, Target, TraceProcess, thousands};

/// Functions that take, and that give back. None of the takers calls another one of them, which would count twice. Memory that grows
/// is a finding; that some of it is kept is usual.
const PAIRS: [(&[&str], &[&str]); 6] = [
    (&["fopen", "fopen64", "fdopen", "tmpfile"], &["fclose"]),
    (&["popen"], &["pclose"]),
    (&["opendir", "fdopendir"], &["closedir"]),
    (&["pthread_mutex_lock"], &["pthread_mutex_unlock"]),
    (&["pthread_rwlock_rdlock", "pthread_rwlock_wrlock"], &["pthread_rwlock_unlock"]),
    (&["sem_init", "sem_open"], &["sem_destroy", "sem_close"]),
];

/// What programs keep for the whole of their lives without anybody minding.
const KEPT: u64 = 10;

pub(super) fn gather(opened: &OpenedSession) -> Vec<Item> {
    let mut items = Vec::new();
    for (number, process) in opened.processes().iter().enumerate() {
        if is_incomplete(opened, process) {
            continue;
        }
        let calls = calls(process);
        for (takers, givers) in PAIRS {
            let found =
                |names: &[&str]| -> Vec<Calls> { names.iter().filter_map(|name| calls.get(*name)).copied().collect() };
            let (taking, giving) = (found(takers), found(givers));
            let count = |calls: &[Calls]| calls.iter().fold(0_u64, |sum, it| sum.saturating_add(it.count));
            let (taken, given) = (count(&taking), count(&giving));
            // Who gives back may not be hooked at all, or may not have been counted.
            let is_in_doubt = giving.iter().any(|it| it.may_be_more) || !is_hooked(process, givers);
            // A tenth more than was given back is another matter than what is kept.
            if taken <= given.saturating_add(given / 10).saturating_add(KEPT) || is_in_doubt {
                continue;
            }
            let reference = taking.iter().max_by_key(|it| it.count).map(|it| it.function);
            let reference = reference.map(|it| opened.processes()[number].refer(Target::Function(it)));
            let name = |raw: &str| ada_image::demangle(raw).into_owned();
            let json = json!({ "kind": "imbalance", "taken": taken, "given": given });
            let value = format!(
                "{} calls that take ({}), {} that give back",
                thousands(taken),
                takers.iter().filter(|it| calls.contains_key(**it)).map(|it| name(it)).collect::<Vec<_>>().join(", "),
                thousands(given)
            );
            items.push(Item::oddity(
                format!("{} without {}", name(takers[0]), name(givers[0])),
                value,
                reference,
                json,
            ));
        }
    }
    items
}

/// Calls of one name.
#[derive(Clone, Copy)]
struct Calls {
    count: u64,
    /// Of the function that was called most.
    function: FunctionId,
    may_be_more: bool,
}

/// Whether calls may be missing, or givers had no time to come.
fn is_incomplete(opened: &OpenedSession, process: &TraceProcess) -> bool {
    let Some(manifest) = &opened.recorded(process).manifest else { return true };
    let is_cut = manifest.ring.as_ref().is_some_and(|ring| ring.let_go_events > 0);
    let has_drops = manifest.drops.iter().any(|drops| drops.lane == "index" && drops.count > 0);
    // A fork's child gives back what its parent has taken, and need not give back what it takes.
    let is_fork = process.tables.meta().threads.iter().any(|thread| thread.facts.begun_at_depth > 0);
    is_cut || has_drops || is_fork || manifest.finished == Some(false)
}

fn calls(process: &TraceProcess) -> BTreeMap<String, Calls> {
    let mut calls: BTreeMap<String, Calls> = BTreeMap::new();
    for stats in &process.tables.meta().functions {
        let name = plain_name(process.names.raw(stats.function).unwrap_or_default());
        let unrecorded = process.switched.of_function(stats.function).unwrap_or_default();
        let count = stats.spans.saturating_add(unrecorded.counted);
        let known =
            calls.entry(name.to_owned()).or_insert(Calls { count: 0, function: stats.function, may_be_more: false });
        if count > known.count {
            known.function = stats.function;
        }
        known.count = known.count.saturating_add(count);
        known.may_be_more |= unrecorded.is_inexact;
    }
    calls
}

/// The name that programs call a function by: libraries have further ones of their own for it.
fn plain_name(raw: &str) -> &str {
    let raw = raw.split('@').next().unwrap_or_default();
    let raw = raw.strip_prefix("__libc_").or_else(|| raw.strip_prefix("__GI_")).unwrap_or(raw);
    raw.strip_prefix("___").or_else(|| raw.strip_prefix("__")).unwrap_or(raw)
}

/// Whether calls of a function with one of these names would have been recorded.
fn is_hooked(process: &TraceProcess, names: &[&str]) -> bool {
    process.names.rows().any(|row| row.verdict != "skipped" && names.contains(&plain_name(&row.name)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_are_known_by_the_name_that_programs_use() {
        for raw in ["malloc", "__libc_malloc", "malloc@@GLIBC_2.2.5", "__GI_malloc", "__malloc"] {
            assert_eq!(plain_name(raw), "malloc");
        }
        assert_eq!(plain_name("___pthread_mutex_lock"), "pthread_mutex_lock");
        assert_eq!(plain_name("_ZdlPv"), "_ZdlPv");
    }
}
