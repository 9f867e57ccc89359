//! The commands as such: pages, references, formats, filters and mistakes.

use std::collections::HashSet;

use serde_json::Value;

use crate::program::Program;
use crate::run;
use crate::traced_program::TracedProgram;

fn ids(spans: &[Value]) -> Vec<String> {
    spans.iter().map(|span| span["span_id"].as_str().expect("each has one").to_owned()).collect()
}

#[test]
fn pages_are_the_whole_list_in_each_order() {
    let traced = TracedProgram::trace(&Program::new("tree.c"));
    let everything: HashSet<String> = ids(&traced.spans(&[])).into_iter().collect();
    for sort in ["start", "duration", "self"] {
        let mut seen: Vec<Value> = Vec::new();
        let mut cursor: Option<String> = None;
        loop {
            let mut options = vec!["--sort", sort, "--limit", "97"];
            if let Some(cursor) = &cursor {
                options.extend(["--cursor", cursor.as_str()]);
            }
            let page = traced.json("spans", &options);
            seen.extend(page["spans"].as_array().unwrap().iter().cloned());
            match page["next_cursor"].as_str() {
                Some(next) => cursor = Some(next.to_owned()),
                None => break,
            }
        }
        let listed: HashSet<String> = ids(&seen).into_iter().collect();
        assert_eq!(listed.len(), seen.len(), "{sort}: nothing twice");
        assert_eq!(listed, everything, "{sort}: nothing left out");
        let key = |span: &Value| match sort {
            "start" => span["start_ns"].as_i64().unwrap(),
            "duration" => -span["duration_ns"].as_i64().unwrap(),
            _ => -span["self_ns"].as_i64().unwrap_or(0),
        };
        assert!(seen.is_sorted_by_key(key), "{sort}");
    }
}

#[test]
fn every_reference_that_is_printed_is_accepted() {
    let traced = TracedProgram::trace_with_registers(&Program::new("callbacks.c"));
    let mut references: HashSet<String> = HashSet::new();
    for (command, options) in
        [("report", &[][..]), ("spans", &["--limit", "0"]), ("top", &[]), ("threads", &[]), ("tree", &[])]
    {
        collect(&traced.json(command, options), &mut references);
    }
    let kinds: HashSet<&str> = references.iter().filter_map(|it| it.split(':').next()).collect();
    assert_eq!(kinds, HashSet::from(["frame", "callback", "event", "thread", "function"]));
    let mut by_kind: Vec<&String> = references.iter().collect();
    by_kind.sort();
    for reference in by_kind.iter().step_by(by_kind.len() / 60 + 1) {
        let shown = traced.json("show", &[reference]);
        assert!(shown.is_object(), "{reference}");
    }
    let outcomes = traced.json("report", &[])["anomalies"].clone();
    let filter =
        outcomes.as_array().unwrap().iter().find_map(|it| it["reference"].as_str().filter(|it| it.starts_with("ada ")));
    let words: Vec<&str> = filter.expect("something was open at the end").split_whitespace().collect();
    assert!(traced.text(words[1], &words[2..]).lines().count() > 1);
}

/// All strings in a value that look like references.
fn collect(value: &Value, into: &mut HashSet<String>) {
    match value {
        Value::String(text) => {
            let is_one =
                ["frame:", "callback:", "event:", "thread:", "function:"].iter().any(|it| text.starts_with(it));
            if is_one && !text.contains(' ') {
                into.insert(text.clone());
            }
        }
        Value::Array(items) => items.iter().for_each(|item| collect(item, into)),
        Value::Object(fields) => fields.values().for_each(|item| collect(item, into)),
        _ => (),
    }
}

#[test]
fn an_event_is_shown_with_registers_span_and_neighbours() {
    let traced = TracedProgram::trace_with_registers(&Program::new("callback.c").flags(&["-lm"]));
    let span = &traced.spans(&["--type", "frame", "--function", "make"])[0];
    let [opening, closing] = [0, 1].map(|at| span["evidence"][at].as_str().unwrap().to_owned());
    let event = traced.json("show", &[&opening]);
    assert_eq!((&event["kind"], &event["span"]), (&"call".into(), &span["span_id"]));
    // A struct is returned through a pointer in the first register; the arguments are in the others.
    let registers = ["rsi", "rdx", "rcx", "r8", "r9"].map(|name| event["detail"][name].as_str().unwrap());
    assert_eq!(registers, ["0x1", "0x2", "0x3", "0x4", "0x5"]);
    assert!(event["detail"]["stack"].as_str().is_some_and(|stack| stack.len() >= 16));
    let event = traced.json("show", &[&closing]);
    assert_eq!((&event["kind"], &event["span"]), (&"return".into(), &span["span_id"]));
    assert_eq!(event["before"].as_array().map(Vec::len), Some(5));
}

#[test]
fn filters_choose_spans() {
    let traced = TracedProgram::trace(&Program::new("recursion.c"));
    assert_eq!(traced.spans(&["--function", "chain"]).len(), 201);
    assert_eq!(traced.spans(&["--function", "ch?in", "--module", "recursion"]).len(), 201);
    assert_eq!(traced.spans(&["--function", "chain", "--module", "libc*"]).len(), 0);
    let main = &traced.spans(&["--function", "main"])[0];
    let (start, duration) = (main["start_ns"].as_u64().unwrap(), main["duration_ns"].as_u64().unwrap());
    let least = format!("{duration}ns");
    let long = traced.spans(&["--min-duration", &least]);
    assert!(long.iter().all(|span| span["duration_ns"].as_u64() >= Some(duration)));
    assert!(ids(&long).contains(&main["span_id"].as_str().unwrap().to_owned()));
    let (since, until) = (format!("@{start}"), format!("@{}", start + 1));
    assert_eq!(ids(&traced.spans(&["--since", &since, "--until", &until])), [main["span_id"].as_str().unwrap()]);
    let thread = main["thread_id"].to_string();
    assert_eq!(traced.spans(&["--thread", &thread]).len(), traced.spans(&[]).len());
}

#[test]
fn csv_has_a_line_a_row() {
    let traced = TracedProgram::trace(&Program::new("recursion.c"));
    let csv = traced.text("spans", &["--function", "chain", "--limit", "0", "--format", "csv"]);
    let mut lines = csv.lines();
    assert!(lines.next().is_some_and(|titles| titles.starts_with("span_id,pid,type,runtime,function_id,name,module,")));
    assert_eq!(lines.count(), 201);
    for command in ["report", "top", "threads", "tree"] {
        let csv = traced.text(command, &["--format", "csv"]);
        assert!(csv.lines().count() > 1, "{command}");
    }
}

#[test]
fn top_counts_calls_and_orders_percentiles() {
    let traced = TracedProgram::trace(&Program::new("recursion.c"));
    let top = traced.json("top", &["--function", "fib"]);
    let fib = &top["functions"][0];
    assert_eq!(fib["calls"], 1973);
    let quantiles = ["min_ns", "p50_ns", "p95_ns", "p99_ns", "max_ns"].map(|name| fib[name].as_u64().unwrap());
    assert!(quantiles.is_sorted(), "{quantiles:?}");
    assert!(fib["self_ns"].as_u64() <= fib["total_ns"].as_u64());
}

#[test]
fn mistakes_are_one_line_that_says_what_to_do() {
    let traced = TracedProgram::trace(&Program::new("recursion.c"));
    for (command, options, code, words) in [
        ("show", &["here"][..], 2, "a reference is frame:THREAD:N"),
        ("show", &["frame:1:1"], 3, "thread 1 is not in the session; `ada threads` lists them"),
        ("spans", &["--status", "gone"], 2, "it is one of completed, exited"),
        ("spans", &["--thread", "1"], 3, "thread 1 is not in the session"),
        ("spans", &["--cursor", "x"], 2, "a cursor is what the list before has printed"),
        ("spans", &["--sort", "duration", "--limit", "0"], 3, "--sort duration needs a --limit"),
        ("spans", &["--min-duration", "long"], 2, "write a duration like"),
        ("tree", &["--function", "nobody"], 3, "no call of nobody"),
    ] {
        let output = traced.ada(command, options);
        let stderr = run::text(&output.stderr);
        assert_eq!(output.status.code(), Some(code), "{command} {options:?}: {stderr}");
        assert!(stderr.contains(words) && stderr.lines().count() == 1, "{command} {options:?}: {stderr}");
    }
    let nowhere = run::ada(["report", "/nowhere"]);
    assert_eq!(nowhere.status.code(), Some(3));
    let empty = tempfile::tempdir().unwrap();
    let output = run::command().arg("report").current_dir(empty.path()).output().unwrap();
    assert_eq!(
        run::text(&output.stderr),
        "ada: no session in ada_traces/; name one, or record one with `ada trace -- COMMAND`\n"
    );
    assert_eq!(output.status.code(), Some(3));
}

#[test]
fn the_newest_session_is_the_default() {
    let traced = TracedProgram::trace(&Program::new("recursion.c"));
    let home = tempfile::tempdir().unwrap();
    std::os::unix::fs::symlink(traced.path(), home.path().join("ada_traces")).unwrap();
    let output = run::command().args(["top", "--function", "fib"]).current_dir(home.path()).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", run::text(&output.stderr));
    assert!(run::text(&output.stdout).contains("fib"));
}

#[test]
fn processes_that_fork_have_references_with_their_process() {
    let traced = TracedProgram::trace(&Program::new("fork.c"));
    let spans = traced.spans(&["--function", "in_child"]);
    assert_eq!(spans.len(), 5);
    for span in &spans {
        let reference = span["span_id"].as_str().unwrap();
        assert!(reference.starts_with(&format!("{}/frame:", span["pid"])), "{reference}");
        assert_eq!(traced.json("show", &[reference])["name"], "in_child");
    }
    let report = traced.json("report", &[]);
    assert_eq!(report["run"]["process"].as_array().map(Vec::len), Some(6));
}
