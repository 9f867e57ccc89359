//! Recordings that end before their program does.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use ada_format::atf::Session;

use super::program::Program;
use crate::run::{self, Started, text};

/// How long a program may take to get somewhere.
const PATIENCE: Duration = Duration::from_secs(300);

fn trace(options: &[&str], sessions: &Path, runtime: &Path) -> Command {
    let mut command = run::command();
    command.arg("trace").args(options).arg("--output").arg(sessions).env("XDG_RUNTIME_DIR", runtime);
    // Says so when it is asked to end, and exits with 7.
    command.arg("--").arg(Program::new("until_told.c").build());
    command
}

fn wait_until<T>(what: &str, of: impl Fn() -> Option<T>) -> T {
    let until = Instant::now() + PATIENCE;
    loop {
        if let Some(found) = of() {
            return found;
        }
        assert!(Instant::now() < until, "{what}: not after {PATIENCE:?}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// The program that ada runs, once that is there.
fn program_of(ada: &Started) -> u32 {
    wait_until("it runs", || {
        let children = fs::read_to_string(format!("/proc/{0}/task/{0}/children", ada.id())).ok()?;
        let child: u32 = children.split_whitespace().next()?.parse().ok()?;
        fs::read_link(format!("/proc/{child}/exe")).ok()?.ends_with("until_told").then_some(child)
    })
}

fn has_hooks(pid: u32) -> bool {
    fs::read_to_string(format!("/proc/{pid}/maps")).is_ok_and(|maps| maps.contains("/memfd:"))
}

/// The program has no hooks any more and goes on; then it is told to end, and ada ends as it does.
fn assert_goes_on(ada: Started, pid: u32, sessions: &Path) {
    let events_of_finished = || {
        let session = Session::open(sessions.read_dir().ok()?.next()?.ok()?.path()).ok()?;
        let is_finished = session.processes().first()?.manifest.as_ref()?.finished == Some(true);
        is_finished.then(|| session.threads().map(|thread| thread.event_count()).sum::<u64>())
    };
    let events = wait_until("the session is whole", events_of_finished);
    assert!(!has_hooks(pid));
    assert!(events > 0);
    assert!(Command::new("kill").arg(pid.to_string()).status().unwrap().success());
    let output = ada.finish();
    let words = text(&output.stderr);
    assert_eq!((text(&output.stdout), output.status.code()), ("told to end\n", Some(7)), "{words}");
    assert!(words.contains("ada: the program goes on without hooks"), "{words}");
    assert!(!words.contains("incomplete"), "{words}");
}

#[test]
fn a_program_goes_on_without_hooks_when_its_time_is_over() {
    let (sessions, runtime) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let ada = Started::new(trace(&["--max-time", "300ms"], sessions.path(), runtime.path()), b"");
    let pid = program_of(&ada);
    assert_goes_on(ada, pid, sessions.path());
}

#[test]
fn a_program_goes_on_without_hooks_when_enough_was_written() {
    let (sessions, runtime) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let ada = Started::new(trace(&["--max-size", "8M", "--store", "raw"], sessions.path(), runtime.path()), b"");
    let pid = program_of(&ada);
    assert_goes_on(ada, pid, sessions.path());
}

#[test]
fn a_traced_program_can_be_detached_from() {
    let (sessions, runtime) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let ada = Started::new(trace(&[], sessions.path(), runtime.path()), b"");
    let pid = program_of(&ada);
    wait_until("it has hooks", || has_hooks(pid).then_some(()));
    let detached = wait_until("it is detached from", || {
        let detach = run::command().args(["detach", &pid.to_string()]).env("XDG_RUNTIME_DIR", runtime.path()).output();
        detach.ok().filter(|output| output.status.success())
    });
    assert_eq!(text(&detached.stdout), format!("process {pid} goes on without hooks\n"));
    assert_goes_on(ada, pid, sessions.path());
}

#[test]
fn only_what_was_asked_for_is_hooked() {
    let sessions = tempfile::tempdir().unwrap();
    let mut command = run::command();
    command.args(["trace", "--only", "work", "--output"]).arg(sessions.path());
    command.arg("--").arg(Program::new("threads.c").flags(&["-pthread"]).build()).arg("3");
    let output = run::bounded(command, b"");
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let asked = run::ada([
        "query".as_ref(),
        sessions.path().as_os_str(),
        "SELECT group_concat(name) FILTER (WHERE verdict = 'hooked' AND module = 'threads') AS own,
         count(*) FILTER (WHERE verdict = 'hooked' AND name = 'pthread_create') AS needed,
         count(*) FILTER (WHERE verdict = 'hooked' AND name IN ('printf', 'puts', 'malloc')) AS others FROM hooks"
            .as_ref(),
        "--format".as_ref(),
        "json".as_ref(),
    ]);
    let rows: serde_json::Value = serde_json::from_slice(&asked.stdout).unwrap();
    assert_eq!(rows[0], serde_json::json!({ "own": "work", "needed": 1, "others": 0 }), "{rows}");
}
