//! `ada report [SESSION]`: what a person wants to know first.

mod facts;
mod findings;
mod imbalances;
mod item;
mod oddities;
mod process_lines;
mod recording;
mod threads;

use ada_query::Cancel;
use ada_query::findings::{findings, waited_to_be_recorded};
use serde_json::{Value, json};

use crate::analysis::{
    LensArgs, ListFormat, OpenedSession, Out, SessionArgs, csv, nanoseconds, parse_most, short_name, with_tables,
};
use crate::ask::finding_json;
use crate::exit::Outcome;
use crate::top::{self, Sort, Uses};

use item::Item;

/// A share of all threads' time of which the list of functions has a word.
const WORTH_A_WORD: f64 = 0.01;

const EXAMPLES: &str = "\
Examples:
  ada report                           the newest session
  ada report --all                     with functions of libraries
  ada report --wide                    names in full
  ada report ada_traces/session_20261115_101500 --limit 20
  ada report --format json | jq .anomalies

What may be wrong comes first, each with the command that shows more. Then comes where the time went in the \
program's own functions: `… in libc (read)` is time in libraries that the function above it called. `ada show` takes \
references such as frame:4712:90.";

#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    #[command(flatten)]
    session: SessionArgs,
    #[command(flatten)]
    lens: LensArgs,
    /// Sort order of functions
    #[arg(long, value_enum, default_value_t = Sort::SelfTime)]
    sort: Sort,
    /// Print at most N lines of each list; 0 prints all
    #[arg(long, value_name = "N", default_value = "10", value_parser = parse_most)]
    limit: usize,
    /// Print file and line of functions in tables too
    #[arg(long)]
    lines: bool,
    /// Sort functions by times without the time that recording took; print these, and their possible error
    #[arg(long)]
    corrected: bool,
    /// Print names in full, and all columns
    #[arg(long)]
    wide: bool,
    /// Output format
    #[arg(long, value_enum, default_value_t = ListFormat::Table)]
    format: ListFormat,
}

pub(crate) fn run(args: &Args) -> anyhow::Result<Outcome> {
    let mut out = Out::for_people(args.format, args.wide);
    let outcome = with_tables(&args.session, &mut out, |opened, out| {
        let wants_states = args.sort.state().is_some();
        let trace = opened.trace();
        // Both go through a thread's calls from the first to the last, so that a program of one thread leaves a processor free.
        let (uses, found) = std::thread::scope(|scope| {
            let found = scope.spawn(|| findings(trace, &Cancel::default(), None));
            let lens = args.lens.for_list(args.format);
            let uses = top::seen(opened, &args.lens, &lens, args.corrected, wants_states);
            (uses, found.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
        });
        let (mut uses, mut findings) = (uses?, found?);
        findings.retain(|it| args.lens.wants(it.pid));
        let order = by_interest(args, opened, &uses.busy_ns);
        let facts = facts::gather(opened, &order);
        let threads = threads::gather(opened);
        let logical = facts::logical(opened);
        let oddities = oddities::gather(opened);
        match args.format {
            ListFormat::Table => {
                findings::print(opened, out, &findings, args.session.session.as_deref(), args.limit)?;
                functions(args, opened, out, &mut uses)?;
                print(out, &facts, &[("Threads", &threads), ("Logical spans", &logical), ("Worth a look", &oddities)])
            }
            ListFormat::Json => {
                let mut json = to_json(args, opened, &mut uses, &facts, &threads, &logical, &oddities);
                json["findings"] = findings.iter().map(finding_json).collect();
                out.json(&json)
            }
            ListFormat::Csv => {
                top::sort_uses(&mut uses.functions, Sort::SelfTime);
                let functions = uses.functions.iter().take(args.limit).map(|it| {
                    let function = top::to_json(opened, it);
                    json!({
                        "section": "functions", "name": function["name"], "value": it.stats.self_ns,
                        "reference": function["reference"], "file": function["file"], "line": function["line"],
                    })
                });
                let found = findings.iter().map(|it| {
                    let reference = it.evidence.first();
                    json!({ "section": "findings", "name": it.kind, "value": it.title, "reference": reference })
                });
                let items = facts.iter().chain(&threads).chain(&logical).chain(&oddities).map(|item| {
                    json!({
                        "section": item.section, "name": item.name, "value": item.value, "reference": item.reference,
                    })
                });
                let fields = ["section", "name", "value", "reference", "file", "line"];
                csv(out, &fields, &found.chain(items).chain(functions).collect::<Vec<_>>())
            }
        }
    })?;
    out.finish()?;
    Ok(outcome)
}

/// The processes, those that did most first: a shell that waits for its children is not what somebody asks about.
fn by_interest(args: &Args, opened: &OpenedSession, busy_ns: &[u64]) -> Vec<usize> {
    let wanted = |process: &usize| args.lens.wants(opened.processes()[*process].pid);
    let mut order: Vec<usize> = (0..opened.processes().len()).filter(wanted).collect();
    order.sort_by_key(|process| std::cmp::Reverse(busy_ns[*process]));
    order
}

/// Where the time went.
fn functions(args: &Args, opened: &OpenedSession, out: &mut Out, uses: &mut Uses<'_>) -> anyhow::Result<()> {
    let is_own = args.lens.for_list(args.format).is_own;
    let mut functions = std::mem::take(&mut uses.functions);
    top::sort_uses(&mut functions, args.sort);
    let page = &functions[..functions.len().min(args.limit)];
    out.line("")?;
    if page.is_empty() {
        let why = if is_own {
            "no function of the program's own was called; --all shows the others"
        } else {
            "no function was called"
        };
        return out.line(why);
    }
    out.title(if is_own { "Where the time went, in the program's own functions" } else { "Where the time went" })?;
    top::print(opened, out, uses, page, args.sort, args.lines)?;
    let more = functions.len() - page.len();
    if more > 0 {
        out.line(&format!("and {more} more functions: ada top"))?;
    }
    let manifests = opened.processes().iter().filter_map(|it| opened.recorded(it).manifest.as_ref());
    let waited = manifests.map(waited_to_be_recorded).fold(0, u64::saturating_add);
    if !args.corrected && waited as f64 >= WORTH_A_WORD * uses.all_ns as f64 && waited > 0 {
        let words = format!(
            "{} in which threads waited to be recorded are among these times; --corrected leaves them out",
            nanoseconds(waited)
        );
        out.terminal().wrap(&words, 0).iter().try_for_each(|line| out.line(line))?;
    }
    let outside: u64 = uses.outside.iter().map(top::OutsideModule::charged_ns).sum();
    let share = outside as f64 / uses.all_ns.max(1) as f64;
    if is_own && share >= WORTH_A_WORD {
        let modules: Vec<&str> = uses.outside.iter().take(3).map(|it| it.module.as_str()).collect();
        let words = format!(
            "{} of all threads' time is outside these, in {}: loading, threads of libraries; --all shows it",
            top::percent(share),
            modules.join(", ")
        );
        out.terminal().wrap(&words, 0).iter().try_for_each(|line| out.line(line))?;
    }
    Ok(())
}

fn print(out: &mut Out, facts: &[Item], sections: &[(&str, &[Item])]) -> anyhow::Result<()> {
    out.line("")?;
    out.title("Run")?;
    let terminal = out.terminal();
    for item in facts {
        // A command may have words that no line has room for; JSON has them whole.
        let room = terminal.width.saturating_sub(11);
        let is_command = item.name == "process" && terminal.width < usize::MAX;
        let value = if is_command { shorter_words(&item.value, room) } else { item.value.clone() };
        hanging(out, &format!("{:<10} ", item.name), &value)?;
    }
    for (title, items) in sections {
        // What every program has, and what there is nothing of, is for who asks.
        let items: Vec<&Item> = items.iter().filter(|it| it.json["usual"] != true && it.json != 0).collect();
        if items.is_empty() {
            continue;
        }
        out.line("")?;
        out.title(title)?;
        // "callback unmatched (attached_midway)" is no function with arguments that could be left out.
        let room = (terminal.width / 5 * 2).max(36);
        let width = items.iter().map(|item| item.name.chars().count()).max().unwrap_or(0).min(room);
        for item in items {
            let reference = item.reference.as_ref().map(|it| format!("   {it}")).unwrap_or_default();
            let name = short_name(&item.name, width).replace('_', " ");
            hanging(out, &format!("  {name:<width$}  "), &format!("{}{reference}", item.value))?;
        }
    }
    out.line("")?;
    hanging(out, "next       ", "ada tree, ada top, ada threads, ada spans, ada show REF, ada view")
}

/// Words that are longer than a line lose their middle.
fn shorter_words(text: &str, room: usize) -> String {
    let short = |word: &str| {
        let (letters, kept) = (word.chars().count(), room.saturating_sub(1) / 2);
        if letters <= room {
            return word.to_owned();
        }
        word.chars().take(kept).chain(['…']).chain(word.chars().skip(letters - kept)).collect()
    };
    text.split(' ').map(short).collect::<Vec<String>>().join(" ")
}

/// Text behind a name, in lines that fit.
fn hanging(out: &mut Out, name: &str, text: &str) -> anyhow::Result<()> {
    let indent = name.chars().count();
    for (at, line) in out.terminal().wrap(text, indent).iter().enumerate() {
        let before = if at == 0 { name } else { &format!("{:indent$}", "") };
        out.line(format!("{before}{line}").trim_end())?;
    }
    Ok(())
}

fn to_json(
    args: &Args,
    opened: &OpenedSession,
    uses: &mut Uses<'_>,
    facts: &[Item],
    threads: &[Item],
    logical: &[Item],
    oddities: &[Item],
) -> Value {
    let object = |items: &[Item]| -> Value {
        items.iter().map(|item| (item.name.clone(), item.json.clone())).collect::<serde_json::Map<_, _>>().into()
    };
    let list = |items: &[Item]| -> Vec<Value> {
        let one = |item: &Item| {
            let mut json = json!({ "name": item.name, "reference": item.reference });
            match &item.json {
                Value::Object(fields) => fields.iter().for_each(|(name, value)| json[name] = value.clone()),
                value => json["value"] = value.clone(),
            }
            json
        };
        items.iter().map(one).collect()
    };
    let outside: Vec<Value> = uses.outside.iter().map(top::outside_json).collect();
    let all_ns = uses.all_ns;
    let functions = &mut uses.functions;
    let mut functions = |sort: Sort| -> Vec<Value> {
        top::sort_uses(functions, sort);
        functions.iter().take(args.limit).map(|it| top::to_json(opened, it)).collect()
    };
    let mut by = json!({
        "by_self": functions(Sort::SelfTime),
        "by_total": functions(Sort::Total),
        "by_calls": functions(Sort::Calls),
        "outside": outside,
        "all_ns": all_ns,
    });
    // Only where it is asked for are they known.
    if let Some(state) = args.sort.state() {
        by[format!("by_{state}")] = functions(args.sort).into();
    }
    json!({
        "run": object(facts),
        "functions": by,
        "threads": object(threads),
        "logical": list(logical),
        "anomalies": list(oddities),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_that_no_line_has_room_for_lose_their_middle() {
        assert_eq!(shorter_words("cc -o abcdefghijklmnop x", 9), "cc -o abcd…mnop x");
        assert_eq!(shorter_words("cc -o abcdefghi x", 9), "cc -o abcdefghi x");
    }
}
