//! Nothing that is asked can write, run, or reach what was not given.

use std::fs;

use crate::asked::{query, rows};
use crate::program::Program;
use crate::run;
use crate::traced_program::TracedProgram;

#[test]
fn statements_that_are_not_questions_are_refused() {
    let traced = TracedProgram::trace(&Program::new("tree.c"));
    let folder = tempfile::tempdir().unwrap();
    let target = folder.path().join("new.db");
    let target = target.to_str().unwrap();
    for sql in [
        format!("ATTACH '{target}' AS other"),
        format!("VACUUM INTO '{target}'"),
        "CREATE TABLE t(a)".to_owned(),
        "CREATE TEMP TABLE t(a)".to_owned(),
        "CREATE VIRTUAL TABLE t USING fts5(a)".to_owned(),
        "DELETE FROM spans".to_owned(),
        "INSERT INTO functions(name) VALUES ('x')".to_owned(),
        "UPDATE spans SET name = 'x'".to_owned(),
        "PRAGMA journal_mode=WAL".to_owned(),
        "PRAGMA hard_heap_limit=0".to_owned(),
        "PRAGMA temp_store_directory='/tmp'".to_owned(),
        "SELECT load_extension('libm.so')".to_owned(),
        "SELECT writefile('x', 'y')".to_owned(),
        "SELECT fts3_tokenizer('simple')".to_owned(),
        "BEGIN IMMEDIATE".to_owned(),
        "DETACH main".to_owned(),
        "REINDEX main".to_owned(),
        "ANALYZE main".to_owned(),
    ] {
        let output = query(&traced, &[&sql]);
        assert_eq!(output.status.code(), Some(2), "{sql}: {}", run::text(&output.stderr));
        assert!(output.stdout.is_empty(), "{sql}");
    }
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0, "nothing was written");
}

#[test]
fn a_query_that_takes_too_long_or_too_much_ends() {
    let traced = TracedProgram::trace(&Program::new("tree.c"));
    let endless = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n";
    let output = query(&traced, &[endless, "--max-time", "300ms"]);
    assert!(!output.status.success());
    assert!(run::text(&output.stderr).contains("longer than it may"), "{}", run::text(&output.stderr));
    let large = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 3000000) \
                 SELECT max(length(g)) FROM (SELECT group_concat(printf('%0100d', i)) AS g FROM n ORDER BY i DESC)";
    let output = query(&traced, &[large, "--max-memory", "16M"]);
    assert!(!output.status.success());
    let said = run::text(&output.stderr);
    assert!(said.contains("more memory") || said.contains("too big"), "{said}");
}

#[test]
fn nothing_beside_the_session_changes() {
    let traced = TracedProgram::trace(&Program::new("tree.c"));
    rows(&traced, "SELECT count(*) FROM spans");
    let listing = || {
        let mut files: Vec<(String, u64)> = Vec::new();
        let mut folders = vec![traced.path().to_owned()];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(folder).unwrap().flatten() {
                let data = entry.metadata().unwrap();
                if data.is_dir() {
                    folders.push(entry.path());
                } else {
                    files.push((entry.path().display().to_string(), data.len()));
                }
            }
        }
        files.sort();
        files
    };
    let before = listing();
    rows(&traced, "SELECT * FROM spans ORDER BY name, duration_ns DESC");
    rows(&traced, "SELECT * FROM stats('name')");
    assert_eq!(listing(), before);
}
