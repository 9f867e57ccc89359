//! Each row of the recovery table in `docs/formats/atf-v2.md`, for detail files.

use ada_event::{DetailSeq, EventSeq, FunctionId, RuntimeAddr, ThreadId, TraceNanos};
use ada_format::atf::{AtfError, Damage, DetailView, Payload};
use ada_testkit::atf::{LINUX, MAC, arm64, detail, detail_placeholder, record, x86_call, x86_return};

/// A call with 16 stack bytes, 136 long, at 64; and a return, 80 long, at 200.
fn records() -> Vec<Vec<u8>> {
    let call = x86_call([1 << 32 | 7, 1, 2, 3, 4, 5, 6, 7, 0x40_1000, 8, 0x7fff_0000], &[0xab; 16]);
    let back = x86_return([1 << 32 | 7, 42, 43, 0x40_1000, 8, 0x7fff_0008]);
    vec![record(3, 0, 5, 1000, &call), record(4, 3, 5, 1003, &back)]
}

const FOOTER: usize = 280;

fn file() -> Vec<u8> {
    detail(LINUX, 5, &records())
}

fn patched(at: usize, bytes: &[u8]) -> Vec<u8> {
    let mut file = file();
    file[at..at + bytes.len()].copy_from_slice(bytes);
    file
}

/// How many records a file gives, and its damage. Both ways of finding a record agree.
fn read(file: &[u8]) -> (usize, Vec<Damage>) {
    let view = DetailView::parse(file).expect("damage is not an error");
    let records: Vec<_> = view.records().map(|record| record.expect("whole")).collect();
    assert_eq!(view.len(), records.len() as u64);
    for (seq, record) in records.iter().enumerate() {
        assert_eq!(view.record(DetailSeq(seq as u32)).as_ref(), Some(record));
    }
    assert_eq!(view.record(DetailSeq(records.len() as u32)), None);
    (records.len(), view.verify().expect("payloads are whole"))
}

/// The error of a file whose header can be read.
fn refused_inside(file: &[u8]) -> AtfError {
    DetailView::parse(file).expect("the header is good").verify().expect_err("a record is not")
}

#[test]
fn a_sound_file_gives_registers_and_stack() {
    let file = file();
    assert_eq!((file.len(), read(&file)), (FOOTER + 64, (2, vec![])));
    let view = DetailView::parse(&file).unwrap();
    let Ok(Payload::X86Call(call)) = view.record(DetailSeq(0)).unwrap().payload() else { panic!("a call") };
    assert_eq!((call.function, call.rdi, call.r9, call.rax), (FunctionId(1 << 32 | 7), 1, 6, 7));
    assert_eq!((call.return_address, call.rsp), (RuntimeAddr(0x40_1000), 0x7fff_0000));
    assert_eq!(call.stack, [0xab; 16]);
    let second = view.record(DetailSeq(1)).unwrap();
    let Ok(Payload::X86Return(back)) = second.payload() else { panic!("a return") };
    assert_eq!((second.index_seq, back.rax, back.rdx, back.rsp), (3, 42, 43, 0x7fff_0008));
}

#[test]
fn files_of_a_mac_read_as_well() {
    let payload = arm64(std::array::from_fn(|n| n as u64 + 1), b"odd");
    let file = detail(MAC, 5, &[record(3, 0, 5, 1, &payload), record(4, 1, 5, 2, &payload)]);
    assert_eq!(read(&file), (2, vec![]));
    let view = DetailView::parse(&file).unwrap();
    let Ok(Payload::Arm64Return(frame)) = view.record(DetailSeq(1)).unwrap().payload() else { panic!("a return") };
    assert_eq!((frame.function, frame.x, frame.stack), (FunctionId(1), [2, 3, 4, 5, 6, 7, 8, 9], &b"odd"[..]));
    assert_eq!((frame.lr, frame.fp, frame.sp), (RuntimeAddr(10), 11, 12));
}

#[test]
fn records_of_a_newer_type_are_stepped_over() {
    let file = detail(LINUX, 5, &[record(16, 0, 5, 1, b"?"), records().remove(0)]);
    let view = DetailView::parse(&file).unwrap();
    assert!(matches!(view.record(DetailSeq(0)).unwrap().payload(), Ok(Payload::Unknown { bytes: b"?", .. })));
    assert!(matches!(view.record(DetailSeq(1)).unwrap().payload(), Ok(Payload::X86Call(_))));
}

#[test]
fn a_cut_header_is_damage() {
    assert_eq!(read(&file()[..63]), (0, vec![Damage::HeaderCut { len: 63 }]));
}

#[test]
fn a_killed_writers_records_are_all_there() {
    let mut file = detail_placeholder(LINUX, 5);
    file.extend(records().concat());
    assert_eq!(read(&file), (2, vec![Damage::FooterMissing { offset: 280 }]));
    let partial = Damage::PartialRecord { offset: 200, len: 79 };
    assert_eq!(read(&file[..279]), (1, vec![Damage::FooterMissing { offset: 200 }, partial]));
}

#[test]
fn a_footer_makes_up_for_a_stale_header() {
    let mut file = file();
    file[..64].copy_from_slice(&detail_placeholder(LINUX, 5));
    assert_eq!(read(&file), (2, vec![Damage::StaleHeader { footer: 280 }]));
    for cut in 1..64 {
        assert_eq!(read(&file[..file.len() - cut]).0, 2, "{cut} bytes cut");
    }
}

#[test]
fn a_lost_footer_is_damage_if_the_header_is_a_finished_one() {
    assert_eq!(read(&patched(FOOTER, b"XXXX")), (2, vec![Damage::FooterMissing { offset: 280 }]));
}

#[test]
fn a_finished_file_that_was_cut_is_damage() {
    let partial = Damage::PartialRecord { offset: 64, len: 100 };
    assert_eq!(read(&file()[..164]), (0, vec![Damage::Truncated { expected: 344, len: 164 }, partial]));
    assert_eq!(read(&file()[..300]), (2, vec![Damage::Truncated { expected: 344, len: 300 }]));
}

#[test]
fn a_finished_file_that_was_cut_before_its_records_is_damage() {
    assert_eq!(read(&patched(20, &[128])[..100]), (0, vec![Damage::Truncated { expected: 408, len: 100 }]));
}

#[test]
fn bytes_after_the_footer_are_damage() {
    let mut file = file();
    file.push(0);
    assert_eq!(read(&file), (2, vec![Damage::TrailingBytes { offset: 344, len: 1 }]));
}

#[test]
fn a_wrong_checksum_is_damage() {
    let (_, damage) = read(&patched(64 + 24, &[0xff]));
    assert!(matches!(damage[..], [Damage::Crc { offset: 284, .. }]), "{damage:?}");
}

#[test]
fn times_and_threads_that_do_not_fit_are_damage() {
    let (_, damage) = read(&detail(LINUX, 5, &[record(16, 0, 5, 9, b""), record(16, 1, 6, 8, b"")]));
    let (stored, actual) = ((TraceNanos(9), TraceNanos(8)), (TraceNanos(8), TraceNanos(9)));
    let stranger = Damage::WrongThread { seq: Some(EventSeq(1)), found: ThreadId(6), expected: ThreadId(5) };
    assert_eq!(damage, [stranger, Damage::TimeRange { stored, actual }]);
    let (_, damage) = read(&patched(FOOTER + 24, &[0]));
    assert!(matches!(damage[..], [Damage::TimeRange { .. }]), "{damage:?}");
}

#[test]
fn impossible_headers_are_refused() {
    let refused = |at: usize, value: u64| DetailView::parse(&patched(at, &value.to_le_bytes())).map(drop);
    assert!(matches!(DetailView::parse(&patched(0, b"ATI2")), Err(AtfError::Magic { .. })));
    for found in [0, 63, u64::MAX] {
        assert_eq!(refused(20, found), Err(AtfError::EventsOffset { offset: 20, found, len: 344 }));
    }
    assert_eq!(refused(FOOTER + 16, 1), Err(AtfError::Length { offset: 296, stored: 1, actual: 216 }));
    let mut file = patched(28, &u64::MAX.to_le_bytes());
    file[FOOTER] = b'X';
    assert_eq!(DetailView::parse(&file).map(drop), Err(AtfError::FooterOffset { offset: 36, found: 280 }));
}

#[test]
fn records_that_cannot_be_are_refused_where_they_stand() {
    for length in [0, 23] {
        assert_eq!(
            refused_inside(&patched(200, &[length])),
            AtfError::RecordTooShort { offset: 200, length: length.into() }
        );
    }
    let past_end = AtfError::RecordPastEnd { offset: 200, length: 81, end: 280 };
    assert_eq!(refused_inside(&patched(200, &[81])), past_end);
    let miscounted = AtfError::Count { offset: 288, stored: 3, actual: 2 };
    assert_eq!(refused_inside(&patched(FOOTER + 8, &[3])), miscounted);
    assert_eq!(refused_inside(&patched(88 + 88, &[0, 3])), AtfError::StackSize { offset: 176, found: 768 });
    // What comes before stays readable.
    let file = patched(200, &[0]);
    assert!(DetailView::parse(&file).unwrap().record(DetailSeq(0)).is_some());
}

#[test]
fn a_record_that_cannot_be_is_refused_without_a_footer_too() {
    let mut file = detail_placeholder(LINUX, 5);
    file.extend(records().remove(0));
    file.extend([0; 100]);
    assert_eq!(refused_inside(&file), AtfError::RecordTooShort { offset: 200, length: 0 });
    assert_eq!(DetailView::parse(&file).unwrap().len(), 1);
}
