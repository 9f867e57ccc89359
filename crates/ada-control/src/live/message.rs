//! What is asked of a running trace, and what it answers.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::switches::SwitchMode;

/// One line from a client.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "request", rename_all = "snake_case", deny_unknown_fields)]
#[non_exhaustive]
pub enum Request {
    /// How does the trace go on?
    Status,
    /// Remove all hooks, and end.
    Detach,
    /// Save what a ring holds.
    Snapshot {
        /// Where the session goes; beside the trace's own if not set.
        #[serde(default)]
        output: Option<PathBuf>,
    },
    /// Which triggers are there, after these changes?
    Triggers {
        /// To be added, as users write them.
        #[serde(default)]
        add: Vec<String>,
        /// To be removed.
        #[serde(default)]
        remove: Vec<String>,
    },
    /// Switch the functions that patterns name.
    Filter {
        /// To what.
        mode: SwitchMode,
        /// Names of functions or modules, with `*` and `?`.
        patterns: Vec<String>,
    },
    /// Capture the values of the functions that patterns name, or leave them out.
    Values {
        /// Whether they are captured from now on.
        are_captured: bool,
        /// Names of functions or modules, with `*` and `?`.
        patterns: Vec<String>,
    },
}

/// One line back.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "answer", rename_all = "snake_case")]
#[non_exhaustive]
pub enum Answer {
    /// The trace's progress.
    Status(Status),
    /// All hooks are removed.
    Detached,
    /// It is saved.
    Snapshot {
        /// The session's folder.
        session: PathBuf,
    },
    /// The triggers.
    Triggers {
        /// As users write them.
        triggers: Vec<String>,
    },
    /// Functions were switched.
    Filtered {
        /// How many hooked functions have such a name.
        matched: usize,
        /// How many of them were something else before.
        changed: usize,
        /// How many could not be counted, because no counter is free.
        without_counter: usize,
        /// How many have no hook any more, because counting them took too long.
        #[serde(default)]
        unhooked: usize,
    },
    /// Nothing was done.
    Refused {
        /// Why, and what to do.
        reason: String,
    },
}

/// A trace's progress.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Status {
    /// The traced program.
    pub pid: u32,
    /// Its command line.
    pub command: Vec<String>,
    /// When the trace began: milliseconds since 1970.
    pub since_unix_ms: u64,
    /// Events written so far.
    pub events: u64,
    /// Threads seen so far.
    pub threads: u64,
    /// Records given up so far.
    pub dropped: u64,
    /// The session's folder.
    pub session: PathBuf,
    /// The process that records.
    pub recorder: u32,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_is_one_object_with_its_name() {
        assert_eq!(serde_json::to_string(&Request::Status).unwrap(), r#"{"request":"status"}"#);
        for wrong in
            [r#"{"request":"dance"}"#, "{}", "", r#"{"request":"filter","mode":"full","patterns":[],"more":1}"#]
        {
            assert!(serde_json::from_str::<Request>(wrong).is_err(), "{wrong}");
        }
    }
}
