//! Rings on disk: the newest part is kept, is an ordinary session in the end, and can be had at any time.

use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use ada_event::{EventKind, ProcessId};
use ada_format::atf::{Manifest, Payload, Session, X86Call};

use crate::run::{self, Started, text};
use crate::trace::program::Program;
use crate::trace::tracing::{Tracing, assert_sound};

fn marks(arguments: &[&str], options: &[&str]) -> Tracing {
    let tracing = Tracing::new(&Program::new("marks.c")).option(options);
    arguments.iter().fold(tracing, |tracing, argument| tracing.argument(argument))
}

fn manifest_of(session: &Session) -> Manifest {
    session.processes()[0].manifest.clone().unwrap()
}

/// Folders may come and go while they are looked at.
fn bytes_in(path: &Path) -> u64 {
    let size = |path: PathBuf| match fs::metadata(&path) {
        Ok(file) if file.is_dir() => bytes_in(&path),
        file => file.map_or(0, |file| file.len()),
    };
    fs::read_dir(path).into_iter().flatten().flatten().map(|entry| size(entry.path())).sum()
}

const LIMIT: u64 = 8 << 20;

#[test]
fn the_newest_part_is_kept_and_what_was_let_go_is_said() {
    // About four million events: sixteen times the limit.
    let traced = marks(&["700000", "0"], &["--ring", "8M", "--store", "raw"]).check_output();
    let session = Session::open(traced.recorded.path()).unwrap();
    let manifest = manifest_of(&session);
    let ring = manifest.ring.clone().unwrap();
    let kept = session.processes()[0].threads[0].event_count();
    assert_eq!(ring.limit_bytes, LIMIT);
    assert!(kept * 32 <= LIMIT, "{kept}");
    assert!(kept * 32 >= LIMIT / 2, "{kept}");
    assert_eq!(manifest.lanes["index"].written, kept + ring.let_go_events);
    assert!(ring.let_go_end_ns.unwrap() <= manifest.time_start_ns);
    assert!(ring.let_go_start_ns < ring.let_go_end_ns);
    assert!(!traced.recorded.path().join("ring").exists());
    // The end is there, whole: the loop's return, and main's.
    assert_eq!(traced.recorded.counts("main").returns, 1);
    assert_eq!(traced.recorded.counts("main").calls, 0);
}

/// Each has some events, and a folder whose files take a block each.
#[test]
fn thousands_of_processes_take_no_more_room_than_a_ring_has() {
    const PROCESSES: u64 = 1500;
    let tracing = Tracing::of(Path::new("/bin/sh")).argument("-c");
    let traced =
        tracing.argument(format!("for i in $(seq {PROCESSES}); do (:); done")).option(&["--ring", "8M"]).check_output();
    let session = Session::open(traced.recorded.path()).unwrap();
    assert!(session.findings().is_empty(), "{:?}", session.findings());
    let manifests: Vec<&Manifest> = session.processes().iter().map(|it| it.manifest.as_ref().unwrap()).collect();
    let rings = || manifests.iter().filter_map(|it| it.ring.as_ref());
    let gone: u64 = rings().map(|ring| ring.gone_processes).sum();
    let is_first = |manifest: &&&Manifest| manifest.parent_pid.is_none();
    let first = manifests.iter().find(is_first).unwrap();
    assert!(gone > PROCESSES / 2 && first.ring.as_ref().unwrap().gone_processes == gone, "{gone}");
    // The shell, and perhaps `seq`.
    let all = gone + manifests.len() as u64;
    assert!((PROCESSES + 1..=PROCESSES + 2).contains(&all), "{all}");
    assert!(manifests.len() as u64 * (16 << 10) <= LIMIT, "{}", manifests.len());
    // Every event is kept, or was let go, with its process or without.
    let kept: u64 = session.threads().map(|thread| thread.event_count()).sum();
    let let_go: u64 = rings().map(|ring| ring.let_go_events + ring.gone_events).sum();
    assert_eq!(first.lanes["index"].written, kept + let_go);
    let listed = Command::new("du").arg("-sk").arg(traced.recorded.path()).output().unwrap();
    let kilobytes: u64 = text(&listed.stdout).split_whitespace().next().unwrap().parse().unwrap();
    assert!(kilobytes << 10 <= LIMIT * 5 / 4, "{kilobytes}");
}

/// The first program is long gone when the second has ended.
#[test]
fn processes_without_a_remaining_event_are_listed() {
    let [first, second] = ["end.c", "marks.c"].map(|name| Program::new(name).build());
    let script = format!("{} 3; {} 700000 0", first.display(), second.display());
    let tracing = Tracing::of(Path::new("/bin/sh")).argument("-c").argument(script);
    let traced = tracing.option(&["--ring", "8M", "--store", "raw"]).check_output();
    let session = Session::open(traced.recorded.path()).unwrap();
    let manifests: Vec<&Manifest> =
        session.processes().iter().map(|process| process.manifest.as_ref().unwrap()).collect();
    assert!(manifests.len() >= 2 && manifests.iter().all(|manifest| !manifest.threads.is_empty()));
    let gone = manifests.iter().find(|manifest| manifest.command_line[0] == first.to_str().unwrap()).unwrap();
    let [thread] = &gone.threads[..] else { panic!("{:?}", gone.threads) };
    assert_eq!((thread.tid, thread.event_count), (gone.pid.map(ProcessId::first_thread), Some(0)));
    assert!(gone.ring.as_ref().unwrap().let_go_events > 0);
    assert_eq!(gone.exit.as_ref().unwrap().code, Some(3));
}

#[test]
fn a_run_that_fits_is_kept_as_a_whole() {
    let traced = marks(&["1000", "10", "threads"], &["--ring", "64M"]).check();
    traced.recorded.assert_balanced("main", 1);
    traced.recorded.assert_balanced("work", 3000);
    traced.recorded.assert_balanced("marked", 300);
    let manifest = manifest_of(&Session::open(traced.recorded.path()).unwrap());
    assert_eq!(manifest.ring.unwrap().let_go_events, 0);
    assert_eq!(manifest.threads.len(), 4);
    assert!(manifest.threads.iter().all(|thread| thread.tid == Some(thread.id) && thread.handle.is_some()));
}

#[test]
fn detail_in_a_ring_is_that_of_its_event() {
    for (count, options) in [
        ("200000", &["--ring", "16M", "--detail", "all", "--store", "raw"][..]),
        ("2000000", &["--ring", "8M", "--detail", "all", "--store", "packed"]),
        (
            "200000",
            &[
                "--ring",
                "8M",
                "--trigger",
                "symbol=marked",
                "--pre-roll",
                "100",
                "--post-roll",
                "100",
                "--store",
                "raw",
            ],
        ),
    ] {
        let traced = marks(&[count, "500"], options).check_output();
        let session = Session::open(traced.recorded.path()).unwrap();
        assert!(manifest_of(&session).ring.unwrap().let_go_events > 0);
        let process = traced.recorded.process();
        let thread = &session.processes()[0].threads[0];
        let detail = thread.detail().unwrap();
        let (mut next, mut seen) = (None, 0);
        for event in thread.index().events().filter(|event| event.kind == EventKind::CALL) {
            let is_work = process.row(event.function).name == "work";
            next = next.map(|next| next + u64::from(is_work));
            let Some(record) = detail.record(event.detail) else { continue };
            assert_eq!(record.get().timestamp, event.timestamp);
            if let (true, Payload::X86Call(X86Call { rdi, .. })) = (is_work, record.payload().unwrap()) {
                assert_eq!(*next.get_or_insert(rdi), rdi);
                seen += 1;
            }
        }
        assert!(seen > 100, "{seen} with {options:?}");
    }
}

#[test]
fn windows_that_were_let_go_are_not_listed() {
    let options =
        ["--ring", "8M", "--trigger", "symbol=marked", "--pre-roll", "5", "--post-roll", "5", "--store", "raw"];
    let traced = marks(&["400000", "1000"], &options).check_output();
    let manifest = manifest_of(&Session::open(traced.recorded.path()).unwrap());
    let gone = manifest.ring.unwrap().let_go_end_ns.unwrap();
    assert!(!manifest.windows.is_empty() && manifest.windows.len() < 400);
    assert!(manifest.windows.iter().all(|window| window.end_ns >= gone));
}

/// A traced program that waits, with its own output folder for snapshots.
struct Waiting {
    tracing: Tracing,
    started: Option<Started>,
    pid: String,
    folder: tempfile::TempDir,
}

impl Waiting {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let go = folder.path().join("go");
        let tracing = marks(&["wait", go.to_str().unwrap()], &["--ring", "8M"]);
        let started = Started::new(tracing.command(), b"");
        let pid = started.first_line();
        Self { tracing, started: Some(started), pid, folder }
    }

    fn snapshot(&self, of: &str) -> PathBuf {
        let output = self.folder.path().join("snapshots");
        let output = run::ada(["snapshot", of, "--output", output.to_str().unwrap()]);
        assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
        PathBuf::from(text(&output.stdout).trim_end())
    }

    fn go_on(&mut self) -> std::process::Output {
        fs::write(self.folder.path().join("go"), "").unwrap();
        self.started.take().unwrap().finish()
    }
}

#[test]
fn a_snapshot_is_a_session_and_the_run_goes_on() {
    let mut waiting = Waiting::new();
    let first = waiting.snapshot(&waiting.pid);
    let second = waiting.snapshot(&waiting.pid);
    let output = waiting.go_on();
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let whole = waiting.tracing.session();
    let mut events = Vec::new();
    for path in [&first, &second, &whole] {
        assert_sound(path);
        let session = Session::open(path).unwrap();
        let manifest = manifest_of(&session);
        assert_eq!(manifest.finished, Some(true));
        assert_eq!(manifest.ring.unwrap().let_go_events, 0);
        assert!(manifest.modules.len() >= 3 && !manifest.command_line.is_empty());
        let names = fs::read_dir(session.processes()[0].path.clone()).unwrap();
        let names =
            names.filter(|entry| entry.as_ref().unwrap().file_name().to_string_lossy().starts_with("functions_"));
        assert_eq!(names.count(), manifest.modules.len());
        events.push(session.processes()[0].threads[0].index().events().collect::<Vec<_>>());
    }
    assert!(!events[0].is_empty() && events[0].len() <= events[1].len() && events[1].len() < events[2].len());
    for early in &events[..2] {
        assert!(events[2].starts_with(early), "a snapshot is the beginning of what comes");
    }
    assert!(!whole.join("ring").exists());
}

#[test]
fn what_a_killed_recorder_leaves_can_be_saved() {
    let mut waiting = Waiting::new();
    // A snapshot makes sure that there is a segment that is finished, beside the one that is not.
    let snapshot = waiting.snapshot(&waiting.pid);
    let before = Session::open(&snapshot).unwrap().processes()[0].threads[0].event_count();
    waiting.started.as_mut().unwrap().kill();
    let output = waiting.go_on();
    assert_ne!(output.status.code(), Some(0), "it was killed");
    let left = waiting.tracing.session();
    assert!(left.join("ring").exists());
    let saved = waiting.snapshot(left.to_str().unwrap());
    assert_sound(&saved);
    let session = Session::open(&saved).unwrap();
    assert!(session.processes()[0].threads[0].event_count() >= before);
    let manifest = manifest_of(&session);
    assert!(!manifest.modules.is_empty());
    assert!(manifest.limits.iter().any(|limit| limit.to_string().contains("killed")));
}

#[test]
fn the_disk_that_is_used_stays_within_the_limit() {
    // A packed ring takes more to fill.
    for (store, count) in [("raw", "1500000"), ("packed", "3000000")] {
        let tracing = marks(&[count, "0"], &["--ring", "8M", "--store", store]);
        let started = Started::new(tracing.command(), b"");
        let mut most = 0;
        let mut looks = 0;
        while !started.has_printed(b"done") {
            let Some(session) = fs::read_dir(tracing.sessions()).unwrap().next() else { continue };
            let ring = session.unwrap().path().join("ring");
            most = most.max(bytes_in(&ring));
            looks += 1;
        }
        let output = started.finish();
        assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
        assert!(looks > 3, "{looks}");
        // Headers and manifests are not counted, and a segment is closed by the first batch that goes past its size.
        assert!(most < LIMIT + LIMIT / 4, "{store}: {most}");
        assert!(most > LIMIT / 2, "{store}: {most}");
    }
}

#[test]
fn what_cannot_be_saved_is_said_in_a_line() {
    let tracing = marks(&["wait", "/nonexistent"], &[]);
    let started = Started::new(tracing.command(), b"");
    let pid = started.first_line();
    for of in [pid.as_str(), "4194304", "/nonexistent"] {
        let output = run::ada(["snapshot", of]);
        assert_eq!((output.status.code(), text(&output.stderr).lines().count()), (Some(3), 1), "{of}");
    }
    let kill = format!("kill -9 {pid}");
    assert!(Command::new("sh").args(["-c", &kill]).status().unwrap().success());
    assert_eq!(started.finish().status.signal(), Some(9));
}
