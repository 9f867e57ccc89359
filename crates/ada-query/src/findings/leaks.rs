//! What was taken more often than it was given back.

use ada_span::table::FunctionIndex;
use serde_json::json;

use super::pairs::PAIRS;
use super::survey::{NOBODY, Survey, Taken};
use super::{About, Finding};

/// Some things are kept for the whole life of a program.
pub(super) const KEPT_BY_ALL: u64 = 16;
/// What is taken by a function that was called less often than this, and is less than this, need not grow: `main` takes what the
/// program needs until it ends.
pub(super) const FEW_CALLS: u64 = 8;
pub(super) const FEW_THINGS: u64 = 1000;

pub(super) fn find(about: &About<'_>, survey: &Survey) -> Vec<Finding> {
    let mut found = Vec::new();
    // Plugins are kept for the whole life of a program; what loading them takes is theirs.
    for (number, pair) in PAIRS.iter().enumerate().filter(|(_, pair)| pair.what != "libraries") {
        // Who was not recorded all the time may have given back what it is said to keep.
        let raw = |function| about.process.names.raw(function);
        let is_of_pair = |raw: &str| pair.takers.contains(&raw) || pair.givers.contains(&raw);
        let is_hidden = about
            .process
            .switched
            .hides(|function| raw(function).is_some_and(|raw| is_of_pair(raw.split('@').next().unwrap_or_default())));
        if is_hidden {
            continue;
        }
        let of_pair = || survey.taken.iter().filter(move |((_, it), _)| *it == number).map(|((own, _), it)| (*own, it));
        let taken: u64 = of_pair().map(|(_, it)| it.taken).sum();
        let given: u64 = of_pair().map(|(_, it)| it.given).sum();
        let surplus = taken.saturating_sub(given);
        if surplus <= KEPT_BY_ALL + given / 10 {
            continue;
        }
        // Who took more than it gave back; what one function takes another may give back, so that not all of them leak.
        let mut keepers: Vec<(FunctionIndex, &Taken)> = of_pair()
            .filter(|(own, it)| *own != NOBODY && it.taken > it.given + it.given / 10 + KEPT_BY_ALL / 4)
            .collect();
        let has_keepers = !keepers.is_empty();
        keepers.retain(|(own, it)| about.calls(*own) >= FEW_CALLS || it.taken - it.given >= FEW_THINGS);
        if has_keepers && keepers.is_empty() {
            continue;
        }
        keepers.sort_by_key(|(own, it)| (std::cmp::Reverse(it.taken - it.given), *own));
        for (rank, (own, it)) in keepers.iter().take(3).enumerate() {
            let name = about.name(*own);
            let kept = it.taken - it.given;
            let title = format!("{name} took {} {} times, and gave {} back", pair.what, it.taken, it.given);
            let rationale = format!(
                "In all, {taken} were taken and {given} given back: {surplus} were kept. {}",
                if keepers.len() > 1 {
                    "Several functions took more than they gave back; others may give back for them."
                } else {
                    "No other function of the program's own kept any."
                }
            );
            // The one whose surplus is nearest to what is missing in all explains it best.
            let fit = kept.min(surplus) as f64 / kept.max(surplus) as f64;
            let score = 60.0 + 25.0 * fit - rank as f64;
            let mut finding = about.finding("leak", score, title, rationale);
            finding.function = Some(name);
            finding.evidence = it.first.map(|(thread, seq)| about.frame(thread, seq)).into_iter().collect();
            finding.facts = json!({
                "what": pair.what, "taken": it.taken, "given": it.given, "taken_in_all": taken, "given_in_all": given,
                "is_only_keeper": keepers.len() == 1,
            });
            found.push(finding);
        }
        if keepers.is_empty() && surplus >= FEW_THINGS {
            let title = format!("libraries took {} {taken} times, and gave {given} back", pair.what);
            let mut finding =
                about.finding("leak", 30.0, title, "No function of the program's own is known to keep any.");
            finding.facts = json!({ "what": pair.what, "taken_in_all": taken, "given_in_all": given });
            found.push(finding);
        }
    }
    found
}
