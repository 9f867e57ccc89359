//! Each row of the recovery table in `docs/formats/atf-v2.md`, for index files.

use ada_event::{DetailSeq, Event, EventKind, EventSeq, FunctionId, ThreadId, TraceNanos};
use ada_format::atf::{Arch, AtfError, Damage, IndexView, Os};
use ada_testkit::atf::{LINUX, MAC, calls, event, index, index_placeholder};

const FOOTER: usize = 64 + 3 * 32;

fn file() -> Vec<u8> {
    index(LINUX, 5, false, &calls(3, 5))
}

fn patched(at: usize, bytes: &[u8]) -> Vec<u8> {
    let mut file = file();
    file[at..at + bytes.len()].copy_from_slice(bytes);
    file
}

/// How many events a file gives, and its damage.
fn read(file: &[u8]) -> (u64, Vec<Damage>) {
    let view = IndexView::parse(file).expect("damage is not an error");
    assert_eq!(view.events().len() as u64, view.len());
    (view.len(), view.verify())
}

fn refused(file: &[u8]) -> AtfError {
    IndexView::parse(file).expect_err("the file contradicts itself")
}

#[test]
fn a_sound_file_gives_each_event_by_position() {
    let file = file();
    let view = IndexView::parse(&file).unwrap();
    assert_eq!(view.verify(), []);
    let expected = Event {
        timestamp: TraceNanos(1001),
        function: FunctionId(0x1_0000_0001),
        thread: ThreadId(5),
        kind: EventKind::CALL,
        depth: 0,
        detail: DetailSeq::NONE,
    };
    assert_eq!(view.event(EventSeq(1)), Some(expected));
    assert_eq!(view.event(EventSeq(3)), None);
    assert_eq!(view.event(EventSeq(u64::MAX)), None);
    let header = view.header().unwrap();
    assert_eq!((header.thread, header.platform.arch, header.platform.os), (ThreadId(5), Arch::X86_64, Os::LINUX));
}

#[test]
fn files_of_a_mac_read_as_well() {
    let file = index(MAC, 5, false, &calls(3, 5));
    let view = IndexView::parse(&file).unwrap();
    assert_eq!((view.len(), view.verify()), (3, vec![]));
    assert_eq!(view.header().unwrap().platform.arch, Arch::ARM64);
}

#[test]
fn a_cut_header_is_damage() {
    assert_eq!(read(&file()[..63]), (0, vec![Damage::HeaderCut { len: 63 }]));
    assert_eq!(read(b""), (0, vec![Damage::HeaderCut { len: 0 }]));
}

#[test]
fn a_killed_writers_events_are_all_there() {
    let mut file = index_placeholder(LINUX, 5);
    file.extend(calls(3, 5).as_flattened());
    assert_eq!(read(&file), (3, vec![Damage::FooterMissing { offset: 160 }]));
    file.extend([0; 31]);
    let partial = Damage::PartialRecord { offset: 160, len: 31 };
    assert_eq!(read(&file), (3, vec![Damage::FooterMissing { offset: 160 }, partial]));
}

#[test]
fn a_footer_makes_up_for_a_stale_header() {
    let mut file = file();
    file[..64].copy_from_slice(&index_placeholder(LINUX, 5));
    assert_eq!(read(&file), (3, vec![Damage::StaleHeader { footer: 160 }]));
    // Without its last bytes the footer is none, but it is not two events either.
    for cut in 1..64 {
        assert_eq!(read(&file[..file.len() - cut]).0, 3, "{cut} bytes cut");
    }
}

#[test]
fn a_header_that_disagrees_with_a_good_footer_is_stale() {
    assert_eq!(read(&patched(28, &[9])), (3, vec![Damage::StaleHeader { footer: 160 }]));
    assert_eq!(read(&patched(40, &[97])), (3, vec![Damage::StaleHeader { footer: 160 }]));
}

#[test]
fn a_lost_footer_is_damage_if_the_header_is_a_finished_one() {
    assert_eq!(read(&patched(FOOTER, b"XXXX")), (3, vec![Damage::FooterMissing { offset: 160 }]));
}

#[test]
fn a_finished_file_that_was_cut_is_damage() {
    let file = file();
    let cut = Damage::Truncated { expected: 224, len: 223 };
    assert_eq!(read(&file[..223]), (3, vec![cut]));
    let partial = Damage::PartialRecord { offset: 128, len: 1 };
    assert_eq!(read(&file[..129]), (2, vec![Damage::Truncated { expected: 224, len: 129 }, partial]));
}

#[test]
fn a_finished_file_that_was_cut_before_its_events_is_damage() {
    let mut file = patched(32, &[128]);
    file[40] = 224;
    assert_eq!(read(&file[..100]), (0, vec![Damage::Truncated { expected: 288, len: 100 }]));
}

#[test]
fn a_wrong_checksum_is_damage() {
    let (events, damage) = read(&patched(64 + 8, &[0xff]));
    assert_eq!(events, 3);
    assert!(matches!(damage[..], [Damage::Crc { offset: 164, .. }]), "{damage:?}");
}

#[test]
fn bytes_after_the_footer_are_damage() {
    let mut file = file();
    file.push(0);
    assert_eq!(read(&file), (3, vec![Damage::TrailingBytes { offset: 224, len: 1 }]));
}

#[test]
fn times_and_threads_that_do_not_fit_are_damage() {
    let events = [event(9, 1, 5, 1, 0, u32::MAX), event(8, 1, 6, 2, 0, u32::MAX)];
    let (_, damage) = read(&index(LINUX, 5, false, &events));
    let backwards = Damage::TimeBackwards { seq: EventSeq(1), before: TraceNanos(9), time: TraceNanos(8) };
    let stranger = Damage::WrongThread { seq: Some(EventSeq(1)), found: ThreadId(6), expected: ThreadId(5) };
    assert_eq!(damage, [backwards, stranger]);
    let (_, damage) = read(&patched(48, &[0]));
    assert!(matches!(damage[..], [Damage::TimeRange { .. }]), "{damage:?}");
}

#[test]
fn files_of_another_kind_are_refused() {
    assert!(matches!(refused(&patched(0, b"ATD2")), AtfError::Magic { offset: 0, .. }));
    assert_eq!(refused(&patched(4, &[2])), AtfError::Endian { offset: 4, found: 2 });
    assert_eq!(refused(&patched(5, &[9])), AtfError::Version { offset: 5, found: 9 });
    assert_eq!(refused(&patched(24, &[40])), AtfError::EventSize { offset: 24, found: 40 });
}

#[test]
fn offsets_that_point_outside_are_refused() {
    for found in [0, 63, u64::MAX] {
        let error = refused(&patched(32, &found.to_le_bytes()));
        assert_eq!(error, AtfError::EventsOffset { offset: 32, found, len: 224 });
    }
    // Past the end, inside the header, and inside the events, with no footer anywhere.
    for found in [10_000, 1, 96] {
        let mut file = patched(40, &u64::to_le_bytes(found));
        file[FOOTER] = b'X';
        assert_eq!(refused(&file), AtfError::FooterOffset { offset: 40, found });
    }
}

#[test]
fn a_footer_that_counts_wrongly_is_refused() {
    for stored in [0, 2, 4, u64::MAX, 1 << 60] {
        let mut file = patched(FOOTER + 8, &u64::to_le_bytes(stored));
        assert_eq!(refused(&file), AtfError::Count { offset: 168, stored, actual: 3 });
        file[..64].copy_from_slice(&index_placeholder(LINUX, 5));
        assert_eq!(refused(&file), AtfError::Count { offset: 168, stored, actual: 3 });
    }
}
