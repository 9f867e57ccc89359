//! What has to be known of a side before its figures are compared: how its runs ended, and whether all of them was recorded.

use std::collections::BTreeSet;

use ada_event::FunctionId;
use serde_json::{Value, json};

use super::figures::Run;
use crate::analysis::{end_words, thousands};

/// What is known of a side.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Standing {
    /// How the first process of each run ended, each way once.
    ends: BTreeSet<String>,
    /// Functions that were not recorded all the time in the run with the most of them, as a budget wants it.
    switched: usize,
    /// Events that were lost.
    lost: u64,
}

impl Standing {
    pub(super) fn of(runs: &[Run]) -> Self {
        let mut standing = Self::default();
        for run in runs {
            let manifests = || run.opened.session().processes().iter().filter_map(|it| it.manifest.as_ref());
            let is_first = |it: &&ada_format::atf::Manifest| it.parent_pid.is_none();
            standing.ends.extend(manifests().find(is_first).map(end_words));
            let functions: BTreeSet<FunctionId> =
                manifests().flat_map(|it| &it.switches).map(|it| it.function_id).collect();
            standing.switched = standing.switched.max(functions.len());
            // The processes of a trace share their rings, and each lists all that was lost.
            let lost = manifests().map(|it| it.drops.iter().map(|drop| drop.count).fold(0, u64::saturating_add)).max();
            standing.lost = standing.lost.saturating_add(lost.unwrap_or(0));
        }
        standing
    }

    /// `exit code 0`, or all that there were.
    fn end(&self) -> String {
        self.ends.iter().map(String::as_str).collect::<Vec<_>>().join(" or ")
    }

    /// What stands behind a side's time.
    pub(super) fn words(&self) -> String {
        if self.ends.is_empty() { String::new() } else { format!(", {}", self.end()) }
    }

    /// Why figures of this side say less than they seem to.
    pub(super) fn doubts(&self) -> Option<String> {
        let switched = match self.switched {
            0 => None,
            1 => Some("1 function was not recorded all the time".to_owned()),
            count => Some(format!("{} functions were not recorded all the time", thousands(count as u64))),
        };
        let lost = (self.lost > 0).then(|| format!("{} events were lost", thousands(self.lost)));
        let all: Vec<String> = switched.into_iter().chain(lost).collect();
        (!all.is_empty()).then(|| all.join(" and "))
    }

    /// Where the sides ended in different ways.
    pub(super) fn parting(&self, other: &Self) -> Option<String> {
        let is_known = !self.ends.is_empty() && !other.ends.is_empty();
        (is_known && self.ends != other.ends)
            .then(|| format!("The sides ended differently. A: {}. B: {}.", self.end(), other.end()))
    }

    pub(super) fn to_json(&self) -> Value {
        json!({ "ends": self.ends, "functions_not_always_recorded": self.switched, "lost_events": self.lost })
    }
}
