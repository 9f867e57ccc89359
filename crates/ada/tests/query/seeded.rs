//! Programs with a known bug: findings name its function among the first three.

use serde_json::Value;

use crate::program::Program;
use crate::run;
use crate::traced_program::TracedProgram;

fn findings(traced: &TracedProgram, symptom: Option<&str>) -> Vec<Value> {
    let mut words = vec!["ask", "findings", "--format", "json", traced.path().to_str().unwrap()];
    if let Some(symptom) = symptom {
        words.extend(["--symptom", symptom]);
    }
    let output = run::ada(words);
    assert!(output.status.success(), "{}", run::text(&output.stderr));
    let answer: Value = serde_json::from_slice(&output.stdout).unwrap();
    answer["findings"].as_array().unwrap().clone()
}

/// The first three findings name one of these functions, with evidence that can be looked at, which this gives.
fn assert_named(traced: &TracedProgram, symptom: Option<&str>, kind: &str, functions: &[&str]) -> String {
    let all = findings(traced, symptom);
    let named = all
        .iter()
        .take(3)
        .find(|it| it["kind"] == kind && it["function"].as_str().is_some_and(|function| functions.contains(&function)));
    let finding = named.unwrap_or_else(|| panic!("{kind} in {functions:?}: {all:#?}"));
    let evidence = finding["evidence"][0].as_str().unwrap_or_else(|| panic!("evidence: {finding:#}"));
    traced.json("show", &[evidence]);
    evidence.to_owned()
}

#[test]
fn a_deadlock_is_named_by_who_waits() {
    let traced = TracedProgram::trace(&Program::new("bug_deadlock.c").flags(&["-pthread"]));
    for symptom in [None, Some("the program hangs")] {
        assert_named(&traced, symptom, "hang", &["transfer_money", "write_journal"]);
    }
}

/// The best that there is does not pass for what was asked for.
#[test]
fn a_symptom_that_nothing_fits_is_told_before_anything_else() {
    let traced = TracedProgram::trace(&Program::new("bug_leak.c"));
    let ask = |symptom: &str| {
        let output = run::ada(["ask", "findings", traced.path().to_str().unwrap(), "--symptom", symptom]);
        run::text(&output.stdout).lines().next().unwrap_or_default().to_owned()
    };
    for unfit in ["purple elephants", "segfault"] {
        let first = ask(unfit);
        assert!(
            first.starts_with(&format!("nothing that was found fits \"{unfit}\"; symptoms are hang, leak, ")),
            "{first}"
        );
    }
    assert!(ask("memory grows").starts_with(" 1. leak"), "{}", ask("memory grows"));
}

#[test]
fn a_leak_is_named_by_who_takes() {
    let traced = TracedProgram::trace(&Program::new("bug_leak.c"));
    for symptom in [None, Some("memory grows")] {
        assert_named(&traced, symptom, "leak", &["remember_request"]);
    }
}

/// What each call got and what was closed or freed says who kept what; nobody who gives back is blamed.
#[test]
fn descriptors_and_memory_that_are_kept_are_told_by_their_values() {
    let program = Program::new("bug_descriptors.c").flags(&["-O1"]);
    let said = std::process::Command::new(program.build()).output().unwrap().stdout;
    assert_eq!(String::from_utf8(said).unwrap().trim(), "left open 50, bytes kept 3015");
    let leaks = |options: &[&str]| -> Vec<Value> {
        let traced = TracedProgram::trace_with(&program, options);
        findings(&traced, None).into_iter().filter(|it| it["kind"] == "leak").collect()
    };
    let told = |all: &[Value], what: &str| -> Vec<(String, u64, u64)> {
        let of = all.iter().filter(|it| it["facts"]["what"] == what);
        let number = |it: &Value, name: &str| it["facts"][name].as_u64().unwrap();
        of.map(|it| (it["function"].as_str().unwrap().to_owned(), number(it, "kept"), number(it, "bytes"))).collect()
    };
    assert_eq!(told(&leaks(&[]), "descriptors"), [("read_setting".to_owned(), 50, 0)]);
    let all = leaks(&["--args", "malloc,calloc,realloc,free"]);
    assert_eq!(told(&all, "memory"), [("keep".to_owned(), 30, 3015)], "{all:#?}");
}

#[test]
fn a_slow_path_is_named_by_where_the_time_goes() {
    let traced = TracedProgram::trace(&Program::new("bug_slow_path.c"));
    assert_named(&traced, None, "slow_outlier", &["search_list"]);
    let slow = assert_named(&traced, Some("some requests are slow"), "slow_outlier", &["search_list"]);
    let why = traced.json("ask", &["why-slow", &slow]);
    let because = why["because"].as_array().unwrap();
    assert!(because.iter().any(|it| it.as_str().unwrap().contains("search_list")), "{because:?}");
}

#[test]
fn what_is_slow_once_and_costs_little_is_not_told() {
    let traced = TracedProgram::trace(&Program::new("slow_once.c"));
    assert_eq!(traced.spans(&["--type", "frame", "--function", "look_up"]).len(), 40);
    let all = findings(&traced, None);
    assert!(all.iter().all(|it| it["facts"]["outlier"] != "look_up"), "{all:#?}");
}

/// A call that takes long because of the calls of the same function inside it is no outlier; a leaf that takes long is.
#[test]
fn recursion_makes_no_slow_outliers() {
    let traced = TracedProgram::trace(&Program::new("recursive_walk.c"));
    let all = findings(&traced, None);
    let slow: Vec<_> = all.iter().filter(|it| it["kind"] == "slow_outlier").collect();
    let of = |name| slow.iter().filter(|it| it["facts"]["outlier"] == name).collect::<Vec<_>>();
    assert!(of("sort_range").is_empty(), "{slow:#?}");
    let walk = of("walk");
    assert_eq!((walk.len(), &walk[0]["facts"]["slow_calls"]), (1, &1.into()), "{slow:#?}");
}

/// Nor are calls that waited to be recorded, of which one finding tells for all processes.
#[test]
fn what_the_recording_held_up_was_not_slow() {
    let traced = TracedProgram::trace_with_registers(&Program::new("held_up.c"));
    let all = findings(&traced, None);
    let disturbed: Vec<_> = all.iter().filter(|it| it["kind"] == "disturbed").collect();
    assert_eq!(disturbed.len(), 1, "{all:#?}");
    assert!(disturbed[0]["title"].as_str().unwrap().contains("in 2 processes"), "{disturbed:#?}");
    // The host of this machine may stop any call for a while, but not one of every chunk's.
    let slow = all.iter().filter(|it| it["kind"] == "slow_outlier" && it["facts"]["outlier"] == "tick");
    assert!(slow.clone().all(|it| it["facts"]["slow_calls"].as_u64().unwrap() < 50), "{all:#?}");
}

#[test]
fn a_crash_is_named_with_what_led_to_it() {
    let traced = TracedProgram::trace(&Program::new("crash.c"));
    let all = findings(&traced, Some("it crashed"));
    assert_eq!(all[0]["kind"], "crash", "{all:#?}");
    assert!(all[0]["function"].is_string(), "{all:#?}");
}

#[test]
fn an_exception_that_nobody_caught_comes_first() {
    let traced = TracedProgram::trace(&Program::new("uncaught.cpp"));
    let all = findings(&traced, None);
    assert_eq!(all[0]["kind"], "uncaught_exception", "{all:#?}");
    assert!(all[0]["title"].as_str().unwrap().contains("SIGABRT"), "{all:#?}");
}

#[test]
fn whether_a_function_was_called_is_yes_no_or_unknown() {
    let traced = TracedProgram::trace(&Program::new("tree.c"));
    let ask = |function: &str| traced.json("ask", &["called", function]);
    let yes = ask("main");
    assert_eq!(yes["answer"], "yes");
    let first = yes["functions"][0]["first"]["span_id"].as_str().unwrap();
    assert_eq!(traced.json("show", &[first])["name"], "main");
    let no = ask("regcomp");
    assert_eq!(no["answer"], "no", "{no:#}");
    assert!(
        no["functions"][0]["hooked_from_ns"].as_u64().unwrap()
            < no["functions"][0]["hooked_until_ns"].as_u64().unwrap()
    );
    let unknown = ask("no_such_function_anywhere");
    assert_eq!(unknown["answer"], "unknown");
    assert!(unknown["because"].as_str().unwrap().contains("inlined"));
    let skipped = crate::asked::rows(
        &traced,
        "SELECT symbol FROM hooks WHERE verdict = 'skipped' AND symbol IS NOT NULL LIMIT 1",
    );
    let skipped = ask(skipped[0]["symbol"].as_str().expect("libc has a function that is not hooked"));
    assert_eq!(skipped["answer"], "unknown", "{skipped:#}");
}

/// What the program itself takes for wrong comes first, also where somebody caught it.
#[test]
fn panics_come_first_whether_they_were_caught_or_not() {
    let traced = TracedProgram::trace(&Program::new("panic.rs"));
    let all = findings(&traced, None);
    assert_eq!((&all[0]["kind"], &all[0]["facts"]["count"]), (&"panic".into(), &7.into()), "{all:#?}");
    assert!(all[0]["function"].as_str().is_some_and(|name| name.contains("descend")), "{:#}", all[0]);
    let first = traced.json("report", &[])["anomalies"][0].clone();
    assert_eq!((&first["kind"], &first["count"]), (&"panic".into(), &7.into()), "{first:#}");
}

/// What ran all the time did not wait, however long its calls for output took in all.
#[test]
fn output_letter_by_letter_is_no_wait() {
    let traced = TracedProgram::trace(&Program::new("bug_letters.c"));
    for symptom in [None, Some("slow")] {
        assert_named(&traced, symptom, "chatty_io", &["save"]);
    }
    let all = findings(&traced, None);
    assert!(!all.iter().any(|it| it["kind"] == "long_wait" && it["function"] == "save"), "{all:#?}");
    let facts = &all.iter().find(|it| it["kind"] == "chatty_io").unwrap()["facts"];
    let [slept, spent] = ["total_ns", "spent_ns"].map(|name| facts[name].as_u64().unwrap());
    assert!(facts["count"] == 100_000 && slept < spent / 2, "{facts}");
}
