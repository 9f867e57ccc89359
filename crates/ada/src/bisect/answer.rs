//! What is said of a comparison: on standard output, for it is the result.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Write};
use std::path::Path;

use ada_control::{FileId, QuarantineFolder, QuarantinedFile, QuarantinedFunction, suspicions};
use ada_event::ImageOffset;
use ada_format::atf::HexAddr;
use anyhow::Context;

use super::baseline::Baseline;
use super::culprits::{Culprits, Found};
use super::full_traces::FullTraces;
use super::hook_set::{AllHooks, Hook};
use super::trials::Trials;
use crate::exit::{Blame, Outcome};

/// What came of a search.
pub(crate) enum Answer {
    /// Hooks make the difference.
    Culprits,
    /// It is there with no function hooked.
    NoHooks(String),
    /// The command differs from itself, now and then.
    ByItself(String),
    /// What differs now and then did not do so again.
    NotAgain,
    /// As many runs were made as may be.
    Unfinished,
}

impl Answer {
    /// Whether anything is known of the difference.
    pub(crate) fn is_one(&self) -> bool {
        !matches!(self, Self::ByItself(_) | Self::NotAgain)
    }

    pub(crate) fn has_culprits(&self, found: &Found) -> bool {
        matches!(self, Self::Culprits | Self::Unfinished) && !found.sets.is_empty()
    }

    pub(crate) fn print(&self, all: &AllHooks, found: &Found, trials: &Trials<'_>) -> anyhow::Result<()> {
        let made = trials.made;
        match self {
            Self::NoHooks(difference) => line(&format!(
                "no hook makes the difference: it remains with no function hooked ({difference}), \
                 so ada's mere presence makes it"
            )),
            Self::ByItself(difference) => line(&format!(
                "the difference is not repeatable: untraced runs differ from each other as well, now and then ({difference})"
            )),
            Self::NotAgain => line(&format!(
                "the difference is not repeatable: what was found in {made} traced runs did not show again; \
                 a higher --runs may show it"
            )),
            Self::Unfinished if found.sets.is_empty() => {
                line(&format!("the hooks were not found in {made} traced runs; a higher --max-runs may find them"))
            }
            Self::Culprits | Self::Unfinished => culprits(all, found, trials),
        }
    }
}

pub(crate) fn endless(baseline: &Baseline) -> anyhow::Result<Outcome> {
    line(&format!(
        "nothing to compare: untraced, there was {}; a longer --timeout allows more",
        baseline.expected.end
    ))?;
    Ok(Outcome::Undecided)
}

pub(crate) fn unsteady(words: &str, baseline: &Baseline) -> anyhow::Result<()> {
    let rest = match baseline.aspects.is_empty() {
        true => "there is nothing to compare".to_owned(),
        false => {
            format!("only {} can be compared (--compare {})", baseline.compared(), baseline.compared().replace(' ', ""))
        }
    };
    line(&format!("untraced runs differ from each other already ({words}): {rest}"))
}

pub(crate) fn too_few_runs(most: u32) -> anyhow::Result<Outcome> {
    line(&format!("{most} traced runs are too few to compare; a higher --max-runs allows more"))?;
    Ok(Outcome::Undecided)
}

pub(crate) fn same(baseline: &Baseline, runs: u32) -> anyhow::Result<Outcome> {
    line(&format!("same: {} of {runs} traced runs are as untraced", baseline.compared()))?;
    Ok(if baseline.unsteady.is_none() { Outcome::Clean } else { Outcome::Undecided })
}

pub(crate) fn difference(words: &str, full: &FullTraces) -> anyhow::Result<()> {
    let FullTraces { runs, differing, .. } = full;
    line(&match differing == runs {
        true => format!("traced runs differ: {words}"),
        false => format!("traced runs differ now and then, {differing} of {runs}: {words}"),
    })
}

/// Of more functions together nobody wants to read.
const MOST_SUSPECTS: usize = 20;

/// Prints the hooks that make the difference, why to suspect them, and how to avoid them.
fn culprits(all: &AllHooks, found: &Found, trials: &Trials<'_>) -> anyhow::Result<()> {
    for set in &found.sets {
        line("")?;
        line(&title(set))?;
        for &hook in set.hooks.iter().take(MOST_SUSPECTS) {
            print_suspect(all, hook)?;
        }
        if let Some(more) = set.hooks.len().checked_sub(MOST_SUSPECTS).filter(|more| *more > 0) {
            line(&format!("  and {more} more; with a larger --max-runs there would be fewer"))?;
        }
    }
    for &file in &found.files {
        line("")?;
        line(&format!("there may be more in {}: all of it is blamed", all.files[file].path.display()))?;
    }
    line("")?;
    let rest = match found.is_all {
        true => "with these left alone, traced runs are as untraced",
        false => "these are not all, or more than are needed: --max-runs has ended the search",
    };
    line(&format!("{rest} ({} traced runs in all); leave them alone with", trials.made))?;
    line(&format!("  ada trace {} -- …", excludes(all, found).join(" ")))
}

fn title(set: &Culprits) -> String {
    let what = match &set.hooks[..] {
        [_] => "the hooks of one function make a difference".to_owned(),
        hooks => format!("the hooks of {} functions together make a difference", hooks.len()),
    };
    let unfinished = if set.is_unfinished { ", fewer may do" } else { "" };
    format!("{what}{unfinished}: {}", set.difference)
}

fn print_suspect(all: &AllHooks, hook: Hook) -> anyhow::Result<()> {
    let path = &all.files[hook.file].path;
    let offset = all.function(hook).offset;
    line(&format!("  {} at {:#x} of {}", all.name(hook), offset.0, path.display()))?;
    for words in facts(path, offset) {
        line(&format!("    {words}"))?;
    }
    Ok(())
}

fn facts(path: &Path, offset: ImageOffset) -> Vec<String> {
    match suspicions(path, &[offset]) {
        Ok(mut all) => all.pop().unwrap_or_default(),
        Err(error) => vec![format!("its file cannot be read: {error}")],
    }
}

/// The options that avoid what was found: of many functions together, their files.
fn excludes(all: &AllHooks, found: &Found) -> Vec<String> {
    let is_large = |set: &&Culprits| set.hooks.len() > MOST_SUSPECTS;
    let whole = found.sets.iter().filter(is_large).flat_map(|set| &set.hooks).map(|hook| hook.file);
    let whole: BTreeSet<usize> = found.files.iter().copied().chain(whole).collect();
    let files = whole.iter().map(|&file| all.files[file].path.to_string_lossy().into_owned());
    let hooks = found.sets.iter().flat_map(|set| &set.hooks).filter(|hook| !whole.contains(&hook.file));
    files.chain(hooks.map(|&hook| all.pattern(hook))).map(|pattern| format!("--exclude {}", quoted(&pattern))).collect()
}

/// As a shell has to have it.
fn quoted(word: &str) -> String {
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "_-+./:@%".contains(letter);
    if word.chars().all(is_plain) { word.to_owned() } else { format!("'{}'", word.replace('\'', r"'\''")) }
}

/// Has later traces leave the culprits alone.
pub(crate) fn keep(all: &AllHooks, found: &Found) -> anyhow::Result<()> {
    let folder = QuarantineFolder::by_default().context("no folder for it is known; set $ADA_CACHE_DIR");
    let folder = folder.output_failed(|| "cannot write the quarantine".into())?;
    let mut files: BTreeMap<usize, QuarantinedFile> = BTreeMap::new();
    for set in &found.sets {
        for &hook in &set.hooks {
            let function = all.function(hook);
            files.entry(hook.file).or_default().functions.push(QuarantinedFunction {
                offset: HexAddr(function.offset.0),
                name: function.name.clone(),
                why: set.difference.clone(),
            });
        }
    }
    for (number, mut file) in files {
        let path = &all.files[number].path;
        file.path = path.to_string_lossy().into_owned();
        file.is_whole = found.files.contains(&number);
        let kept = FileId::of_path(path).and_then(|id| folder.add(&id, file).map(|()| id));
        let id = kept.output_failed(|| format!("cannot write the quarantine of {}", path.display()))?;
        line(&format!(
            "kept in quarantine: {} (`ada quarantine --remove {}` forgets it)",
            path.display(),
            id.as_str()
        ))?;
    }
    Ok(())
}

fn line(words: &str) -> anyhow::Result<()> {
    let mut out = io::stdout().lock();
    // At once: more runs may follow.
    writeln!(out, "{words}").and_then(|()| out.flush()).output_failed(|| "cannot write to stdout".into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_are_words_of_a_shell() {
        assert_eq!(quoted("libc.so.6+0x12"), "libc.so.6+0x12");
        assert_eq!(quoted("operator new(unsigned long)"), "'operator new(unsigned long)'");
        assert_eq!(quoted("it's"), r"'it'\''s'");
    }
}
