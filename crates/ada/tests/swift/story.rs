//! What ada reports of a program, and what must be true of every story.

use std::path::Path;

use serde_json::Value;
use tempfile::TempDir;

use crate::run::{self, text};
use crate::toolchain::{Build, build, in_swift};

/// A traced program's tasks and blocks.
pub(crate) struct Story {
    folder: TempDir,
    /// All tasks, each behind the one that made it.
    pub(crate) tasks: Vec<Value>,
    /// All blocks by start.
    pub(crate) blocks: Vec<Value>,
    /// What the program printed.
    pub(crate) printed: String,
    /// What it said on its error stream.
    pub(crate) told: String,
}

impl Story {
    /// Runs a program alone and traced, which must make no difference, and reads its story.
    pub(crate) fn of(source: &str, how: Build) -> Self {
        Self::with_limit(source, how, None)
    }

    /// The same, of a program of which not everything can be known.
    pub(crate) fn with_limit(source: &str, how: Build, limit: Option<&Value>) -> Self {
        let program = build(source, how);
        let mut alone = in_swift();
        alone.arg(&program);
        let alone = run::bounded(alone, b"");
        let folder = tempfile::tempdir().unwrap();
        let mut traced = in_swift();
        traced.args(["ada", "trace", "--quiet", "--output"]).arg(folder.path()).arg("--").arg(&program);
        let traced = run::bounded(traced, b"");
        assert_eq!(alone.status.code(), Some(0), "{source} {how:?}: {}", text(&alone.stderr));
        assert_eq!(traced.status.code(), alone.status.code(), "{source} {how:?}: {}", text(&traced.stderr));
        assert_eq!(text(&traced.stdout), text(&alone.stdout), "{source} {how:?}");
        let answer = |command: &str, options: &[&str]| json(folder.path(), command, options);
        let tasks = list(answer("tasks", &["--all", "--limit", "0"]), "tasks");
        let blocks = list(answer("spans", &["--runtime", "gcd", "--limit", "0"]), "spans");
        let (printed, told) = (text(&traced.stdout).to_owned(), text(&traced.stderr).to_owned());
        let story = Self { folder, tasks, blocks, printed, told };
        story.tasks.iter().for_each(check_times);
        assert!(story.tasks.iter().all(|task| task["uncertain"].is_null()), "{source} {how:?}: nothing is in doubt");
        let report = story.json("report", &[]);
        assert_eq!(report["run"]["drops"], serde_json::json!({}), "{source} {how:?}");
        // Swift's programs are bound before they run, so that some resolvers have run by then.
        let is_of_loader =
            |it: &&Value| it.as_str().is_some_and(|it| it.starts_with("the loader ran the IFUNC resolvers"));
        let limits = report["run"]["limit"].as_array().map_or(&[][..], Vec::as_slice);
        let found: Vec<&Value> = limits.iter().filter(|it| !is_of_loader(it)).collect();
        assert_eq!(found, Vec::from_iter(limit), "{source} {how:?}");
        let oddities = list(report["anomalies"].clone(), "");
        assert!(oddities.iter().all(|it| it["kind"] != "orphaned_resume"), "{source} {how:?}");
        story
    }

    pub(crate) fn json(&self, command: &str, options: &[&str]) -> Value {
        json(self.folder.path(), command, options)
    }

    /// The rows that a query gives.
    pub(crate) fn query(&self, sql: &str) -> Value {
        let mut ada = run::command();
        ada.args(["query", "--format", "json"]).arg(self.folder.path()).arg(sql);
        let output = run::bounded(ada, b"");
        serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {}", text(&output.stderr)))
    }

    /// What a command prints for people.
    pub(crate) fn text(&self, command: &[&str]) -> String {
        let mut ada = run::command();
        ada.args(command).arg(self.folder.path());
        text(&run::bounded(ada, b"").stdout).to_owned()
    }

    /// What may be wrong with the program, the worst first.
    pub(crate) fn findings(&self) -> Vec<Value> {
        let mut ada = run::command();
        ada.args(["ask", "findings", "--format", "json"]).arg(self.folder.path());
        list(serde_json::from_slice(&run::bounded(ada, b"").stdout).expect("it prints JSON"), "findings")
    }

    /// What `ada tasks` has to say beside its list.
    pub(crate) fn stderr_of_tasks(&self) -> String {
        let mut ada = run::command();
        ada.arg("tasks").arg(self.folder.path());
        text(&run::bounded(ada, b"").stderr).to_owned()
    }

    /// Tasks that the program made, not its runtime.
    pub(crate) fn own(&self) -> impl Iterator<Item = &Value> {
        self.tasks.iter().filter(|task| task["kind"] != "helper")
    }

    /// The program's own tasks: level, kind, status and name; the first one is named differently by each build.
    pub(crate) fn outline(&self) -> Vec<String> {
        let line = |task: &Value| {
            let name = if task["kind"] == "main" { "" } else { word(task, "name") };
            format!("{} {} {} {name}", task["level"], word(task, "kind"), word(task, "status")).trim_end().to_owned()
        };
        self.own().map(line).collect()
    }
}

pub(crate) fn json(session: &Path, command: &str, options: &[&str]) -> Value {
    let mut ada = run::command();
    ada.arg(command).arg(session).args(options).args(["--format", "json"]);
    let output = run::bounded(ada, b"");
    assert_eq!(output.status.code(), Some(0), "{command} {options:?}: {}", text(&output.stderr));
    serde_json::from_slice(&output.stdout).expect("it prints JSON")
}

pub(crate) fn list(value: Value, name: &str) -> Vec<Value> {
    let found = if name.is_empty() { &value } else { &value[name] };
    found.as_array().expect("a list").clone()
}

pub(crate) fn word<'a>(value: &'a Value, name: &str) -> &'a str {
    value[name].as_str().unwrap_or_default()
}

pub(crate) fn number(value: &Value, name: &str) -> u64 {
    value[name].as_u64().unwrap_or_else(|| panic!("{name} is a number in {value}"))
}

/// The kinds of a task's waits, in their order.
pub(crate) fn waits(task: &Value) -> Vec<&str> {
    task["suspensions"].as_array().expect("a list").iter().map(|wait| word(wait, "kind")).collect()
}

pub(crate) fn count(kinds: &[&str], kind: &str) -> usize {
    kinds.iter().filter(|it| **it == kind).count()
}

/// Running and waiting take turns without a gap or an overlap, and add up.
pub(crate) fn check_times(task: &Value) {
    let has_ended = matches!(word(task, "status"), "completed" | "canceled") && !task["end_by"].is_null();
    let (runs, waits) = (task["runs"].as_array().expect("a list"), task["suspensions"].as_array().expect("a list"));
    if !has_ended {
        return;
    }
    assert_eq!(number(task, "running_ns") + number(task, "suspended_ns"), number(task, "duration_ns"), "{task}");
    assert_eq!(runs.len(), waits.len() + 1, "{task}");
    let mut now = number(task, "start_ns");
    for (place, run) in runs.iter().enumerate() {
        assert_eq!(number(run, "start_ns"), now, "{task}");
        now = number(run, "end_ns");
        assert!(now >= number(run, "start_ns"), "{task}");
        if let Some(wait) = waits.get(place) {
            assert_eq!(number(wait, "start_ns"), now, "{task}");
            now = number(wait, "end_ns");
            assert!(now >= number(wait, "start_ns"), "{task}");
        }
    }
    assert_eq!(now, number(task, "end_ns"), "{task}");
}
