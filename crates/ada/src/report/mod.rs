//! `ada report [SESSION]`: what a person wants to know first.

mod facts;
mod imbalances;
mod item;
mod oddities;
mod recording;
mod threads;

use serde_json::{Value, json};

use crate::analysis::{ListFormat, OpenedSession, Out, SessionArgs, csv, with_tables};
use crate::exit::Outcome;
use crate::top::{self, Sort, Use};

use item::Item;

const EXAMPLES: &str = "\
Examples:
  ada report                           the newest session
  ada report ada_traces/session_20261115_101500 --limit 20
  ada report --format json | jq .anomalies

References such as frame:4712:90 are what `ada show` takes.";

#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    #[command(flatten)]
    session: SessionArgs,
    /// How long each list may be
    #[arg(long, value_name = "N", default_value_t = 10)]
    limit: usize,
    /// Print file and line of functions in tables too
    #[arg(long)]
    lines: bool,
    /// Sort functions by times without what recording took; print these, and how far they may be off
    #[arg(long)]
    corrected: bool,
    /// How to print
    #[arg(long, value_enum, default_value_t = ListFormat::Table)]
    format: ListFormat,
}

pub(crate) fn run(args: &Args) -> anyhow::Result<Outcome> {
    let mut out = Out::new();
    let outcome = with_tables(&args.session, &mut out, |opened, out| {
        let facts = facts::gather(opened);
        let threads = threads::gather(opened);
        let logical = facts::logical(opened);
        let oddities = oddities::gather(opened, args.limit);
        let mut functions = top::all(opened);
        if args.corrected {
            top::correct(opened, &mut functions)?;
        }
        match args.format {
            ListFormat::Table => print(
                args,
                opened,
                out,
                &mut functions,
                &facts,
                &[("Threads", &threads), ("Logical spans", &logical), ("Worth a look", &oddities)],
            ),
            ListFormat::Json => out.json(&to_json(args, opened, &mut functions, &facts, &threads, &logical, &oddities)),
            ListFormat::Csv => {
                top::sort_uses(&mut functions, Sort::SelfTime);
                let functions = functions.iter().take(args.limit).map(|it| {
                    let function = top::to_json(opened, it);
                    json!({
                        "section": "functions", "name": function["name"], "value": it.stats.self_ns,
                        "reference": function["reference"], "file": function["file"], "line": function["line"],
                    })
                });
                let items = facts.iter().chain(&threads).chain(&logical).chain(&oddities).map(|item| {
                    json!({
                        "section": item.section, "name": item.name, "value": item.value, "reference": item.reference,
                    })
                });
                let fields = ["section", "name", "value", "reference", "file", "line"];
                csv(out, &fields, &items.chain(functions).collect::<Vec<_>>())
            }
        }
    })?;
    out.finish()?;
    Ok(outcome)
}

fn print(
    args: &Args,
    opened: &OpenedSession,
    out: &mut Out,
    functions: &mut [Use<'_>],
    facts: &[Item],
    sections: &[(&str, &[Item])],
) -> anyhow::Result<()> {
    for item in facts {
        out.line(&format!("{:<10} {}", item.name, item.value))?;
    }
    for (title, sort) in
        [("most time in themselves", Sort::SelfTime), ("most time in all", Sort::Total), ("most calls", Sort::Calls)]
    {
        top::sort_uses(functions, sort);
        let shown = &functions[..functions.len().min(args.limit)];
        if !shown.is_empty() {
            out.line(&format!("\nFunctions with the {title}"))?;
            top::table(opened, shown, args.lines).print(out)?;
        }
    }
    for (title, items) in sections {
        if items.is_empty() {
            continue;
        }
        out.line(&format!("\n{title}"))?;
        let width = items.iter().map(|item| item.name.chars().count()).max().unwrap_or(0);
        for item in *items {
            let reference = item.reference.as_ref().map(|it| format!("   {it}")).unwrap_or_default();
            out.line(&format!("  {:<width$}  {}{reference}", item.name, item.value))?;
        }
    }
    out.line("\nnext       ada spans, ada tree, ada top, ada threads, ada show REF")
}

fn to_json(
    args: &Args,
    opened: &OpenedSession,
    functions: &mut [Use<'_>],
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
    let mut functions = |sort: Sort| -> Vec<Value> {
        top::sort_uses(functions, sort);
        functions.iter().take(args.limit).map(|it| top::to_json(opened, it)).collect()
    };
    json!({
        "run": object(facts),
        "functions": {
            "by_self": functions(Sort::SelfTime),
            "by_total": functions(Sort::Total),
            "by_calls": functions(Sort::Calls),
        },
        "threads": object(threads),
        "logical": list(logical),
        "anomalies": list(oddities),
    })
}
