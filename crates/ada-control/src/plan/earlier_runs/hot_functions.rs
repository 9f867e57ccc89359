//! Functions that a program calls too often to be recorded within a budget.

use std::collections::{HashMap, HashSet};

use super::known_calls::{KnownCalls, KnownFunction};
use crate::file_id::FileId;

/// What recorded calls may take of the budget by what is known: the run may be another than those before. The governor uses the
/// rest as it sees fit.
const RECORDING: f64 = 0.35;
/// What recorded and counted calls may take together.
const TOGETHER: f64 = 0.7;
/// In one of so many runs each function that is too hot is counted again, from the start: it may not be any more.
const RUNS_BETWEEN_LOOKS: u64 = 16;

/// What is done with hot functions from the start of a run. All others are recorded.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct HotFunctions {
    files: HashMap<FileId, HotInFile>,
}

/// The hot functions of one file: where they start, before the loader's bias.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct HotInFile {
    /// They are counted.
    pub(crate) counted: Vec<u64>,
    /// They are not hooked.
    pub(crate) left_out: HashSet<u64>,
}

impl HotFunctions {
    /// Chooses by what is known: the coldest functions are recorded, those that follow are counted, and the rest is left out.
    pub(super) fn choose(known: &KnownCalls, max_overhead: f64) -> Self {
        let is_cost = |ns: f64| ns > 0.0 && ns.is_finite();
        if !is_cost(known.recorded_ns) || !is_cost(known.counted_ns) {
            return Self::default();
        }
        let of_file = |(file, functions): (_, &Vec<KnownFunction>)| {
            functions.iter().map(move |it| (file, *it)).collect::<Vec<(&FileId, KnownFunction)>>()
        };
        let mut coldest: Vec<(&FileId, KnownFunction)> = known.files.iter().flat_map(of_file).collect();
        coldest.retain(|(_, it)| it.1 > 0.0);
        coldest.sort_by(|one, other| one.1.1.total_cmp(&other.1.1));
        // Nanoseconds in a second of the program's own.
        let budget = 1e9 * max_overhead;
        let all: f64 = coldest.iter().map(|(_, it)| it.1 * known.recorded_ns).sum();
        let recording = if all <= TOGETHER * budget { TOGETHER } else { RECORDING };
        let (mut recorded, mut spent) = (0.0, 0.0);
        let mut hot = Self::default();
        for (file, KnownFunction(start, calls)) in coldest {
            recorded += calls * known.recorded_ns;
            if recorded <= recording * budget {
                spent = recorded;
                continue;
            }
            let hot = hot.files.entry(file.clone()).or_default();
            spent += calls * known.counted_ns;
            let is_looked_at = (start / 16 + u64::from(known.runs)).is_multiple_of(RUNS_BETWEEN_LOOKS);
            if spent <= TOGETHER * budget || is_looked_at {
                hot.counted.push(start);
            } else {
                hot.left_out.insert(start);
            }
        }
        hot
    }

    /// Those of one file; `id` is asked for its id, if that matters.
    pub(crate) fn of(&self, id: impl FnOnce() -> Option<FileId>) -> Option<&HotInFile> {
        if self.files.is_empty() { None } else { self.files.get(&id()?) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    const FILE: [u8; 1] = [1];

    #[test]
    fn numbers_that_are_none_teach_nothing() {
        let files: BTreeMap<FileId, Vec<KnownFunction>> =
            [(FileId::of(Some(&FILE), b""), vec![KnownFunction(1, 1e9)])].into();
        for recorded_ns in [0.0, -1.0, f64::INFINITY, f64::NAN] {
            let known = KnownCalls { recorded_ns, counted_ns: 2.0, files: files.clone(), ..KnownCalls::default() };
            assert_eq!(HotFunctions::choose(&known, 0.1), HotFunctions::default(), "{recorded_ns}");
        }
    }

    fn chosen(functions: &[(u64, f64)], runs: u32) -> (Vec<u64>, Vec<u64>) {
        let file = FileId::of(Some(&FILE), b"");
        let functions = functions.iter().map(|&(start, calls)| KnownFunction(start, calls)).collect();
        let files = [(file.clone(), functions)].into();
        let known = KnownCalls { runs, recorded_ns: 100.0, counted_ns: 2.0, files, ..KnownCalls::default() };
        let hot = HotFunctions::choose(&known, 0.1);
        let Some(hot) = hot.of(|| Some(file)) else { return (Vec::new(), Vec::new()) };
        let mut left_out: Vec<u64> = hot.left_out.iter().copied().collect();
        left_out.sort_unstable();
        (hot.counted.clone(), left_out)
    }

    #[test]
    fn what_fits_is_recorded() {
        // 70 ms of a second is 700,000 recorded calls.
        assert_eq!(chosen(&[(16, 300_000.0), (32, 390_000.0)], 0), (vec![], vec![]));
    }

    #[test]
    fn hot_ones_are_counted_and_the_hottest_are_left_out() {
        // 35 ms for 350,000 recorded calls, and the same for 17.5 million counted ones.
        let functions = [(16, 1e9), (32, 200_000.0), (48, 100_000.0), (64, 10e6), (80, 20e6), (96, -5.0)];
        assert_eq!(chosen(&functions, 0), (vec![64], vec![16, 80]));
        // Once in a while what is left out is looked at again.
        assert_eq!(chosen(&functions, 11), (vec![64, 80], vec![16]));
        assert_eq!(chosen(&functions, 15), (vec![64, 16], vec![80]));
    }
}
