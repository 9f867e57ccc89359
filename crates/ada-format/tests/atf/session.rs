//! Sessions on disk: whole, killed on the way, and with parts missing.

use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use ada_event::{DetailSeq, Event, EventKind, ProcessId, ThreadId, TraceNanos};
use ada_format::atf::{DetailType, Payload, Platform, Session, SessionError, SessionWriter, Store, SyncPolicy};
use ada_testkit::atf::{LINUX, NO_DETAIL, calls, detail, event, index, record};

fn writer(output: &Path, pid: u32) -> SessionWriter {
    SessionWriter::create(output, UNIX_EPOCH, ProcessId(pid), Platform::LINUX_X86_64, SyncPolicy::Never).unwrap()
}

fn event_at(time: u64, thread: u32) -> Event {
    Event { timestamp: TraceNanos(time), thread: ThreadId(thread), kind: EventKind::CALL, ..Event::default() }
}

/// A finished session with two threads, and the folder of its process.
fn two_threads(output: &Path) -> PathBuf {
    let mut session = writer(output, 7);
    for (id, times) in [(1, [10, 20]), (2, [5, 20])] {
        let mut thread = session.thread(ThreadId(id)).unwrap();
        for time in times {
            thread.append(&event_at(time, id)).unwrap();
        }
        session.finish_thread(thread).unwrap();
    }
    let process = session.process_path().to_owned();
    session.finish().unwrap();
    process
}

/// The kinds of all findings.
fn kinds(path: &Path) -> Vec<&'static str> {
    let session = Session::open(path).unwrap();
    let found = session.verify(|_| ());
    session.findings().iter().chain(&found).map(|finding| finding.problem.kind()).collect()
}

fn merged(session: &Session) -> Vec<(u64, u32, u64)> {
    session.merge().map(|it| (it.event.timestamp.0, it.event.thread.0, it.seq.0)).collect()
}

#[test]
fn threads_are_merged_by_time_thread_and_position() {
    let output = tempfile::tempdir().unwrap();
    let process = two_threads(output.path());
    for path in [process.parent().unwrap(), &process] {
        let session = Session::open(path).unwrap();
        assert_eq!(merged(&session), [(5, 2, 0), (10, 1, 0), (20, 1, 1), (20, 2, 1)]);
        assert_eq!(session.processes()[0].pid, Some(ProcessId(7)));
        assert!(kinds(path).is_empty());
    }
}

#[test]
fn where_writing_failed_the_files_are_counted_again() {
    let output = tempfile::tempdir().unwrap();
    let mut session = writer(output.path(), 7);
    let mut thread = session.thread(ThreadId(1)).unwrap();
    thread.append(&event_at(10, 1)).unwrap();
    session.finish_thread(thread).unwrap();
    session.manifest_mut().threads[0].event_count = None;
    session.count_again();
    assert_eq!(session.manifest_mut().threads[0].event_count, Some(1));
}

/// A finished session with a thread in a folder and 100 small ones, each with an event of 1 + its id; those of even ids
/// have detail.
fn small_threads(output: &Path) -> PathBuf {
    let mut session = writer(output, 7);
    for id in (0..100).rev() {
        let event = event_at(u64::from(id) + 1, id);
        let mut thread = session.small_thread(ThreadId(id)).unwrap();
        let detail = Payload::Unknown { kind: DetailType(200), bytes: &[id as u8; 9] };
        match id % 2 {
            0 => drop(thread.append_with_detail(&event, &detail).unwrap()),
            _ => drop(thread.append(&event).unwrap()),
        }
        session.finish_thread(thread).unwrap();
    }
    let mut thread = session.thread(ThreadId(1000)).unwrap();
    thread.append(&event_at(0, 1000)).unwrap();
    session.finish_thread(thread).unwrap();
    let process = session.process_path().to_owned();
    session.finish().unwrap();
    process
}

#[test]
fn small_threads_share_a_file() {
    let output = tempfile::tempdir().unwrap();
    let process = small_threads(output.path());
    let session = Session::open(&process).unwrap();
    let expected = [(0, 1000, 0)].into_iter().chain((0..100).map(|id| (u64::from(id) + 1, id, 0)));
    assert!(merged(&session).into_iter().eq(expected));
    assert!(kinds(&process).is_empty());
    for thread in session.threads().filter(|thread| thread.id().0 < 100) {
        let number = thread.id().0;
        assert_eq!(thread.detail().is_some(), number % 2 == 0);
        if let Some(detail) = thread.detail() {
            let record = detail.record(DetailSeq(0)).unwrap();
            assert!(matches!(record.payload(), Ok(Payload::Unknown { bytes, .. }) if bytes == [number as u8; 9]));
        }
    }
    let mut names: Vec<_> = fs::read_dir(&process).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    names.sort();
    assert_eq!(names, ["manifest.json", "thread_1000", "threads.atb"]);
    assert_eq!(session.processes()[0].thread_files().count(), 2);
}

#[test]
fn damage_of_what_small_threads_share_is_told() {
    let output = tempfile::tempdir().unwrap();
    let process = small_threads(output.path());
    let bundle = process.join("threads.atb");
    let whole = fs::read(&bundle).unwrap();
    // The first member is the last thread's; its magic is behind the bundle's header and the thread's entry.
    let mut changed = whole.clone();
    changed[48] = b'?';
    fs::write(&bundle, &changed).unwrap();
    assert_eq!(kinds(&process)[0], "wrong_magic");
    assert_eq!(Session::open(&process).unwrap().threads().count(), 100);
    fs::write(&bundle, &whole[..whole.len() - 1]).unwrap();
    let found = kinds(&process);
    assert_eq!(found, ["bad_bundle", "thread_missing"]);
    assert_eq!(Session::open(&process).unwrap().threads().count(), 100);
    changed[16] = b'?';
    fs::write(&bundle, &changed).unwrap();
    let found = kinds(&process);
    assert_eq!((found[0], found.iter().filter(|kind| **kind == "thread_missing").count()), ("bad_bundle", 100));
    assert_eq!(Session::open(&process).unwrap().threads().count(), 1);
}

#[test]
fn small_threads_that_grow_get_a_folder_and_those_of_a_killed_writer_are_there() {
    let output = tempfile::tempdir().unwrap();
    for store in [Store::Raw, Store::Packed] {
        let mut session = writer(&output.path().join(store.index_file()), 7);
        session.set_store(store);
        let payload = |number: u8| Payload::Unknown { kind: DetailType(200), bytes: &[9; 40][..usize::from(number)] };
        let mut grown = session.small_thread(ThreadId(1)).unwrap();
        for number in 0..40 {
            assert_eq!(grown.is_small(), number <= 20);
            grown.append_with_detail(&event_at(number, 1), &payload(number as u8)).unwrap();
            if number == 20 {
                grown.flush().unwrap();
                grown.settle().unwrap();
            }
        }
        session.finish_thread(grown).unwrap();
        let mut ended = session.small_thread(ThreadId(2)).unwrap();
        ended.append(&event_at(100, 2)).unwrap();
        session.finish_thread(ended).unwrap();
        session.flush_bundle().unwrap();
        let process = session.process_path().to_owned();
        let mut bundle = File::options().append(true).open(process.join("threads.atb")).unwrap();
        bundle.write_all(b"BTHR, cut").unwrap();
        drop(session);
        let session = Session::open(&process).unwrap();
        assert_eq!(kinds(&process), ["unfinished"]);
        let threads: Vec<_> = session.threads().map(|it| (it.id().0, it.event_count())).collect();
        assert_eq!(threads, [(1, 40), (2, 1)]);
        let detail = session.threads().next().unwrap().detail().unwrap();
        for number in 0..40 {
            let record = detail.record(DetailSeq(number)).unwrap();
            assert_eq!(record.payload().unwrap(), payload(number as u8));
        }
    }
}

#[test]
fn a_session_of_the_same_second_gets_a_number() {
    let output = tempfile::tempdir().unwrap();
    let names: Vec<_> = (0..3).map(|pid| writer(output.path(), pid).path().file_name().unwrap().to_owned()).collect();
    assert_eq!(names, ["session_19700101_000000", "session_19700101_000000_2", "session_19700101_000000_3"]);
}

#[test]
fn several_processes_share_a_session() {
    let output = tempfile::tempdir().unwrap();
    let parent = writer(output.path(), 10);
    let mut child =
        SessionWriter::join(parent.path().to_owned(), ProcessId(9), Platform::LINUX_X86_64, SyncPolicy::Never).unwrap();
    let mut thread = child.thread(ThreadId(9)).unwrap();
    thread.append(&event_at(1, 9)).unwrap();
    child.finish_thread(thread).unwrap();
    child.finish().unwrap();
    let session = Session::open(parent.finish().unwrap()).unwrap();
    assert_eq!(
        session.processes().iter().map(|process| process.pid).collect::<Vec<_>>(),
        [Some(ProcessId(9)), Some(ProcessId(10))]
    );
    assert_eq!(merged(&session), [(1, 9, 0)]);
    assert!(session.findings().is_empty());
}

#[test]
fn a_killed_writers_session_is_readable() {
    let output = tempfile::tempdir().unwrap();
    let session = writer(output.path(), 7);
    let mut thread = session.thread(ThreadId(1)).unwrap();
    thread.append(&event_at(3, 1)).unwrap();
    thread.flush().unwrap();
    let path = session.path().to_owned();
    assert!(kinds(&path).is_empty(), "it is being written");
    drop((session, thread));
    assert_eq!(kinds(&path), ["footer_missing", "unfinished"]);
    assert_eq!(merged(&Session::open(&path).unwrap()), [(3, 1, 0)]);
}

#[test]
fn a_manifest_is_not_needed() {
    let output = tempfile::tempdir().unwrap();
    let process = two_threads(output.path());
    fs::write(process.join("manifest.json"), "{").unwrap();
    assert_eq!(kinds(&process), ["bad_manifest"]);
    fs::remove_file(process.join("manifest.json")).unwrap();
    assert_eq!(kinds(&process), ["manifest_missing"]);
    assert_eq!(merged(&Session::open(&process).unwrap()).len(), 4);
}

#[test]
fn a_file_that_cannot_be_read_does_not_hide_the_others() {
    let output = tempfile::tempdir().unwrap();
    let process = two_threads(output.path());
    fs::write(process.join("thread_1/index.atf"), "something else").unwrap();
    fs::write(process.join("thread_2/detail.atf"), "something else").unwrap();
    assert_eq!(kinds(&process), ["wrong_magic", "wrong_magic", "detail_presence"]);
    assert_eq!(merged(&Session::open(&process).unwrap()), [(5, 2, 0), (20, 2, 1)]);
}

/// To open a pipe would wait for ever, and a device has no end.
#[test]
fn what_is_no_file_is_not_opened() {
    let output = tempfile::tempdir().unwrap();
    let process = two_threads(output.path());
    let pipe = |name: &str| {
        let path = process.join(name);
        fs::remove_file(&path).ok();
        assert!(std::process::Command::new("mkfifo").arg(path).status().unwrap().success());
    };
    pipe("thread_1/index.atf");
    pipe("thread_2/detail.atf");
    fs::remove_file(process.join("manifest.json")).unwrap();
    std::os::unix::fs::symlink("/dev/zero", process.join("manifest.json")).unwrap();
    assert_eq!(kinds(&process), ["unreadable"; 3]);
    assert_eq!(merged(&Session::open(&process).unwrap()), [(5, 2, 0), (20, 2, 1)]);
}

#[test]
fn a_manifest_of_any_size_takes_bounded_memory() {
    let output = tempfile::tempdir().unwrap();
    let process = two_threads(output.path());
    let manifest = fs::OpenOptions::new().write(true).open(process.join("manifest.json")).unwrap();
    manifest.set_len(1 << 40).unwrap();
    assert_eq!(kinds(&process), ["unreadable"]);
}

#[test]
fn detail_without_an_index_is_found_even_where_nothing_lists_it() {
    let output = tempfile::tempdir().unwrap();
    let process = two_threads(output.path());
    fs::remove_file(process.join("manifest.json")).unwrap();
    fs::remove_file(process.join("thread_1/index.atf")).unwrap();
    assert_eq!(kinds(&process), ["manifest_missing"], "a folder that nothing was written to");
    fs::write(process.join("thread_1/detail.atf"), detail(LINUX, 1, &[])).unwrap();
    assert_eq!(kinds(&process), ["manifest_missing", "unreadable"]);
}

#[test]
fn manifest_and_folders_are_compared() {
    let output = tempfile::tempdir().unwrap();
    let process = two_threads(output.path());
    fs::rename(process.join("thread_1"), process.join("thread_3")).unwrap();
    assert_eq!(kinds(&process), ["thread_missing", "thread_unlisted", "wrong_thread"]);
}

#[test]
fn links_are_followed_both_ways() {
    let output = tempfile::tempdir().unwrap();
    let folder = output.path().join("thread_5");
    fs::create_dir(&folder).unwrap();
    let manifest = r#"{"threads": [{"id": 5, "has_detail": true}], "time_start_ns": 1, "time_end_ns": 3}"#;
    fs::write(output.path().join("manifest.json"), manifest).unwrap();
    let record = |index_seq, time| record(16, index_seq, 5, time, b"");
    let event = |time, detail| event(time, 1, 5, 1, 0, detail);
    let cases = [
        (vec![event(1, 0), event(2, NO_DETAIL), event(3, 1)], vec![record(0, 1), record(2, 3)], &[][..]),
        (vec![event(1, 0), event(2, 1)], vec![record(0, 1), record(2, 2)], &["detail_link", "index_link"]),
        (vec![event(1, 0), event(2, 0)], vec![record(1, 2)], &["detail_link"]),
        (vec![event(1, 0), event(2, 7)], vec![record(0, 1)], &["detail_link"]),
        (vec![event(1, NO_DETAIL)], vec![record(0, 1)], &["index_link"]),
        (vec![event(1, 0), event(3, 1)], vec![record(0, 1), record(1, 2)], &["detail_time"]),
    ];
    for (events, records, expected) in cases {
        fs::write(folder.join("index.atf"), index(LINUX, 5, true, &events)).unwrap();
        fs::write(folder.join("detail.atf"), detail(LINUX, 5, &records)).unwrap();
        assert_eq!(kinds(output.path()), expected);
    }
}

#[test]
fn the_links_that_a_detail_header_states_are_those_of_its_records() {
    let output = tempfile::tempdir().unwrap();
    let folder = output.path().join("thread_5");
    fs::create_dir(&folder).unwrap();
    let manifest = r#"{"threads": [{"id": 5, "has_detail": true}], "time_start_ns": 1, "time_end_ns": 3}"#;
    fs::write(output.path().join("manifest.json"), manifest).unwrap();
    let events = [event(1, 1, 5, 1, 0, NO_DETAIL), event(2, 1, 5, 1, 0, 0), event(3, 1, 5, 1, 0, 1)];
    fs::write(folder.join("index.atf"), index(LINUX, 5, true, &events)).unwrap();
    let sound = detail(LINUX, 5, &[record(16, 1, 5, 2, b""), record(16, 2, 5, 3, b"")]);
    for (at, value, expected) in [(44, 1, &[][..]), (44, 0, &["link_range"]), (52, 2, &[]), (52, 3, &["link_range"])] {
        let mut bytes = sound.clone();
        bytes[at] = value;
        fs::write(folder.join("detail.atf"), bytes).unwrap();
        assert_eq!(kinds(output.path()), expected, "byte {at} is {value}");
    }
}

#[test]
fn a_manifest_counts_the_events_of_each_thread() {
    let output = tempfile::tempdir().unwrap();
    fs::create_dir(output.path().join("thread_5")).unwrap();
    fs::write(output.path().join("thread_5/index.atf"), index(LINUX, 5, false, &calls(3, 5))).unwrap();
    for (count, finished, expected) in [(3, true, &[][..]), (4, true, &["event_count"]), (4, false, &["unfinished"])] {
        let threads = format!(r#"[{{"id": 5, "has_detail": false, "event_count": {count}}}]"#);
        let times = r#""time_start_ns": 1000, "time_end_ns": 1002"#;
        let manifest = format!(r#"{{"finished": {finished}, "threads": {threads}, {times}}}"#);
        fs::write(output.path().join("manifest.json"), manifest).unwrap();
        assert_eq!(kinds(output.path()), expected, "{count}");
    }
}

#[test]
fn a_detail_file_of_another_thread_is_found() {
    let output = tempfile::tempdir().unwrap();
    let folder = output.path().join("thread_5");
    fs::create_dir(&folder).unwrap();
    fs::write(folder.join("index.atf"), index(LINUX, 5, true, &[event(1, 1, 5, 1, 0, 0)])).unwrap();
    fs::write(folder.join("detail.atf"), detail(LINUX, 6, &[record(16, 0, 6, 1, b"")])).unwrap();
    assert_eq!(kinds(output.path()), ["manifest_missing", "wrong_thread"]);
}

#[test]
fn a_manifests_time_range_holds_all_events() {
    let output = tempfile::tempdir().unwrap();
    fs::create_dir(output.path().join("thread_5")).unwrap();
    fs::write(output.path().join("thread_5/index.atf"), index(LINUX, 5, false, &calls(3, 5))).unwrap();
    for (start, end, expected) in
        [(1000, 1002, &[][..]), (0, 9999, &[]), (1000, 1001, &["time_range"]), (1001, 1002, &["time_range"])]
    {
        let threads = r#"[{"id": 5, "has_detail": false}]"#;
        let manifest = format!(r#"{{"threads": {threads}, "time_start_ns": {start}, "time_end_ns": {end}}}"#);
        fs::write(output.path().join("manifest.json"), manifest).unwrap();
        assert_eq!(kinds(output.path()), expected);
    }
}

#[test]
fn what_is_not_a_session_is_said_to_be_none() {
    let empty = tempfile::tempdir().unwrap();
    assert!(matches!(Session::open(empty.path()), Err(SessionError::NotASession { .. })));
    assert!(matches!(Session::open(empty.path().join("nowhere")), Err(SessionError::Io { .. })));
}
