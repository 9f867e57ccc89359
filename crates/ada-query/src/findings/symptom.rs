//! A user's words, and the kinds of findings that they can mean.

use super::Finding;

/// Words, or beginnings of words, and what they mean.
const WORDS: [(&[&str], &[&str]); 8] = [
    (
        &["hang", "hung", "stuck", "deadlock", "freez", "froze", "block", "respond", "lock", "wait"],
        &[
            "deadlock",
            "lost_wakeup",
            "hang",
            "lock_held_asleep",
            "lock_inversion",
            "priority_inversion",
            "long_wait",
            "never_joined",
            "never_resumed",
            "leaked_goroutines",
            "never_left",
        ],
    ),
    (&["leak", "memory", "grow", "oom", "descriptor", "handle", "exhaust"], &["leak", "never_joined"]),
    (
        &["slow", "latency", "took", "takes", "long", "delay", "lag", "spike", "performance", "timeout", "outlier"],
        &["slow_outlier", "growing_cost", "hot_function", "long_wait", "hot_tiny_function"],
    ),
    (&["crash", "segv", "segfault", "signal", "abort", "core", "die", "kill", "fault"], &["crash", "recursion"]),
    (
        &["fail", "error", "errno", "denied", "permission", "refuse", "connect", "missing", "file", "open", "network"],
        &["failed_calls", "ignored_error"],
    ),
    (&["exception", "throw", "panic", "unwind", "catch"], &["unmatched", "ignored_error", "crash"]),
    (&["recurs", "overflow", "deep", "stack"], &["recursion", "crash"]),
    (&["cpu", "hot", "busy", "overhead", "burn"], &["growing_cost", "hot_function", "hot_tiny_function"]),
];

/// Brings what fits the symptom to the front.
pub(super) fn weigh(symptom: &str, findings: &mut [Finding]) {
    let symptom = symptom.to_lowercase();
    let words: Vec<&str> =
        symptom.split(|it: char| !(it.is_alphanumeric() || it == '_')).filter(|it| !it.is_empty()).collect();
    let meant: Vec<&str> = WORDS
        .iter()
        .filter(|(beginnings, _)| words.iter().any(|word| beginnings.iter().any(|it| word.starts_with(it))))
        .flat_map(|(_, kinds)| kinds.iter().copied())
        .collect();
    for finding in findings {
        let is_named = finding.function.as_ref().is_some_and(|function| {
            let function = function.to_lowercase();
            words.iter().any(|word| word.len() > 3 && function.contains(word))
        });
        if meant.contains(&finding.kind) {
            finding.score += 100.0;
        }
        if is_named {
            finding.score += 50.0;
        }
    }
}
