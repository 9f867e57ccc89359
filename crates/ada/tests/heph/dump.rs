//! `ada heph dump`.

use std::io::Write;
use std::process::Stdio;

use ada_testkit::heph::{EXAMPLE_EVENT, EXAMPLE_METADATA, everything};

use crate::run::{ada, command, text};

fn dump(trace: &[u8], options: &[&str]) -> (String, String, Option<i32>) {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("trace.heph");
    std::fs::write(&file, trace).unwrap();
    let output = command().args(["heph", "dump"]).arg(&file).args(options).output().unwrap();
    (text(&output.stdout).into(), text(&output.stderr).into(), output.status.code())
}

#[test]
fn the_documents_examples_as_text() {
    let (stdout, stderr, code) = dump(&[EXAMPLE_METADATA.as_slice(), &EXAMPLE_EVENT].concat(), &[]);
    let expected = "         0  metadata  epoch = 1610113734118010000 (2021-01-08T13:48:54.118010000Z)
        23  event     stream 0 #0 substream 1  100..200 ns  2021-01-08T13:48:54.118010100Z  \"My event\" Test=123 Test2=[123.456, 789.0]
";
    assert_eq!((stdout.as_str(), stderr.as_str(), code), (expected, "", Some(0)));
}

#[test]
fn json_is_exact() {
    let (stdout, _, code) = dump(&everything(), &["--format", "json"]);
    let lines: Vec<serde_json::Value> = stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!((lines.len(), code), (6, Some(0)));
    assert_eq!(lines[0]["epoch_unix_nanos"].as_u64(), Some(1_610_113_734_118_010_000));
    assert_eq!(lines[1]["start_unix_nanos"].as_u64(), Some(1_610_113_734_118_010_100));
    assert_eq!(lines[3]["value_hex"], "00ff");

    let attributes = |name: &str| {
        let all = lines[4]["attributes"].as_array().unwrap();
        all.iter().find(|it| it["name"] == name).unwrap()["value"].clone()
    };
    assert_eq!(attributes("u64").as_u64(), Some(u64::MAX));
    assert_eq!(attributes("i64").as_i64(), Some(i64::MIN));
    assert_eq!(attributes("string"), "grüße");
    assert_eq!(attributes("u64s")[1].as_u64(), Some(u64::MAX));
    assert_eq!(attributes("f64s"), serde_json::json!(["NaN", "inf"]));
    assert_eq!(attributes("strings"), serde_json::json!(["a", "", "ccc"]));
}

#[test]
fn damage_is_one_line_on_stderr_and_exit_code_1() {
    let (stdout, stderr, code) = dump(&[&EXAMPLE_EVENT, b"garbage".as_slice(), &EXAMPLE_EVENT].concat(), &[]);
    assert_eq!((stdout.lines().count(), stderr.lines().count(), code), (2, 1, Some(1)));
    assert!(stderr.contains("byte 91"), "{stderr}");
}

#[test]
fn a_million_damaged_packets_are_not_a_million_lines() {
    let trace = [&EXAMPLE_EVENT, b"garbage".as_slice()].concat().repeat(25);
    let (stdout, stderr, code) = dump(&trace, &[]);
    assert_eq!((stdout.lines().count(), stderr.lines().count(), code), (25, 11, Some(1)));
    assert_eq!(stderr.lines().last(), Some("ada: 15 more malformed packets"));
    let (_, stderr, _) = dump(&[&EXAMPLE_EVENT, b"garbage".as_slice()].concat().repeat(10), &[]);
    assert_eq!(stderr.lines().count(), 10);
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("trace.heph");
    std::fs::write(&file, trace).unwrap();
    let output = command().args(["heph", "stat"]).arg(&file).output().unwrap();
    assert_eq!(text(&output.stderr).lines().count(), 11);
}

#[test]
fn standard_input_is_read_and_text_cannot_talk_to_the_terminal() {
    let mut child = command().args(["heph", "dump", "-"]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let event = ada_testkit::heph::event((0, 0, 0), (0, 0), "\x1b[31mred\n", &[]);
    child.stdin.take().unwrap().write_all(&event).unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(text(&output.stdout).contains(r#""\u{1b}[31mred\n""#), "{}", text(&output.stdout));
}

#[test]
fn a_missing_file_exits_with_3_and_says_what_to_do() {
    let output = ada(["heph", "dump", "/no/such/file"]);
    assert_eq!(output.status.code(), Some(3));
    let stderr = text(&output.stderr);
    assert_eq!(stderr.lines().count(), 1);
    assert!(stderr.contains("/no/such/file") && stderr.contains("give a Heph trace"), "{stderr}");
}
