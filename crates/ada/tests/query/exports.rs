//! What is exported is what was asked: DuckDB and pandas read it, and so does SQLite.

use std::process::Command;

use serde_json::Value;

use crate::asked::{number, rows};
use crate::program::Program;
use crate::python::script;
use crate::run;
use crate::traced_program::TracedProgram;

const TABLES: [&str; 14] = [
    "spans",
    "events",
    "functions",
    "modules",
    "threads",
    "processes",
    "hooks",
    "drops",
    "windows",
    "details",
    "links",
    "waits",
    "locks",
    "holds",
];

#[test]
fn duckdb_and_pandas_read_the_same_from_parquet() {
    let traced = TracedProgram::trace_with_registers(&Program::new("callbacks.c"));
    let folder = traced.path().join("export/parquet");
    let output = run::ada([
        "export".as_ref(),
        "--to".as_ref(),
        "parquet".as_ref(),
        folder.as_os_str(),
        traced.path().as_os_str(),
    ]);
    assert!(output.status.success(), "{}", run::text(&output.stderr));
    let read: Value = serde_json::from_str(&script("read_parquet.py", &[&folder])).unwrap();
    let own = |sql: &str| {
        let output = run::ada(["query", folder.to_str().unwrap(), sql, "--format", "csv"]);
        assert!(output.status.success(), "{}", run::text(&output.stderr));
        run::text(&output.stdout).to_owned()
    };
    for sql in [
        "SELECT count(*), sum(duration_ns), sum(self_ns), min(session), max(pid) FROM spans",
        "SELECT name, count(*), sum(duration_ns), avg(depth) FROM spans GROUP BY name ORDER BY name",
        "SELECT * FROM functions ORDER BY function_id",
        "SELECT * FROM spans WHERE duration_ns > 20000 AND name LIKE '%a%' ORDER BY span_id",
        "SELECT * FROM details ORDER BY event_id LIMIT 50",
    ] {
        let asked = crate::asked::query(&traced, &[sql, "--format", "csv"]);
        assert_eq!(own(sql), run::text(&asked.stdout), "{sql}");
    }
    for reader in ["duckdb", "pandas"] {
        for table in TABLES {
            let count = number(&traced, &format!("SELECT count(*) FROM {table}"));
            assert_eq!(read[reader][table]["count"], count, "{reader} {table}");
        }
        let of_spans = &read[reader]["spans"];
        assert_eq!(of_spans["duration_ns"], number(&traced, "SELECT sum(duration_ns) FROM spans"), "{reader}");
        assert_eq!(of_spans["self_ns"], number(&traced, "SELECT sum(self_ns) FROM spans"), "{reader}");
        assert_eq!(read[reader]["events"]["time_ns"], number(&traced, "SELECT max(time_ns) FROM events"), "{reader}");
        assert_eq!(read[reader]["functions"]["calls"], number(&traced, "SELECT sum(calls) FROM functions"), "{reader}");
        let by_name =
            rows(&traced, "SELECT name, count(*) AS n, sum(duration_ns) AS t FROM spans GROUP BY name ORDER BY name");
        let expected: Vec<Value> = by_name.iter().map(|it| serde_json::json!([it["name"], it["n"], it["t"]])).collect();
        assert_eq!(read[reader]["by_name"], Value::from(expected), "{reader}");
    }
}

#[test]
fn an_answer_can_be_a_parquet_file() {
    let traced = TracedProgram::trace(&Program::new("tree.c"));
    let file = traced.path().join("answer.parquet");
    let sql = "SELECT name, calls, avg_ns, NULL AS empty FROM functions ORDER BY name";
    let words = [sql, "--format", "parquet", "--output", file.to_str().unwrap()];
    let output = crate::asked::query(&traced, &words);
    assert!(output.status.success(), "{}", run::text(&output.stderr));
    let read: Value = serde_json::from_str(&script("read_file.py", &[&file])).unwrap();
    assert_eq!(read["count"], number(&traced, "SELECT count(*) FROM functions"));
    assert_eq!(read["calls"], number(&traced, "SELECT sum(calls) FROM functions"));
    assert_eq!(read["columns"], serde_json::json!(["name", "calls", "avg_ns", "empty"]));
}

#[test]
fn a_sqlite_file_has_the_same_tables() {
    let traced = TracedProgram::trace(&Program::new("threads.c"));
    let file = traced.path().join("trace.db");
    let output =
        run::ada(["export".as_ref(), "--to".as_ref(), "sqlite".as_ref(), file.as_os_str(), traced.path().as_os_str()]);
    assert!(output.status.success(), "{}", run::text(&output.stderr));
    for table in TABLES {
        let sql = format!("SELECT count(*) FROM {table}");
        let counted = Command::new("sqlite3").arg(&file).arg(&sql).output().expect("sqlite3 is there");
        assert_eq!(run::text(&counted.stdout).trim(), number(&traced, &sql).to_string(), "{table}");
    }
    let again =
        run::ada(["export".as_ref(), "--to".as_ref(), "sqlite".as_ref(), file.as_os_str(), traced.path().as_os_str()]);
    assert_eq!(again.status.code(), Some(3), "a file that is there is not written over");
}
