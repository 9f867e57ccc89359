//! Arguments and results of functions of Go are those that the program itself knows.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::asked::rows;
use crate::go_program::{build, compilers};
use crate::run;
use crate::traced_program::TracedProgram;
use crate::values::without_addresses;

/// Traces a program that writes what it calls, and gives its session and what it has written.
fn trace(go: &Path, flags: &[&str], options: &[&str]) -> (TracedProgram, Vec<String>) {
    let (folder, sessions) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let program = build(go, "known_values.go", flags, &folder);
    let log = folder.path().join("truth");
    let mut command = run::command();
    command.env("GOMAXPROCS", "2").args(["trace", "--quiet", "--output"]).arg(sessions.path()).args(options);
    command.arg("--").arg(&program).arg(&log);
    let output = run::bounded(command, b"");
    assert_eq!(output.status.code(), Some(0), "{}", run::text(&output.stderr));
    let truth = fs::read_to_string(&log).unwrap().lines().map(str::to_owned).collect();
    (TracedProgram::from_folder(sessions, "program"), truth)
}

/// The calls with values, in the order in which they began.
fn calls(traced: &TracedProgram, of: &str) -> Vec<String> {
    let asked = format!("SELECT call FROM spans WHERE call IS NOT NULL AND {of} ORDER BY start_ns");
    let call = |row: &Value| without_addresses(row["call"].as_str().expect("it has one"));
    rows(traced, &asked).iter().map(call).collect()
}

/// Those of the functions that the truth is about.
const KNOWN: &str = "name LIKE 'main.%' AND name NOT IN ('main.main', 'main.fails', 'main.blank') AND name NOT LIKE 'main.main.%' \
                     AND name NOT LIKE 'main.recovers.%' AND name NOT LIKE 'main.sets.%' AND name NOT LIKE 'main.generic%'";

fn check(go: &Path, flags: &[&str]) {
    let what = format!("{} {flags:?}", go.display());
    let (traced, truth) = trace(go, flags, &["--args", "own"]);
    let is_hop = |call: &String| call.starts_with("main.hop(");
    let (hops, found): (Vec<String>, Vec<String>) = calls(&traced, KNOWN).into_iter().partition(is_hop);
    let (true_hops, known): (Vec<String>, Vec<String>) = truth.into_iter().partition(is_hop);
    let wrong: Vec<_> = found.iter().zip(&known).filter(|(found, known)| found != known).take(5).collect();
    assert_eq!((found.len(), wrong), (known.len(), Vec::new()), "{what}");
    // Goroutines call at the same time. What returns on another thread has no result.
    let without_result = |call: &str| call.split(" = ").next().unwrap_or_default().to_owned();
    let known: BTreeMap<String, &String> = true_hops.iter().map(|call| (without_result(call), call)).collect();
    let is_wrong = |call: &&String| known.get(&without_result(call)).is_none_or(|known| *known != *call);
    let (incomplete, wrong): (Vec<&String>, Vec<&String>) =
        hops.iter().filter(is_wrong).partition(|call| known.contains_key(*call));
    assert_eq!((hops.len(), wrong), (true_hops.len(), Vec::new()), "{what}");
    assert!(incomplete.len() < hops.len(), "{what}: nothing returned on its thread");
    // Newer versions of Go have parameters without a name in their debug information.
    let blank = calls(&traced, "name = 'main.blank'");
    let right = [
        "main.blank(?, ?) = 4",
        "main.blank(<optimized away>, \"four\", true) = 4",
        "main.blank(3, \"four\", true) = 4",
    ];
    assert!(blank.len() == 1 && right.contains(&blank[0].as_str()), "{what}: {blank:?}");
    // What generic functions are passed in front of their parameters is in the debug information of some versions.
    let generic = calls(&traced, "name LIKE 'main.generic%'");
    let is_right = |(call, given): (&String, &str)| {
        let arguments = call.split(" = ").next().unwrap_or_default();
        arguments.ends_with("?, ?)") || arguments.ends_with(&format!(", {given})"))
    };
    assert!(generic.len() == 2 && generic[0].ends_with("= {r0: \"x\", r1: 2}"), "{what}: {generic:?}");
    assert!(generic.iter().zip(["\"x\", 2", "7, 8"]).all(is_right), "{what}: {generic:?}");
    // Go's own packages are not the program's.
    assert_eq!(calls(&traced, "name NOT LIKE 'main.%' AND name LIKE 'fmt.%'").len(), 0, "{what}");
}

#[test]
fn values_are_those_that_the_program_has_written() {
    for go in compilers() {
        check(&go, &[]);
        check(&go, &["-gcflags=-N -l"]);
    }
}

#[test]
fn functions_are_chosen_by_name() {
    let (traced, truth) = trace(Path::new("go"), &[], &["--args", "main.add,strconv.Itoa,main.(*person).*"]);
    let expected: Vec<String> =
        truth.into_iter().filter(|call| call.starts_with("main.add(") || call.contains("older(")).collect();
    assert_eq!(calls(&traced, "name LIKE 'main.%'"), expected);
}

#[test]
fn without_debug_information_there_are_none() {
    let (traced, _) = trace(Path::new("go"), &["-ldflags=-s -w"], &["--args", "own"]);
    assert_eq!(calls(&traced, "name LIKE 'main.%'").len(), 0);
}
