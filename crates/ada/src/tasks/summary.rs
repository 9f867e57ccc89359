//! Tasks by their names: how many there are of each, how they ended, and how long they took.

use std::collections::BTreeMap;

use ada_span::task::TaskResult;
use serde_json::{Value, json};

use super::hierarchy::Line;
use super::{Args, ListFormat};
use crate::analysis::{Listing, OpenedSession, Out, csv, list_page, nanoseconds, thousands};

const FIELDS: [&str; 10] = [
    "name",
    "count",
    "statuses",
    "threw",
    "duration_p50_ns",
    "duration_p95_ns",
    "duration_p99_ns",
    "duration_max_ns",
    "running_ns",
    "suspended_ns",
];

/// The tasks of one name.
#[derive(Default)]
struct Named {
    name: String,
    statuses: BTreeMap<&'static str, u64>,
    /// How many are known to have ended by throwing.
    threw: u64,
    /// Of those that ran, sorted.
    durations: Vec<u64>,
    running_ns: u64,
    suspended_ns: u64,
}

impl Named {
    fn count(&self) -> u64 {
        self.statuses.values().sum()
    }

    /// The duration that `share` of the tasks do not exceed.
    fn duration(&self, share: f64) -> Option<u64> {
        let rank = (self.durations.len() as f64 * share).ceil() as usize;
        self.durations.get(rank.saturating_sub(1)).copied()
    }

    fn to_json(&self) -> Value {
        json!({
            "name": self.name,
            "count": self.count(),
            "statuses": self.statuses,
            "threw": self.threw,
            "duration_p50_ns": self.duration(0.5),
            "duration_p95_ns": self.duration(0.95),
            "duration_p99_ns": self.duration(0.99),
            "duration_max_ns": self.durations.last(),
            "running_ns": self.running_ns,
            "suspended_ns": self.suspended_ns,
        })
    }
}

pub(super) fn print(args: &Args, opened: &OpenedSession, lines: &[Line], out: &mut Out) -> anyhow::Result<()> {
    let all = by_name(opened, lines);
    let (page, next) = list_page(&all, args.cursor, args.limit);
    match args.format {
        ListFormat::Table => {
            table(page).print(out)?;
            next.map_or(Ok(()), |next| out.line(&format!("more with --cursor {next}")))
        }
        ListFormat::Json => {
            let names: Vec<Value> = page.iter().map(Named::to_json).collect();
            out.json(&json!({ "names": names, "count": all.len(), "next_cursor": next }))
        }
        ListFormat::Csv => csv(out, &FIELDS, &page.iter().map(Named::to_json).collect::<Vec<_>>()),
    }
}

/// The names with most tasks first.
fn by_name(opened: &OpenedSession, lines: &[Line]) -> Vec<Named> {
    let mut names: BTreeMap<String, Named> = BTreeMap::new();
    for line in lines {
        let task = line.task(opened);
        // Names of tasks whose function is not known are numbers.
        let name = match task.function {
            Some(_) => line.span().name(opened),
            None => "(function not known)".to_owned(),
        };
        let named = names.entry(name.clone()).or_insert_with(|| Named { name, ..Named::default() });
        *named.statuses.entry(task.outcome().status.word()).or_default() += 1;
        named.threw += u64::from(task.result() == TaskResult::Threw);
        named.durations.extend((task.runs > 0).then(|| task.end.since(task.start)));
        named.running_ns += task.running_ns;
        named.suspended_ns += task.suspended_ns;
    }
    let mut all: Vec<Named> = names.into_values().collect();
    all.iter_mut().for_each(|named| named.durations.sort_unstable());
    all.sort_by_key(|named| std::cmp::Reverse(named.count()));
    all
}

fn table(names: &[Named]) -> Listing {
    let titles = [">tasks", ">p50", ">p95", ">p99", ">max", ">running", ">suspended", "ended", "name"];
    let mut listing = Listing::new(&titles);
    for named in names {
        let time = |time: Option<u64>| time.map_or_else(String::new, nanoseconds);
        let mut ended: Vec<String> =
            named.statuses.iter().map(|(status, count)| format!("{} {status}", thousands(*count))).collect();
        ended.extend((named.threw > 0).then(|| format!("{} threw", thousands(named.threw))));
        listing.row(vec![
            thousands(named.count()),
            time(named.duration(0.5)),
            time(named.duration(0.95)),
            time(named.duration(0.99)),
            time(named.durations.last().copied()),
            nanoseconds(named.running_ns),
            nanoseconds(named.suspended_ns),
            ended.join(", "),
            named.name.clone(),
        ]);
    }
    listing
}
