//! How often a program was seen to call its functions.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::file_id::FileId;

/// Of all functions of a program, those that are called most.
const MOST_FUNCTIONS: usize = 20_000;
/// Functions that are called less often matter to no budget.
const LEAST_CALLS: f64 = 100.0;
/// What remains of a function's calls when a run has fewer: the next one may be like the one before.
const REMEMBERED: f64 = 0.5;

/// How often a program calls its functions, by its earlier runs.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct KnownCalls {
    /// Where the program was.
    pub(crate) path: String,
    /// How many runs have taught this.
    pub(crate) runs: u32,
    /// What a recorded call took with its return, and a counted one, in nanoseconds.
    pub(crate) recorded_ns: f64,
    pub(crate) counted_ns: f64,
    /// The functions of the program and its libraries.
    pub(crate) files: BTreeMap<FileId, Vec<KnownFunction>>,
}

/// Where a function starts, before the loader's bias, and its calls in a second of the program's own processor time.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct KnownFunction(pub(crate) u64, pub(crate) f64);

impl KnownCalls {
    /// Takes in what another run has shown. `was_seen` is false of functions that had no hooks in it.
    pub(crate) fn learn(&mut self, news: Self, was_seen: impl Fn(&FileId, u64) -> bool) {
        let before = std::mem::take(&mut self.files);
        *self = Self { runs: self.runs.wrapping_add(1), ..news };
        for (file, functions) in before {
            let now = self.files.entry(file.clone()).or_default();
            let mut by_start: BTreeMap<u64, f64> = now.iter().map(|it| (it.0, it.1)).collect();
            for KnownFunction(start, calls) in functions {
                let remembered = if was_seen(&file, start) { REMEMBERED * calls } else { calls };
                let known = by_start.entry(start).or_default();
                *known = known.max(remembered);
            }
            *now = by_start.into_iter().map(|(start, calls)| KnownFunction(start, calls)).collect();
        }
        self.shorten();
    }

    /// Forgets what matters least.
    fn shorten(&mut self) {
        let mut calls: Vec<f64> = self.files.values().flatten().map(|it| it.1).collect();
        calls.sort_by(|one, other| other.total_cmp(one));
        let least = calls.get(MOST_FUNCTIONS).copied().unwrap_or(0.0).max(LEAST_CALLS);
        self.files.values_mut().for_each(|functions| functions.retain(|it| it.1 > least));
        self.files.retain(|_, functions| !functions.is_empty());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn known(functions: &[(u64, f64)]) -> KnownCalls {
        let functions = functions.iter().map(|&(start, calls)| KnownFunction(start, calls)).collect();
        let files = BTreeMap::from([(FileId::of(Some(&[1]), b""), functions)]);
        KnownCalls { path: "/bin/x".into(), runs: 0, recorded_ns: 100.0, counted_ns: 2.0, files }
    }

    fn functions(known: &KnownCalls) -> Vec<(u64, f64)> {
        known.files.values().flatten().map(|it| (it.0, it.1)).collect()
    }

    #[test]
    fn what_a_run_has_seen_counts_and_what_it_could_not_see_is_kept() {
        let mut calls = KnownCalls::default();
        calls.learn(known(&[(1, 8000.0), (2, 6000.0), (3, 50.0), (4, 150.0)]), |_, _| true);
        assert_eq!((calls.runs, functions(&calls)), (1, vec![(1, 8000.0), (2, 6000.0), (4, 150.0)]));
        calls.learn(known(&[(1, 1000.0), (5, 9000.0)]), |_, start| start != 2);
        assert_eq!((calls.runs, functions(&calls)), (2, vec![(1, 4000.0), (2, 6000.0), (5, 9000.0)]));
        assert_eq!((calls.path.as_str(), calls.recorded_ns), ("/bin/x", 100.0));
    }

    #[test]
    fn there_is_a_most() {
        let all: Vec<(u64, f64)> =
            (0..MOST_FUNCTIONS as u64 + 500).map(|start| (start, 1000.0 + start as f64)).collect();
        let mut calls = KnownCalls::default();
        calls.learn(known(&all), |_, _| true);
        let kept = functions(&calls);
        assert!(kept.len() <= MOST_FUNCTIONS && kept[0].0 == 500, "{} from {}", kept.len(), kept[0].0);
    }

    #[test]
    fn it_is_written_and_read() {
        let calls = known(&[(0x1000, 8000.5)]);
        let text = serde_json::to_string(&calls).unwrap();
        assert_eq!(serde_json::from_str::<KnownCalls>(&text).unwrap(), calls);
    }
}
