//! `ada atf dump`.

use std::io::Read;
use std::process::Stdio;

use super::session::TestSession;
use crate::run::{ada, command, text};

fn dump(session: &TestSession, options: &[&str]) -> std::process::Output {
    ada(["atf", "dump", session.path().to_str().unwrap()].iter().chain(options))
}

#[test]
fn events_of_all_threads_are_in_one_order_and_indented() {
    let output = dump(&TestSession::new(), &[]);
    assert_eq!((output.status.code(), text(&output.stderr)), (Some(0), ""));
    let expected = "   0.000000000        1  call 3:4
   0.000000010        2  call 0:1
   0.000000020        2    call 0:2
   0.000000030        1  return 3:4
";
    assert_eq!(text(&output.stdout), expected);
}

#[test]
fn detail_is_printed_where_it_is_asked_for_and_exists() {
    let output = dump(&TestSession::new(), &["--detail"]);
    let lines: Vec<&str> = text(&output.stdout).lines().collect();
    assert!(lines[0].contains("rdi=0xa1") && lines[0].contains("from=0x401000") && lines[0].ends_with("stack=8B"));
    assert!(lines[1].ends_with("call 0:1"));
    assert!(lines[3].contains("rax=0x2a"));
}

#[test]
fn json_has_an_object_a_line() {
    let output = dump(&TestSession::new(), &["--format", "json", "--detail", "--thread", "1"]);
    let lines: Vec<serde_json::Value> =
        text(&output.stdout).lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(lines.len(), 2);
    assert_eq!((&lines[0]["pid"], &lines[0]["thread"], &lines[0]["seq"]), (&7.into(), &1.into(), &0.into()));
    assert_eq!((&lines[0]["kind"], &lines[0]["function"]), (&"call".into(), &"3:4".into()));
    assert_eq!(lines[0]["detail"]["rdi"], "0xa1");
    assert_eq!(lines[0]["detail"]["stack"], "0010400000000000");
    assert_eq!((&lines[1]["time_ns"], &lines[1]["detail"]["rax"]), (&1030.into(), &"0x2a".into()));
}

#[test]
fn limit_and_thread_choose() {
    let session = TestSession::new();
    assert_eq!(text(&dump(&session, &["--limit", "1"]).stdout).lines().count(), 1);
    assert_eq!(text(&dump(&session, &["--thread", "2"]).stdout).lines().count(), 2);
    let output = dump(&session, &["--thread", "9"]);
    assert_eq!(output.status.code(), Some(3));
    assert_eq!(text(&output.stderr), "ada: thread 9 is not in the session; it has 1, 2\n");
}

#[test]
fn damage_is_reported_beside_what_can_be_read() {
    let session = TestSession::new();
    session.cut("thread_2/index.atf", 64 + 40);
    let output = dump(&session, &[]);
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(text(&output.stdout).lines().count(), 3);
    let errors: Vec<&str> = text(&output.stderr).lines().collect();
    assert_eq!(errors.len(), 2, "{errors:?}");
    assert!(errors[0].starts_with("ada: pid_7/thread_2/index.atf: cut at byte 104 of 192"), "{errors:?}");
}

#[test]
fn what_is_not_a_session_is_refused_in_one_line() {
    let empty = tempfile::tempdir().unwrap();
    let output = ada(["atf", "dump", empty.path().to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(3));
    assert!(text(&output.stderr).contains("give a session_* folder"));
    assert_eq!(text(&output.stderr).lines().count(), 1);
    let output = ada(["atf", "dump", "/nowhere"]);
    assert_eq!(output.status.code(), Some(3));
    assert_eq!(
        text(&output.stderr),
        "ada: /nowhere: no such folder; name a session's folder, or none for the newest\n"
    );
}

#[test]
fn a_reader_that_has_seen_enough_ends_it_quietly() {
    let session = TestSession::new();
    let events: Vec<_> = (0..200_000).map(|n| ada_testkit::atf::event(n, 1, 2, 1, 0, u32::MAX)).collect();
    session.write("thread_2/index.atf", &ada_testkit::atf::index(ada_testkit::atf::LINUX, 2, false, &events));
    let mut child = command()
        .args(["atf", "dump", session.path().to_str().unwrap()])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdout.take().unwrap().read_exact(&mut [0; 10]).unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!((output.status.code(), text(&output.stderr)), (Some(0), ""));
}

#[test]
fn detail_that_is_asked_for_and_not_there_is_reported() {
    let session = TestSession::new();
    std::fs::remove_file(session.file("thread_1/detail.atf")).unwrap();
    std::fs::remove_file(session.file("manifest.json")).unwrap();
    let output = dump(&session, &["--detail"]);
    assert_eq!((text(&output.stdout).lines().count(), output.status.code()), (4, Some(1)));
    assert!(text(&output.stderr).contains("2 detail records could not be read"), "{}", text(&output.stderr));
}
