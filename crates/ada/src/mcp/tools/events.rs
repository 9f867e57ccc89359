//! `events`: a thread's events with their registers.

use ada_query::Limits;
use anyhow::anyhow;
use serde_json::Value;

use super::sql::{objects, quoted};
use crate::mcp::arguments::Arguments;
use crate::mcp::budget::Answer;
use crate::mcp::library::Asked;

/// Events that are looked at for one answer.
const MOST: usize = 2000;

pub(super) fn events(asked: &Asked, limits: &Limits, arguments: &Arguments) -> anyhow::Result<Answer> {
    let thread =
        arguments.number("thread_id")?.ok_or_else(|| anyhow!("thread_id is missing; table threads lists them"))?;
    // The cursor is the next event's position.
    let from = match arguments.text("cursor")? {
        Some(_) => arguments.first_item()? as u64,
        None => arguments.number("from_seq")?.unwrap_or(0),
    };
    let mut condition = format!("thread_id = {thread} AND seq >= {from}");
    if let Some(pattern) = arguments.text("function")? {
        condition.push_str(&format!(" AND name GLOB {}", quoted(pattern)));
    }
    let sql = format!(
        "SELECT event_id, seq, time_ns, kind, name, module, depth, nullif(has_detail, 0) AS has_detail FROM events \
         WHERE {condition} LIMIT {}",
        MOST + 1
    );
    let (mut items, _) = objects(asked, limits, &sql)?;
    let has_more = items.len() > MOST;
    items.truncate(MOST);
    add_registers(asked, limits, thread, &mut items)?;
    let cursor = |item: &Value| (item["seq"].as_u64().unwrap_or(0) + 1).to_string();
    let more = items.last().filter(|_| has_more).map(cursor);
    let items = items.into_iter().map(|item| {
        let cursor = cursor(&item);
        (item, cursor)
    });
    Ok(Answer { items: items.collect(), more, ..Answer::default() }.fact("session", asked.name.clone()))
}

/// Puts arguments and results into the events that have them.
fn add_registers(asked: &Asked, limits: &Limits, thread: u64, items: &mut [Value]) -> anyhow::Result<()> {
    let seqs = || items.iter().filter(|it| !it["has_detail"].is_null()).filter_map(|it| it["seq"].as_u64());
    let (Some(first), Some(last)) = (seqs().min(), seqs().max()) else { return Ok(()) };
    let sql = format!(
        "SELECT seq, arg0, arg1, arg2, arg3, arg4, arg5, result, return_address FROM details \
         WHERE thread_id = {thread} AND seq >= {first} AND seq <= {last}"
    );
    let (details, _) = objects(asked, limits, &sql)?;
    for mut detail in details {
        let seq = detail["seq"].take();
        if let Some(item) = items.iter_mut().find(|it| it["seq"] == seq)
            && let (Some(item), Some(detail)) = (item.as_object_mut(), detail.as_object())
        {
            item.remove("has_detail");
            item.extend(
                detail.iter().filter(|(_, value)| !value.is_null()).map(|(name, value)| (name.clone(), value.clone())),
            );
        }
    }
    Ok(())
}
