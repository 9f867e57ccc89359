//! Two runs side by side.

use serde_json::Value;

use crate::program::Program;
use crate::run;
use crate::traced_program::TracedProgram;

fn text_of(a: &TracedProgram, b: &TracedProgram, options: &[&str]) -> String {
    let mut ada = run::command();
    ada.arg("diff").arg(a.path()).arg(b.path()).args(options);
    let output = run::bounded(ada, b"");
    assert_eq!(output.status.code(), Some(0), "{}", run::text(&output.stderr));
    run::text(&output.stdout).to_owned()
}

fn json_of(a: &TracedProgram, b: &TracedProgram) -> Value {
    serde_json::from_str(&text_of(a, b, &["--format", "json"])).unwrap()
}

fn pair(source: &'static str) -> (TracedProgram, TracedProgram) {
    let good = Program::new(source).flags(&["-pthread"]);
    let bad = good.clone().flags(&["-DBAD"]);
    (TracedProgram::trace(&good), TracedProgram::trace(&bad))
}

/// The first line of each names the cause.
#[test]
fn the_first_line_names_the_cause_of_a_regression() {
    let causes = [
        ("regress_calls.c", "find_row calls normalise more often (2 000 → "),
        ("regress_slower.c", "checksum is slower: "),
        ("regress_new.c", "log_event is new, called by handle_event 2 000 times"),
        ("regress_cache.c", "area_of calls compute_area more often (8 → 1 000 calls); it no longer calls is_known"),
        ("regress_flush.c", "write_record calls nanosleep more often (0 → 400 calls): "),
        // Neither who asks for each, nor what is called more often.
        ("regress_position.c", "at_position calls next_of more often (1 198 → 359 400 calls)"),
        // Everything is called eight times as often, and this one takes longer as well.
        ("regress_input.c", "insert is slower: "),
        // Who waits does nothing else than before.
        ("regress_lock.c", "report makes count wait longer for its lock ("),
    ];
    for (source, words) in causes {
        let (good, bad) = pair(source);
        let first = text_of(&good, &bad, &["--wide"]).lines().next().unwrap().to_owned();
        assert!(first.starts_with(words), "{source}: {first}");
    }
}

/// Changes, trees, order and folded stacks of one pair whose truth is its source.
#[test]
fn what_changed_is_listed_with_counts_and_where_the_order_parts() {
    let (good, bad) = pair("regress_cache.c");
    let json = json_of(&good, &bad);
    let functions = json["functions"].as_array().unwrap();
    let of = |name: &str| functions.iter().find(|it| it["name"] == name).unwrap();
    assert_eq!((&of("is_known")["change"], &of("compute_area")["change"]), (&"gone".into(), &"more calls".into()));
    assert_eq!((&of("compute_area")["calls"]["a"], &of("compute_area")["calls"]["b"]), (&8.0.into(), &1000.0.into()));
    assert_eq!(of("area_of")["calls"]["a"], of("area_of")["calls"]["b"]);
    assert!(of("main")["p"].is_null(), "one run of each has no p");
    let paths = json["paths"].as_array().unwrap();
    let is_path = |it: &&Value| it["path"] == serde_json::json!(["main", "area_of", "is_known"]);
    let path = paths.iter().find(is_path).expect("the path is gone");
    assert_eq!((&path["calls"]["a"], &path["calls"]["b"]), (&1000.0.into(), &0.0.into()));
    // main, area_of, and then one asks and the other computes.
    let parting = &json["parting"][0];
    assert_eq!((&parting["thread"], &parting["common_calls"]), (&"main".into(), &2.into()));
    assert_eq!(
        (&parting["last"]["name"], &parting["around"]),
        (&"area_of".into(), &serde_json::json!(["main", "area_of"]))
    );
    assert_eq!((&parting["a"]["name"], &parting["b"]["name"]), (&"is_known".into(), &"compute_area".into()));
    let folded = text_of(&good, &bad, &["--format", "folded"]);
    assert!(folded.lines().any(|line| line.starts_with("main;area_of;compute_area ")), "{folded}");
    assert!(
        folded.lines().all(|line| line.rsplit(' ').take(2).all(|number| number.parse::<u64>().is_ok())),
        "{folded}"
    );
    let text = text_of(&good, &bad, &[]);
    assert!(text.contains("- main > area_of > is_known   1 000 → 0 calls"), "{text}");
    assert!(text.lines().all(|line| line.chars().count() <= 80 || line.contains("/")), "{text}");
}

#[test]
fn the_same_session_has_no_difference() {
    let traced = TracedProgram::trace(&Program::new("regress_cache.c"));
    let text = text_of(&traced, &traced, &[]);
    assert!(text.starts_with("No difference"), "{text}");
    assert!(text.contains("Nowhere: 1 thread makes the same calls"), "{text}");
}

#[test]
fn several_runs_have_a_p_and_values_are_shown_where_recorded() {
    let program = Program::new("regress_cache.c");
    let bad = program.clone().flags(&["-DBAD"]);
    let runs = |program: &Program| {
        let folder = tempfile::tempdir().unwrap();
        for _ in 0..3 {
            let mut ada = run::command();
            ada.args(["trace", "--quiet", "--detail", "all", "--output"])
                .arg(folder.path())
                .arg("--")
                .arg(program.build());
            run::bounded(ada, b"");
        }
        TracedProgram::from_folder(folder, "regress_cache")
    };
    let (a, b) = (runs(&program), runs(&bad));
    let json = json_of(&a, &b);
    assert_eq!(json["runs"], serde_json::json!({ "a": 3, "b": 3 }));
    let compute = json["functions"].as_array().unwrap().iter().find(|it| it["name"] == "compute_area").unwrap();
    assert_eq!(compute["calls_p"].as_f64(), Some(0.0), "its calls never vary: {compute}");
    assert!(compute["p"].as_f64().is_some_and(|p| (0.0..=1.0).contains(&p)), "{compute}");
    let main = json["functions"].as_array().unwrap().iter().find(|it| it["name"] == "main").unwrap();
    assert_eq!(main["calls_p"].as_f64(), Some(1.0));
    // area_of(0) is the first call.
    assert_eq!(json["parting"][0]["last"]["values"]["rdi"], "0x0");
    assert!(text_of(&a, &b, &[]).contains("(p "), "a p is in the first line");
}

/// A side that ended in another way, and one of which not all was recorded, are told before anything else.
#[test]
fn how_the_sides_ended_and_what_they_lack_is_told() {
    let program = Program::new("killed_idle.c").flags(&["-pthread"]);
    let (killed, exited) = (TracedProgram::trace(&program), TracedProgram::trace_running(&program, &[], &["child"]));
    let text = text_of(&exited, &killed, &["--wide"]);
    assert_eq!(
        text.lines().next(),
        Some("The sides ended differently. A: exit code 0. B: killed by SIGALRM."),
        "{text}"
    );
    let busy = Program::new("busy_threads.c").flags(&["-pthread"]);
    let whole = TracedProgram::trace(&busy);
    let governed = TracedProgram::trace_with(&busy, &["--max-overhead", "1%"]);
    let text = text_of(&whole, &governed, &["--wide"]);
    let lacks = |side: &str| text.contains(&format!("In {side} ")) && text.contains("not recorded all the time");
    assert!(lacks("B") && !text.contains("In A "), "{text}");
    let json = json_of(&whole, &governed);
    assert!(json["sides"]["b"]["functions_not_always_recorded"].as_u64() > Some(0), "{}", json["sides"]);
}
