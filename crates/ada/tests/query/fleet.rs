//! Sessions of several machines in one dataset.

use std::path::Path;

use serde_json::Value;

use crate::asked::{number, rows};
use crate::program::Program;
use crate::python::script;
use crate::run::{ada, text};
use crate::traced_program::TracedProgram;

fn append(dataset: &Path, session: &Path, options: &[&str]) -> String {
    let (dataset, session) = (dataset.to_str().unwrap(), session.to_str().unwrap());
    let output = ada(["export", "--to", "parquet", "--append", dataset, session].iter().chain(options));
    assert!(output.status.success(), "{}", text(&output.stderr));
    text(&output.stdout).to_owned()
}

fn asked(dataset: &Path, sql: &str) -> Value {
    let output = ada(["query", dataset.to_str().unwrap(), sql, "--format", "json"]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

#[test]
fn sessions_of_several_hosts_are_asked_together() {
    let folder = tempfile::tempdir().unwrap();
    let dataset = folder.path().join("fleet");
    let sessions = ["tree.c", "threads.c"].map(|name| TracedProgram::trace(&Program::new(name)));
    append(&dataset, sessions[0].path(), &["--host", "a/b=c", "--service", "shop", "--release", "1.10"]);
    append(&dataset, sessions[1].path(), &[]);
    let again = append(&dataset, sessions[1].path(), &[]);
    assert!(again.contains("was there already"), "{again}");
    assert!(!dataset.join("_aside").exists());

    let told = asked(&dataset, "SELECT host, service, version FROM sessions WHERE service = 'shop'");
    assert_eq!(told, serde_json::json!([{ "host": "a/b=c", "service": "shop", "version": "1.10" }]));
    // What nobody has told is what the recorder has seen.
    let own_host = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap();
    let modules = rows(&sessions[1], "SELECT build_id, module FROM modules ORDER BY module_id LIMIT 1");
    let recorded = asked(&dataset, "SELECT host, service, version, start FROM sessions WHERE service <> 'shop'");
    assert_eq!(recorded[0]["host"], own_host.trim_end());
    assert_eq!((&recorded[0]["version"], &recorded[0]["service"]), (&modules[0]["build_id"], &modules[0]["module"]));
    assert!(recorded[0]["start"].as_str().is_some_and(|start| start.ends_with('Z') && start.len() == 16));

    for table in ["spans", "events", "functions", "hooks", "threads", "findings"] {
        let counted = |session: &TracedProgram| number(session, &format!("SELECT count(*) FROM {table}"));
        let all = asked(&dataset, &format!("SELECT count(*) AS n FROM {table}"));
        assert_eq!(all[0]["n"], counted(&sessions[0]) + counted(&sessions[1]), "{table}");
        let one = asked(&dataset, &format!("SELECT count(*) AS n FROM {table} WHERE version = '1.10'"));
        assert_eq!(one[0]["n"], counted(&sessions[0]), "{table}");
    }
    let read: Value = serde_json::from_str(&script("read_fleet.py", &[&dataset])).unwrap();
    let by_ada = asked(&dataset, "SELECT version, host, count(*) AS n FROM spans GROUP BY version, host ORDER BY host");
    let by_ada: Vec<Value> =
        by_ada.as_array().unwrap().iter().map(|it| serde_json::json!([it["version"], it["host"], it["n"]])).collect();
    assert_eq!(read["spans"], Value::from(by_ada));
    assert_eq!(read["drops"], 0, "an empty table has its columns");
}

#[test]
fn what_does_not_fit_into_the_time_is_left_out_and_named() {
    let folder = tempfile::tempdir().unwrap();
    let dataset = folder.path().join("fleet");
    let session = TracedProgram::trace(&Program::new("tree.c"));
    let printed = append(&dataset, session.path(), &["--max-time", "1ns"]);
    assert!(printed.contains("left out for --max-time: processes, modules"), "{printed}");
    let output = ada(["export", "--to", "parquet", "--host", "x", "tables"]);
    assert_eq!(output.status.code(), Some(2), "{}", text(&output.stderr));
    // Nothing but the session's own row is there.
    let tables: Vec<_> = dataset.read_dir().unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(tables, ["sessions"]);
}
