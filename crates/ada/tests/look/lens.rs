//! Whose functions are shown, and who is charged for the others.

use serde_json::Value;

use crate::program::Program;
use crate::run;
use crate::traced_program::TracedProgram;

fn number(value: &Value) -> u64 {
    value.as_u64().unwrap_or_else(|| panic!("{value} is no number"))
}

#[test]
fn time_in_libraries_is_charged_to_who_called_them_and_none_is_lost() {
    let traced = TracedProgram::trace(&Program::new("bug_leak.c"));
    let all = traced.json("top", &["--limit", "0"]);
    let sum = |functions: &Value, field: &str| -> u64 {
        functions["functions"].as_array().unwrap().iter().map(|it| number(&it[field])).sum()
    };
    assert_eq!(sum(&all, "outside_ns"), 0);
    let own = traced.json("top", &["--own", "--limit", "0"]);
    let names: Vec<&str> = own["functions"].as_array().unwrap().iter().map(|it| it["name"].as_str().unwrap()).collect();
    let mut sorted = names.clone();
    sorted.sort_unstable();
    assert_eq!(sorted, ["answer_request", "finish_request", "main", "parse_request", "remember_request"]);
    // What is charged, what is outside of all, and what is shown are the whole.
    let report = traced.json("report", &["--own"]);
    let outside: u64 = report["functions"]["outside"].as_array().unwrap().iter().map(|it| number(&it["ns"])).sum();
    let whole = sum(&own, "self_ns") + sum(&own, "outside_ns") + outside;
    assert_eq!((whole, number(&report["functions"]["all_ns"])), (sum(&all, "self_ns"), sum(&all, "self_ns")));
    // Who is charged, and for what.
    let of = |name: &str| own["functions"].as_array().unwrap().iter().find(|it| it["name"] == name).unwrap();
    let calls = |name: &str, callee: &str| -> u64 {
        let modules = of(name)["outside"].as_array().unwrap();
        let functions = modules.iter().flat_map(|it| it["functions"].as_array().unwrap());
        functions.filter(|it| it["name"] == callee).map(|it| number(&it["calls"])).sum()
    };
    assert_eq!((calls("remember_request", "malloc"), calls("remember_request", "free")), (1000, 0));
    assert_eq!((calls("answer_request", "malloc"), calls("answer_request", "free")), (2000, 2000));
    assert_eq!(calls("finish_request", "free"), 2000);
}

#[test]
fn the_tree_begins_at_main_also_of_a_stripped_program() {
    for program in [Program::new("bug_leak.c"), Program::new("bug_leak.c").stripped()] {
        let traced = TracedProgram::trace(&program);
        let text = traced.text("tree", &[]);
        let first = text.lines().nth(1).unwrap();
        assert!(first.ends_with(" main"), "{text}");
        assert!(text.lines().any(|line| line.contains("… in libc (") && line.contains("malloc")), "{text}");
        // Times of the lines below a line, and its own, are its total.
        let nodes = traced.json("tree", &["--own", "--limit", "0"])["nodes"].clone();
        let nodes = nodes.as_array().unwrap();
        let main = nodes.iter().position(|it| it["name"] == "main").unwrap();
        assert_eq!(main, 0);
        let below: u64 = nodes[1..]
            .iter()
            .take_while(|it| it["level"] != 0)
            .filter(|it| it["level"] == 1)
            .map(|it| number(&it["total_ns"]))
            .sum();
        let outside: u64 = nodes[0]["outside"].as_array().unwrap().iter().map(|it| number(&it["ns"])).sum();
        assert_eq!(below + outside + number(&nodes[0]["self_ns"]), number(&nodes[0]["total_ns"]));
    }
}

#[test]
fn people_see_their_own_functions_and_programs_get_all() {
    let traced = TracedProgram::trace(&Program::new("bug_leak.c"));
    for command in ["top", "tree", "spans"] {
        let own = traced.text(command, &["--limit", "0"]);
        let all = traced.text(command, &["--limit", "0", "--all"]);
        let lines = |text: &str| text.lines().filter(|line| !line.contains('…') && line.contains("free")).count();
        assert_eq!(lines(&own), 0, "{command}: {own}");
        assert!(lines(&all) > 0, "{command}");
        assert!(traced.text(command, &["--limit", "0", "--format", "json"]).contains("\"free\""), "{command}");
        // Who names a function or a module wants it, whoever's it is.
        assert!(traced.text(command, &["--function", "free"]).contains("free"), "{command}");
        assert!(traced.text(command, &["--module", "libc*", "--limit", "0"]).contains("malloc"), "{command}");
        let hidden = traced.text(command, &["--hide", "*_request", "--limit", "0"]);
        // What is hidden may be named in a note on what it was folded into.
        let has_line = |name: &str| hidden.lines().any(|line| !line.contains('…') && line.contains(name));
        assert!(has_line("main") && !has_line("parse_request"), "{command}: {hidden}");
    }
}

#[test]
fn names_that_nothing_has_get_the_same_words_and_code_everywhere() {
    let traced = TracedProgram::trace(&Program::new("bug_leak.c"));
    for command in ["top", "tree", "spans"] {
        let output = traced.ada(command, &["--function", "parse_requst"]);
        let words = run::text(&output.stderr);
        assert_eq!(output.status.code(), Some(3), "{command}: {words}");
        assert!(words.contains("no call of parse_requst is in the session; did you mean parse_request"), "{words}");
        let output = traced.ada(command, &["--pid", "1"]);
        assert!(run::text(&output.stderr).contains("process 1 is not in the session"), "{command}");
    }
    for command in ["tree", "spans"] {
        let output = traced.ada(command, &["--thread", "mian"]);
        assert!(run::text(&output.stderr).contains("did you mean main?"), "{command}");
        assert!(traced.text(command, &["--thread", "main"]).contains("main"));
    }
}

/// The shell runs a child, and then another program in its own place.
#[test]
fn functions_have_the_name_of_the_program_that_they_ran_in() {
    let program = Program::new("bug_leak.c").build();
    let script = format!("{0}; exec {0}", program.display());
    let traced = TracedProgram::trace_running_file("/bin/sh".as_ref(), &["-c", &script]);
    let shell = std::fs::canonicalize("/bin/sh").unwrap().file_name().unwrap().to_str().unwrap().to_owned();
    let leak = program.file_name().unwrap().to_str().unwrap();
    let all = traced.json("top", &["--all", "--limit", "0"]);
    let of = |module: &str| {
        let functions = all["functions"].as_array().unwrap().iter().filter(|it| it["module"] == module);
        functions.map(|it| it["program"].as_str().unwrap().to_owned()).collect::<std::collections::BTreeSet<_>>()
    };
    assert_eq!(of(&shell).into_iter().collect::<Vec<_>>(), [shell.as_str()]);
    assert_eq!(of(leak).into_iter().collect::<Vec<_>>(), [leak]);
    let report = traced.text("report", &["--wide", "--all"]);
    assert!(!report.contains(&format!("{shell}+0x")) || report.contains(&format!(" [{shell}]")), "{report}");
}

/// A shell that a shell runs has other numbers for the same functions. Which of the two has the longest call of one is chance; of hundreds,
/// each has some.
#[test]
fn functions_of_several_processes_have_names_whichever_has_the_longest_call() {
    let lines = "for i in 1 2 3 4 5 6 7 8 9; do x=$x$i; done";
    let script = format!("/bin/sh -c '{lines}; :'; {lines}");
    let traced = TracedProgram::trace_running_file("/bin/sh".as_ref(), &["-c", &script]);
    let all = traced.json("top", &["--all", "--limit", "0"])["functions"].clone();
    let is_number = |it: &&Value| it["name"].as_str().unwrap().chars().all(|it| it == ':' || it.is_ascii_digit());
    let numbers: Vec<&Value> = all.as_array().unwrap().iter().filter(is_number).collect();
    assert!(numbers.is_empty(), "{numbers:#?}");
}

#[test]
fn several_processes_are_merged_by_program_with_the_busy_one_first() {
    let program = Program::new("bug_leak.c").build();
    let script = format!("{0}; {0}", program.display());
    let traced = TracedProgram::trace_running_file("/bin/sh".as_ref(), &["-c", &script]);
    let own = traced.json("top", &["--own", "--limit", "0"]);
    let remember: Vec<&Value> =
        own["functions"].as_array().unwrap().iter().filter(|it| it["name"] == "remember_request").collect();
    assert_eq!(remember.len(), 1);
    assert_eq!((number(&remember[0]["calls"]), remember[0]["pids"].as_array().unwrap().len()), (2000, 2));
    let pid = remember[0]["pids"][0].to_string();
    let one = traced.json("top", &["--own", "--pid", &pid, "--function", "remember_request"]);
    assert_eq!(number(&one["functions"][0]["calls"]), 1000);
    // The tree of the program, and then that of the shell around it.
    let tree = traced.json("tree", &["--own", "--limit", "0"])["nodes"].clone();
    let remember: Vec<&Value> = tree.as_array().unwrap().iter().filter(|it| it["name"] == "remember_request").collect();
    assert_eq!((remember.len(), number(&remember[0]["count"])), (1, 2000));
    let report = traced.text("report", &["--wide"]);
    let first = report.lines().find(|line| line.starts_with("process")).unwrap();
    assert!(first.contains("bug_leak"), "{report}");
}
