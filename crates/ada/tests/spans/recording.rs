//! What the recording itself does to spans: calls it cannot catch, events it lost, functions it did not record, and the
//! time that it took.

use std::collections::HashSet;
use std::fs;
use std::path::PathBuf;

use serde_json::{Value, json};

use crate::program::Program;
use crate::run;
use crate::traced_program::{TracedProgram, all, outcome};

fn manifest_path(traced: &TracedProgram) -> PathBuf {
    traced.derived().with_file_name("manifest.json")
}

fn manifest(traced: &TracedProgram) -> Value {
    serde_json::from_slice(&fs::read(manifest_path(traced)).unwrap()).unwrap()
}

/// Makes the manifest say something else, as another run might have.
fn change_manifest(traced: &TracedProgram, change: impl FnOnce(&mut Value)) {
    let mut json = manifest(traced);
    change(&mut json);
    fs::write(manifest_path(traced), json.to_string()).unwrap();
}

fn number(value: &Value) -> u64 {
    value.as_u64().unwrap_or_else(|| panic!("a number, not {value}"))
}

fn function_id(traced: &TracedProgram, name: &str) -> u64 {
    let top = traced.json("top", &["--function", name]);
    let id = top["functions"][0]["function_id"].as_str().expect("it was called");
    let (module, symbol) = id.split_once(':').unwrap();
    module.parse::<u64>().unwrap() << 32 | symbol.parse::<u64>().unwrap()
}

#[test]
fn calls_by_generated_code_end_as_any_others_do() {
    let traced = TracedProgram::trace(&Program::new("generated_caller.c"));
    assert_eq!(traced.outcomes("work"), all("completed", 101));
    assert_eq!(traced.outcomes("leaf"), all("completed", 202));
    assert_eq!(traced.outcomes("around"), all("completed", 1));
    assert_eq!(traced.outcomes("main"), all("completed", 1));
    let report = traced.json("report", &[]);
    let kinds: Vec<&str> =
        report["anomalies"].as_array().unwrap().iter().filter_map(|it| it["kind"].as_str()).collect();
    assert!(!kinds.contains(&"beginning_without_end") && !kinds.contains(&"depth_jump"), "{kinds:?}");
}

#[test]
fn a_loss_is_the_reason_on_its_own_thread_at_its_own_time() {
    let options = ["--ring-memory", "4M", "--on-full", "drop"];
    let traced = TracedProgram::trace_with(&Program::new("busy_nest.c"), &options);
    traced.text("report", &[]);
    let manifest = manifest(&traced);
    let gaps: Vec<(u64, u64, u64)> = manifest["gaps"]
        .as_array()
        .expect("nothing writes as fast as three threads call")
        .iter()
        .filter_map(|gap| Some((number(&gap["thread"]), number(&gap["time_ns"]), gap["lost"].as_u64()?)))
        .collect();
    let dropped = || manifest["drops"].as_array().unwrap().iter().filter(|drop| drop["lane"] == "index");
    let unplaced: u64 = dropped().map(|drop| number(&drop["unplaced"])).sum();
    assert_eq!(unplaced, 0, "{:?}", manifest["drops"]);
    let (placed, counted): (u64, u64) =
        (gaps.iter().map(|(_, _, lost)| lost).sum(), dropped().map(|drop| number(&drop["count"])).sum());
    assert!(placed.abs_diff(counted) <= counted / 100, "{placed} have a place, {counted} were counted");
    let lost = traced.spans(&["--type", "frame", "--reason", "dropped"]);
    assert!(!lost.is_empty());
    for span in &lost {
        let (thread, start, end) = (number(&span["thread_id"]), number(&span["start_ns"]), number(&span["end_ns"]));
        // One whose beginning is missing is all in the moment of its end.
        let is_near = |time: u64| if end > start { start < time && time <= end } else { time <= end };
        assert!(gaps.iter().any(|&(of, time, _)| of == thread && is_near(time)), "{span}");
    }
    let without = traced.spans(&["--type", "frame", "--status", "unmatched", "--reason", "none"]);
    assert!(without.is_empty(), "{without:?}");
    assert_eq!(traced.outcomes("main"), all("completed", 1));
}

#[test]
fn what_a_ring_let_go_was_begun_before() {
    let options = ["--ring", "8M", "--store", "raw"];
    let traced = TracedProgram::trace_running(&Program::new("marks.c"), &options, &["700000", "0", "threads"]);
    // The last of the three threads to end filled the ring many times; the others may have been let go.
    let spans = traced.spans(&["--runtime", "pthread"]);
    assert!((1..=3).contains(&spans.len()), "{spans:?}");
    for span in &spans {
        assert_eq!((span["name"].as_str(), outcome(span).as_str()), (Some("body"), "unmatched attached_midway"));
        assert_eq!(span["attributes"]["end_by"], "return");
        assert_eq!(span["attributes"]["create_ns"], Value::Null, "that was let go");
    }
    // The newest events of the first thread can be the oldest to be written.
    assert!(traced.outcomes("main").keys().all(|outcome| outcome == "unmatched attached_midway"));
    let unexplained = traced.spans(&["--type", "frame", "--status", "unmatched", "--reason", "none"]);
    assert!(unexplained.is_empty(), "{unexplained:?}");
    let run = &traced.json("report", &[])["run"];
    assert!(number(&run["ring"]["let_go_events"]) > 0);
}

#[test]
fn a_damaged_block_is_reported() {
    let traced = TracedProgram::trace(&Program::new("tree.c"));
    let thread = fs::read_dir(traced.derived().with_file_name(""))
        .unwrap()
        .map(|entry| entry.unwrap().path().join("index.atp"))
        .find(|path| path.exists())
        .expect("sessions are packed");
    assert_eq!(traced.spans(&["--function", "main"]).len(), 1, "the tables are there before the damage");
    let mut bytes = fs::read(&thread).unwrap();
    let within_the_first_block = 120;
    bytes[within_the_first_block] ^= 1;
    fs::write(&thread, bytes).unwrap();
    // The first of these makes the tables anew, the others find them.
    for command in ["spans", "threads", "top", "tree", "report"] {
        let output = traced.ada(command, &["--format", "json"]);
        let (said, code) = (run::text(&output.stderr), output.status.code());
        assert_eq!(code, Some(1), "{command}: {said}");
        assert!(said.contains("a part of the events cannot be read; `ada atf verify` says where"), "{command}: {said}");
    }
    // Those that compare, ask or export, too.
    let path = traced.path().to_str().unwrap();
    let exported = traced.path().join("exported");
    let others = [
        &["query", path, "SELECT count(*) FROM spans"][..],
        &["ask", "findings", path],
        &["diff", path, path],
        &["export", path, "--to", "chrome", "--output", exported.to_str().unwrap()],
    ];
    for words in others {
        let output = run::ada(words.iter().copied());
        let (said, code) = (run::text(&output.stderr), output.status.code());
        assert!(code == Some(1) && said.contains("a part of the events cannot be read"), "{words:?}, {code:?}: {said}");
    }
    let report = traced.ada("report", &["--format", "json"]);
    let report: Value = serde_json::from_slice(&report.stdout).unwrap();
    let anomalies = report["anomalies"].as_array().unwrap();
    let unreadable = anomalies.iter().find(|it| it["kind"] == "unreadable_events").expect("it is traced of");
    assert_eq!(unreadable["count"], 1);
    assert!(run::text(&traced.ada("report", &[]).stdout).contains("1 part of the events cannot be read"));
}

/// A thread of which no event can be read has not lived since the machine was started.
#[test]
fn what_cannot_be_read_makes_no_life_longer() {
    let traced = TracedProgram::trace_running(&Program::new("threads.c").flags(&["-pthread"]), &[], &["3"]);
    let of_threads = || {
        let output = traced.ada("threads", &["--format", "json"]);
        let threads: Value = serde_json::from_slice(&output.stdout).unwrap();
        threads["threads"].as_array().unwrap().clone()
    };
    let before = of_threads();
    let main = traced.derived().with_file_name(format!("thread_{}", before[0]["thread_id"])).join("index.atp");
    let mut bytes = fs::read(&main).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 0xff;
    fs::write(&main, bytes).unwrap();
    let after = of_threads();
    assert_eq!(after.len(), before.len());
    let first = before.iter().map(|it| number(&it["start_ns"])).min().unwrap();
    for thread in &after {
        let (start, end) = (number(&thread["start_ns"]), number(&thread["end_ns"]));
        assert!(first <= start && start <= end, "{first}: {thread:#}");
    }
}

/// How many functions are hooked is one number, whoever says it.
#[test]
fn hooked_functions_are_counted_alike_everywhere() {
    let folder = tempfile::tempdir().unwrap();
    let mut trace = run::command();
    trace.args(["trace", "--output"]).arg(folder.path()).arg("--").arg(Program::new("exception.cpp").build());
    let said = run::bounded(trace, b"");
    let said = run::text(&said.stderr);
    let traced = TracedProgram::from_folder(folder, "exception");
    let coverage = traced.json("report", &[])["run"]["coverage"].clone();
    let (hooked, found) = (number(&coverage["hooked"]), number(&coverage["found"]));
    assert!(said.contains(&format!("; {hooked} of {found} functions hooked in ")), "{hooked} of {found}: {said}");
}

/// The line that faulted, and not the one on which its function begins.
#[test]
fn a_crash_has_the_line_that_faulted() {
    let traced = TracedProgram::trace_running(&Program::new("crash.c").flags(&["-g"]), &[], &["segv"]);
    let crash = traced.json("report", &[])["run"]["crash"].clone();
    assert_eq!((&crash["function"], &crash["line"]), (&"crash_now".into(), &23.into()), "{crash:#}");
    assert!(traced.text("report", &["--wide"]).contains("crash.c:23), after "));
}

#[test]
fn a_crash_says_where_when_and_by_which_signal() {
    let traced = TracedProgram::trace_running(&Program::new("crash.c"), &[], &["segv", "thread"]);
    let crash = &manifest(&traced)["crashes"][0];
    for name in ["crash_now", "middle", "body"] {
        let span = &traced.spans(&["--type", "frame", "--function", name])[0];
        assert_eq!((outcome(span).as_str(), &span["attributes"]["signal"]), ("unmatched crash", &11.into()), "{name}");
        assert_eq!(span["end_ns"], crash["time_ns"], "{name}");
    }
    let thread = &traced.spans(&["--runtime", "pthread"])[0];
    assert_eq!((outcome(thread).as_str(), &thread["attributes"]["end_by"]), ("unmatched crash", &"process_end".into()));
    let run = &traced.json("report", &[])["run"];
    assert_eq!((&run["crash"]["signal"], &run["crash"]["address"]), (&11.into(), &"0x1230".into()));
    assert!(traced.text("report", &[]).contains("crash      SIGSEGV at 0x1230 in crash_now, after "));
}

#[test]
fn spans_say_that_they_may_lack_calls_of_switched_functions() {
    let traced = TracedProgram::trace(&Program::new("recursion.c"));
    let main = traced.spans(&["--function", "main"])[0].clone();
    assert_eq!(main["attributes"].get("may_lack_calls_of"), None);
    let id = function_id(&traced, "fib");
    let from = number(&main["end_ns"]) - 1;
    change_manifest(&traced, |manifest| {
        manifest["switches"] = json!([{
            "function_id": id, "mode": "count", "from_ns": from, "why": "budget", "count": 7, "is_exact": true,
        }]);
    });
    assert_eq!(traced.spans(&["--function", "main"])[0]["attributes"]["may_lack_calls_of"], 1);
    let earlier = traced.spans(&["--function", "fib"]);
    assert!(earlier.iter().all(|span| span["attributes"].get("may_lack_calls_of").is_none()));
    let fib = &traced.json("top", &["--function", "fib"])["functions"][0];
    assert_eq!((&fib["calls"], &fib["unrecorded_calls"]), (&1973.into(), &7.into()));
    assert_eq!(traced.json("report", &[])["run"]["switched"]["unrecorded_calls"], 7);
}

/// What remains of a duration, by the formula of `docs/overhead.md`.
fn without_hooks(traced: &TracedProgram, span: &Value) -> (u64, u64) {
    let cost = &manifest(traced)["hook_cost_ns"];
    let price = |name: &str| cost[name].as_f64().unwrap();
    let position = |at: usize| -> u64 {
        let event = span["evidence"][at].as_str().unwrap();
        event.rsplit(':').next().unwrap().parse().unwrap()
    };
    let pairs = (position(1) - position(0) - 1) as f64 / 2.0;
    let hooks = price("inside") + pairs * price("pair");
    let error = price("inside_error") + pairs * price("pair_error");
    let left = |hooks: f64| (span["duration_ns"].as_f64().unwrap() - hooks).max(0.0);
    let [most, least] = [left((hooks - error) * price("at_least")), left((hooks + error) * price("at_most"))];
    (((most + least) / 2.0).round() as u64, ((most - least) / 2.0).ceil() as u64)
}

#[test]
fn corrected_times_are_without_hooks_and_waits() {
    let traced = TracedProgram::trace(&Program::new("recursion.c"));
    change_manifest(&traced, |manifest| {
        let cost = json!({
            "pair": 6.0, "pair_error": 1.0, "inside": 4.0, "inside_error": 0.5, "count": 1.0, "count_error": 0.1,
            "at_least": 0.5, "at_most": 1.5,
        });
        manifest["hook_cost_ns"] = cost;
    });
    let main = |traced: &TracedProgram| traced.spans(&["--corrected", "--function", "main"])[0].clone();
    let span = main(&traced);
    let (left, error) = without_hooks(&traced, &span);
    assert_eq!((number(&span["corrected_ns"]), number(&span["corrected_error_ns"])), (left, error));
    assert!(error > 1000, "some thousands of calls are inside");
    // A call that makes none has only its own hook inside.
    let fib = traced.spans(&["--corrected", "--function", "fib"]);
    let leaf = fib.iter().find(|span| without_hooks(&traced, span).1 <= 3).expect("fib(1) calls nobody");
    assert_eq!(number(&leaf["corrected_ns"]), without_hooks(&traced, leaf).0);
    let top = traced.json("top", &["--corrected", "--function", "main"])["functions"][0].clone();
    assert_eq!((number(&top["corrected_total_ns"]), number(&top["corrected_total_error_ns"])), (left, error));
    let tree = traced.json("tree", &["--corrected", "--function", "main", "--depth", "1"])["nodes"][0].clone();
    for name in ["total_ns", "self_ns", "corrected_total_ns", "corrected_self_ns", "corrected_self_error_ns"] {
        assert_eq!(tree[name], top[name], "{name}: the tree's root is the one call");
    }
    assert!(number(&top["corrected_self_ns"]) < number(&top["self_ns"]));
    let lensed = traced.json("top", &["--corrected", "--own", "--function", "main"])["functions"][0].clone();
    let outside = lensed["outside"].as_array().unwrap();
    let is_less = |module: &Value| number(&module["corrected_ns"]) < number(&module["ns"]);
    assert!(!outside.is_empty() && outside.iter().all(is_less), "{lensed}");
    for command in ["report", "top", "tree", "spans"] {
        assert!(traced.text(command, &["--corrected"]).contains("corrected"), "{command} marks them");
        let csv = traced.text(command, &["--corrected", "--format", "csv"]);
        assert!(command == "report" || csv.lines().next().unwrap().ends_with("_error_ns"), "{command}: {csv}");
    }
    let (thread, time) = (span["thread_id"].clone(), number(&span["end_ns"]) - 1);
    change_manifest(&traced, |manifest| {
        manifest["gaps"] = json!([{ "thread": thread, "time_ns": time, "waited_ns": left / 2 }]);
    });
    assert_eq!(number(&main(&traced)["corrected_ns"]), left - left / 2);
    let again = traced.json("top", &["--corrected", "--function", "main"])["functions"][0].clone();
    assert_eq!(number(&again["corrected_total_ns"]), left - left / 2);
    assert_eq!(number(&traced.json("report", &[])["run"]["waits"]["waited_ns"]), left / 2);
}

#[test]
fn without_a_calibration_nothing_can_be_corrected() {
    let traced = TracedProgram::trace(&Program::new("recursion.c"));
    change_manifest(&traced, |manifest| manifest["hook_cost_ns"] = Value::Null);
    for command in ["report", "top", "tree", "spans"] {
        let output = traced.ada(command, &["--corrected"]);
        let words = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(3), "{command}");
        assert!(words.contains("leave --corrected out") && words.lines().count() == 1, "{command}: {words}");
    }
}

#[test]
fn every_trace_is_calibrated() {
    let traced = TracedProgram::trace(&Program::new("recursion.c"));
    let fib = traced.json("top", &["--corrected", "--function", "fib"])["functions"][0].clone();
    assert!(number(&fib["corrected_self_ns"]) < number(&fib["self_ns"]), "{fib}");
}

#[test]
fn pairs_that_do_not_match_are_reported_once_and_only_where_all_calls_are_known() {
    let traced = TracedProgram::trace(&Program::new("unbalanced.c"));
    let imbalances = |traced: &TracedProgram| -> HashSet<String> {
        let report = traced.json("report", &[]);
        let anomalies = report["anomalies"].as_array().unwrap().clone();
        let of_kind = anomalies.iter().filter(|it| it["kind"] == "imbalance");
        of_kind.map(|it| format!("{} {} {}", it["name"].as_str().unwrap(), it["taken"], it["given"])).collect()
    };
    let found = imbalances(&traced);
    let files: Vec<&String> = found.iter().filter(|it| it.starts_with("fopen")).collect();
    assert_eq!(files, ["fopen without fclose 20 2"]);
    assert!(
        !found.iter().any(|it| it.starts_with("opendir") || it.contains("mutex") || it.contains("malloc")),
        "{found:?}"
    );
    // Calls that were let go may have been those that gave back.
    change_manifest(&traced, |manifest| manifest["ring"] = json!({ "limit_bytes": 1, "let_go_events": 5 }));
    assert_eq!(imbalances(&traced), HashSet::new());
}

#[test]
fn the_report_has_every_limit() {
    let traced = TracedProgram::trace(&Program::new("tree.c"));
    let limits = json!(["the first", { "second": 2 }]);
    change_manifest(&traced, |manifest| manifest["limits"] = limits.clone());
    assert_eq!(traced.json("report", &[])["run"]["limit"], limits);
    assert!(traced.text("report", &[]).lines().any(|line| line.starts_with("limit") && line.ends_with("the first")));
}

/// What is nested too deep for the recorder has no end, and the report says so.
#[test]
fn recursion_that_is_too_deep_to_follow_is_said_to_be() {
    let program = Program::new("deep_recursion.c").build();
    let traced = TracedProgram::trace_running_file(&program, &["1100000"]);
    let ends = traced.outcomes("deep");
    let without_end = ends.get("entry_only").copied().unwrap_or(0);
    assert!(without_end > 0, "there is room for all of it: {ends:?}");
    let report = traced.json("report", &[]);
    let oddities = report["anomalies"].as_array().unwrap();
    let too_deep = oddities.iter().find(|it| it["kind"] == "too_deep").unwrap_or_else(|| panic!("{oddities:#?}"));
    assert_eq!(number(&too_deep["count"]), without_end as u64);
    // How deep it is nobody knows, and nobody says.
    assert_eq!(report["run"]["threads"]["is_deepest_known"], false);
    let text = traced.ada("report", &["--wide"]);
    let text = run::text(&text.stdout);
    assert!(text.contains("the deepest stack has at least ") && text.contains("calls itself at least "), "{text}");
}

/// A library that is loaded three times at once, each copy in a world of its own.
#[test]
fn copies_of_a_library_each_keep_their_load_base() {
    let library = Program::new("plugin.c").flags(&["-shared", "-fPIC"]).build();
    let program = Program::new("dlmopen.c").build();
    let traced = TracedProgram::trace_running_file(&program, &[library.to_str().unwrap()]);
    let modules = manifest(&traced)["modules"].clone();
    let path = library.to_str().unwrap();
    let copies =
        modules.as_array().unwrap().iter().find(|it| it["path"] == path).unwrap_or_else(|| panic!("{modules:#}"));
    let mut bases = copies["other_load_bases"].as_array().cloned().unwrap_or_default();
    bases.push(copies["load_base"].clone());
    let distinct: HashSet<String> = bases.iter().map(Value::to_string).collect();
    assert_eq!((bases.len(), distinct.len()), (3, 3), "{copies:#}");
    assert_eq!(traced.spans(&["--type", "frame", "--function", "plugin_work"]).len(), 6);
}
