//! A trace as a test: rules whose truth is the program's source.

use std::path::Path;
use std::process::Output;

use serde_json::Value;

use crate::program::Program;
use crate::run;
use crate::traced_program::TracedProgram;

fn check(traced: &TracedProgram, folder: &Path, rules: &str, options: &[&str]) -> Output {
    let file = folder.join("trace.rules");
    std::fs::write(&file, rules).unwrap();
    let mut ada = run::command();
    ada.arg("check").arg(traced.path()).arg("--rules").arg(&file).args(options);
    run::bounded(ada, b"")
}

#[test]
fn rules_hold_are_broken_or_cannot_be_told() {
    let leak = TracedProgram::trace(&Program::new("bug_leak.c"));
    let folder = tempfile::tempdir().unwrap();
    let is = |rule: &str, code: i32| {
        let output = check(&leak, folder.path(), rule, &[]);
        let words = format!("{}{}", run::text(&output.stdout), run::text(&output.stderr));
        assert_eq!(output.status.code(), Some(code), "{rule}: {words}");
    };
    for kept in [
        "called remember_request",
        "not called abort",
        "calls remember_request == 1000",
        "calls parse_request <= 2000",
        "order parse_request before finish_request before remember_request",
        "p99 parse_request < 1s",
        "max main > 1ns",
        "no finding hang",
        "no unjoined thread",
        "no wait over 10s",
    ] {
        is(kept, 0);
    }
    for broken in [
        "not called remember_request",
        "called abort",
        "calls remember_request == 999",
        "calls parse_request < 2000",
        "order remember_request before parse_request",
        "p50 main < 1ns",
        "no leak",
        "no finding",
    ] {
        is(broken, 1);
    }
    // A name that nothing has proves nothing, and is most likely a mistake; one broken rule decides.
    is("not called remember_requst", 3);
    is("p99 abort < 1s", 3);
    is("not called remember_requst\nno leak", 1);
    is("no wai over 3s", 2);
    let output = check(&leak, folder.path(), "called main\nno wai over 3s", &[]);
    assert!(run::text(&output.stderr).contains("line 2: no wai over 3s: after `no` comes"), "{output:?}");
}

#[test]
fn threads_that_nobody_joins_and_waits_are_seen() {
    let folder = tempfile::tempdir().unwrap();
    let deadlock = TracedProgram::trace(&Program::new("bug_deadlock.c").flags(&["-pthread"]));
    assert_eq!(check(&deadlock, folder.path(), "no wait over 10s", &[]).status.code(), Some(1));
    assert_eq!(check(&deadlock, folder.path(), "no finding hang", &[]).status.code(), Some(1));
    let flush = TracedProgram::trace(&Program::new("regress_flush.c").flags(&["-pthread", "-DBAD"]));
    assert_eq!(check(&flush, folder.path(), "no wait over 99us", &[]).status.code(), Some(1), "each pause is 100 µs");
}

#[test]
fn results_are_written_for_ci() {
    let leak = TracedProgram::trace(&Program::new("bug_leak.c").flags(&["-g"]));
    let folder = tempfile::tempdir().unwrap();
    let rules = "called main # fine\n\nnot called remember_request\nnot called remember_requst\n";
    let (junit, sarif) = (folder.path().join("junit.xml"), folder.path().join("result.sarif"));
    let options = ["--junit", junit.to_str().unwrap(), "--sarif", sarif.to_str().unwrap(), "--format", "json"];
    let output = check(&leak, folder.path(), rules, &options);
    assert_eq!(output.status.code(), Some(1));
    let json: Value = serde_json::from_slice(&output.stdout).unwrap();
    let answers: Vec<(&Value, &Value)> =
        json["rules"].as_array().unwrap().iter().map(|it| (&it["line"], &it["answer"])).collect();
    assert_eq!(answers, [(&1.into(), &"pass".into()), (&3.into(), &"fail".into()), (&4.into(), &"unknown".into())]);
    let evidence = json["rules"][1]["evidence"][0].as_str().unwrap();
    assert_eq!(leak.json("show", &[evidence])["name"], "remember_request");
    let xml = std::fs::read_to_string(&junit).unwrap();
    assert!(xml.contains("tests=\"3\" failures=\"1\" errors=\"1\""), "{xml}");
    assert!(xml.contains("<failure type=\"broken\" message=\"it was called 1000 times\">"), "{xml}");
    // Python's parser is another program's word for it that this is XML.
    let script = "import sys, xml.dom.minidom as m; print(len(m.parse(sys.argv[1]).getElementsByTagName('testcase')))";
    let parsed = std::process::Command::new("python3").args(["-c", script]).arg(&junit).output().unwrap();
    assert_eq!(run::text(&parsed.stdout).trim(), "3", "{}", run::text(&parsed.stderr));
    let log: Value = serde_json::from_str(&std::fs::read_to_string(&sarif).unwrap()).unwrap();
    assert_eq!(log["version"], "2.1.0");
    let results = log["runs"][0]["results"].as_array().unwrap();
    let kinds: Vec<(&Value, &Value)> = results.iter().map(|it| (&it["kind"], &it["level"])).collect();
    assert_eq!(
        kinds,
        [(&"pass".into(), &"none".into()), (&"fail".into(), &"error".into()), (&"open".into(), &"none".into())]
    );
    let place = &results[1]["locations"][0]["physicalLocation"];
    assert!(place["artifactLocation"]["uri"].as_str().unwrap().ends_with("bug_leak.c"), "{place}");
    assert_eq!(log["runs"][0]["tool"]["driver"]["rules"][1]["id"], results[1]["ruleId"]);
}
