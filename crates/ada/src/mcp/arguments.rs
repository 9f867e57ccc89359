//! What agents hand to tools.

use anyhow::{anyhow, bail};
use serde_json::{Map, Value};

use super::budget;

/// A tool's arguments. Whatever is of another kind than its schema says is an error that says so.
pub(super) struct Arguments(pub(super) Map<String, Value>);

impl Arguments {
    pub(super) fn text(&self, name: &str) -> anyhow::Result<Option<&str>> {
        match self.0.get(name) {
            None | Some(Value::Null) => Ok(None),
            Some(Value::String(text)) => Ok(Some(text)),
            Some(_) => bail!("{name} must be a text"),
        }
    }

    pub(super) fn required(&self, name: &str) -> anyhow::Result<&str> {
        self.text(name)?.ok_or_else(|| anyhow!("{name} is missing"))
    }

    pub(super) fn number(&self, name: &str) -> anyhow::Result<Option<u64>> {
        match self.0.get(name) {
            None | Some(Value::Null) => Ok(None),
            Some(value) => value.as_u64().map(Some).ok_or_else(|| anyhow!("{name} must be a whole number from 0")),
        }
    }

    pub(super) fn texts(&self, name: &str) -> anyhow::Result<Vec<String>> {
        let wrong = || anyhow!("{name} must be a list of texts");
        match self.0.get(name) {
            None | Some(Value::Null) => Ok(Vec::new()),
            Some(Value::Array(all)) => all.iter().map(|it| it.as_str().map(str::to_owned).ok_or_else(wrong)).collect(),
            Some(_) => Err(wrong()),
        }
    }

    /// The number of the first item that is wanted: where the answer before broke off.
    pub(super) fn first_item(&self) -> anyhow::Result<usize> {
        match self.text("cursor")? {
            None => Ok(0),
            Some(text) => text.parse().map_err(|_| anyhow!("cursor must be what an answer before gave as next_cursor")),
        }
    }

    pub(super) fn budget(&self) -> anyhow::Result<u64> {
        Ok(self.number("token_budget")?.unwrap_or(budget::USUAL))
    }
}
