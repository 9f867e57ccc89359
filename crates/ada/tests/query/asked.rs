//! A trace that queries are put to.

use std::process::Output;

use serde_json::Value;

use crate::run;
use crate::traced_program::TracedProgram;

/// Asks in SQL and gives the rows as objects.
pub(crate) fn rows(traced: &TracedProgram, sql: &str) -> Vec<Value> {
    let output = query(traced, &[sql, "--format", "json"]);
    assert!(output.status.success(), "{sql}: {}", run::text(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{sql}: {error}"))
}

/// The one value of an answer.
pub(crate) fn value(traced: &TracedProgram, sql: &str) -> Value {
    let rows = rows(traced, sql);
    let [Value::Object(row)] = &rows[..] else { panic!("{sql}: one row, not {rows:?}") };
    row.values().next().cloned().expect("a row has a value")
}

pub(crate) fn number(traced: &TracedProgram, sql: &str) -> i64 {
    value(traced, sql).as_i64().unwrap_or_else(|| panic!("{sql}: a number"))
}

/// `ada query` with the session before these words.
pub(crate) fn query(traced: &TracedProgram, words: &[&str]) -> Output {
    let session = traced.path().to_str().expect("paths of tests are UTF-8").to_owned();
    run::ada(["query", session.as_str()].into_iter().chain(words.iter().copied()))
}
