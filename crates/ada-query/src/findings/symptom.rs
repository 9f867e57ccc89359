//! A user's words, and the kinds of findings that they can mean.

use super::Finding;

/// Something that users notice.
struct Symptom {
    /// As ada calls it where it says what there is.
    name: &'static str,
    /// Words, or beginnings of words, that mean it.
    words: &'static [&'static str],
    /// What it may come from.
    kinds: &'static [&'static str],
}

const SYMPTOMS: [Symptom; 8] = [
    Symptom {
        name: "hang",
        words: &["hang", "hung", "stuck", "deadlock", "freez", "froze", "block", "respond", "lock", "wait"],
        kinds: &[
            "deadlock",
            "lost_wakeup",
            "hang",
            "lock_held_asleep",
            "lock_inversion",
            "lock_starvation",
            "priority_inversion",
            "long_wait",
            "never_joined",
            "never_resumed",
            "leaked_goroutines",
            "never_left",
        ],
    },
    Symptom {
        name: "leak",
        words: &["leak", "memory", "grow", "oom", "descriptor", "handle", "exhaust"],
        kinds: &["leak", "never_joined"],
    },
    Symptom {
        name: "slow",
        words: &[
            "slow",
            "latency",
            "took",
            "takes",
            "long",
            "delay",
            "lag",
            "spike",
            "performance",
            "timeout",
            "outlier",
        ],
        kinds: &["slow_outlier", "growing_cost", "hot_function", "long_wait", "chatty_io", "hot_tiny_function"],
    },
    Symptom {
        name: "crash",
        words: &["crash", "segv", "segfault", "signal", "abort", "core", "die", "kill", "fault"],
        kinds: &["crash", "recursion"],
    },
    Symptom {
        name: "error",
        words: &[
            "fail",
            "error",
            "errno",
            "denied",
            "permission",
            "refuse",
            "connect",
            "missing",
            "file",
            "open",
            "network",
        ],
        kinds: &["failed_calls", "ignored_error"],
    },
    Symptom {
        name: "exception",
        words: &["exception", "throw", "panic", "unwind", "catch"],
        kinds: &["unmatched", "ignored_error", "crash"],
    },
    Symptom { name: "recursion", words: &["recurs", "overflow", "deep", "stack"], kinds: &["recursion", "crash"] },
    Symptom {
        name: "cpu",
        words: &["cpu", "hot", "busy", "overhead", "burn"],
        kinds: &["growing_cost", "hot_function", "hot_tiny_function"],
    },
];

/// What a user has noticed.
pub struct Noticed<'a> {
    text: &'a str,
    words: Vec<String>,
    kinds: Vec<&'static str>,
}

impl<'a> Noticed<'a> {
    /// In a user's words.
    pub fn new(text: &'a str) -> Self {
        let words: Vec<String> = text
            .to_lowercase()
            .split(|it: char| !(it.is_alphanumeric() || it == '_'))
            .filter(|it| !it.is_empty())
            .map(str::to_owned)
            .collect();
        let is_meant =
            |symptom: &&Symptom| words.iter().any(|word| symptom.words.iter().any(|it| word.starts_with(it)));
        let kinds = SYMPTOMS.iter().filter(is_meant).flat_map(|it| it.kinds.iter().copied()).collect();
        Self { text, words, kinds }
    }

    fn means_kind(&self, finding: &Finding) -> bool {
        self.kinds.contains(&finding.kind)
    }

    fn names_function(&self, finding: &Finding) -> bool {
        finding.function.as_ref().is_some_and(|function| {
            let function = function.to_lowercase();
            self.words.iter().any(|word| word.len() > 3 && function.contains(word))
        })
    }

    /// Brings what fits to the front.
    pub(super) fn weigh(&self, findings: &mut [Finding]) {
        for finding in findings {
            if self.means_kind(finding) {
                finding.score += 100.0;
            }
            if self.names_function(finding) {
                finding.score += 50.0;
            }
        }
    }

    /// In one line that none of the findings fits, and what symptoms there are; none where one does.
    pub fn nothing_fits(&self, findings: &[Finding]) -> Option<String> {
        if findings.iter().any(|it| self.means_kind(it) || self.names_function(it)) {
            return None;
        }
        let names: Vec<&str> = SYMPTOMS.iter().map(|it| it.name).collect();
        let (others, last) = (&names[..names.len() - 1], names[names.len() - 1]);
        Some(format!(
            "nothing that was found fits \"{}\"; symptoms are {} and {last}, or a function's name",
            self.text,
            others.join(", ")
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ada_event::ProcessId;
    use serde_json::Value;

    fn finding(kind: &'static str, function: &str) -> Finding {
        Finding {
            kind,
            score: 50.0,
            title: String::new(),
            rationale: String::new(),
            function: Some(function.to_owned()),
            evidence: Vec::new(),
            facts: Value::Null,
            session: String::new(),
            pid: ProcessId(1),
        }
    }

    #[test]
    fn words_that_fit_nothing_are_told_with_those_that_there_are() {
        let found = [finding("leak", "remember_request"), finding("hot_function", "parse_line")];
        for fits in ["memory grows", "it is SLOW", "remember_request", "parse"] {
            assert_eq!(Noticed::new(fits).nothing_fits(&found), None, "{fits}");
        }
        // Words that nobody knows, and those of a symptom of which nothing was found.
        for unfit in ["purple elephants", "segfault", ""] {
            let told = Noticed::new(unfit).nothing_fits(&found).unwrap();
            assert!(
                told.starts_with(&format!("nothing that was found fits \"{unfit}\"; symptoms are hang, leak,")),
                "{told}"
            );
        }
        assert!(Noticed::new("slow").nothing_fits(&[]).is_some());
    }

    #[test]
    fn every_symptom_is_known_by_its_own_name() {
        for symptom in &SYMPTOMS {
            let kinds = Noticed::new(symptom.name).kinds;
            assert!(symptom.kinds.iter().all(|kind| kinds.contains(kind)), "{}", symptom.name);
        }
    }
}
