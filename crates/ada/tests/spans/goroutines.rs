//! Goroutines: every call and return, nested as the goroutine made them, whichever threads it ran on.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::Value;

use crate::go_program::{build, compilers};
use crate::program::Program;
use crate::run;
use crate::traced_program::TracedProgram;

/// Traces a program on so many processors. Gives the session, and what the program printed.
fn trace(program: &Path, goroutines: &str, processors: &str) -> (TracedProgram, Vec<u64>) {
    trace_with(program, &[goroutines], processors)
}

/// The same with several arguments.
fn trace_with(program: &Path, arguments: &[&str], processors: &str) -> (TracedProgram, Vec<u64>) {
    let sessions = tempfile::tempdir().unwrap();
    let mut command = run::command();
    command.args(["trace", "--quiet", "--output"]).arg(sessions.path()).arg("--").arg(program).args(arguments);
    command.env("GOMAXPROCS", processors);
    let output = run::bounded(command, b"");
    assert_eq!(output.status.code(), Some(0), "{}", run::text(&output.stderr));
    let printed = run::text(&output.stdout).split_whitespace().map(|it| it.parse().expect("numbers")).collect();
    (TracedProgram::from_folder(sessions, "program"), printed)
}

/// The names of what a query answers, and two numbers each.
fn rows(session: &TracedProgram, query: &str) -> Vec<(String, u64, u64)> {
    let rows = session.json("query", &[query]);
    let rows = rows.as_array().expect("a list").iter();
    rows.map(|row| {
        let number = |name: &str| row[name].as_u64().unwrap_or_else(|| panic!("{row}"));
        (row["name"].as_str().expect("a name").to_owned(), number("a"), number("b"))
    })
    .collect()
}

/// Compares all spans of a run with what the program has counted, and with what is known of its calls.
fn check(go: &Path, flags: &[&str], goroutines: &str, processors: &str) {
    const OF_SPANS: &str = "FROM spans WHERE name IN ('main.leaf', 'main.branch', 'main.deep', 'main.work')
        GROUP BY name ORDER BY name";
    let folder = tempfile::tempdir().unwrap();
    let program = build(go, "known_calls.go", flags, &folder);
    let (session, printed) = trace(&program, goroutines, processors);
    let [_, leaf, branch, deep, work] = printed[..] else { panic!("{printed:?}") };
    let what = format!("{} {flags:?}, {goroutines} goroutines on {processors}", go.display());
    let calls = [("main.branch", branch), ("main.deep", deep), ("main.leaf", leaf), ("main.work", work)];
    let calls = calls.map(|(name, calls)| (name.to_owned(), calls, calls));
    let query = format!("SELECT name, count(*) a, sum(status = 'completed') b {OF_SPANS}");
    assert_eq!(rows(&session, &query), calls, "{what}");
    // A wrapper of the go statement calls the function, and that calls `work`. Trees are 5 and 50 deep.
    let depths = [("main.branch", 3, 7), ("main.deep", 3, 52), ("main.leaf", 4, 8), ("main.work", 2, 2)];
    let depths = depths.map(|(name, least, most)| (name.to_owned(), least, most));
    let query = format!("SELECT name, min(depth) a, max(depth) b {OF_SPANS}");
    assert_eq!(rows(&session, &query), depths, "{what}");
}

#[test]
fn calls_nest_by_goroutine_and_end_on_whichever_thread_it_is() {
    for go in compilers() {
        check(&go, &[], "1000", "1");
        check(&go, &["-ldflags=-s -w"], "1000", "2");
    }
}

#[test]
fn ten_thousand_goroutines_are_told_apart() {
    check(Path::new("go"), &[], "10000", "2");
}

/// Waits that say what a program waits for; others come and go as the scheduler pleases. A profile of all has others wait.
fn meant(task: &Value) -> Vec<&Value> {
    let is_meant = |wait: &&Value| {
        let kind = wait["kind"].as_str().expect("a word");
        !matches!(kind, "preempted" | "yield" | "processor" | "semacquire")
    };
    task["suspensions"].as_array().expect("a list").iter().filter(is_meant).collect()
}

/// No thread runs two goroutines at once, and what a goroutine ran and waited adds up to its duration.
fn check_times(tasks: &[Value], what: &str) {
    let number = |record: &Value, name: &str| record[name].as_u64().unwrap_or_else(|| panic!("{name} of {record}"));
    let mut by_thread: BTreeMap<u64, Vec<(u64, u64)>> = BTreeMap::new();
    for task in tasks {
        let (running, suspended) = (number(task, "running_ns"), number(task, "suspended_ns"));
        assert_eq!(running + suspended, number(task, "duration_ns"), "{what}: {task}");
        for run in task["runs"].as_array().expect("a list") {
            by_thread
                .entry(number(run, "thread_id"))
                .or_default()
                .push((number(run, "start_ns"), number(run, "end_ns")));
        }
    }
    for runs in by_thread.values_mut() {
        runs.sort_unstable();
        assert!(runs.is_sorted_by(|left, right| left.1 <= right.0), "{what}: two at once on a thread");
    }
}

/// Compares all goroutines with what the program knows of them.
fn check_waits(go: &Path, flags: &[&str], count: usize, processors: &str) {
    const LEAKED: usize = 12;
    let folder = tempfile::tempdir().unwrap();
    let program = build(go, "known_waits.go", flags, &folder);
    let (session, printed) = trace_with(&program, &[&count.to_string(), &LEAKED.to_string()], processors);
    let what = format!("{} {flags:?}, {count} goroutines on {processors}", go.display());
    let (line, ids) = printed.split_first().expect("a line and numbers");
    assert_eq!(ids.len(), count + LEAKED, "{what}");
    let tasks = session.json("tasks", &["--runtime", "go", "--all", "--limit", "0"])["tasks"].clone();
    let tasks = tasks.as_array().expect("a list");
    check_times(tasks, &what);
    let by_id: BTreeMap<u64, &Value> =
        tasks.iter().map(|task| (task["task_id"].as_u64().expect("a number"), task)).collect();
    assert_eq!(by_id.len(), tasks.len(), "{what}: numbers are used once");
    let made_by_main = tasks.iter().filter(|task| task["kind"] == "go" && task["create_function"] == "main.main");
    assert_eq!(made_by_main.count(), count + LEAKED, "{what}");
    let reference = |index: usize| format!("task:{}", ids[index]);
    for (index, id) in ids[..count].iter().enumerate() {
        let task = by_id.get(id).unwrap_or_else(|| panic!("{what}: goroutine {id} is missing"));
        let waits = meant(task);
        let kinds: Vec<&Value> = waits.iter().map(|wait| &wait["kind"]).collect();
        assert_eq!(kinds, ["chan receive", "select", "sync.Cond.Wait", "sleep"], "{what}: {task}");
        let functions: Vec<&Value> = waits.iter().map(|wait| &wait["awaiting"]).collect();
        assert_eq!(functions, ["main.receives", "main.selects", "main.waits", "main.sleeps"], "{what}: {task}");
        let main = "task:1".to_owned();
        let before = if index == 0 { main.clone() } else { reference(index - 1) };
        let wakers: Vec<&Value> = waits[..3].iter().map(|wait| &wait["resumer_span_id"]).collect();
        assert_eq!(wakers, [&main, &before, &main], "{what}: {task}");
        let end = if index % 2 == 1 { "goexit" } else { "return" };
        assert_eq!((&task["status"], &task["end_by"]), (&"completed".into(), &end.into()), "{what}: {task}");
        assert_eq!((&task["parent_span_id"], &task["create_line"]), (&main.into(), &(*line).into()), "{what}: {task}");
        assert!(task["uncertain"].is_null(), "{what}: {task}");
    }
    for id in &ids[count..] {
        let task = by_id[id];
        let waits = meant(task);
        let [wait] = waits[..] else { panic!("{what}: {task}") };
        assert_eq!((&wait["kind"], &wait["awaiting"]), (&"chan receive".into(), &"main.leaks".into()), "{what}");
        assert_eq!((&wait["end_ns"], &task["reason"]), (&Value::Null, &"process_exit".into()), "{what}: {task}");
    }
    check_table(&session, ids, count, &what);
    let main = by_id[&1];
    assert_eq!((&main["kind"], &main["name"], &main["end_by"]), (&"main".into(), &"main.main".into(), &"exit".into()));
    let findings = session.json("ask", &["findings"]);
    let is_leak = |finding: &&Value| finding["kind"] == "leaked_goroutines";
    let leaks: Vec<&Value> = findings["findings"].as_array().expect("a list").iter().filter(is_leak).collect();
    assert_eq!(leaks.len(), 1, "{what}: {leaks:?}");
    let title = leaks[0]["title"].as_str().expect("a title");
    assert!(title.starts_with("12 goroutines wait in chan receive in main.leaks since "), "{what}: {title}");
}

/// Goroutines' waits are in the table of all waits, with who ended them, and no thread is said to have waited.
fn check_table(session: &TracedProgram, ids: &[u64], count: usize, what: &str) {
    const QUERY: &str =
        "SELECT * FROM waits WHERE task_id IS NOT NULL AND kind != 'semaphore' ORDER BY task_id, start_ns";
    let rows = session.json("query", &[QUERY]);
    let mut by_task: BTreeMap<u64, Vec<&Value>> = BTreeMap::new();
    for row in rows.as_array().expect("a list") {
        assert!(row["thread_id"].is_null() && row["holder_thread_id"].is_null(), "{what}: {row}");
        by_task.entry(row["task_id"].as_u64().expect("a number")).or_default().push(row);
    }
    for (index, id) in ids[..count].iter().enumerate() {
        let before = if index == 0 { 1 } else { ids[index - 1] };
        let expected = [
            ("channel", "chan receive", "main.receives", Value::from(1)),
            ("select", "select", "main.selects", before.into()),
            ("condition", "sync.Cond.Wait", "main.waits", 1.into()),
            ("sleep", "sleep", "main.sleeps", Value::Null),
        ];
        let found = by_task.get(id).unwrap_or_else(|| panic!("{what}: goroutine {id} waited"));
        assert_eq!(found.len(), expected.len(), "{what}: {found:#?}");
        for (row, (kind, reason, function, waker)) in found.iter().zip(expected) {
            assert_eq!((&row["kind"], &row["reason"]), (&kind.into(), &reason.into()), "{what}: {row}");
            assert_eq!((&row["function"], &row["waker_task_id"]), (&function.into(), &waker), "{what}: {row}");
            assert_eq!((&row["state"], &row["uncertain"]), (&"ended".into(), &"".into()), "{what}: {row}");
            assert_eq!(row["span_id"], format!("task:{id}"), "{what}: {row}");
        }
    }
    for id in &ids[count..] {
        let [row] = by_task[id][..] else { panic!("{what}: {:#?}", by_task[id]) };
        assert_eq!((&row["kind"], &row["state"]), (&"channel".into(), &"open".into()), "{what}: {row}");
    }
    let leaked = ids.len() - count;
    let sums = session.text("waits", &["--by", "waiter"]);
    let line = format!("{leaked} goroutines wait for channel (chan receive) in main.leaks, ");
    assert!(sums.contains(&line), "{what}: {sums}");
}

#[test]
fn waits_have_reasons_and_wakers() {
    for go in compilers() {
        check_waits(&go, &[], 100, "1");
        check_waits(&go, &["-ldflags=-s -w"], 100, "2");
    }
}

#[test]
fn each_of_ten_thousand_goroutines_has_its_story() {
    check_waits(&compilers()[1], &[], 10_000, "2");
}

/// The titles of findings of panics in a run that ends by itself with code 2.
fn panics_of(go: &Path, how: &str) -> (TracedProgram, Vec<String>) {
    let folder = tempfile::tempdir().unwrap();
    let program = build(go, "fatal_ends.go", &[], &folder);
    let sessions = tempfile::tempdir().unwrap();
    let mut command = run::command();
    command.args(["trace", "--quiet", "--output"]).arg(sessions.path()).arg("--").arg(&program).arg(how);
    let output = run::bounded(command, b"");
    assert_eq!(output.status.code(), Some(2), "{}", run::text(&output.stderr));
    let session = TracedProgram::from_folder(sessions, "program");
    let findings = session.json("ask", &["findings"])["findings"].clone();
    let panics = findings.as_array().expect("a list").iter().filter(|finding| finding["kind"] == "panic");
    let titles = panics.map(|finding| finding["title"].as_str().expect("a title").to_owned()).collect();
    (session, titles)
}

#[test]
fn what_ended_the_process_is_said_in_the_words_of_the_runtime() {
    for go in compilers() {
        let (session, titles) = panics_of(&go, "panic");
        let tasks = session.json("tasks", &["--runtime", "go"])["tasks"].clone();
        let panicked: Vec<&Value> =
            tasks.as_array().expect("a list").iter().filter(|task| task["end_by"] == "panic").collect();
        let [task] = panicked[..] else { panic!("{tasks}") };
        assert_eq!((&task["name"], &task["reason"]), (&"main.main.func1".into(), &"exception".into()), "{task}");
        assert_eq!(titles, [format!("goroutine {} (main.main.func1) panicked: failure 7", task["task_id"])]);
        let (_, titles) = panics_of(&go, "deadlock");
        assert_eq!(titles, ["Go's runtime gave up: all goroutines are asleep - deadlock!"]);
    }
}

/// Traces a program all of whose own goroutines end, with options that lose events: none of them is said to wait. The summary has
/// one of these words for it.
fn check_losses(go: &Path, (source, argument): (&str, &str), options: &[&str], words: &[&str]) -> String {
    let folder = tempfile::tempdir().unwrap();
    let program = build(go, source, &[], &folder);
    let sessions = tempfile::tempdir().unwrap();
    let mut command = run::command();
    command.args(["trace", "--output"]).arg(sessions.path()).args(options).arg("--").arg(&program).arg(argument);
    let output = run::bounded(command, b"");
    let said = run::text(&output.stderr).to_owned();
    assert_eq!(output.status.code(), Some(0), "{said}");
    assert!(words.iter().any(|words| said.contains(words)), "{options:?}: something is missing: {said}");
    let session = TracedProgram::from_folder(sessions, "program");
    let tasks = session.json("tasks", &["--runtime", "go", "--all", "--limit", "0"])["tasks"].clone();
    let tasks = tasks.as_array().expect("a list");
    check_times(tasks, &format!("{options:?}"));
    for task in tasks.iter().filter(|task| task["kind"] != "helper") {
        let [status, reason] = ["status", "reason"].map(|name| task[name].as_str().unwrap_or_default());
        let is_true = match (status, reason) {
            ("completed", "" | "timeout") | ("unmatched", "dropped" | "attached_midway") => true,
            // The last thing that each does is to tell main, which may end the process before the other has ended.
            ("unmatched", "process_exit") => {
                task["suspensions"].as_array().expect("a list").iter().all(|wait| !wait["end_ns"].is_null())
            }
            _ => false,
        };
        assert!(is_true, "{options:?}: {task}");
    }
    let findings = session.json("ask", &["findings"])["findings"].clone();
    let kinds = findings.as_array().expect("a list").iter().map(|finding| &finding["kind"]);
    assert!(kinds.into_iter().all(|kind| kind != "leaked_goroutines"), "{options:?}: {findings}");
    said
}

#[test]
fn goroutines_that_ended_among_lost_events_do_not_wait() {
    let check = |options| {
        check_losses(Path::new("go"), ("known_calls.go", "10000"), options, &["were let go", "records lost"]);
    };
    check(&["--ring", "8M"]);
    check(&["--on-full", "drop", "--ring-memory", "1M"]);
}

/// To follow a scheduler that does nothing else takes more than any budget. Its story ends, and what is told of it stays true.
#[test]
fn a_scheduler_that_is_dearer_than_the_budget_is_no_longer_followed() {
    for go in compilers() {
        let words = "following Go's scheduler alone exceeded the budget";
        let said = check_losses(&go, ("busy_scheduler.go", "6000"), &["--max-overhead", "5%"], &[words]);
        // Some exits lie across two lines of the caches.
        assert!(said.contains("ada: all threads were stopped"), "{said}");
    }
}

#[test]
fn goroutines_from_before_an_attach_have_no_beginning() {
    for go in compilers() {
        let folder = tempfile::tempdir().unwrap();
        let program = build(&go, "steady.go", &[], &folder);
        let mut command = Command::new(&program);
        let mut started = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(started.stdout.take().unwrap()).read_line(&mut line).unwrap();
        assert_eq!(line, "ready\n");
        let sessions = tempfile::tempdir().unwrap();
        let mut attach = run::command();
        attach.args(["attach", "--quiet", "--duration", "1s", "--output"]).arg(sessions.path());
        attach.arg(started.id().to_string());
        let output = run::bounded(attach, b"");
        drop(started.stdin.take());
        let ended = started.wait().unwrap();
        assert_eq!(output.status.code(), Some(0), "{}", run::text(&output.stderr));
        assert_eq!(ended.code(), Some(0), "it goes on as ever");
        let session = TracedProgram::from_folder(sessions, "program");
        let tasks = session.json("tasks", &["--runtime", "go", "--all", "--limit", "0"])["tasks"].clone();
        let tasks = tasks.as_array().expect("a list");
        check_times(tasks, &go.display().to_string());
        let (made, found): (Vec<&Value>, Vec<&Value>) = tasks.iter().partition(|task| !task["create_ns"].is_null());
        assert!(found.len() >= 5, "{found:?}");
        assert!(found.iter().all(|task| task["reason"] == "attached_midway" && task["kind"] == "unknown"), "{found:?}");
        assert!(made.len() > 50 && made.iter().any(|task| task["status"] == "completed"), "{}", made.len());
        let makers: BTreeSet<&str> = made.iter().filter_map(|task| task["create_function"].as_str()).collect();
        assert!(makers.contains("main.main.func1") || makers.contains("main.main.func2"), "{makers:?}");
        // What was waiting before is woken by those that came later, and they wait for each other.
        let short = made.iter().flat_map(|task| meant(task)).find(|wait| wait["awaiting"] == "main.short");
        assert!(short.is_none_or(|wait| wait["kind"] == "chan send"), "{short:?}");
    }
}

#[test]
fn goroutines_without_a_known_number_are_told() {
    let traced = TracedProgram::trace(&Program::new("strange_goroutines.c"));
    let tasks = traced.ada("tasks", &["--runtime", "go"]);
    assert!(run::text(&tasks.stderr).contains("Go: no spans of goroutines"), "{}", run::text(&tasks.stderr));
    assert_eq!(run::text(&tasks.stdout), "no task is like that\n");
}
