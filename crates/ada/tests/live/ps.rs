//! `ada ps`.

use std::os::unix::net::UnixListener;

use super::running::Running;
use crate::run::{self, text};

#[test]
fn it_shows_what_is_running() {
    let mut running = Running::start(&["--quiet"]);
    running.have_done("tick 10 1");
    let status = running.status();
    assert!(status["session"].as_str().unwrap().contains("/sessions/session_"), "{status}");
    assert!(status["command"][0].as_str().unwrap().ends_with("/switched"), "{status}");
    assert_eq!(status["dropped"], 0);
    let table = running.command(&["ps"]).output().unwrap();
    let lines: Vec<&str> = text(&table.stdout).lines().filter(|line| !line.contains("was killed")).collect();
    assert_eq!(lines.len(), 2, "{lines:?}");
    assert!(lines[0].contains("pid") && lines[0].contains("session"), "{}", lines[0]);
    assert!(lines[1].trim_start().starts_with(&status["pid"].to_string()), "{}", lines[1]);
    let folder = running.runtime_folder();
    assert_eq!(std::fs::read_dir(&folder).unwrap().count(), 1);
    let left = {
        let ended = running.end();
        let left = std::fs::read_dir(&folder).unwrap().count();
        drop(ended);
        left
    };
    assert_eq!(left, 0, "the socket goes with the trace");
}

#[test]
fn the_events_of_a_running_trace_grow() {
    let mut running = Running::start(&["--quiet"]);
    running.have_done("tick 10 1");
    running.have_done("tick 100000 1");
    // The drain is behind by some milliseconds, not by a minute.
    let deadline = std::time::Instant::now() + std::time::Duration::from_secs(300);
    while running.status()["events"].as_u64().unwrap() < 200_000 {
        assert!(std::time::Instant::now() < deadline, "{}", running.status());
    }
    assert_eq!(running.status()["threads"].as_u64(), Some(3));
    running.end();
}

#[test]
fn nothing_running_and_unknown_processes_are_one_line_each() {
    let folder = tempfile::tempdir().unwrap();
    let ada = |words: &[&str]| run::command().args(words).env("XDG_RUNTIME_DIR", folder.path()).output().unwrap();
    let nothing = ada(&["ps"]);
    assert_eq!((nothing.status.code(), text(&nothing.stderr)), (Some(0), "ada: no trace is running\n"));
    let nothing = ada(&["ps", "--format", "json"]);
    let is_clean = text(&nothing.stdout).lines().all(|line| line.contains("\"killed\""));
    assert_eq!((nothing.status.code(), is_clean, text(&nothing.stderr)), (Some(0), true, ""));
    let own = std::process::id().to_string();
    for (pid, words) in [(own.as_str(), "is not being traced"), ("4194304", "there is no process 4194304")] {
        let output = ada(&["filter", pid, "--off", "x"]);
        assert_eq!(output.status.code(), Some(3));
        assert!(text(&output.stderr).contains(words), "{}", text(&output.stderr));
        assert_eq!(text(&output.stderr).lines().count(), 1);
    }
}

#[test]
fn the_socket_of_a_killed_ada_is_removed() {
    let folder = tempfile::tempdir().unwrap();
    let runtime = folder.path().join("ada");
    std::fs::create_dir(&runtime).unwrap();
    std::fs::set_permissions(&runtime, std::os::unix::fs::PermissionsExt::from_mode(0o700)).unwrap();
    let socket = runtime.join("4242.sock");
    drop(UnixListener::bind(&socket).unwrap());
    assert!(socket.exists());
    let output = run::command().arg("ps").env("XDG_RUNTIME_DIR", folder.path()).output().unwrap();
    assert_eq!((output.status.code(), text(&output.stderr)), (Some(0), "ada: no trace is running\n"));
    assert!(!socket.exists());
}

#[test]
fn a_folder_that_others_may_enter_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let runtime = folder.path().join("ada");
    std::fs::create_dir(&runtime).unwrap();
    std::fs::set_permissions(&runtime, std::os::unix::fs::PermissionsExt::from_mode(0o777)).unwrap();
    let output = run::command().arg("ps").env("XDG_RUNTIME_DIR", folder.path()).output().unwrap();
    assert_eq!(output.status.code(), Some(3));
    assert!(text(&output.stderr).contains("XDG_RUNTIME_DIR"), "{}", text(&output.stderr));
}

#[test]
fn what_is_still_being_recorded_is_no_damage() {
    let mut running = Running::start(&["--quiet"]);
    running.have_done("tick 1000 2");
    let session = running.status()["session"].as_str().unwrap().to_owned();
    let commands = [
        &["threads", &session][..],
        &["report", &session],
        &["query", &session, "SELECT count(*) FROM spans"],
        &["atf", "verify", &session],
    ];
    for words in commands {
        let output = run::ada(words.iter().copied());
        let said = text(&output.stderr);
        let expected = format!("ada: {session} is still being recorded; this is what there is so far\n");
        assert_eq!((output.status.code(), said), (Some(0), &*expected), "{words:?}");
    }
    let ended = running.end();
    let output = run::ada(["atf", "verify", ended.session.to_str().unwrap()]);
    assert_eq!((output.status.code(), text(&output.stderr)), (Some(0), ""));
}
