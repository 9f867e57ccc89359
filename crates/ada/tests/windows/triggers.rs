//! Detail around triggers: what is written, where windows begin and end, and what is said of them.

use std::fs;

use ada_event::{Event, EventKind, ThreadId};
use ada_format::atf::{Manifest, Payload, Session, ThreadTrace, Window, X86Call};

use crate::run::{self, Started, text};
use crate::trace::program::Program;
use crate::trace::tracing::{Traced, Tracing};

fn marks(arguments: &[&str], options: &[&str]) -> Tracing {
    let tracing = Tracing::new(&Program::new("marks.c")).option(options);
    arguments.iter().fold(tracing, |tracing, argument| tracing.argument(argument))
}

/// An event of the program's own functions, with the name and the first argument that its detail has.
#[derive(Debug)]
struct Seen {
    name: String,
    event: Event,
    first_argument: Option<u64>,
    has_detail: bool,
}

struct Contents {
    manifest: Manifest,
    ids: Vec<ThreadId>,
    /// By thread, all events.
    threads: Vec<Vec<Seen>>,
}

fn read(traced: &Traced) -> Contents {
    let process = traced.recorded.process();
    let session = Session::open(traced.recorded.path()).unwrap();
    let [opened] = session.processes() else { panic!("one process") };
    let read_thread = |thread: &ThreadTrace| {
        let detail = thread.detail();
        let seen = |event: Event| {
            let record = detail.as_ref().and_then(|detail| detail.record(event.detail));
            let first_argument = record.as_ref().and_then(|record| match record.payload().unwrap() {
                Payload::X86Call(X86Call { rdi, .. }) => Some(rdi),
                _ => None,
            });
            let name = process.row(event.function).name.clone();
            Seen { name, event, first_argument, has_detail: record.is_some() }
        };
        thread.index().events().map(seen).collect()
    };
    let ids = opened.threads.iter().map(|thread| thread.id()).collect();
    let threads = opened.threads.iter().map(read_thread).collect();
    Contents { manifest: opened.manifest.clone().unwrap(), ids, threads }
}

impl Contents {
    fn calls<'s>(&'s self, name: &'s str) -> impl Iterator<Item = &'s Seen> {
        self.threads.iter().flatten().filter(move |seen| seen.name == name && seen.event.kind == EventKind::CALL)
    }

    /// How many events have detail, but for those that a runtime probe always keeps.
    fn details(&self) -> usize {
        const PROBED: [&str; 4] = ["_exit", "_Exit", "__cxa_atexit", "pthread_once"];
        let is_window = |seen: &&Seen| seen.has_detail && !PROBED.contains(&seen.name.as_str());
        self.threads.iter().flatten().filter(is_window).count()
    }

    /// What the manifest says of windows agrees with what is there.
    fn assert_consistent(&self) {
        for window in &self.manifest.windows {
            let position = self.ids.iter().position(|&id| Some(id) == window.thread).unwrap();
            let inside =
                |seen: &&Seen| (window.start_ns..=window.end_ns).contains(&seen.event.timestamp) && seen.has_detail;
            let details = self.threads[position].iter().filter(inside).count() as u64;
            assert!(details >= window.details.unwrap(), "{details} in {window:?}");
            assert!(window.start_ns <= window.end_ns);
        }
        // Windows of a thread lie apart.
        for thread in &self.manifest.threads {
            let own: Vec<&Window> =
                self.manifest.windows.iter().filter(|window| window.thread == Some(thread.id)).collect();
            assert!(own.windows(2).all(|pair| pair[0].end_ns <= pair[1].start_ns), "{own:?}");
        }
    }

    /// The events around the n-th one that have detail: how many before, how many after.
    fn around(&self, thread: usize, at: usize) -> (usize, usize) {
        let events = &self.threads[thread];
        let before = events[..at].iter().rev().take_while(|seen| seen.has_detail).count();
        let after = events[at + 1..].iter().take_while(|seen| seen.has_detail).count();
        (before, after)
    }
}

#[test]
fn a_marked_call_has_its_window_of_detail_in_a_busy_program() {
    // What is captured of `write` is none of it.
    let options = ["--trigger", "symbol=marked", "--pre-roll", "50", "--post-roll", "20", "--args", "none"];
    let traced = marks(&["20000", "1000"], &options).check();
    let session = read(&traced);
    session.assert_consistent();
    let numbers: Vec<Option<u64>> = session.calls("marked").map(|seen| seen.first_argument).collect();
    assert_eq!(numbers, (1..=20).map(|n| Some(n * 1000)).collect::<Vec<_>>());
    assert_eq!(session.manifest.windows.len(), 20);
    for window in &session.manifest.windows {
        assert_eq!((window.trigger.as_str(), window.details, window.lost), ("symbol=marked", Some(71), Some(0)));
    }
    for (at, _) in session.threads[0].iter().enumerate().filter(|(_, seen)| seen.name == "marked") {
        if session.threads[0][at].event.kind == EventKind::CALL {
            assert_eq!(session.around(0, at), (50, 20));
        }
    }
    assert_eq!(session.details(), 20 * 71, "nothing else was written");
}

#[test]
fn detail_in_windows_is_that_of_its_event() {
    let options = ["--trigger", "symbol=marked", "--pre-roll", "300", "--post-roll", "300"];
    let traced = marks(&["20000", "2000", "threads"], &options).check();
    let session = read(&traced);
    session.assert_consistent();
    assert_eq!(session.calls("marked").filter(|seen| seen.has_detail).count(), 30);
    // Within a thread the arguments follow from the order of the calls, whoever looks at which time.
    for thread in &session.threads {
        let mut n = 0;
        for seen in thread.iter().filter(|seen| seen.event.kind == EventKind::CALL) {
            n += u64::from(seen.name == "work");
            if let (Some(argument), "work" | "marked") = (seen.first_argument, seen.name.as_str()) {
                assert_eq!(argument, n, "{seen:?}");
            }
        }
    }
}

#[test]
fn windows_that_overlap_are_one() {
    let options = ["--trigger", "symbol=marked", "--pre-roll", "100", "--post-roll", "100"];
    let traced = marks(&["1000", "10"], &options).check();
    let session = read(&traced);
    session.assert_consistent();
    let [window] = &session.manifest.windows[..] else { panic!("{:?}", session.manifest.windows) };
    assert_eq!(window.triggers["symbol=marked"], 100);
    assert_eq!(window.lost, Some(0));
}

#[test]
fn time_is_as_good_a_measure_as_events() {
    let options = ["--trigger", "symbol=marked", "--pre-roll", "0ms", "--post-roll", "1s"];
    let traced = marks(&["1000", "1000"], &options).check();
    let session = read(&traced);
    let [window] = &session.manifest.windows[..] else { panic!("{:?}", session.manifest.windows) };
    let at = session.threads[0].iter().position(|seen| seen.name == "marked").unwrap();
    let marked = session.threads[0][at].event.timestamp;
    assert_eq!((window.trigger_ns, window.start_ns), (Some(marked), marked));
    let later = &session.threads[0][at..];
    let inside = later.iter().filter(|seen| seen.event.timestamp <= marked.saturating_add(1_000_000_000));
    // Records that the agent writes in a stub's place have no detail.
    assert!(inside.clone().filter(|seen| seen.has_detail).count() as u64 == window.details.unwrap());
    // A tail call has no result to keep.
    assert!(inside.filter(|seen| !seen.has_detail && seen.event.kind != EventKind::TAIL).count() < 5);
}

#[test]
fn without_a_marked_event_there_is_no_detail() {
    let traced = marks(&["1000", "10"], &["--trigger", "symbol=no_such_function", "--args", "none"]).check();
    let session = read(&traced);
    assert_eq!(session.manifest.windows, []);
    assert_eq!(session.details(), 0);
}

#[test]
fn a_call_that_takes_long_is_a_trigger() {
    let options = ["--trigger", "slow=n?p>200ms", "--pre-roll", "10", "--post-roll", "10"];
    let traced = marks(&["5000", "0", "slow"], &options).check();
    let session = read(&traced);
    session.assert_consistent();
    assert!(session.manifest.windows.iter().all(|window| window.trigger == "slow=n?p>200ms"));
    let is_end = |seen: &&Seen| seen.name == "nap" && seen.event.kind == EventKind::RETURN;
    let longest = session.threads[0].iter().rfind(is_end).unwrap();
    assert!(longest.has_detail);
    let window = session.manifest.windows.last().unwrap();
    assert_eq!(window.trigger_ns, Some(longest.event.timestamp));
}

#[test]
fn a_handler_of_the_program_is_a_trigger() {
    let options = ["--trigger", "signal", "--pre-roll", "5", "--post-roll", "5"];
    let traced = marks(&["5000", "0", "signal"], &options).check();
    let session = read(&traced);
    let [window] = &session.manifest.windows[..] else { panic!("{:?}", session.manifest.windows) };
    assert_eq!(window.trigger, "signal");
    let handlers: Vec<Option<u64>> = session.calls("on_signal").map(|seen| seen.first_argument).collect();
    assert_eq!(handlers, [Some(10)], "SIGUSR1");
}

#[test]
fn a_crash_is_always_a_trigger() {
    for options in [&[][..], &["--trigger", "symbol=marked"]] {
        let traced = marks(&["5000", "0", "crash"], options).check();
        let session = read(&traced);
        let [window] = &session.manifest.windows[..] else { panic!("{:?}", session.manifest.windows) };
        assert_eq!(window.trigger, "crash: signal 11");
        assert!(window.details.unwrap() > 500, "{window:?}");
        assert!(session.threads[0].last().unwrap().has_detail);
    }
}

#[test]
fn triggers_are_changed_while_the_program_runs() {
    let folder = tempfile::tempdir().unwrap();
    let go = folder.path().join("go");
    let tracing = marks(&["wait", go.to_str().unwrap()], &["--trigger", "symbol=never", "--pre-roll", "3"]);
    let started = Started::new(tracing.command(), b"");
    let pid = started.first_line();
    let list = run::ada(["trigger", &pid, "--list"]);
    assert_eq!((list.status.code(), text(&list.stdout)), (Some(0), "symbol=never\ncrash\n"), "{}", text(&list.stderr));
    let changed = run::ada(["trigger", &pid, "--add", "symbol=mark?d", "--remove", "symbol=never"]);
    assert_eq!(text(&changed.stdout), "crash\nsymbol=mark?d\n");
    let wrong = run::ada(["trigger", &pid, "--remove", "symbol=never"]);
    assert_eq!((wrong.status.code(), text(&wrong.stderr).lines().count()), (Some(3), 1));
    fs::write(&go, "").unwrap();
    let output = started.finish();
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let session = Session::open(tracing.session()).unwrap();
    let manifest = session.processes()[0].manifest.clone().unwrap();
    let [window] = &manifest.windows[..] else { panic!("{:?}", manifest.windows) };
    assert_eq!((window.trigger.as_str(), window.triggers["symbol=mark?d"]), ("symbol=mark?d", 1));
}

#[test]
fn bad_triggers_are_refused_in_words() {
    for words in [
        ["--trigger", "sometimes"],
        ["--trigger", "slow=f"],
        ["--trigger", "symbol="],
        ["--pre-roll", "long"],
        ["--post-roll", "-1"],
    ] {
        let output = run::ada(["trace"].iter().chain(&words).chain(&["--", "true"]));
        assert_eq!(output.status.code(), Some(2), "{words:?}: {}", text(&output.stderr));
        assert_eq!(text(&output.stderr).lines().count(), 1, "{}", text(&output.stderr));
    }
    let output = run::ada(["trace", "--detail", "off", "--trigger", "crash", "--", "true"]);
    assert_eq!((output.status.code(), text(&output.stderr).lines().count()), (Some(2), 1));
    let output = run::ada(["trigger", "4194304", "--list"]);
    assert_eq!((output.status.code(), text(&output.stderr).lines().count()), (Some(3), 1));
}
