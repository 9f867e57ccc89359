//! The tools that read.

mod events;
mod overview;
mod span_list;
mod sql;

use ada_query::called::called;
use ada_query::findings::{Noticed, caveats, findings};
use ada_query::why_slow::why_slow;
use anyhow::{anyhow, bail};
use serde_json::{Value, json};

use super::arguments::Arguments;
use super::budget::Answer;
use super::library::Asked;
use super::tool_context::ToolContext;
use crate::analysis::Reference;
use crate::ask::{called_json, finding_json};
use crate::{show, tree};

/// Neighbours that `neighbourhood` has of each kind.
const NEIGHBOURS: usize = 8;

pub(super) fn answer(context: &mut ToolContext, tool: &str, arguments: &Arguments) -> anyhow::Result<Answer> {
    if tool == "list_sessions" {
        return overview::list_sessions(&context.library, arguments);
    }
    let limits = context.limits;
    let asked = context.library.get(arguments.text("session")?)?;
    let mut answer = match tool {
        "summary" => overview::summary(asked, &limits, arguments)?,
        "findings" => found(asked, arguments)?,
        "spans" => span_list::spans(asked, arguments)?,
        "tree" => call_tree(asked, arguments)?,
        "neighbourhood" => neighbourhood(asked, arguments)?,
        "function_stats" => sql::function_stats(asked, &limits, arguments)?,
        "events" => events::events(asked, &limits, arguments)?,
        "source" => overview::source(asked, arguments)?,
        "query" => sql::query(asked, &limits, arguments)?,
        "was_called" => was_called(asked, arguments)?,
        "why_slow" => slow(asked, arguments)?,
        other => bail!("there is no tool {other}"),
    };
    answer.caveats = caveats(asked.engine.trace());
    Ok(answer)
}

fn found(asked: &Asked, arguments: &Arguments) -> anyhow::Result<Answer> {
    let symptom = arguments.text("symptom")?;
    let all = findings(asked.engine.trace(), asked.engine.cancel(), symptom)?;
    let count = all.len();
    let unfit = symptom.and_then(|symptom| Noticed::new(symptom).nothing_fits(&all));
    Ok(Answer::list(all.iter().map(finding_json).collect(), arguments.first_item()?)
        .fact("session", asked.name.clone())
        .fact("nothing_fits", unfit)
        .fact("count", count))
}

fn call_tree(asked: &Asked, arguments: &Arguments) -> anyhow::Result<Answer> {
    let mut options = vec!["--limit".to_owned(), "0".to_owned()];
    let mut option = |name: &str, value: Option<String>| options.extend(value.map(|it| format!("--{name}={it}")));
    option("function", arguments.text("function")?.map(str::to_owned));
    option("thread", arguments.number("thread_id")?.map(|it| it.to_string()));
    option("depth", arguments.number("depth")?.map(|it| it.clamp(1, 200).to_string()));
    option("min-duration", arguments.number("min_duration_ns")?.map(|it| format!("{it}ns")));
    let mut lines = tree::lines(&asked.opened, &options)?;
    for line in &mut lines {
        // Nothing where nothing is known: each word of an answer costs.
        if let Some(fields) = line.as_object_mut() {
            fields.retain(|_, value| !value.is_null());
        }
    }
    Ok(Answer::list(lines, arguments.first_item()?).fact("session", asked.name.clone()))
}

fn neighbourhood(asked: &Asked, arguments: &Arguments) -> anyhow::Result<Answer> {
    let text = arguments.required("reference")?;
    let reference: Reference = text.parse().map_err(|words| anyhow!("{text}: {words}"))?;
    let shown = show::find(&asked.opened, reference, NEIGHBOURS)?;
    let fields = shown.as_object().into_iter().flatten().filter(|(_, value)| !value.is_null());
    let items = fields.map(|(name, value)| json!({ "field": name, "value": value })).collect();
    Ok(Answer::list(items, 0).fact("reference", text))
}

fn was_called(asked: &Asked, arguments: &Arguments) -> anyhow::Result<Answer> {
    let answer = called(asked.engine.trace(), asked.engine.cancel(), arguments.required("function")?)?;
    let json = called_json(&answer);
    let items = json["functions"].as_array().cloned().unwrap_or_default();
    Ok(Answer::list(items, arguments.first_item()?)
        .fact("answer", json["answer"].clone())
        .fact("because", json["because"].clone())
        .fact("did_you_mean", json["did_you_mean"].clone()))
}

fn slow(asked: &Asked, arguments: &Arguments) -> anyhow::Result<Answer> {
    let answer = why_slow(asked.engine.trace(), asked.engine.cancel(), None, arguments.required("span_id")?)?;
    let mut json = answer.to_json();
    let inside = json["inside"].take();
    let path = json["path"].take();
    let of = |list: &Value, part: &str| -> Vec<Value> {
        let with_part = |item: &Value| {
            let mut item = item.clone();
            item["part"] = part.into();
            if item["span_id"].is_null() {
                item["span_id"] = item["longest_span_id"].take();
            }
            item
        };
        list.as_array().into_iter().flatten().map(with_part).collect()
    };
    let mut items = of(&path, "critical_path");
    items.extend(of(&inside, "inside"));
    let mut fitted = Answer::list(items, 0);
    if let Value::Object(fields) = json {
        fitted.facts = fields.into_iter().filter(|(_, value)| !value.is_null()).collect();
    }
    Ok(fitted)
}
