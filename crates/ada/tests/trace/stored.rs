//! `--store packed`: the same trace in fewer bytes.

use std::fs;
use std::path::Path;

use ada_format::atf::{Session, Store};

use super::program::Program;
use super::tracing::{Tracing, assert_sound};
use crate::run::{self, text};

fn convert(command: &str, session: &Path) {
    let output = run::ada([command.as_ref(), session.as_os_str()]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
}

fn spans(session: &Path) -> String {
    let output = run::ada(["top".as_ref(), "--format".as_ref(), "json".as_ref(), session.as_os_str()]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    text(&output.stdout).to_owned()
}

#[test]
fn a_packed_trace_is_exact_and_sound() {
    let traced = Tracing::new(&Program::new("recursion.c")).option(&["--store", "packed"]).check();
    traced.recorded.assert_balanced("fib", 1973);
    traced.recorded.assert_balanced("chain", 201);
    let session = Session::open(traced.recorded.path()).unwrap();
    assert!(session.threads().all(|thread| thread.store() == Store::Packed));
}

#[test]
fn both_forms_of_a_trace_give_the_same_spans_and_events() {
    let options = ["--store", "packed", "--detail", "all"];
    let traced = Tracing::new(&Program::new("short_threads.c")).option(&options).check();
    let path = traced.recorded.path();
    let read = || {
        let session = Session::open(path).unwrap();
        let details = session.threads().filter_map(|thread| thread.detail()).map(|view| view.len()).sum::<u64>();
        let merged: Vec<_> = session.merge().collect();
        (merged, details)
    };
    let (packed, packed_spans) = (read(), spans(path));
    assert!(packed.1 > 10_000);
    convert("unpack", path);
    assert_sound(path);
    assert!(read() == packed);
    assert_eq!(spans(path), packed_spans);
    convert("pack", path);
    assert_sound(path);
    assert!(read() == packed);
}

#[test]
fn a_packed_window_of_detail_that_came_late_is_linked() {
    let options = ["--store", "packed", "--trigger", "symbol=marked", "--pre-roll", "100", "--post-roll", "100"];
    let tracing = Tracing::new(&Program::new("marks.c")).option(&options).argument("2000").argument("500");
    let traced = tracing.check();
    let session = Session::open(traced.recorded.path()).unwrap();
    let thread = &session.processes()[0].threads[0];
    let (index, detail) = (thread.index(), thread.detail().unwrap());
    let linked = index.events().filter(|event| event.detail.get().is_some());
    let mut count = 0;
    for event in linked {
        let record = detail.record(event.detail).unwrap();
        assert_eq!((record.get().timestamp, index.event(record.event_seq())), (event.timestamp, Some(event)));
        count += 1;
    }
    assert!(count > 100, "{count}");
}

#[test]
fn a_packed_ring_holds_more_and_is_a_packed_session_in_the_end() {
    let kept = |store| {
        let options = ["--ring", "8M", "--store", store];
        let tracing = Tracing::new(&Program::new("marks.c")).option(&options).argument("700000").argument("0");
        let traced = tracing.check_output();
        assert_sound(traced.recorded.path());
        let session = Session::open(traced.recorded.path()).unwrap();
        let thread = &session.processes()[0].threads[0];
        let size = fs::metadata(thread.files().next().unwrap()).unwrap().len();
        assert!(size <= 8 << 20, "{size}");
        (thread.store(), thread.event_count())
    };
    let ((raw, few), (packed, many)) = (kept("raw"), kept("packed"));
    assert_eq!((raw, packed), (Store::Raw, Store::Packed));
    assert!(many > 3 * few, "{many} packed, {few} raw");
}
