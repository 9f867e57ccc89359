//! Finds the hooks that make the difference.

use std::collections::{BTreeSet, HashMap};

use super::hook_set::{AllHooks, Hook};
use super::smallest::smallest;
use super::trials::{Stop, Trials};

/// With more than this many sets in one file, the file is to blame as a whole.
const MOST_OF_A_FILE: usize = 8;

/// A set of hooks that makes a difference by itself, and each of which is needed for it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Culprits {
    pub(crate) hooks: Vec<Hook>,
    /// What is different with these hooks alone.
    pub(crate) difference: String,
    /// The search ended before the set was as small as it can be.
    pub(crate) is_unfinished: bool,
}

/// What is known of the hooks that make the difference.
#[derive(Debug, Default)]
pub(crate) struct Found {
    pub(crate) sets: Vec<Culprits>,
    /// Files with so many sets that they were not all looked for.
    pub(crate) files: BTreeSet<usize>,
    /// Without all of these, the command does as it does untraced; nothing where the search ended before that was known.
    pub(crate) is_all: bool,
}

impl Found {
    /// The hooks to leave alone.
    pub(crate) fn is_to_blame(&self, hook: Hook) -> bool {
        self.files.contains(&hook.file) || self.sets.iter().any(|set| set.hooks.contains(&hook))
    }
}

/// How often sets are tried.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Times {
    /// While there are others to try.
    pub(crate) each: u32,
    /// Where it is said that nothing differs.
    pub(crate) last: u32,
}

/// Finds all sets. The command is known to differ with all hooks. Gives how it differs with none, if it does.
///
/// Some hooks others rely on: by those of `execve`, what a program runs is traced at all. They are there in all runs, unless they
/// are to blame themselves.
pub(crate) fn find(
    trials: &mut Trials<'_>,
    all: &AllHooks,
    times: Times,
    found: &mut Found,
) -> Result<Option<String>, Stop> {
    let relied_on = all.relied_on();
    trials.base.clone_from(&relied_on);
    if trials.try_out(all, &[], times.last)?.is_some() {
        trials.base.clear();
        if let Some(difference) = trials.difference(all, &[], times.last)? {
            return Ok(Some(difference));
        }
        find_among(trials, all, relied_on.clone(), times, found)?;
    }
    let mut others = all.hooks();
    others.retain(|hook| relied_on.binary_search(hook).is_err());
    trials.base = relied_on;
    trials.base.retain(|&hook| !found.is_to_blame(hook));
    if found.sets.is_empty() || trials.try_out(all, &others, times.last)?.is_some() {
        find_among(trials, all, others, times, found)?;
    }
    found.is_all = true;
    Ok(None)
}

/// Finds all sets among some that differ together, beside what is there anyway.
fn find_among(
    trials: &mut Trials<'_>,
    all: &AllHooks,
    mut remaining: Vec<Hook>,
    times: Times,
    found: &mut Found,
) -> Result<(), Stop> {
    loop {
        let mut set = remaining.clone();
        let result = find_one(trials, all, &mut set, times.each);
        let difference = trials.known_difference(&set).unwrap_or_default();
        // All hooks are no answer.
        if set.len() < remaining.len() || result.is_ok() {
            add(found, Culprits { hooks: set, difference, is_unfinished: result.is_err() });
        }
        result?;
        remaining.retain(|&hook| !found.is_to_blame(hook));
        trials.suspects = "all but what was found".into();
        if trials.try_out(all, &remaining, times.last)?.is_none() {
            return Ok(());
        }
    }
}

/// Makes a set smaller: by files first, of which there are few.
fn find_one(trials: &mut Trials<'_>, all: &AllHooks, set: &mut Vec<Hook>, times: u32) -> Result<(), Stop> {
    let whole = set.clone();
    let of_files = |files: &[usize]| -> Vec<Hook> {
        whole.iter().copied().filter(|hook| files.binary_search(&hook.file).is_ok()).collect()
    };
    let mut files: Vec<usize> = whole.iter().map(|hook| hook.file).collect();
    files.dedup();
    let result = smallest(&mut files, |files, remaining| {
        trials.suspects = plural(remaining, "file");
        Ok(trials.difference(all, &of_files(files), times)?.is_some())
    });
    *set = of_files(&files);
    result?;
    smallest(set, |hooks, remaining| {
        trials.suspects = plural(remaining, "hook");
        Ok(trials.difference(all, hooks, times)?.is_some())
    })
}

fn plural(remaining: usize, what: &str) -> String {
    format!("{remaining} {what}{} remaining", if remaining == 1 { "" } else { "s" })
}

fn add(found: &mut Found, culprits: Culprits) {
    let mut by_file: HashMap<usize, usize> = HashMap::new();
    found.sets.push(culprits);
    for set in &found.sets {
        let files: BTreeSet<usize> = set.hooks.iter().map(|hook| hook.file).collect();
        files.into_iter().for_each(|file| *by_file.entry(file).or_default() += 1);
    }
    found.files.extend(by_file.into_iter().filter(|(_, sets)| *sets > MOST_OF_A_FILE).map(|(file, _)| file));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_with_many_culprits_is_blamed_as_a_whole() {
        let mut found = Found::default();
        let hook = |file, function| Hook { file, function };
        for number in 0..=MOST_OF_A_FILE {
            assert!(found.files.is_empty() && !found.is_to_blame(hook(0, 99)));
            // Two hooks of one file are one set.
            let hooks = vec![hook(0, number), hook(0, number + 50)];
            add(&mut found, Culprits { hooks, difference: String::new(), is_unfinished: false });
        }
        assert!(found.files.contains(&0) && found.is_to_blame(hook(0, 99)) && !found.is_to_blame(hook(1, 99)));
    }
}
