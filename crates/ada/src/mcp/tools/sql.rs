//! Tools that are a query.

use ada_query::Limits;
use ada_query::output::to_json;
use serde_json::{Map, Value, json};

use crate::mcp::arguments::Arguments;
use crate::mcp::budget::Answer;
use crate::mcp::library::Asked;

/// Rows as objects, and whether there are more.
pub(super) fn objects(asked: &Asked, limits: &Limits, sql: &str) -> anyhow::Result<(Vec<Value>, bool)> {
    Ok(asked.engine.ask(sql, limits, |rows| {
        let names = rows.columns().to_vec();
        let mut all = Vec::new();
        loop {
            let mut row = Map::new();
            let has_row = rows.next(|column, value| {
                let value = to_json(value);
                if !value.is_null() {
                    row.insert(names[column].clone(), value);
                }
            })?;
            if !has_row {
                return Ok((all, rows.did_truncate()));
            }
            all.push(Value::Object(row));
        }
    })?)
}

/// A text in SQL.
pub(super) fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}

pub(super) fn query(asked: &Asked, limits: &Limits, arguments: &Arguments) -> anyhow::Result<Answer> {
    let from = arguments.first_item()?;
    let (columns, rows, is_cut) = asked.engine.ask(arguments.required("sql")?, limits, |rows| {
        let columns = rows.columns().to_vec();
        let mut all = Vec::new();
        loop {
            let mut row = Vec::with_capacity(columns.len());
            if !rows.next(|_, value| row.push(to_json(value)))? {
                return Ok((columns, all, rows.did_truncate()));
            }
            all.push(json!({ "row": row }));
        }
    })?;
    let count = rows.len();
    let mut answer = Answer::list(rows, from).fact("columns", columns);
    if is_cut {
        answer = answer
            .fact("rows_at_least", count)
            .fact("advice", "there are more rows; add LIMIT and OFFSET, or aggregate");
    }
    Ok(answer)
}

pub(super) fn function_stats(asked: &Asked, limits: &Limits, arguments: &Arguments) -> anyhow::Result<Answer> {
    let mut conditions = vec!["1".to_owned()];
    if let Some(pattern) = arguments.text("function")? {
        let pattern = quoted(pattern);
        // C++ names have their arguments, which people rarely type.
        conditions
            .push(format!("(name GLOB {pattern} OR substr(name, 1, instr(name || '(', '(') - 1) GLOB {pattern})"));
    }
    if let Some(module) = arguments.text("module")? {
        conditions.push(format!("module GLOB {}", quoted(module)));
    }
    let order = match arguments.text("sort")?.unwrap_or("self") {
        "total" => "total_ns",
        "calls" => "calls",
        "p99" => "p99_ns",
        "max" => "max_ns",
        _ => "self_ns",
    };
    let sql = format!(
        "SELECT name, module, calls, self_ns, total_ns, p50_ns, p95_ns, p99_ns, max_ns, nullif(unmatched, 0) AS unmatched, \
         longest_span_id, reference FROM functions WHERE {} ORDER BY {order} DESC, function_id",
        conditions.join(" AND ")
    );
    let (items, _) = objects(asked, limits, &sql)?;
    let count = items.len();
    Ok(Answer::list(items, arguments.first_item()?).fact("session", asked.name.clone()).fact("count", count))
}
