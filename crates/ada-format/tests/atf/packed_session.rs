//! A session reads the same in both forms.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::time::UNIX_EPOCH;

use ada_event::{DetailSeq, Event, EventSeq, ProcessId, ThreadId, TraceNanos};
use ada_format::atf::packed::convert_file;
use ada_format::atf::{DetailType, EventVisitor, Payload, Platform, Session, SessionWriter, Store, SyncPolicy};

use super::packed::{Visited, program};

const COUNT: usize = 40_000;

/// Two threads, one with detail.
fn write(output: &Path, store: Store) -> std::path::PathBuf {
    let mut session =
        SessionWriter::create(output, UNIX_EPOCH, ProcessId(7), Platform::LINUX_X86_64, SyncPolicy::OnFinish).unwrap();
    session.set_store(store);
    for (id, seed) in [(5, 1), (6, 2)] {
        let mut thread = session.thread(ThreadId(id)).unwrap();
        for (seq, bytes) in (0_u64..).zip(program(COUNT, seed)) {
            let event = Event { thread: ThreadId(id), detail: DetailSeq::NONE, ..Event::from_le_bytes(&bytes) };
            if id == 5 && seq % 11 == 0 {
                let bytes = vec![seq as u8; 9 + seq as usize % 90];
                let payload = Payload::Unknown { kind: DetailType(16), bytes: &bytes };
                thread.append_with_detail(&event, &payload).unwrap();
            } else {
                thread.append(&event).unwrap();
            }
        }
        session.finish_thread(thread).unwrap();
    }
    session.finish().unwrap()
}

fn files(session: &Path) -> Vec<(String, Vec<u8>)> {
    let threads = [5, 6].map(|id| session.join(format!("pid_7/thread_{id}")));
    let files = threads.iter().flat_map(|folder| fs::read_dir(folder).unwrap()).map(|entry| entry.unwrap().path());
    let mut files: Vec<_> = files
        .map(|path| (path.strip_prefix(session).unwrap().display().to_string(), fs::read(&path).unwrap()))
        .collect();
    files.sort();
    files
}

#[test]
fn both_forms_read_alike() {
    let folders = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
    let [raw, packed] = [(0, Store::Raw), (1, Store::Packed)]
        .map(|(at, store)| Session::open(write(folders[at].path(), store)).unwrap());
    for session in [&raw, &packed] {
        assert!(session.findings().is_empty(), "{:?}", session.findings());
        let found = session.verify(|_| ());
        assert!(found.is_empty(), "{found:?}");
    }
    assert!(packed.threads().all(|thread| thread.store() == Store::Packed));
    assert!(raw.merge().eq(packed.merge()));
    for (raw, packed) in raw.threads().zip(packed.threads()) {
        assert_eq!((raw.event_count(), raw.byte_count()), (packed.event_count(), packed.byte_count()));
        let (raw_index, packed_index) = (raw.index(), packed.index());
        assert!(raw_index.events().eq(packed_index.events()));
        for has_processor in [false, true] {
            let [raw, packed] = [raw, packed].map(|thread| {
                let mut visited = Visited::default();
                thread.visit(has_processor, &mut visited);
                visited.events
            });
            assert!(raw == packed && (0..).zip(raw_index.events()).eq(packed));
        }
        assert!(raw_index.events().rev().take(3).eq(packed_index.events().rev().take(3)));
        for seq in [0, 16_383, 16_384, 39_999, 3, 40_000, u64::MAX] {
            assert_eq!(raw_index.event(EventSeq(seq)), packed_index.event(EventSeq(seq)));
        }
        let first = raw_index.event(EventSeq(0)).unwrap().timestamp.0;
        for time in [0, first, first + 1, first + 1_000_000, first + 10_000_000, u64::MAX] {
            assert_eq!(raw_index.first_at(TraceNanos(time)), packed_index.first_at(TraceNanos(time)), "{time}");
        }
        assert_eq!(raw.detail().is_some(), packed.detail().is_some());
        let (Some(raw), Some(packed)) = (raw.detail(), packed.detail()) else { continue };
        assert_eq!(raw.len(), packed.len());
        for (raw, packed) in raw.records().zip(packed.records()) {
            let (raw, packed) = (raw.unwrap(), packed.unwrap());
            assert_eq!((raw.position(), raw.get()), (packed.position(), packed.get()));
        }
        for seq in [0, 1, 3636, 17, 100_000] {
            assert_eq!(
                raw.record(DetailSeq(seq)).map(|it| it.payload().is_ok()),
                packed.record(DetailSeq(seq)).map(|it| it.payload().is_ok())
            );
            assert_eq!(
                raw.record(DetailSeq(seq)).map(|it| it.get().offset),
                packed.record(DetailSeq(seq)).map(|it| it.get().offset)
            );
        }
    }
}

#[test]
fn a_long_thread_is_decoded_ahead_by_another_thread() {
    let folder = tempfile::tempdir().unwrap();
    let mut session =
        SessionWriter::create(folder.path(), UNIX_EPOCH, ProcessId(7), Platform::LINUX_X86_64, SyncPolicy::OnFinish)
            .unwrap();
    session.set_store(Store::Packed);
    let mut thread = session.thread(ThreadId(5)).unwrap();
    for bytes in program(200_000, 3) {
        thread.append(&Event { detail: DetailSeq::NONE, ..Event::from_le_bytes(&bytes) }).unwrap();
    }
    session.finish_thread(thread).unwrap();
    let session = Session::open(session.finish().unwrap()).unwrap();
    let thread = session.threads().next().unwrap();
    let mut visited = Visited::default();
    thread.visit(true, &mut visited);
    assert!((0..).zip(thread.index().events()).eq(visited.events));
    // Whoever has heard enough may go: the other thread ends.
    let stopped = std::panic::catch_unwind(|| thread.visit(true, &mut Impatient));
    assert!(stopped.is_err());
}

/// Listens to nothing.
struct Impatient;

impl EventVisitor for Impatient {
    fn begin(&mut self, _: EventSeq, _: u64) {
        std::panic::resume_unwind(Box::new("enough"));
    }

    fn event(&mut self, _: Event) {}
}

#[test]
fn a_session_goes_from_one_form_to_the_other_and_back() {
    let folder = tempfile::tempdir().unwrap();
    let session = write(folder.path(), Store::Raw);
    let before = files(&session);
    for (name, _) in &before {
        let sizes = convert_file(&session.join(name), Store::Packed).unwrap().unwrap();
        assert!(sizes.after < sizes.before / 2, "{name}: {sizes:?}");
        assert_eq!(convert_file(&session.join(name), Store::Raw).unwrap(), None);
    }
    let packed = files(&session);
    let names: Vec<&str> = packed.iter().map(|(name, _)| &name[..]).collect();
    assert_eq!(names, ["pid_7/thread_5/detail.atp", "pid_7/thread_5/index.atp", "pid_7/thread_6/index.atp"]);
    assert_eq!(Session::open(&session).unwrap().threads().count(), 2);
    for (name, _) in &packed {
        convert_file(&session.join(name), Store::Raw).unwrap().unwrap();
    }
    assert!(files(&session) == before);
}

#[test]
fn what_is_written_packed_unpacks_to_what_is_written_raw() {
    let folders = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
    let raw = write(folders[0].path(), Store::Raw);
    let packed = write(folders[1].path(), Store::Packed);
    for (name, _) in files(&packed) {
        convert_file(&packed.join(name), Store::Raw).unwrap().unwrap();
    }
    assert!(files(&packed) == files(&raw));
}

#[test]
fn a_block_that_cannot_be_read_leaves_a_gap() {
    let folder = tempfile::tempdir().unwrap();
    let session = write(folder.path(), Store::Packed);
    let path = session.join("pid_7/thread_6/index.atp");
    let mut bytes = fs::read(&path).unwrap();
    bytes[1000] ^= 1;
    fs::write(&path, bytes).unwrap();
    let opened = Session::open(&session).unwrap();
    assert!(opened.findings().is_empty());
    let found = opened.verify(|_| ());
    assert!(found.iter().any(|finding| finding.problem.kind() == "block_damaged"), "{found:?}");
    let thread = opened.threads().nth(1).unwrap();
    let index = thread.index();
    let first = thread.chunks().next().unwrap();
    let behind = first.first_seq().0;
    assert!(behind > 0 && index.len() == COUNT as u64);
    assert_eq!(index.event(EventSeq(behind - 1)), None);
    let mut visited = Visited::default();
    thread.visit(false, &mut visited);
    assert_eq!(visited.events.first().map(|(seq, _)| *seq), Some(behind));
    assert_eq!(index.event(first.first_seq()), Some(Event::from_le_bytes(&first[0])));
    // Those behind keep their positions.
    let merged = opened.merge().find(|merged| merged.lane == 1).unwrap();
    assert_eq!(merged.seq.0, behind);
}

#[test]
fn a_session_that_grows_reads_as_it_was_when_it_was_opened() {
    let folder = tempfile::tempdir().unwrap();
    let mut session =
        SessionWriter::create(folder.path(), UNIX_EPOCH, ProcessId(7), Platform::LINUX_X86_64, SyncPolicy::Never)
            .unwrap();
    session.set_store(Store::Packed);
    let mut thread = session.thread(ThreadId(5)).unwrap();
    let events: Vec<Event> = program(3000, 1).iter().map(Event::from_le_bytes).collect();
    let mut write = |range: std::ops::Range<usize>| {
        for event in &events[range] {
            let payload = Payload::Unknown { kind: DetailType(16), bytes: &event.timestamp.0.to_le_bytes() };
            thread.append_with_detail(event, &payload).unwrap();
        }
        thread.flush().unwrap();
    };
    write(0..1000);
    let opened = Session::open(session.path()).unwrap();
    write(1000..3000);
    let found: BTreeSet<&str> = opened.findings().iter().map(|finding| finding.problem.kind()).collect();
    assert!(opened.is_live() && found.is_empty(), "what is being written is no damage: {found:?}");
    let found = opened.verify(|_| ());
    assert!(found.is_empty(), "{found:?}");
    let thread = opened.threads().next().unwrap();
    let (index, detail) = (thread.index(), thread.detail().unwrap());
    assert_eq!((index.len(), detail.len()), (1000, 1000));
    for (seq, event) in (0..).zip(&events[..1000]) {
        let read = index.event(EventSeq(seq)).unwrap();
        assert_eq!((read.timestamp, read.function), (event.timestamp, event.function));
        let record = detail.record(DetailSeq(seq as u32)).unwrap();
        assert_eq!(record.get().bytes, event.timestamp.0.to_le_bytes());
    }
}
