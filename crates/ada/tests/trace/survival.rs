//! The target is killed, or ada is.

use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use ada_format::atf::{Session, ThreadTrace};

use super::program::Program;
use super::recorded::Recorded;
use super::tracing::{Tracing, assert_sound};
use crate::run::{self, Started};

const STEPS: u64 = 20_000;

pub(super) fn wait_until(what: &str, mut is_so: impl FnMut() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(300);
    while !is_so() {
        assert!(Instant::now() < deadline, "waited in vain for {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// The program, running under ada, after it has said that it is ready: it has made its calls by then.
struct Running {
    tracing: Tracing,
    started: Started,
}

impl Running {
    fn start(arguments: &[&Path]) -> Self {
        Self::stored("raw", arguments)
    }

    fn stored(store: &str, arguments: &[&Path]) -> Self {
        let tracing = Tracing::new(&Program::new("forever.c")).option(&["--store", store]);
        let mut tracing = tracing.argument(STEPS.to_string());
        for argument in arguments {
            tracing = tracing.argument(argument);
        }
        let started = Started::new(tracing.command(), b"");
        wait_until("the program's word", || started.has_printed(b"ready"));
        Self { tracing, started }
    }

    /// The one process that ada has started.
    fn target(&self) -> u32 {
        let path = format!("/proc/{0}/task/{0}/children", self.started.id());
        let children = fs::read_to_string(path).unwrap();
        let children: Vec<u32> = children.split_whitespace().map(|id| id.parse().unwrap()).collect();
        assert_eq!(children.len(), 1, "{children:?}");
        children[0]
    }

    fn session(&self) -> PathBuf {
        self.tracing.session()
    }
}

fn kill(pid: u32) {
    assert!(Command::new("sh").args(["-c", &format!("kill -KILL {pid}")]).status().unwrap().success());
}

#[test]
fn a_target_that_is_killed_loses_nothing_that_it_had_recorded() {
    let running = Running::start(&[Path::new("wait")]);
    let session = running.session();
    let status = format!("/proc/{}/stat", running.target());
    wait_until("the program's sleep", || fs::read_to_string(&status).unwrap().contains(") S "));
    kill(running.target());
    let Running { tracing, started } = running;
    assert_eq!(started.finish().status.signal(), Some(9), "as the program");
    assert_sound(&session);
    let recorded = Recorded::open(&session, &Program::new("forever.c").build());
    recorded.assert_nested();
    recorded.assert_balanced("step", STEPS);
    recorded.assert_balanced("told", 1);
    let last = recorded.process().threads[0].last().copied().unwrap();
    assert!(recorded.process().row(last.function).name.contains("pause"), "{last:?}");
    drop(tracing);
}

#[test]
fn a_target_whose_ada_is_killed_goes_on_and_is_right() {
    let folder = tempfile::tempdir().unwrap();
    let signal = folder.path().join("go");
    let mut running = Running::start(&[Path::new("file"), &signal]);
    let (target, session) = (running.target(), running.session());
    // Events are in the files soon after they happen.
    let program = Program::new("forever.c").build();
    wait_until("the first events", || {
        let index = session.join(format!("pid_{target}/thread_{target}/index.atf"));
        fs::metadata(index).is_ok_and(|file| file.len() > 2 * 32 * (STEPS + 5000))
    });
    running.started.kill();
    std::thread::sleep(Duration::from_millis(300));
    assert!(Path::new(&format!("/proc/{target}")).exists(), "the target lives");
    fs::write(&signal, "").unwrap();
    let output = running.started.finish();
    let sum: u64 = (0..STEPS).map(|n| n * 5 + 1).sum();
    assert_eq!(run::text(&output.stdout), format!("ready\n{sum}\n"));
    let verify = run::ada(["atf".as_ref(), "verify".as_ref(), session.as_os_str()]);
    assert_eq!(verify.status.code(), Some(1), "{}", run::text(&verify.stdout));
    let recorded = Recorded::open(&session, &program);
    let step = recorded.counts("step");
    assert!(step.calls >= STEPS && step.calls - step.returns <= 1, "{step:?}");
}

#[test]
fn a_target_whose_ada_is_killed_can_be_freed_of_its_hooks() {
    let folder = tempfile::tempdir().unwrap();
    let signal = folder.path().join("go");
    let mut running = Running::start(&[Path::new("file"), &signal]);
    let target = running.target();
    running.started.kill();
    let is_hooked = || fs::read_to_string(format!("/proc/{target}/maps")).unwrap().contains("/memfd:");
    assert!(is_hooked());
    // Its memory goes a moment after it was killed.
    let mut freed = String::new();
    wait_until("the end of ada", || {
        let output = run::ada(["detach".as_ref(), std::ffi::OsStr::new(&target.to_string())]);
        freed = run::text(&output.stdout).to_owned();
        output.status.code() == Some(0)
    });
    // On a busy machine two seconds pass before: then the hooks have let calls pass meanwhile.
    let freed = freed.replace(", which let its calls pass", "");
    assert_eq!(freed, format!("process {target} had the hooks of an ada that was killed; it goes on without\n"));
    assert!(!is_hooked());
    fs::write(&signal, "").unwrap();
    let output = running.started.finish();
    let sum: u64 = (0..STEPS).map(|n| n * 5 + 1).sum();
    assert_eq!(run::text(&output.stdout), format!("ready\n{sum}\n"));
}

#[test]
fn a_killed_ada_leaves_all_but_the_last_block_of_a_packed_session() {
    /// Events of a block.
    const BLOCK: u64 = 16 * 1024;
    let folder = tempfile::tempdir().unwrap();
    let signal = folder.path().join("go");
    let mut running = Running::stored("packed", &[Path::new("file"), &signal]);
    let session = running.session();
    let events = || Session::open(&session).unwrap().threads().map(|thread| thread.event_count()).sum::<u64>();
    let mut seen = 0;
    wait_until("the first events", || {
        seen = events();
        seen >= 2 * STEPS
    });
    running.started.kill();
    fs::write(&signal, "").unwrap();
    running.started.finish();
    assert!(events() + BLOCK >= seen, "{} of {seen}", events());
    let recorded = Recorded::open(&session, &Program::new("forever.c").build());
    let step = recorded.counts("step");
    assert!(step.calls > 0 && step.calls - step.returns <= 1, "{step:?}");
}

#[test]
fn a_killed_ada_leaves_threads_that_share_a_file() {
    let tracing = Tracing::new(&Program::new("thread_churn.c"));
    let started = Started::new(tracing.command(), b"");
    wait_until("the program's word", || started.has_printed(b"ready"));
    let mut running = Running { tracing, started };
    let session = running.session();
    let is_bundled = |thread: &&ThreadTrace| thread.files().next().is_none();
    let count = || Session::open(&session).unwrap().threads().filter(is_bundled).count();
    let mut seen = 0;
    wait_until("threads that have ended", || {
        seen = count();
        seen >= 20
    });
    let target = running.target();
    running.started.kill();
    assert!(Command::new("sh").args(["-c", &format!("kill -TERM {target}")]).status().unwrap().success());
    assert!(run::text(&running.started.finish().stdout).contains("all ran"));
    assert!(count() >= seen);
    let session = Session::open(&session).unwrap();
    let has_events = |thread: &ThreadTrace| thread.index().events().next().is_some();
    assert!(session.threads().filter(is_bundled).all(has_events));
}

#[test]
fn a_target_whose_ada_is_killed_does_not_wait_for_full_rings() {
    let folder = tempfile::tempdir().unwrap();
    let signal = folder.path().join("go");
    let program = Program::new("forever.c").build();
    let sessions = tempfile::tempdir().unwrap();
    let mut command = run::command();
    command.args(["trace", "--quiet", "--ring-memory", "1M", "--output"]).arg(sessions.path()).arg("--");
    command.arg(program).args(["30000000", "file"]).arg(&signal);
    let mut started = Started::new(command, b"");
    wait_until("the session", || fs::read_dir(sessions.path()).unwrap().count() == 1);
    std::thread::sleep(Duration::from_millis(500));
    started.kill();
    fs::write(&signal, "").unwrap();
    let output = started.finish();
    let sum: u64 = (0..30_000_000).map(|n| n * 5 + 1).sum();
    assert_eq!(run::text(&output.stdout), format!("ready\n{sum}\n"));
}
