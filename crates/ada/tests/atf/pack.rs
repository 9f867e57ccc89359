//! `ada pack` and `ada unpack`.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use super::session::TestSession;
use crate::run::{ada, text};

fn run(command: &str, session: &TestSession, options: &[&str]) -> (Option<i32>, String, String) {
    let output = ada([command, session.path().to_str().unwrap()].iter().chain(options));
    (output.status.code(), text(&output.stdout).to_owned(), text(&output.stderr).to_owned())
}

fn files(session: &TestSession) -> BTreeMap<String, Vec<u8>> {
    fn add(folder: &Path, files: &mut BTreeMap<String, Vec<u8>>) {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                add(&path, files);
            } else {
                files.insert(path.display().to_string(), fs::read(&path).unwrap());
            }
        }
    }
    let mut all = BTreeMap::new();
    add(session.path(), &mut all);
    all
}

fn dump(session: &TestSession) -> String {
    let output = ada(["atf", "dump", "--detail", session.path().to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    text(&output.stdout).to_owned()
}

#[test]
fn a_session_is_packed_reads_as_before_and_is_unpacked_to_the_last_byte() {
    let session = TestSession::new();
    let (before, dumped) = (files(&session), dump(&session));
    let (code, stdout, stderr) = run("pack", &session, &[]);
    assert_eq!((code, &stderr[..]), (Some(0), ""));
    assert!(stdout.starts_with("packed 3 files: "), "{stdout}");
    assert!(session.file("thread_1/detail.atp").exists() && !session.file("thread_1/detail.atf").exists());
    assert_eq!(dump(&session), dumped);
    let verified = ada(["atf", "verify", session.path().to_str().unwrap()]);
    assert_eq!(text(&verified.stdout), "sound: 1 process, 2 threads, 4 events, 2 detail records\n");
    assert!(run("pack", &session, &[]).1.starts_with("packed 0 files: "), "once is enough");
    let (code, stdout, stderr) = run("unpack", &session, &[]);
    assert_eq!((code, &stderr[..]), (Some(0), ""));
    assert!(stdout.starts_with("unpacked 3 files: "), "{stdout}");
    assert!(files(&session) == before);
}

#[test]
fn what_may_still_be_written_stays_raw_unless_forced() {
    let session = TestSession::new();
    let manifest = r#"{"threads": [], "time_start_ns": 0, "time_end_ns": 0, "finished": false}"#;
    session.write("manifest.json", manifest.as_bytes());
    let before = files(&session);
    let (code, _, stderr) = run("pack", &session, &[]);
    assert_eq!((code, stderr.lines().count()), (Some(3), 1));
    assert!(stderr.contains("--unfinished"), "{stderr}");
    assert!(files(&session) == before);
    assert_eq!(run("pack", &session, &["--unfinished"]).0, Some(1), "that it was not finished is said");
    assert!(session.file("thread_1/index.atp").exists());
}

#[test]
fn what_cannot_be_converted_stays_and_is_named() {
    let session = TestSession::new();
    // A record that is shorter than its own header.
    let mut bytes = fs::read(session.file("thread_1/detail.atf")).unwrap();
    bytes[64] = 3;
    session.write("thread_1/detail.atf", &bytes);
    let (code, stdout, stderr) = run("pack", &session, &[]);
    assert_eq!(code, Some(1));
    assert!(stdout.starts_with("packed 2 files: "), "{stdout}");
    assert!(stderr.contains("thread_1/detail.atf: stays as it is: byte 64: "), "{stderr}");
    assert!(fs::read(session.file("thread_1/detail.atf")).unwrap() == bytes);
    // And a block that is not what it was.
    let mut bytes = fs::read(session.file("thread_2/index.atp")).unwrap();
    bytes[100] ^= 1;
    session.write("thread_2/index.atp", &bytes);
    let (code, _, stderr) = run("unpack", &session, &[]);
    assert_eq!(code, Some(1));
    assert!(stderr.contains("thread_2/index.atp: stays as it is: byte 32: "), "{stderr}");
    assert!(session.file("thread_1/index.atf").exists() && session.file("thread_2/index.atp").exists());
    let verified = ada(["atf", "verify", session.path().to_str().unwrap()]);
    assert_eq!(verified.status.code(), Some(1));
    assert!(text(&verified.stdout).contains("the block of 2 from 0 on was left out: its checksum is wrong"));
}

#[test]
fn what_is_no_session_is_refused_in_a_line() {
    for command in ["pack", "unpack"] {
        let output = ada([command, "/nonexistent"]);
        assert_eq!((output.status.code(), text(&output.stderr).lines().count()), (Some(3), 1));
    }
}
