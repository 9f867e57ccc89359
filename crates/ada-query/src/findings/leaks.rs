//! What was taken more often than it was given back, again and again until the run ended.
//!
//! A program may keep things until it ends, and most do: tables, buffers, what was read at the start. So what is kept has to grow through
//! the run. A table that is filled until the end grows too, and counts of calls cannot tell it from a leak; nor can they tell whose things
//! somebody else has given back. Values can ([`super::kept`]).

use std::cmp::Reverse;

use ada_span::table::FunctionIndex;
use serde_json::json;

use super::pairs::{PAIRS, Pair};
use super::progress::{Parts, Progress};
use super::survey::{NOBODY, Survey, Taken};
use super::{About, Finding};

/// Some things are kept for the whole life of a program, …
pub(super) const KEPT_BY_ALL: u64 = 16;
/// … of memory more than of what the system counts.
pub(super) const BLOCKS_KEPT_BY_ALL: u64 = 64;
/// What libraries keep is told from here on.
const FEW_THINGS: u64 = 1000;
/// Functions that are named where it is not clear which one keeps.
const MOST_NAMED: usize = 3;
/// An open file or folder has no more blocks of memory than that.
const BLOCKS_OF_A_FILE: u64 = 4;
/// How near, in percent, what a function kept has to be to all that was kept, so that it may explain it …
const NEAR: u64 = 75;
/// … and so that it does, where what is kept did not grow: whoever took the rest took it at the start, and others have given that back.
const NEAREST: u64 = 90;

/// What one function of the program's own took and did not give back itself.
struct Keeper<'a> {
    own: FunctionIndex,
    it: &'a Taken,
    /// How near what it kept is to all that was kept, in percent.
    fit: u64,
}

/// What happened to all things of a kind.
struct Balance {
    taken: u64,
    given: u64,
    /// By how much there were more of them in each part of the run.
    parts: Parts,
}

impl Balance {
    fn of<'a>(taken: impl Iterator<Item = &'a Taken>, progress: &Progress) -> Self {
        let mut sum = Self { taken: 0, given: 0, parts: Parts::default() };
        for it in taken {
            sum.taken += it.taken;
            sum.given += it.given;
            sum.parts.add(progress.parts(&it.takes));
            sum.parts.subtract(progress.parts(&it.gives));
        }
        sum
    }

    fn kept(&self) -> u64 {
        self.taken.saturating_sub(self.given)
    }

    /// How many more there were of them in the end than after the start.
    fn grown(&self) -> u64 {
        self.kept().min(u64::try_from(self.parts.after_the_start()).unwrap_or(0))
    }
}

/// How near two numbers are to each other, in percent.
fn fit(left: u64, right: u64) -> u64 {
    left.min(right).saturating_mul(100) / left.max(right).max(1)
}

pub(super) fn find(about: &About<'_>, survey: &Survey) -> Vec<Finding> {
    let progress = Progress::new(&survey.calls);
    // Plugins are kept for the whole life of a program; what loading them takes is theirs.
    let pairs = PAIRS.iter().enumerate().filter(|(_, pair)| pair.what != "libraries" && !is_hidden(about, pair));
    let leak = |(number, pair): (usize, &Pair)| {
        let of_pair = || survey.taken.iter().filter(move |((_, it), _)| *it == number).map(|((own, _), it)| (*own, it));
        let all = Balance::of(of_pair().map(|(_, it)| it), &progress);
        let few = if pair.what == "memory" { BLOCKS_KEPT_BY_ALL } else { KEPT_BY_ALL };
        // Times are thinned out, so that parts are inexact.
        let enough = few + all.given / 50;
        if all.kept() <= enough {
            return None;
        }
        let grows = all.grown() > enough;
        let is_keeper = |it: &Taken| it.taken > it.given + it.given / 10 + few;
        let mut keepers: Vec<Keeper<'_>> = of_pair()
            .filter(|(own, it)| *own != NOBODY && is_keeper(it) && it.occasions.count() > few)
            .filter(|(_, it)| progress.parts(&it.occasions).go_on())
            .map(|(own, it)| {
                let one = Balance::of(std::iter::once(it), &progress);
                let fit = if grows { fit(one.grown(), all.grown()) } else { fit(one.kept(), all.kept()) };
                Keeper { own, it, fit }
            })
            .collect();
        // The one whose surplus is nearest to what is missing in all explains it best.
        keepers.sort_by_key(|it| (Reverse(it.fit), it.own));
        // Two that fit are one too many.
        let is_alone = keepers.get(1).is_none_or(|second| second.fit < NEAR);
        match keepers.first() {
            Some(best) if !grows && (best.fit < NEAREST || !is_alone) => None,
            Some(best) => {
                let is_clear = keepers.len() == 1 || best.fit >= NEAR && is_alone;
                Some(of_keepers(about, pair, &all, &keepers, is_clear))
            }
            None if grows => of_libraries(about, pair, &all, survey.taken.get(&(NOBODY, number)), &progress),
            None => None,
        }
    };
    let mut found: Vec<(&Pair, Finding)> =
        pairs.filter_map(|(number, pair)| Some((pair, leak((number, pair))?))).collect();
    let explained: Vec<(Option<String>, u64)> = found
        .iter()
        .filter(|(pair, _)| pair.comes_with_memory())
        .map(|(_, it)| (it.function.clone(), kept_by(it)))
        .collect();
    // Who does not close files does not give back their memory: that is one leak.
    let is_explained = |it: &Finding| {
        explained.iter().any(|(function, files)| *function == it.function && kept_by(it) <= BLOCKS_OF_A_FILE * files)
    };
    found.retain(|(pair, it)| pair.what != "memory" || !is_explained(it));
    found.into_iter().map(|(_, it)| it).collect()
}

/// How many things the function of a finding has kept.
fn kept_by(finding: &Finding) -> u64 {
    let [taken, given] = ["taken", "given"].map(|it| finding.facts[it].as_u64().unwrap_or(0));
    taken.saturating_sub(given)
}

/// Whether calls were not recorded all the time: who is said to keep something may have given it back then.
fn is_hidden(about: &About<'_>, pair: &Pair) -> bool {
    let raw = |function| about.process.names.raw(function);
    let is_of_pair = |raw: &str| pair.takers.contains(&raw) || pair.givers.contains(&raw);
    about
        .process
        .switched
        .hides(|function| raw(function).is_some_and(|raw| is_of_pair(raw.split('@').next().unwrap_or_default())))
}

fn of_keepers(about: &About<'_>, pair: &Pair, all: &Balance, keepers: &[Keeper<'_>], is_clear: bool) -> Finding {
    let best = &keepers[0];
    let (name, it) = (about.name(best.own), best.it);
    let title = if is_clear {
        format!("{name} took {} {} times, and gave {} back", pair.what, it.taken, it.given)
    } else {
        let names: Vec<String> = keepers.iter().take(MOST_NAMED).map(|it| about.name(it.own)).collect();
        format!("more and more {} is not given back; it was taken in {}", pair.what, names.join(" or "))
    };
    let how = if all.grown() > 0 { "more and more until the end" } else { "as many as it took through the whole run" };
    let rationale = format!(
        "In all, {} were taken and {} given back: {} were kept, {how}. {} A table that is filled until the end looks the same.",
        all.taken,
        all.given,
        all.kept(),
        if keepers.len() == 1 {
            "No other function of the program's own kept any that long."
        } else {
            "Several functions took more than they gave back; others may give back for them."
        }
    );
    let score = if is_clear { 60.0 + 25.0 * best.fit as f64 / 100.0 } else { 45.0 };
    let mut finding = about.finding("leak", score, title, rationale);
    finding.function = Some(name);
    finding.evidence = it.first.map(|(thread, seq)| about.frame(thread, seq)).into_iter().collect();
    finding.facts = json!({
        "what": pair.what, "taken": it.taken, "given": it.given, "taken_in_all": all.taken, "given_in_all": all.given,
        "is_only_keeper": keepers.len() == 1, "is_clear": is_clear,
        "candidates": keepers.iter().take(MOST_NAMED).map(|it| about.name(it.own)).collect::<Vec<_>>(),
    });
    finding
}

/// What nobody of the program's own is known to keep.
fn of_libraries(
    about: &About<'_>,
    pair: &Pair,
    all: &Balance,
    nobody: Option<&Taken>,
    progress: &Progress,
) -> Option<Finding> {
    let goes_on = nobody.is_some_and(|it| it.occasions.count() >= FEW_THINGS && progress.parts(&it.occasions).go_on());
    if !goes_on || all.grown() < FEW_THINGS {
        return None;
    }
    let title = format!("libraries took {} {} times, and gave {} back", pair.what, all.taken, all.given);
    let mut finding = about.finding("leak", 30.0, title, "No function of the program's own is known to keep any.");
    finding.facts = json!({ "what": pair.what, "taken_in_all": all.taken, "given_in_all": all.given });
    Some(finding)
}
