//! `ada atf verify`.

use super::session::TestSession;
use crate::run::{ada, text};

fn verify(session: &TestSession, options: &[&str]) -> std::process::Output {
    ada(["atf", "verify", session.path().to_str().unwrap()].iter().chain(options))
}

#[test]
fn a_sound_session_gives_one_line() {
    let output = verify(&TestSession::new(), &[]);
    assert_eq!(output.status.code(), Some(0));
    assert_eq!(text(&output.stdout), "sound: 1 process, 2 threads, 4 events, 2 detail records\n");
    assert_eq!(text(&output.stderr), "");
}

#[test]
fn findings_are_listed_and_give_exit_code_1() {
    let session = TestSession::new();
    session.cut("thread_1/detail.atf", 64 + 10);
    let output = verify(&session, &[]);
    assert_eq!(output.status.code(), Some(1));
    let lines: Vec<&str> = text(&output.stdout).lines().collect();
    assert!(lines[0].starts_with("pid_7/thread_1/detail.atf: cut at byte 74"), "{lines:?}");
    assert!(lines.iter().any(|line| line.contains("event 0: links to detail 0, which does not exist")), "{lines:?}");
    assert_eq!(lines.last(), Some(&"4 findings: 1 process, 2 threads, 4 events, 0 detail records"));
}

#[test]
fn json_is_one_object() {
    let session = TestSession::new();
    session.write("thread_2/index.atf", b"not a trace");
    let output = verify(&session, &["--format", "json"]);
    assert_eq!(output.status.code(), Some(1));
    let report: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((&report["sound"], &report["threads"]), (&false.into(), &1.into()));
    let finding = &report["findings"][0];
    assert_eq!((&finding["path"], &finding["kind"]), (&"pid_7/thread_2/index.atf".into(), &"wrong_magic".into()));
}

#[test]
fn help_has_an_example() {
    for command in ["dump", "verify"] {
        let output = ada(["atf", command, "--help"]);
        assert!(text(&output.stdout).contains("ada atf"), "{command}");
    }
}
